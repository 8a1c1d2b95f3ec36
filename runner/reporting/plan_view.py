"""What a sample of each size would cost and show, before it is bought."""

from __future__ import annotations

from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import NOT_DEFINED, NOT_GIVEN, UNKNOWN_PRICE, count, percent, usd
from runner.venues import is_rehearsal


@dataclass(frozen=True, slots=True)
class Width:
    """Half the interval of one effect or setting that a size is expected to give, with its range.

    None where there will be no interval (``note`` says why). ``is_assumed`` where no answer was seen yet.
    """

    name: str
    level: float
    half_width: float | None
    low: float | None
    high: float | None
    is_assumed: bool
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Size:
    """So many whole instances in all settings: what is still to be paid for them, and what they show.

    ``authors`` are the effective ones. Dollars are None where no price is known; ``bound_usd`` is never exceeded.
    """

    instances: int
    to_buy: int
    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None
    bound_usd: float | None
    authors: float
    widths: tuple[Width, ...]


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model: several sizes, that which answers the question (None: ``verdict`` says why), and how to buy it.

    ``reaching`` tells of each effect and setting the fewest instances that give the wanted half-width (None: the
    corpus does not hold enough).
    """

    model: str
    venue: str
    rests_on: str
    sizes: tuple[Size, ...]
    chosen: Size | None
    verdict: str
    command: str | None
    reaching: tuple[tuple[str, int | None], ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """What to buy: candidates side by side over one sample order of ``population`` instances."""

    task: str
    title: str
    metric: str
    population: int
    settings: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    notes: tuple[str, ...] = ()


def plan_tables(plan: Plan) -> tuple[Table, ...]:
    """The candidates' choices beside each other, then the sizes of each."""
    return (_choices(plan), *(_sizes(plan, candidate) for candidate in plan.candidates))


def _choices(plan: Plan) -> Table:
    names = [width.name for width in plan.candidates[0].sizes[-1].widths]
    shown = [name for name in names if name not in plan.settings] or names
    return Table(
        title=f"Plan: {plan.title}, {count(plan.population)} instances in {len(plan.settings)} settings",
        columns=("model", "instances", "to buy", "cost", "authors", *shown, "rests on"),
        rows=tuple(
            (candidate.model, *_chosen(candidate.chosen, shown), candidate.rests_on) for candidate in plan.candidates
        ),
        notes=(
            *(f"{candidate.model}: {candidate.verdict}" for candidate in plan.candidates),
            *(f"{candidate.model}: {reach}" for candidate in plan.candidates if (reach := _reaching(candidate))),
            *plan.notes,
            *(f"to buy it: {candidate.command}" for candidate in plan.candidates if candidate.command),
        ),
        marks=_marks(plan.candidates),
        text_columns=(0, 4 + len(shown)),
    )


def _chosen(size: Size | None, names: list[str]) -> tuple[str, ...]:
    if size is None:
        return (NOT_GIVEN,) * (4 + len(names))
    by_name = {width.name: width for width in size.widths}
    widths = (_width(by_name[name]) for name in names)
    return (count(size.instances), count(size.to_buy), _money(size), f"{size.authors:.0f}", *widths)


def _sizes(plan: Plan, candidate: Candidate) -> Table:
    """Quantities in rows, sizes in columns."""
    sizes = candidate.sizes
    rows = [
        ("to buy", *(count(size.to_buy) for size in sizes)),
        ("cost", *(_money(size) for size in sizes)),
        ("never more than", *(usd(size.bound_usd) for size in sizes)),
        ("effective authors", *(f"{size.authors:.0f}" for size in sizes)),
    ]
    for place, width in enumerate(sizes[-1].widths):
        name = f"{width.name} {percent(width.level)}"
        rows.append((name, *(_width(size.widths[place]) for size in sizes)))
    return Table(
        title=f"{candidate.model} at {candidate.venue}: expected half-widths on {plan.metric}",
        columns=("instances", *(count(size.instances) for size in sizes)),
        rows=tuple(rows),
        notes=(f"rests on {candidate.rests_on}", *candidate.notes),
        marks=_marks((candidate,)),
    )


def _marks(candidates: tuple[Candidate, ...]) -> tuple[str, ...]:
    return (REHEARSAL,) if any(is_rehearsal(candidate.venue) for candidate in candidates) else ()


def _reaching(candidate: Candidate) -> str:
    return "; ".join(
        f"{name} from {count(n)} instances" if n else f"{name} with no sample of this corpus"
        for name, n in candidate.reaching
    )


def _width(width: Width) -> str:
    """``±0.021 [0.018, 0.025]``; a ``?`` marks an assumption."""
    if width.half_width is None or width.low is None or width.high is None:
        return NOT_DEFINED
    mark = "?" if width.is_assumed else ""
    return f"±{width.half_width:.3f}{mark} [{width.low:.3f}, {width.high:.3f}]"


def _money(size: Size) -> str:
    """``$0.95 [$0.92, $1.00]``."""
    if size.low_usd is None or size.high_usd is None:
        return UNKNOWN_PRICE
    return f"{usd(size.mid_usd)} [{usd(size.low_usd)}, {usd(size.high_usd)}]"
