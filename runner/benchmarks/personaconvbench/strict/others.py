"""Real replies that a 3.3 output is ranked against: by comparable strangers, and by the author elsewhere."""

from __future__ import annotations

import numpy as np

from runner.benchmarks.personaconvbench.clean import normalise
from runner.benchmarks.personaconvbench.strict.history import history_items
from runner.benchmarks.personaconvbench.strict.limits import MIN_WORDS, STRANGERS, draw
from runner.benchmarks.personaconvbench.strict.overlap import without_quotes
from runner.benchmarks.personaconvbench.strict.threads import Ints, Threads


class Others:
    """Replies that could be references (usable, by persons, at least 4 words), in a seeded order of their identity."""

    def __init__(self, threads: Threads, seed: int) -> None:
        self._threads, self._seed = threads, seed
        items = history_items(threads, scored=False)
        rows = items.row[items.fresh]
        keys = np.array([draw(seed, "others", identity) for identity in threads.comments.ids.gather(rows)], np.uint64)
        self._fresh_rows, self._fresh_keys = rows, keys
        self._start = np.searchsorted(threads.comments.author[rows], np.arange(len(threads.author_ids) + 1))
        order = np.argsort(keys, kind="stable")
        rows, keys = rows[order], keys[order]
        place = threads.posts.place[threads.comments.post[rows]]
        domain = threads.posts.domain[threads.comments.post[rows]]
        self._rings = [
            {int(code): (rows[kinds == code], keys[kinds == code]) for code in np.unique(kinds)}
            for kinds in (place, domain, np.zeros(len(rows), dtype=np.int64))
        ]

    def by_strangers(self, row: int, shown: Ints) -> list[str]:
        """9 replies by 9 other authors, in no prompt of the instance and not in its post: from the target's place
        (true subreddit, else domain) first, then its domain, then anywhere. Fewer where the corpus has fewer."""
        threads = self._threads
        post = int(threads.comments.post[row])
        used_authors = {int(threads.comments.author[row])}
        used = self._with_parents(shown)
        found: list[str] = []
        for ring, code in zip(self._rings, (threads.posts.place[post], threads.posts.domain[post], 0), strict=True):
            rows, keys = ring.get(int(code), (np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.uint64)))
            start = int(np.searchsorted(keys, np.uint64(draw(self._seed, "ring", threads.comments.ids[row]))))
            for at in range(len(rows)):
                if len(found) == STRANGERS:
                    return found
                candidate = int(rows[(start + at) % len(rows)])
                author = int(threads.comments.author[candidate])
                if author in used_authors or candidate in used or threads.comments.post[candidate] == post:
                    continue
                text = self._reference(candidate)
                if text is not None:
                    used_authors.add(author)
                    found.append(text)
        return found

    def by_author(self, row: int, shown: Ints) -> list[str]:
        """Up to 9 replies by the same author in other posts, at any time, in no prompt of the instance."""
        threads = self._threads
        author = int(threads.comments.author[row])
        his = slice(self._start[author], self._start[author + 1])
        mixed = self._fresh_keys[his] ^ np.uint64(draw(self._seed, "elsewhere", threads.comments.ids[row]))
        used = self._with_parents(shown)
        found: list[str] = []
        for candidate in self._fresh_rows[his][np.argsort(mixed, kind="stable")].tolist():
            if candidate in used or threads.comments.post[candidate] == threads.comments.post[row]:
                continue
            text = self._reference(candidate)
            if text is not None:
                found.append(text)
            if len(found) == STRANGERS:
                break
        return found

    def _with_parents(self, rows: Ints) -> set[int]:
        return set(rows.tolist()) | set(self._threads.comments.parent[rows].tolist())

    def _reference(self, row: int) -> str | None:
        text = without_quotes(self._threads.comments.text[row])
        return text if len(normalise(text).split()) >= MIN_WORDS else None
