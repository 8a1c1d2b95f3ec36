"""How a purchase would go, as the emulator played it: waves, time, bill, and what an expired batch changes."""

from __future__ import annotations

from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import count, duration, usd

SAME = 5e-4
"""Two sums of dollars that differ by less are the same to the cent's tenth."""


@dataclass(frozen=True, slots=True)
class Course:
    """One play of the purchase: requests, files (``batches``), rounds of submission (``waves``).

    ``clock_s`` is from the first create to the last end by the emulator's clock, ``work_s`` what this machine needed
    for it. ``billed_usd`` is the emulator's own bill, ``counted_usd`` what we make of it (None without a price).
    ``bought_again`` are requests sent more than once; none of them was billed twice. ``stopped`` says why it did not
    come to its end.
    """

    requests: int
    answered: int
    batches: int
    waves: int
    expired: int
    bought_again: int
    clock_s: float
    work_s: float
    billed_usd: float
    counted_usd: float | None
    stopped: str | None = None


@dataclass(frozen=True, slots=True)
class Rehearsed:
    """Both plays of a purchase, beside what was estimated for it. ``tier`` is None where there are no tiers."""

    title: str
    tier: str | None
    queue: str
    calm: Course
    troubled: Course
    expiring: float
    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None
    bound_usd: float | None
    window_h: int = 24


def rehearsal_table(shown: Rehearsed) -> Table:
    """Quantities in rows, the two plays in columns."""
    plays = (shown.calm, shown.troubled)
    rows = (
        ("requests answered", *(f"{count(each.answered)} of {count(each.requests)}" for each in plays)),
        ("batches", *(count(each.batches) for each in plays)),
        ("of these expired", *(count(each.expired) for each in plays)),
        ("requests sent again", *(count(each.bought_again) for each in plays)),
        ("waves", *(count(each.waves) for each in plays)),
        ("time, by the emulator's clock", *(duration(each.clock_s) for each in plays)),
        (f"time, at {shown.window_h} h a wave", *(_at_most(each, shown.window_h) for each in plays)),
        ("billed", *(usd(each.billed_usd) for each in plays)),
        ("time for this rehearsal", *(duration(each.work_s) for each in plays)),
    )
    return Table(
        title=f"Rehearsal: {shown.title}",
        columns=("", "all goes well", f"{shown.expiring:.0%} of batches expire, at least one".replace("%", " %")),
        rows=rows,
        notes=tuple(_notes(shown)),
        marks=(REHEARSAL,),
        strong=(4, 7),
    )


def _at_most(course: Course, window_h: int) -> str:
    return duration(course.waves * window_h * 3600)


def _notes(shown: Rehearsed) -> list[str]:
    notes = [f"stopped: {reason}" for reason in dict.fromkeys((shown.calm.stopped, shown.troubled.stopped)) if reason]
    tier = f"tier {shown.tier}; " if shown.tier else ""
    notes.append(f"{tier}{shown.queue}")
    if shown.mid_usd is not None:
        notes.append(
            f"estimated: {usd(shown.mid_usd)}, between {usd(shown.low_usd)} and {usd(shown.high_usd)}; bound: "
            f"{usd(shown.bound_usd)}"
        )
    apart = max((abs(each.billed_usd - each.counted_usd) for each in (shown.calm, shown.troubled)
                 if each.counted_usd is not None), default=None)  # fmt: skip
    if apart is not None:
        same = "is the same" if apart < SAME else f"DIFFERS by {usd(apart)}"
        notes.append(f"our own sum of the answers' costs {same}")
    notes.append("what an expired batch had answered is kept where the provider hands it out")
    notes.append(
        f"the emulator's clock is a guess: 3 to 20 minutes a batch, and 1 s for 100 requests; providers aim at "
        f"{shown.window_h} h"
    )
    notes.append("how long answers are, and what another maker's tokenizer and cache do, the emulator draws at random")
    return notes
