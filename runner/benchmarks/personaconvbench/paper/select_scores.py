"""Tasks 3.1 and 3.2: one reply per post, the one with the most extreme score, and who lends np-conv's example."""

from __future__ import annotations

import random

from runner.benchmarks.base import Funnel, Options, Selection
from runner.benchmarks.personaconvbench.paper.frame import Kind, Row, describe, selection
from runner.benchmarks.personaconvbench.paper.posts import Posts
from runner.benchmarks.personaconvbench.paper.rules import participants, scored_replies, usable_replies
from runner.benchmarks.personaconvbench.paper.thread import Thread

DEFAULT_LABEL, DEFAULT_SCORE = "positive", 25
SHIFT = 200
"""How far along the list np-conv takes its example or context from."""


def answer(kind: Kind, score: int | float) -> str:
    """The true answer as it is asked for: the sign in words, or the number."""
    if kind == "sign":
        return "positive" if score > 0 else "negative"
    return str(+score)  # a bool, which passes for a score, is a number here


def example_of(kind: Kind, thread: Thread, replies: list[int]) -> int | None:
    """P-conv's example: the second most extreme reply; for the sign it needs a score other than 0."""
    if len(replies) < 2 or (kind == "sign" and not thread[replies[1]].score):
        return None
    return replies[1]


def select_scores(posts: Posts, options: Options, kind: Kind) -> Selection:
    """All negatives in corpus order, then the upper half of the positives by ascending score."""
    found: list[Row] = []
    pool: list[tuple[int, str]] = []  # places with a weaker right to lend an example, and its answer
    left = dict.fromkeys(_RULES, 0)
    for place, thread in posts.threads():
        people, usable, replies = participants(thread), usable_replies(thread), scored_replies(thread)
        top = _score(thread, replies[0]) if replies else 0
        if people >= 3 and usable >= 1 and abs(top) >= 2:
            pool.append((place, answer(kind, top)))
        passed = (people >= 4, usable >= 3, bool(replies), abs(top) >= 4)
        for rule, ok in zip(_RULES, passed, strict=True):
            if not ok:
                break
            left[rule] += 1
        else:
            row = describe(kind, posts, place, thread, replies[0], answer(kind, top))
            example = example_of(kind, thread, replies)
            row.few_shot = "default" if example is None else "dynamic"
            default = DEFAULT_LABEL if kind == "sign" else str(DEFAULT_SCORE)
            row.example = default if example is None else answer(kind, _score(thread, example))
            found.append(row)
    found.sort(key=lambda row: row.place)
    pool.sort()
    kept = balanced(found)
    if kind == "sign":
        _lend_from_pool(kept, pool)
    else:
        _lend_in_a_ring(kept, options.seed)
    steps = (("posts", len(posts)), *left.items(), ("without the lower half of the positives", len(kept)))
    return selection(kept, options, Funnel(steps, _notes(kept, posts)))


_RULES = (
    "4 or more participants",
    "3 or more usable replies by the post's author",
    "a reply with score, time and usable parent",
    "largest |score| 4 or more",
)


def balanced(rows: list[Row]) -> list[Row]:
    """All negatives, then the positives sorted by score without their first (lowest) half."""
    positives = sorted((row for row in rows if (row.score or 0) > 0), key=lambda row: row.score or 0)
    return [row for row in rows if (row.score or 0) <= 0] + positives[len(positives) // 2 :]


def _lend_from_pool(rows: list[Row], pool: list[tuple[int, str]]) -> None:
    """3.1: the pool's post at the current post's place + 200, around; the two lists do not match."""
    for row in rows:
        row.donor, row.donor_example = pool[(row.place + SHIFT) % len(pool)]


def _lend_in_a_ring(rows: list[Row], seed: int) -> None:
    """3.2: the sample 200 further on in a shuffled list, around; itself when their number divides 200."""
    ring = list(rows)
    random.Random(f"{seed}/3.2/np-conv").shuffle(ring)
    for i, row in enumerate(ring):
        lender = ring[(i + SHIFT) % len(ring)]
        row.donor, row.donor_example = lender.place, lender.reference


def _notes(rows: list[Row], posts: Posts) -> dict[str, float | int | str]:
    return {
        "negatives": sum(row.reference == "negative" or (row.score or 0) < 0 for row in rows),
        "p-conv: default examples": sum(row.few_shot == "default" for row in rows),
        "np-conv: example from the target's own post": sum(row.donor == row.place for row in rows),
        "np-conv: example by the target's author": sum(
            row.donor is not None and posts.owners[row.donor] == posts.owners[row.place] for row in rows
        ),
        "order": "negatives first in corpus order, then positives by ascending score, as the reference writes its "
        "files: the first n lines, which LIMIT takes as the reference's scripts do, are of one class until "
        "the negatives are used up",
        "np-conv order": "the reference shuffles these lines without a seed; here an instance keeps its place",
    }


def _score(thread: Thread, reply: int) -> int | float:
    score = thread[reply].score
    assert score is not None  # scored_replies lists no other
    return score
