"""The corpus in the order of the processed form: grouped by owner, owners by first appearance."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.deepjson import loads_deep
from runner.benchmarks.personaconvbench.paper.thread import Thread, flatten


@dataclass(frozen=True)
class Posts:
    """Posts by *place*: their 0-based number in that order, which is the reference's running index.

    ``owners`` and ``ids`` (``u{owner number}p{post number}``, both from 1) are by place; ``rows`` says where in
    the file the post of each place stands.
    """

    corpus: PersonaCorpus
    owners: list[str]
    ids: list[str]
    rows: list[int]

    @classmethod
    def of(cls, corpus: PersonaCorpus) -> Posts:
        """Group and number all posts."""
        by_owner: dict[str, list[int]] = {}
        for row, owner in enumerate(corpus.posts(["owner"])["owner"]):
            by_owner.setdefault(owner, []).append(row)
        return cls(
            corpus,
            owners=[owner for owner, rows in by_owner.items() for _ in rows],
            ids=[
                f"u{user}p{number}"
                for user, rows in enumerate(by_owner.values(), 1)
                for number in range(1, len(rows) + 1)
            ],
            rows=[row for rows in by_owner.values() for row in rows],
        )

    def __len__(self) -> int:
        return len(self.ids)

    def threads(self) -> Iterator[tuple[int, Thread]]:
        """``(place, thread)`` of all posts, in the order of the file, so that few are in memory."""
        places = [0] * len(self)
        for place, row in enumerate(self.rows):
            places[row] = place
        for row, (_, post) in enumerate(self.corpus.raw_posts()):
            yield places[row], flatten(post)

    def thread(self, place: int) -> Thread:
        """The post there; the first call brings the whole corpus into memory as text."""
        return flatten(loads_deep(self._raw[self.rows[place]]))

    @cached_property
    def _raw(self) -> pl.Series:
        return self.corpus.posts(["raw"])["raw"]
