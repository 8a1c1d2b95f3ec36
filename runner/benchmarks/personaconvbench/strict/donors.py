"""The donor: a comparable stranger whose history stands in for the author's own in the np settings.

Read of the ladder (the protocol leaves room here): "same" is as the *own* history is, not as the target post is,
because only then are the two histories exchangeable where no personal habit exists. Level 0: the place (true
subreddit, else domain) that most of the K items come from and the role of most of them (replies in own posts or
elsewhere) are those of the own K items; level 1: the most frequent domain is; level 2: any. Ties go to the kind of
the newest tied item. "Holding text by a" is judged on exactly the K items that would be printed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from runner.benchmarks.personaconvbench.strict.history import Items
from runner.benchmarks.personaconvbench.strict.limits import DONOR_POOL, NEVER, draw
from runner.benchmarks.personaconvbench.strict.threads import Ints, Threads

_CHUNK = 64


@dataclass(frozen=True, eq=False)
class Donor:
    """``items`` are indices into Items, oldest first, as many as the own history has; ``level`` of the ladder."""

    author: int
    items: Ints
    level: int


@dataclass(frozen=True, eq=False)
class _Rung:
    """Windows sorted by key, then time of their newest item, then author: one array to search per level."""

    keys: Ints
    times: Ints
    ends: Ints


class _Windows:
    """All histories of exactly K deduplicated items, by the position of their newest item."""

    def __init__(self, donors: Donors, k: int) -> None:
        ends = np.flatnonzero(donors.position >= k - 1)
        window = ends[:, None] - np.arange(k - 1, -1, -1)
        place, role, domain = (_most(kind[window]) for kind in (donors.place, donors.role, donors.domain))
        self.rungs = tuple(
            _rung(key, ends, donors.time, donors.author)
            for key in (place * 2 + role, domain, np.zeros(len(ends), dtype=np.int64))
        )


def _most(kinds: Ints) -> Ints:
    """The most frequent value of each row; among equally frequent ones that of the rightmost."""
    width = kinds.shape[1]
    best = np.full(len(kinds), -1, dtype=np.int64)
    chosen = np.zeros(len(kinds), dtype=np.int64)
    for column in range(width):
        count = (kinds == kinds[:, column : column + 1]).sum(axis=1)
        better = count >= best
        chosen[better] = kinds[better, column]
        best[better] = count[better]
    return chosen


def _most_of(kinds: Ints) -> int:
    """``_most`` of one row."""
    values = kinds.tolist()[::-1]
    return int(max(values, key=values.count))


def _rung(key: Ints, ends: Ints, time: Ints, author: Ints) -> _Rung:
    order = np.lexsort((author[ends], time[ends], key))
    return _Rung(keys=key[order], times=time[ends][order], ends=ends[order])


class Donors:
    """Everybody's deduplicated items in order, ready to be searched for the donor of a target.

    A donor wrote nothing in the target's post, so "in posts other than P" holds for every item of his.
    """

    def __init__(self, threads: Threads, items: Items) -> None:
        fresh = np.flatnonzero(items.fresh)
        self._threads = threads
        self._items = items
        self._fresh = fresh
        self.author = items.author[fresh]
        self.time = items.time[fresh]
        self.place = threads.posts.place[items.post[fresh]]
        self.domain = threads.posts.domain[items.post[fresh]]
        self.role = (items.post_author[fresh] == self.author).astype(np.int64)
        starts = np.searchsorted(self.author, self.author, side="left")
        self.position = np.arange(len(fresh)) - starts
        same = np.append(self.author[1:] == self.author[:-1], False) if len(fresh) else np.zeros(0, dtype=bool)
        self.next_time = np.where(same, np.append(self.time[1:], NEVER), NEVER)
        self._windows: dict[int, _Windows] = {}

    def find(
        self, row: int, own: Ints, in_post: frozenset[int], lag_us: int, seed: int, *, match_length: bool = False
    ) -> Donor | None:
        """The donor for a target reply with the own items ``own``; ``in_post`` are the codes of who wrote in its post.

        ``match_length`` (a sensitivity run) takes, of the pool, whoever's replies are as long as the own ones.
        """
        items, k = self._items, len(own)
        author = int(self._threads.comments.author[row])
        shut_out = in_post | {author} | set(items.post_author[own].tolist()) | set(items.parent_author[own].tolist())
        cutoff = int(self._threads.comments.time[row]) - lag_us
        newest = int(items.time[own[-1]])

        def fits(end: int) -> bool:
            if int(self.author[end]) in shut_out:
                return False
            shown = self._fresh[end - k + 1 : end + 1]
            return not ((items.post_author[shown] == author) | (items.parent_author[shown] == author)).any()

        if k not in self._windows:
            self._windows[k] = _Windows(self, k)
        for level, (rung, key) in enumerate(zip(self._windows[k].rungs, self._own_keys(own), strict=True)):
            pool = self._nearest(rung, key, newest, cutoff, fits)
            if pool:
                end = self._choose(pool, row, own, seed, match_length)
                return Donor(int(self.author[end]), self._fresh[end - k + 1 : end + 1], level)
        return None

    def _own_keys(self, own: Ints) -> tuple[int, int, int]:
        items, posts = self._items, self._threads.posts
        in_own_post = items.post_author[own] == items.author[own]
        place, domain = _most_of(posts.place[items.post[own]]), _most_of(posts.domain[items.post[own]])
        return place * 2 + _most_of(in_own_post), domain, 0

    def _nearest(self, rung: _Rung, key: int, newest: int, cutoff: int, fits: Callable[[int], bool]) -> list[int]:
        """Up to 20 fitting windows of a key whose newest item is closest in time to ``newest``.

        A window counts for a cutoff when its newest item is the author's last one before it, so that each author
        is met at most once.
        """
        low, high = (int(np.searchsorted(rung.keys, key, side)) for side in ("left", "right"))
        high = low + int(np.searchsorted(rung.times[low:high], cutoff, "right"))
        middle = low + int(np.searchsorted(rung.times[low:high], newest, "left"))
        found = self._walk(rung, middle, high, 1, cutoff, fits) + self._walk(rung, low, middle, -1, cutoff, fits)
        found.sort(key=lambda end: (abs(int(self.time[end]) - newest), int(self.author[end])))
        return found[:DONOR_POOL]

    def _walk(self, rung: _Rung, low: int, high: int, step: int, cutoff: int, fits: Callable[[int], bool]) -> list[int]:
        """The first 20 fitting windows of ``low … high - 1``, upwards or downwards."""
        found: list[int] = []
        size = _CHUNK
        while low < high and len(found) < DONOR_POOL:
            if step > 0:
                ends, low = rung.ends[low : min(high, low + size)], min(high, low + size)
            else:
                ends, high = rung.ends[max(low, high - size) : high][::-1], max(low, high - size)
            for end in ends[self.next_time[ends] > cutoff].tolist():
                if fits(end):
                    found.append(end)
                    if len(found) == DONOR_POOL:
                        break
            size *= 4
        return found

    def _choose(self, pool: list[int], row: int, own: Ints, seed: int, match_length: bool) -> int:
        identity = self._threads.comments.ids[row]
        if not match_length:
            return pool[draw(seed, "donor", identity) % len(pool)]
        chars = self._threads.comments.entry_chars
        wanted = chars[self._items.row[own]].sum()
        k = len(own)

        def distance(end: int) -> int:
            return abs(int(chars[self._items.row[self._fresh[end - k + 1 : end + 1]]].sum() - wanted))

        return min(pool, key=distance)
