"""Batches on their way: what is known of each, as a table and as a sentence."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import NOT_GIVEN, count, duration, tokens, usd
from runner.venues import EMULATOR

NEXT = {
    "intended": "upload",
    "uploaded": "create",
    "created": "wait",
    "ended": "collect",
    "collected": "close",
    "closed": "done",
    "unclear": "look for it",
}
"""What happens next to a job in each state of the ledger; an unknown state stands for itself."""
_UNSENT = "intended"
_OVER = ("ended", "collected", "closed")
_COLUMNS = ("batch", "state → next", "done", "failed", "in flight", "of", "tokens", "cost", "time")


@dataclass(frozen=True, slots=True)
class JobView:
    """One batch. ``done`` have an answer, ``failed`` an error, the rest of ``total`` are in flight once it is sent.

    ``tokens`` and ``usd`` are those so far, None where they are not known; ``elapsed_s`` is since creation.
    """

    run: str
    batch: str
    state: str
    total: int
    done: int
    failed: int
    tokens: int | None
    usd: float | None
    elapsed_s: float

    @property
    def is_over(self) -> bool:
        """Whether the provider has ended it."""
        return self.state in _OVER

    @property
    def in_flight(self) -> int:
        """Neither answered nor failed, while the job is or may be at the provider; before and after that nothing is."""
        return 0 if self.is_over or self.state == _UNSENT else max(0, self.total - self.done - self.failed)

    @property
    def is_rehearsal(self) -> bool:
        """Whether the run's folder says that the emulator answers."""
        return EMULATOR in self.run.split("__")


def status_table(jobs: Sequence[JobView], most: int | None = None) -> Table:
    """One row per batch and, of several, their sum; the run is a column where there is more than one.

    At most ``most`` batches get a row, the unfinished first; the rest are counted in a note and in the sum.
    """
    runs = tuple(dict.fromkeys(job.run for job in jobs))
    many = len(runs) > 1
    shown = foremost(jobs, len(jobs) if most is None else most)
    rows = [(*_name(job, many), _state(job.state), *_figures([job])) for job in shown]
    if len(jobs) > 1:
        rows.append(("all", *(("", "") if many else ("",)), *_figures(jobs)))
    return Table(
        title=f"{count(len(runs))} runs" if many else "".join(runs) or "nothing in flight",
        columns=("run", *_COLUMNS) if many else _COLUMNS,
        rows=tuple(rows),
        notes=tuple(_notes(jobs, len(shown))),
        marks=(REHEARSAL,) if jobs and all(job.is_rehearsal for job in jobs) else (),
        text_columns=(0, 1, 2) if many else (0, 1),
        strong=(len(shown),) if len(jobs) > 1 else (),
    )


def sentences(jobs: Sequence[JobView]) -> list[str]:
    """The same, a line for each batch, for logs and for narrow screens."""
    return [f"{job.run} {job.batch} {_state(job.state)}: {_sentence([job])}".strip() for job in jobs]


def total_sentence(jobs: Sequence[JobView]) -> str:
    """A line for all of them together."""
    return f"all {count(len(jobs))} batches: {_sentence(jobs)}"


def foremost(jobs: Sequence[JobView], most: int) -> list[JobView]:
    """At most ``most`` of them, as they stand; where some must go, the unfinished come first and stay."""
    return list(jobs) if most >= len(jobs) else sorted(jobs, key=lambda job: job.is_over)[: max(0, most)]


def _name(job: JobView, with_run: bool) -> tuple[str, ...]:
    return (job.run, job.batch) if with_run else (job.batch,)


def _figures(jobs: Sequence[JobView]) -> tuple[str, ...]:
    """Done, failed, in flight, of, tokens, cost, (longest) elapsed of one batch or of several."""
    return (
        count(sum(job.done for job in jobs)),
        count(sum(job.failed for job in jobs)),
        count(sum(job.in_flight for job in jobs)),
        count(sum(job.total for job in jobs)),
        _sum([job.tokens for job in jobs], tokens),
        _sum([job.usd for job in jobs], usd),
        duration(max(job.elapsed_s for job in jobs)),
    )


def _sentence(jobs: Sequence[JobView]) -> str:
    done, failed, in_flight, of, spent, cost, elapsed = _figures(jobs)
    return f"{done} done, {failed} failed, {in_flight} in flight of {of}; {spent} tokens; cost {cost}; {elapsed}"


def _sum(values: Sequence[float | None], say: Callable[[float], str]) -> str:
    """What is known; marked ``≥`` where it is not known of all: a part must not pass for the whole."""
    known = [value for value in values if value is not None]
    if not known:
        return NOT_GIVEN
    return say(sum(known)) if len(known) == len(values) else f"≥{say(sum(known))}"


def _state(state: str) -> str:
    return f"{'not sent' if state == _UNSENT else state} → {NEXT[state]}" if state in NEXT else state


def _notes(jobs: Sequence[JobView], shown: int) -> list[str]:
    notes = [f"and {count(len(jobs) - shown)} more"] if shown < len(jobs) else []
    if len({job.is_rehearsal for job in jobs}) > 1:
        notes.append(f"a run named __{EMULATOR} is a rehearsal, not a result")
    return notes
