"""Where runs stand, as tables: what the ledger and the files say, put into the words of the reporting room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from runner.chain.data import Found
from runner.chain.runs import EMULATOR, Run
from runner.chain.standing import OpenJob, Standing
from runner.ledger import Ledger
from runner.reporting.jobs import JobView
from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.words import count, usd


def standing_table(standings: Sequence[Standing], ledger: Ledger) -> Table:
    """One row per run: answered, in flight, waiting, money, and what happens next."""
    rehearsals = [standing.run.asked.venue == EMULATOR for standing in standings]
    rows = []
    for standing in standings:
        spent = ledger.spent(run=standing.run.name)
        waiting = standing.total - standing.final - standing.in_flight
        rows.append(
            (
                standing.run.name,
                f"{count(standing.final)} of {count(standing.total)}",
                count(standing.in_flight),
                count(waiting),
                usd(spent.billed_usd if spent.is_known else None),
                usd(spent.reserved_usd if spent.is_known else None),
                standing.next,
            )
        )
    return Table(
        title="Runs",
        columns=("run", "answered", "in flight", "waiting", "billed", "held back", "next"),
        rows=tuple(rows),
        marks=(REHEARSAL,) if rehearsals and all(rehearsals) else (),
        text_columns=(0, 6),
    )


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
    return sorted(views.values(), key=lambda view: (view.run, view.batch))


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
        marks=(REHEARSAL,) if run.asked.venue == EMULATOR else (),
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


def _said(value: object) -> str:
    return count(value) if isinstance(value, int) else str(value)
