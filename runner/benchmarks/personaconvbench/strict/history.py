"""What an author wrote elsewhere and before: the items of a history, and an author's own history for a target."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.benchmarks.personaconvbench.strict.limits import MAX_ITEMS, NEVER
from runner.benchmarks.personaconvbench.strict.threads import Bools, Ints, Threads


@dataclass(frozen=True, eq=False)
class Items:
    """Every comment that may stand in somebody's history, by author, then time, then identity.

    An author's items are ``start[author] … start[author + 1] - 1``. ``fresh`` marks the earliest of each author's
    normalised duplicates. ``post_author`` and ``parent_author`` wrote the item's title and parent (-1: unknown).
    """

    row: Ints
    author: Ints
    time: Ints
    post: Ints
    post_author: Ints
    parent_author: Ints
    fresh: Bools
    start: Ints


def history_items(threads: Threads, *, scored: bool) -> Items:
    """Usable comments by persons with usable parents; ``scored`` (3.1, 3.2): with a score, which the item prints.

    An item's post and parent must not be later than the item itself (a broken clock), or an item that lies before
    the target could still print a text from after it. Ancestors that are not printed do not matter.
    """
    comments, posts = threads.comments, threads.posts
    person = (comments.author >= 0) & np.append(threads.is_person, False)[comments.author]
    in_comment = comments.parent >= 0
    parent_usable = np.where(in_comment, comments.usable[comments.parent], posts.usable[comments.post])
    before = np.where(in_comment, comments.time[comments.parent], posts.time[comments.post])
    before = np.maximum(before, posts.time[comments.post])
    keep = person & comments.usable & parent_usable & (comments.time < NEVER) & (before <= comments.time)
    if scored:
        keep &= ~np.isnan(comments.score)
    rows = np.flatnonzero(keep)
    identity = threads.comments.ids.gather(rows).rank("dense").to_numpy() if len(rows) else rows
    rows = rows[np.lexsort((rows, identity, comments.time[rows], comments.author[rows]))]
    author = comments.author[rows]
    parent = comments.parent[rows]
    post_author = posts.author[comments.post[rows]]
    return Items(
        row=rows,
        author=author,
        time=comments.time[rows],
        post=comments.post[rows],
        post_author=post_author,
        parent_author=np.where(parent >= 0, comments.author[parent], post_author),
        fresh=_first_of_pairs(author, comments.norm[rows]),
        start=np.searchsorted(author, np.arange(len(threads.author_ids) + 1)),
    )


def _first_of_pairs(author: Ints, norm: np.ndarray[tuple[int], np.dtype[np.uint64]]) -> Bools:
    """Whether no earlier entry has the same author and norm."""
    order = np.lexsort((np.arange(len(author)), norm, author))
    same = (author[order][1:] == author[order][:-1]) & (norm[order][1:] == norm[order][:-1])
    first = np.ones(len(author), dtype=bool)
    first[order[1:][same]] = False
    return first


def own_history(threads: Threads, items: Items, row: int, lag_us: int, wanted: int) -> Ints:
    """Indices into ``items`` of the most recent ones for a target reply, oldest first, at most ``wanted``.

    Of normalised duplicates in posts other than the target's the earliest stays, as in rule 6.
    """
    comments = threads.comments
    low, high = items.start[comments.author[row]], items.start[comments.author[row] + 1]
    high = low + np.searchsorted(items.time[low:high], comments.time[row] - lag_us, side="right")
    post = comments.post[row]
    found: list[int] = []
    for i in range(int(high) - 1, int(low) - 1, -1):
        if len(found) == wanted:
            break
        if items.post[i] == post:
            continue
        if items.fresh[i] or not _repeats(threads, items, i, int(low), int(post)):
            found.append(i)
    return np.array(found[::-1], dtype=np.int64)


def _repeats(threads: Threads, items: Items, i: int, low: int, post: int) -> bool:
    """Whether an earlier item outside the post has the same normalised text."""
    norm = threads.comments.norm
    earlier = slice(low, i)
    return bool(((norm[items.row[earlier]] == norm[items.row[i]]) & (items.post[earlier] != post)).any())


def wanted_items(min_history: int) -> int:
    """How many items must be looked for to know both K and whether there are enough."""
    return max(MAX_ITEMS, min_history)
