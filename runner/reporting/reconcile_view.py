"""What was promised beside what was billed: of one run, and of all finished ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import NOT_DEFINED, billed, count, percent, tokens, usd
from runner.venues import is_rehearsal


@dataclass(frozen=True, slots=True)
class Compared:
    """One setting, or the total. What was promised is of the purchase that was approved; the rest is the bill.

    ``answers`` are rows that came back, ``unmetered`` those answered rows of which no usage is told, ``outside`` those
    that say that they were not served as part of a batch. A request that settings share counts in each. Dollars are
    None where no price is known; where ``is_bound`` those billed are the most that they can be.
    """

    name: str
    promised: int
    answers: int
    promised_input: int
    input_tokens: int
    promised_output: int | None
    output_tokens: int
    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None
    billed_usd: float | None
    unmetered: int
    outside: int
    is_bound: bool = False

    @property
    def error(self) -> float | None:
        """The estimate's error as a share of the bill; None where either is not known or nothing was billed."""
        if self.mid_usd is None or not self.billed_usd:
            return None
        return self.mid_usd / self.billed_usd - 1


@dataclass(frozen=True, slots=True)
class Served:
    """How the ``answers`` that used anything were served, as they say themselves.

    ``untold`` do not say it in words that are known. ``other_tiers`` are the words of those served outside of the
    batch, and ``extra_usd`` what that has cost; None where no price is known.
    """

    answers: int
    untold: int
    other_tiers: tuple[str, ...]
    extra_usd: float | None


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A run's bill against its promise; ``is_finished`` when nothing more is to come of it."""

    provider: str
    venue: str
    settings: tuple[Compared, ...]
    total: Compared
    served: Served
    is_finished: bool


@dataclass(frozen=True, slots=True)
class PastEstimate:
    """A finished run. ``widened`` is by what its interval had been stretched; where ``is_bound`` it cost no more."""

    run: str
    venue: str
    low_usd: float
    mid_usd: float
    high_usd: float
    billed_usd: float
    widened: float = 1.0
    is_bound: bool = False

    @property
    def is_inside(self) -> bool:
        """Whether the bill lies in the interval, to a hundredth of a cent."""
        return self.low_usd - 1e-4 <= self.billed_usd <= self.high_usd + 1e-4

    @property
    def error(self) -> float | None:
        """The estimate's error as a share of the bill."""
        return self.mid_usd / self.billed_usd - 1 if self.billed_usd else None


def reconcile_table(reconciled: Reconciled) -> Table:
    """Settings and their total in rows."""
    rows = tuple(_row(each, reconciled.is_finished) for each in (*reconciled.settings, reconciled.total))
    notes = ["estimated → billed; the error is that of the estimate, as a share of the bill, when all is billed"]
    if reconciled.total.unmetered:
        notes.append(f"{count(reconciled.total.unmetered)} answers came without usage and count at their bound")
    notes += _tier_notes(reconciled)
    marks = [REHEARSAL] if is_rehearsal(reconciled.venue) else []
    if not reconciled.is_finished:
        marks.append("PARTIAL")
    columns = ("setting", "answers", "input tokens", "output tokens", "estimated", "interval", "billed", "error")
    return Table("Billed against estimated", columns, rows, tuple(notes), tuple(marks), strong=(len(rows) - 1,))


def history_table(rows: Sequence[PastEstimate]) -> Table:
    """One row per finished run, rehearsals marked, and of how many intervals the bill lay inside."""
    shown = tuple(
        (
            row.run,
            usd(row.low_usd),
            usd(row.mid_usd),
            usd(row.high_usd),
            billed(row.billed_usd, is_bound=row.is_bound),
            _signed(row.error, is_bound=row.is_bound),
            NOT_DEFINED if row.is_bound else "yes" if row.is_inside else "NO",
        )
        for row in rows
    )
    notes = []
    for name, chosen in (
        ("real runs", [row for row in rows if not is_rehearsal(row.venue)]),
        ("rehearsals (not results)", [row for row in rows if is_rehearsal(row.venue)]),
    ):
        chosen = [row for row in chosen if not row.is_bound]  # what they cost is not known
        if chosen:
            notes.append(f"{name}: {sum(row.is_inside for row in chosen)} of {len(chosen)} bills inside the interval")
    columns = ("run", "low", "expected", "high", "billed", "error", "inside")
    return Table("Past estimates", columns, shown, tuple(notes or ["no finished run yet"]), text_columns=(0, 6))


def _tier_notes(reconciled: Reconciled) -> list[str]:
    """At which tier the answers were served: the batch's, another, or nobody knows."""
    served, n = reconciled.served, reconciled.total.outside
    notes = []
    if n:
        words = " or ".join(f'"{word}"' for word in served.other_tiers)
        where = "".join(f"; {each.name} {count(each.outside)}" for each in reconciled.settings if each.outside)
        said = f"{count(n)} answers were not served at the batch tier (service tier {words}{where})"
        if served.extra_usd is not None:
            said += f": at the standard price they cost {usd(served.extra_usd)} more, which no bound foresees"
        notes.append(said)
    if served.untold == served.answers > 0:
        notes.append(f"at which tier {reconciled.provider} served the answers is not told")
    elif served.untold:
        notes.append(f"at which tier {count(served.untold)} of {count(served.answers)} answers were served is not told")
    elif served.answers and not n:
        notes.append("every answer says that it was served at the batch tier")
    return notes


def _row(each: Compared, is_finished: bool) -> tuple[str, ...]:
    interval = NOT_DEFINED if each.low_usd is None else f"[{usd(each.low_usd)}, {usd(each.high_usd)}]"
    return (
        each.name,
        f"{count(each.promised)} → {count(each.answers)}",
        f"{tokens(each.promised_input)} → {tokens(each.input_tokens)}",
        f"{tokens(each.promised_output)} → {tokens(each.output_tokens)}",
        usd(each.mid_usd),
        interval,
        billed(each.billed_usd, is_bound=each.is_bound),
        _signed(each.error if is_finished else None, is_bound=each.is_bound),
    )


def _signed(share: float | None, *, is_bound: bool) -> str:
    """An error; where the bill is an upper bound, the error is a lower one."""
    if share is None:
        return NOT_DEFINED
    said = percent(0) if share == 0 else f"{'+' if share > 0 else '-'}{percent(abs(share))}"
    return f"≥ {said}" if is_bound else said
