"""What a run is going to cost, shown before it is bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import NOT_DEFINED, count, percent, tokens, usd
from runner.venues import is_rehearsal

CLOSE = 0.02
"""An interval of the input that is not wider than this share of it is not shown: the count is as good as exact."""


@dataclass(frozen=True, slots=True)
class EstimateColumn:
    """One setting, or the total. Counts are of requests; tokens and dollars are of those to buy.

    ``answered`` are unique requests paid for by an earlier run, ``not_sent`` those approved before in batches that did
    not get to the provider; what is none of these and not to buy is in flight. Tokens and dollars without low or high
    in their name are expected values, ``mid_usd`` too. ``cached_tokens`` are those of the input that the provider is
    expected to read from its cache; None where that changes no price. ``standard_usd`` is what the same would cost
    without batch, ``repeated_usd`` with every repeated request bought, ``uncached_usd`` without a cache. Dollars are
    None where no price is known.
    """

    name: str
    requests: int
    unique: int
    answered: int
    to_buy: int
    input_tokens: int
    output_tokens_low: int
    output_tokens_high: int
    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None
    input_tokens_low: int | None = None
    input_tokens_high: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    standard_usd: float | None = None
    repeated_usd: float | None = None
    uncached_usd: float | None = None
    not_sent: int = 0

    @property
    def in_flight(self) -> int:
        """Unique requests that are, or may be, at the provider."""
        return self.unique - self.answered - self.to_buy - self.not_sent


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate per setting. ``total`` is given, not summed: settings may share requests.

    ``bound_usd`` is the most that it can cost, if what ``bound_assumes`` says of the price is true; ``notes`` say what
    the estimate rests on. ``batches`` (files) go out in ``waves``, each with the provider's window of ``window_h``
    hours; None where no limits are known. ``widened`` is by what the interval is stretched, because earlier ones were
    too narrow.
    """

    title: str
    venue: str
    settings: tuple[EstimateColumn, ...]
    total: EstimateColumn
    bound_usd: float | None
    notes: tuple[str, ...] = ()
    caution: str | None = None
    batches: int | None = None
    waves: int | None = None
    window_h: int = 24
    widened: float = 1.0
    bound_assumes: str | None = None


def estimate_table(estimate: Estimate) -> Table:
    """Quantities in rows, settings and their total in columns."""
    columns = (*estimate.settings, estimate.total)
    rows = (
        ("requests", *(count(column.requests) for column in columns)),
        ("unique", *(count(column.unique) for column in columns)),
        ("already answered", *(count(column.answered) for column in columns)),
        *_where_any("in flight", [column.in_flight for column in columns]),
        *_where_any("not sent", [column.not_sent for column in columns]),
        ("to buy", *(count(column.to_buy) for column in columns)),
        ("input tokens", *(_input(column) for column in columns)),
        ("expected from cache", *(_cached(column) for column in columns)),
        ("output tokens", *(_output(column) for column in columns)),
        ("cost, low", *(usd(column.low_usd) for column in columns)),
        ("cost, expected", *(usd(column.mid_usd) for column in columns)),
        ("cost, high", *(usd(column.high_usd) for column in columns)),
        ("without batch", *(usd(column.standard_usd) for column in columns)),
        ("without dedupe", *(usd(column.repeated_usd) for column in columns)),
        ("without cache", *(usd(column.uncached_usd) for column in columns)),
    )
    return Table(
        title=f"Estimate: {estimate.title}",
        columns=("", *(column.name for column in columns)),
        rows=rows,
        notes=(_bound(estimate), *_travel(estimate), *estimate.notes),
        marks=(REHEARSAL,) if is_rehearsal(estimate.venue) else (),
        caution=estimate.caution,
        strong=tuple(place for place, row in enumerate(rows) if row[0] in ("to buy", "cost, expected")),
    )


def _where_any(name: str, counts: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    """A row of these counts, where there is anything to count."""
    return ((name, *map(count, counts)),) if any(counts) else ()


def _bound(estimate: Estimate) -> str:
    """The most that it can cost, and what that rests on."""
    if estimate.bound_usd is None:
        return "no bound: price unknown"
    assumed = f" (assumed: {estimate.bound_assumes})" if estimate.bound_assumes else ""
    return f"bound: no more than {usd(estimate.bound_usd)}{assumed}"


def _travel(estimate: Estimate) -> tuple[str, ...]:
    """How long it may take, by the provider's word alone."""
    if not estimate.waves or not estimate.batches:
        return ()
    files = f"{count(estimate.batches)} batch{'' if estimate.batches == 1 else 'es'}"
    if estimate.waves == 1:
        return (f"{files} in 1 wave, up to {estimate.window_h} h; usually less",)
    hours = count(estimate.waves * estimate.window_h)
    return (
        f"{files} in {count(estimate.waves)} waves, one after another, each up to {estimate.window_h} h: up to {hours} "
        f"h in all; usually less",
    )


def _input(column: EstimateColumn) -> str:
    low, high = column.input_tokens_low, column.input_tokens_high
    expected = tokens(column.input_tokens)
    if low is None or high is None or high - low <= CLOSE * column.input_tokens:
        return expected
    return f"{expected} [{tokens(low)}, {tokens(high)}]"


def _output(column: EstimateColumn) -> str:
    low, high = tokens(column.output_tokens_low), tokens(column.output_tokens_high)
    if column.output_tokens is None:
        return low if low == high else f"{low} – {high}"
    expected = tokens(column.output_tokens)
    return expected if low == high else f"{expected} [{low}, {high}]"


def _cached(column: EstimateColumn) -> str:
    if column.cached_tokens is None or not column.input_tokens:
        return NOT_DEFINED
    return percent(min(1.0, column.cached_tokens / column.input_tokens))
