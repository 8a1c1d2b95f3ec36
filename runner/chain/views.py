"""Where runs stand, as tables: what the ledger and the files say, put into the words of the reporting room."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime

from runner.chain.data import Found
from runner.chain.orphans import Orphan
from runner.chain.queues import queue_of
from runner.chain.runs import Run
from runner.chain.standing import OpenJob, Standing
from runner.chain.verify import Check
from runner.ledger import Ledger
from runner.providers.base import Limits
from runner.reporting.jobs import JobView
from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import NOT_GIVEN, billed, count, duration, usd
from runner.venues import is_rehearsal


def standing_table(standings: Sequence[Standing], ledger: Ledger, notes: Sequence[str] = ()) -> Table:
    """One row per run: answered, in flight (by its own jobs), waiting, money, and what happens next.

    What did not get to the provider has a column where there is any; what other runs' jobs hold is said in words.
    """
    rehearsals = [is_rehearsal(standing.run.asked.venue) for standing in standings]
    is_any_unsent = any(standing.not_sent for standing in standings)
    rows = []
    for standing in standings:
        spent = ledger.spent(run=standing.run.name)
        rows.append(
            (
                standing.run.name,
                f"{count(standing.final)} of {count(standing.total)}",
                count(standing.in_flight),
                *((count(standing.not_sent),) if is_any_unsent else ()),
                count(standing.waiting),
                billed(spent.billed_usd if spent.is_known else None, is_bound=spent.is_bound),
                usd(spent.reserved_usd if spent.is_known else None),
                standing.next,
            )
        )
    unsent = ("not sent",) if is_any_unsent else ()
    columns = ("run", "answered", "in flight", *unsent, "waiting", "billed", "held back", "next")
    return Table(
        title="Runs",
        columns=columns,
        rows=tuple(rows),
        marks=(REHEARSAL,) if rehearsals and all(rehearsals) else (),
        text_columns=(0, len(columns) - 1),
        notes=tuple(notes),
    )


def standing_notes(standings: Sequence[Standing], ledger: Ledger, limits: Callable[[Run], Limits]) -> list[str]:
    """The queue of each model that has work out, the oldest job, and until when the provider keeps results."""
    now = datetime.now(UTC)
    notes = []
    queues = {(s.run.asked.venue, s.run.asked.model): s.run for s in standings if s.open_jobs}
    for (venue, model), run in queues.items():
        notes.append(f"queue of {model} at {venue}: {queue_of(ledger, venue, None, model, limits(run), now)}")
    out = {
        job.job.job: job.job
        for standing in standings
        for job in standing.open_jobs
        if not is_rehearsal(job.job.venue)  # their clock is another
    }
    if made := [job.created_at for job in out.values() if job.created_at]:
        notes.append(f"the oldest job is {duration((now - min(made)).total_seconds())} old")
    jobs = [job for standing in standings for job in ledger.jobs(run=standing.run.name)]
    if kept := [job.retain_until for job in jobs if job.retain_until]:
        notes.append(f"the provider keeps the oldest of these results until {min(kept):%Y-%m-%d %H:%M} UTC")
    return notes


def job_views(standings: Sequence[Standing], ledger: Ledger) -> list[JobView]:
    """The batches still out, and those of these runs that are home."""
    views: dict[str, JobView] = {}
    for standing in standings:
        for open_job in standing.open_jobs:
            views[open_job.job.job] = _view(open_job)
        for job in ledger.jobs(run=standing.run.name):
            if job.job not in views and job.part:
                answered = job.answered or 0
                views[job.job] = JobView(
                    run=job.run,
                    batch=f"{job.stage}.{job.batch}",
                    state=str(job.state),
                    total=job.n,
                    done=answered,
                    failed=job.n - answered,
                    tokens=job.tokens,
                    usd=job.billed_usd,
                    elapsed_s=_seconds(job.created_at, job.ended_at),
                )
    return sorted(views.values(), key=lambda view: (view.run, *map(int, view.batch.split("."))))


def _view(open_job: OpenJob) -> JobView:
    job, status = open_job.job, open_job.status
    return JobView(
        run=job.run,
        batch=f"{job.stage}.{job.batch}",
        state=str(job.state),
        total=job.n,
        done=(status.done or 0) if status else 0,
        failed=(status.failed or 0) if status else 0,
        tokens=job.tokens,
        usd=None,
        elapsed_s=_seconds(status.created_at or job.created_at, status.at)
        if status
        else _seconds(job.created_at, datetime.now(UTC)),
    )


def _seconds(start: datetime | None, end: datetime | None) -> float:
    return max(0.0, (end - start).total_seconds()) if start and end else 0.0


def funnel_table(run: Run) -> Table:
    """Replies left after each rule, in order, and what a reader must know about them."""
    return Table(
        title=f"{run.asked.task} {run.asked.protocol}: selection",
        columns=("rule", "left"),
        rows=tuple((step, count(left)) for step, left in run.funnel.steps),
        notes=tuple(f"{name}: {value}" for name, value in run.funnel.notes.items()),
        marks=(REHEARSAL,) if is_rehearsal(run.asked.venue) else (),
        caution=run.caution,
    )


def found_tables(title: str, found: Found) -> tuple[Table, Table]:
    """What a corpus holds, and the strict funnels side by side."""
    facts = tuple((name, _said(value)) for name, value in found.facts.items())
    funnels = {task: dict(selection.funnel.steps) for task, selection in found.selections.items()}
    met = dict.fromkeys(rule for steps in funnels.values() for rule in steps)
    rules = sorted(met, key=lambda rule: rule[0] if rule[0].isdigit() else "")  # tasks differ in a rule, not in order
    rows = tuple((rule, *(_said(steps.get(rule, "")) for steps in funnels.values())) for rule in rules)
    explained = [f"{task}: {each.explanation}" for task, each in found.selections.items() if each.explanation]
    return (
        Table(title=title, columns=("", "found"), rows=facts, text_columns=(0, 1)),
        Table(
            title="What strict would select: replies left after each rule",
            columns=("rule", *funnels),
            rows=rows,
            notes=tuple(explained),
        ),
    )


def orphan_table(venue: str, orphans: Sequence[Orphan]) -> Table:
    """What the account keeps at a venue that the ledger does not know."""
    rows = []
    for orphan in orphans:
        unit = "requests" if orphan.kind == "job" else "bytes"
        size = NOT_GIVEN if orphan.size is None else f"{count(orphan.size)} {unit}"
        age = NOT_GIVEN if orphan.age_s is None else duration(orphan.age_s)
        rows.append((orphan.kind, orphan.name, orphan.what, size, age, orphan.run or NOT_GIVEN))
    return Table(
        title=f"Unknown to this folder's ledger, at {venue}",
        columns=("", "id", "state or name", "size", "age", "run that it names"),
        rows=tuple(rows),
        notes=(
            "they may belong to another folder or program that uses this account; nothing is done unasked",
            "`make orphans ADOPT=…` takes a job in; persona-runner orphans --cancel JOB or --delete FILE ends one",
        )
        if rows
        else ("nothing: every job and file of the account is known here",),
        marks=(REHEARSAL,) if is_rehearsal(venue) else (),
        text_columns=(0, 1, 2, 5),
    )


def checks_table(run: Run, checks: Sequence[Check], versions: Sequence[str]) -> Table:
    """What was made again, and whether it is what the run says."""
    wrong = sum(check.differs is not None for check in checks)
    verdict = f"NOT THE SAME: {wrong} of {len(checks)} checks" if wrong else "the same numbers, made again"
    return Table(
        title=f"{run.name}: {verdict}",
        columns=("made again", "compared", "result"),
        rows=tuple((check.what, count(check.compared), check.differs or "the same") for check in checks),
        notes=(*versions, "nothing was asked of a provider, and nothing was changed"),
        marks=(REHEARSAL,) if is_rehearsal(run.asked.venue) else (),
        text_columns=(0, 2),
    )


def _said(value: object) -> str:
    return count(value) if isinstance(value, int) else str(value)
