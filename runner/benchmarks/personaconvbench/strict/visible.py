"""Which comments the thread block of a reply shows: what was there before it, from the parent outwards, to a budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runner.benchmarks.personaconvbench.strict.limits import THREAD_CHARS
from runner.benchmarks.personaconvbench.strict.threads import Bools, Ints, Threads

_LAST_SENTENCE = 40
_MARK = 70
"""Characters kept free for "The reply answers #n." and for the mark of dropped ancestors."""


@dataclass(frozen=True, eq=False)
class Shown:
    """``rows`` in time order; ``gap`` ancestors between the top comment and the next one shown were dropped.

    ``kept_chars`` and ``dropped_chars`` are of the entries as printed; dropped are visible comments left out.
    """

    rows: Ints
    gap: int
    dropped: int
    kept_chars: int
    dropped_chars: int


def path_to(threads: Threads, row: int) -> list[int]:
    """The parents of a row, from its top-level comment down; empty when it answers the post."""
    parent = threads.comments.parent
    path = []
    up = int(parent[row])
    while up >= 0:
        path.append(up)
        up = int(parent[up])
    return path[::-1]


def visible_rows(threads: Threads, row: int) -> Ints:
    """Comments of the post that are strictly earlier than the reply, as are all their ancestors.

    A comment under one that is not visible cannot be printed in its place ("whose own parent is in"), whatever its
    own clock says; so the reply's descendants are out by themselves.
    """
    comments = threads.comments
    p = comments.post[row]
    rows = np.arange(threads.posts.first[p], threads.posts.first[p + 1])
    time = comments.time[row]
    visible: Ints = rows[(comments.time[rows] < time) & (comments.latest[rows] < time)]
    return visible


def shown_rows(threads: Threads, row: int) -> Shown:
    """The thread of a reply. First the path to the parent, then by edges to the parent, latest first, number.

    Where the path alone is too long, the top comment, the parent and the ancestors nearest to the parent stay; the
    dropped ancestors are the first that does not fit, so nothing else comes in.
    """
    comments = threads.comments
    visible = visible_rows(threads, row)
    path = path_to(threads, row)
    kept_path, gap = _fit_path(comments.entry_chars, path)
    budget = THREAD_CHARS - _LAST_SENTENCE - (_MARK if gap else 0) - int(comments.entry_chars[kept_path].sum())
    kept = np.array(kept_path, dtype=np.int64)
    if not gap:
        others = visible[~np.isin(visible, kept)]
        edges = _edges_to(threads, path, others)
        order = np.lexsort((comments.number[others], -comments.time[others], edges))
        others = others[order]
        fitting = np.cumsum(comments.entry_chars[others]) <= budget
        kept = np.concatenate([kept, others[fitting]])
    chars = int(comments.entry_chars[kept].sum())
    return Shown(
        rows=kept[np.argsort(comments.number[kept])],
        gap=gap,
        dropped=len(visible) - len(kept),
        kept_chars=chars,
        dropped_chars=int(comments.entry_chars[visible].sum()) - chars,
    )


def _fit_path(entry_chars: Ints, path: list[int]) -> tuple[list[int], int]:
    """The path, or its top and as much of its lower end as fits, and how many were dropped."""
    if int(entry_chars[path].sum()) <= THREAD_CHARS - _LAST_SENTENCE:
        return path, 0
    left = THREAD_CHARS - _LAST_SENTENCE - _MARK - int(entry_chars[path[0]] + entry_chars[path[-1]])
    kept = [path[-1]]
    for row in reversed(path[1:-1]):
        left -= int(entry_chars[row])
        if left < 0:
            break
        kept.append(row)
    return [path[0], *reversed(kept)], len(path) - 1 - len(kept)


def _edges_to(threads: Threads, path: list[int], rows: Ints) -> Ints:
    """Edges between each row and the reply's parent (the post, where the path is empty)."""
    comments = threads.comments
    target_depth = len(path)  # of the parent, the post being 0
    edges = comments.depth[rows] + 1 + target_depth
    for depth, ancestor in enumerate(path, 1):
        below = (rows >= ancestor) & (rows < comments.end[ancestor])
        edges[below] = comments.depth[rows[below]] + 1 + target_depth - 2 * depth
    return edges


def shows_another(threads: Threads, row: int, rows: Ints, *, besides_parent: bool) -> bool:
    """Whether a usable comment by another than the reply's author is among ``rows`` (3.3: besides its parent)."""
    comments = threads.comments
    by_another: Bools = comments.usable[rows] & (comments.author[rows] != comments.author[row])
    if besides_parent:
        by_another &= rows != comments.parent[row]
    return bool(by_another.any())
