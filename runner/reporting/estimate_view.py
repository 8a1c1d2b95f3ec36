"""What a run is going to cost, shown before it is bought."""

from __future__ import annotations

from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import count, tokens, usd
from runner.venues import is_rehearsal


@dataclass(frozen=True, slots=True)
class EstimateColumn:
    """One setting, or the total. Counts are of requests; tokens are of those to buy.

    ``answered`` are unique requests paid for by an earlier run. Dollars are None where no price is known.
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


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimate per setting. ``total`` is given, not summed: settings may share requests.

    ``bound_usd`` is the most that it can cost; ``notes`` say what the estimate rests on.
    """

    title: str
    venue: str
    settings: tuple[EstimateColumn, ...]
    total: EstimateColumn
    bound_usd: float | None
    notes: tuple[str, ...] = ()
    caution: str | None = None


def estimate_table(estimate: Estimate) -> Table:
    """Quantities in rows, settings and their total in columns."""
    columns = (*estimate.settings, estimate.total)
    rows = (
        ("requests", *(count(column.requests) for column in columns)),
        ("unique", *(count(column.unique) for column in columns)),
        ("already answered", *(count(column.answered) for column in columns)),
        ("to buy", *(count(column.to_buy) for column in columns)),
        ("input tokens", *(tokens(column.input_tokens) for column in columns)),
        ("output tokens", *(_span(column) for column in columns)),
        ("cost, low", *(usd(column.low_usd) for column in columns)),
        ("cost, middle", *(usd(column.mid_usd) for column in columns)),
        ("cost, high", *(usd(column.high_usd) for column in columns)),
    )
    return Table(
        title=f"Estimate: {estimate.title}",
        columns=("", *(column.name for column in columns)),
        rows=rows,
        notes=(f"bound: no more than {usd(estimate.bound_usd)}", *estimate.notes)
        if estimate.bound_usd is not None
        else ("no bound: price unknown", *estimate.notes),
        marks=(REHEARSAL,) if is_rehearsal(estimate.venue) else (),
        caution=estimate.caution,
        strong=(3, 7),
    )


def _span(column: EstimateColumn) -> str:
    low, high = tokens(column.output_tokens_low), tokens(column.output_tokens_high)
    return low if low == high else f"{low} – {high}"
