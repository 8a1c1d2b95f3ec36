"""Task 3.3: the newest reply of a rich thread, and np-conv's other posts."""

from __future__ import annotations

from dataclasses import dataclass

from runner.benchmarks.base import Funnel, Options, Selection
from runner.benchmarks.personaconvbench.paper.frame import Row, describe, selection
from runner.benchmarks.personaconvbench.paper.posts import Posts
from runner.benchmarks.personaconvbench.paper.rules import deleted_share, own_trees, timed_replies
from runner.benchmarks.personaconvbench.paper.select_scores import SHIFT
from runner.benchmarks.personaconvbench.paper.thread import Thread, is_deleted
from runner.benchmarks.personaconvbench.paper.trees import before_reply

MAX_DELETED = 0.33
_RULES = (
    "2 or more replies by the post's author",
    "the newest one not deleted",
    "2 or more answered trees in which the author wrote",
    "at most 33 % of the target's tree deleted",
)


@dataclass(frozen=True)
class _Post:
    """What selection needs of one post: its row (None without a reply) and which rights it has."""

    row: Row | None
    passed: tuple[bool, ...]
    can_be_target: bool
    can_be_context: bool
    prints_target: bool


def select_texts(posts: Posts, options: Options) -> Selection:
    """In corpus order; p-conv and p-nonconv have one test set, np-conv another that overlaps it."""
    by_place = {place: _look(posts, place, thread) for place, thread in posts.threads()}
    seen = [by_place[place] for place in range(len(posts))]
    left = dict.fromkeys(_RULES, 0)
    rows: list[Row] = []
    for place, post in enumerate(seen):
        for rule, ok in zip(_RULES, post.passed, strict=True):
            if not ok:
                break
            left[rule] += 1
        donor = (place + SHIFT) % len(seen)
        settings: tuple[str, ...] = ("p-conv", "p-nonconv") if all(post.passed) else ()
        if post.can_be_target and seen[donor].can_be_context:
            settings += ("np-conv",)
        if post.row is not None and settings:
            post.row.in_settings = settings
            post.row.donor = donor if "np-conv" in settings else None
            post.row.few_shot = post.row.few_shot if "p-conv" in settings else None
            rows.append(post.row)
    np_rows = [row for row in rows if "np-conv" in row.in_settings]
    steps = (
        ("posts", len(posts)),
        *left.items(),
        ("np-conv: newest reply usable", sum(post.can_be_target for post in seen)),
        ("np-conv: and the post 200 further on is rich enough", len(np_rows)),
    )
    return selection(rows, options, Funnel(steps, _notes(rows, np_rows, seen, posts)))


def _look(posts: Posts, place: int, thread: Thread) -> _Post:
    replies = timed_replies(thread)
    if not replies:
        return _Post(None, (False,) * 4, False, False, False)
    newest, second = replies[0], replies[min(1, len(replies) - 1)]
    text = thread[newest].text
    passed = (
        len(replies) >= 2,
        not is_deleted(text),
        own_trees(thread) >= 2,
        deleted_share(thread, newest) <= MAX_DELETED,
    )
    usable = [bool(thread[i].text) and not is_deleted(thread[i].text) for i in (newest, second)]
    shown = before_reply(thread, second)
    row = describe("text", posts, place, thread, newest, text)
    row.parent = thread[thread[newest].parent].text
    row.few_shot = "default" if shown is None else "dynamic"
    return _Post(
        row=row,
        passed=passed,
        can_be_target=usable[0],
        can_be_context=all((*passed, *usable)) and deleted_share(thread, second) <= MAX_DELETED,
        prints_target=shown is not None and newest in shown,
    )


def _notes(rows: list[Row], np_rows: list[Row], seen: list[_Post], posts: Posts) -> dict[str, float | int | str]:
    p_rows = [row for row in rows if "p-conv" in row.in_settings]
    return {
        "p-conv: prompts whose example prints the reference text": sum(seen[row.place].prints_target for row in p_rows),
        "p-conv: default examples": sum(row.few_shot == "default" for row in p_rows),
        "empty reference texts (selected, not sent, as the evaluator skips them)": sum(
            not row.reference for row in rows
        ),
        "np-conv: targets that p-conv has too": sum("p-conv" in row.in_settings for row in np_rows),
        "np-conv: the target's own post as context": sum(row.donor == row.place for row in np_rows),
        "np-conv: context by the target's author": sum(
            posts.owners[row.donor or 0] == posts.owners[row.place] for row in np_rows
        ),
        "order": "corpus order; LIMIT takes the first n, as the reference's scripts do",
    }
