"""Prices as values: what a million tokens of each kind cost, since when that is known, and from whom."""

from __future__ import annotations

from dataclasses import dataclass, fields
from datetime import date

MILLION = 1_000_000


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens: plain input, input read from the cache, input written to it, and output.

    ``cache_write_long`` is for what the provider keeps an hour (Anthropic's only; elsewhere it is ``cache_write``).
    A rate that nobody documents is that of ``input``: caching without a price is no discount, and writing is never
    cheaper than not writing.
    """

    input: float
    cached_input: float
    cache_write: float
    cache_write_long: float
    output: float

    def times(self, factor: float) -> Rates:
        """Every rate multiplied."""
        return Rates(**{field.name: getattr(self, field.name) * factor for field in fields(Rates)})

    def or_dearer(self, other: Rates) -> Rates:
        """The higher of both, rate by rate."""
        names = (field.name for field in fields(Rates))
        return Rates(**{name: max(getattr(self, name), getattr(other, name)) for name in names})


@dataclass(frozen=True, slots=True)
class Price:
    """What a model costs. Above ``long_above_tokens`` of input the whole request costs ``long`` instead of ``base``.

    ``writes_unasked`` where the provider writes prompts to its cache by itself (OpenAI) and not only when asked to
    (Anthropic). ``assumed`` says in a sentence why the price is less certain than its source; None where it is not.
    ``in_batch`` is False for what the same request costs outside of a batch.
    """

    base: Rates
    source: str
    checked: date
    long_above_tokens: int | None = None
    long: Rates | None = None
    writes_unasked: bool = True
    assumed: str | None = None
    in_batch: bool = True

    def __str__(self) -> str:
        return (
            f"{self.base.input:.6g} in / {self.base.output:.6g} out USD per million tokens, "
            f"{'batch' if self.in_batch else 'without batch'} ({self.source}, checked {self.checked})"
        )

    def costs_the_same(self, other: Price) -> bool:
        """Whether every request is billed alike, whatever the two are known from."""
        mine, theirs = ((each.base, each.long_above_tokens, each.long) for each in (self, other))
        return mine == theirs
