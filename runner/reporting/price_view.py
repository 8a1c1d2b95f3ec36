"""What a million tokens of a model cost: in a batch, without one, above which length, and from which day on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from runner.reporting.table import Table
from runner.reporting.words import NOT_GIVEN, UNKNOWN_PRICE, count

COLUMNS = ("$ per million tokens", "input", "cached input", "cache write (5 min)", "cache write (1 h)", "output")


@dataclass(frozen=True, slots=True)
class Tier:
    """USD per million tokens, for requests with more than ``above_tokens`` of input (0: for all others)."""

    input: float
    cached_input: float
    cache_write: float
    cache_write_long: float
    output: float
    above_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Terms:
    """A price as it is known: its tiers, who says so, when that was looked up, and what is taken for true."""

    tiers: tuple[Tier, ...]
    source: str
    checked: date
    assumed: str | None = None


@dataclass(frozen=True, slots=True)
class PriceSheet:
    """All that is known of one model's prices on ``day``; None where nothing is.

    ``changes`` are the days from which on a batch costs something else. ``retires`` is the first day without the model.
    """

    model: str
    provider: str
    day: date
    batch: Terms | None
    standard: Terms | None
    changes: tuple[tuple[date, Terms | None], ...] = ()
    retires: date | None = None


def price_table(sheet: PriceSheet) -> Table:
    """A row per tier: in a batch today, without batch, and in a batch from each day of a change."""
    known: list[tuple[str, Terms | None]] = [("batch", sheet.batch), ("without batch", sheet.standard)]
    known += [(f"batch from {day}", terms) for day, terms in sheet.changes]
    if not any(terms for _, terms in known):
        known = []
    return Table(
        title=f"Prices of {sheet.model} at {sheet.provider} on {sheet.day}",
        columns=COLUMNS,
        rows=tuple(row for name, terms in known for row in _rows(name, terms)),
        notes=(*_notes(known, sheet), *_ends(sheet)),
        strong=(0,) if sheet.batch else (),
    )


def _rows(name: str, terms: Terms | None) -> list[tuple[str, ...]]:
    if terms is None:
        return [(f"{name}: {UNKNOWN_PRICE}", *[NOT_GIVEN] * (len(COLUMNS) - 1))]
    mark = "*" if terms.assumed else ""
    return [
        (
            f"{name}{mark}" + (f", above {count(tier.above_tokens)} tokens" if tier.above_tokens else ""),
            _rate(tier.input),
            _rate(tier.cached_input),
            _rate(tier.cache_write),
            _rate(tier.cache_write_long) if tier.cache_write_long != tier.cache_write else NOT_GIVEN,
            _rate(tier.output),
        )
        for tier in terms.tiers
    ]


def _rate(usd: float) -> str:
    """Rates are exact and may be small: all digits, without the noise of binary fractions."""
    return f"{usd:.6g}"


def _notes(known: list[tuple[str, Terms | None]], sheet: PriceSheet) -> list[str]:
    """Where each price comes from; an assumption is said once, for all that rest on it."""
    origins: dict[str, list[str]] = {}
    for name, terms in known:
        if terms:
            origins.setdefault(f"{terms.source}, checked {terms.checked}", []).append(name)
    notes = [f"{', '.join(names)}: {origin}" for origin, names in origins.items()]
    notes += [f"* {said}" for said in dict.fromkeys(terms.assumed for _, terms in known if terms and terms.assumed)]
    if known:
        notes.append("cached and written tokens cost what input costs where no other price in a batch is documented")
    if sheet.batch is None:
        notes.insert(0, f"{UNKNOWN_PRICE}: none is recorded for a batch of {sheet.model} at {sheet.provider}")
    return notes


def _ends(sheet: PriceSheet) -> list[str]:
    notes = [] if sheet.changes or sheet.batch is None else ["no change of the batch price is announced"]
    if sheet.retires is not None:
        notes.append(f"the model {'was' if sheet.retires <= sheet.day else 'is'} shut down on {sheet.retires}")
    return notes
