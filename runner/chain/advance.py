"""The one composer: salvage what ended -> submit what became possible. Idempotent; called again after any crash.

``submit`` is approve, then advance once; ``collect`` is advance; waiting is advance, repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import polars as pl

from runner.chain import collect, stock, submit
from runner.chain.journal import Point, reached
from runner.chain.prices import price_at
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.pricing import Price
from runner.providers.base import Gone, JobState, JobStatus, Provider, Unreachable

Say = Callable[[str], None]
Connect = Callable[[str, str], Provider]
"""(provider, venue) -> the venue, opened. Raises RunnerError when there is no key or another base URL is set."""


@dataclass(frozen=True)
class OpenJob:
    """A job that is still out, with the provider's latest word on it (None when it has not been asked)."""

    job: Job
    status: JobStatus | None


@dataclass(frozen=True)
class Standing:
    """Where a run stands: unique requests, those finally answered, in flight and waiting, and what is next.

    ``problem`` is a sentence when the run cannot go on by itself.
    """

    run: Run
    total: int
    final: int
    in_flight: int
    open_jobs: tuple[OpenJob, ...]
    next: str
    problem: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every request has its final answer."""
        return self.final == self.total

    @property
    def is_moving(self) -> bool:
        """Whether waiting helps: something is out, and nothing stops the run."""
        return not self.is_complete and self.problem is None and bool(self.open_jobs)


def advance(
    workspace: Workspace, ledger: Ledger, names: Sequence[str], connect: Connect, now: datetime, say: Say
) -> list[Standing]:
    """Do for the named runs whatever can be done now, and tell where each stands.

    Holds the workspace lock while it works and never while it waits. Jobs of other runs at the same venue and
    model are collected too: their answers may be ours.
    """
    runs = [read_run(workspace, name) for name in names]
    standings = []
    with workspace.locked(say):
        for provider, venue, model in sorted({(r.asked.provider, r.asked.venue, r.asked.model) for r in runs}):
            together = [run for run in runs if (run.asked.venue, run.asked.model) == (venue, model)]
            try:
                opened = connect(provider, venue)
            except RunnerError as error:  # the others go on
                standings += [standing(workspace, ledger, run, problem=error.sentence) for run in together]
            else:
                standings += _advance_model(workspace, ledger, opened, together, now, say)
    return standings


def _advance_model(
    workspace: Workspace, ledger: Ledger, provider: Provider, runs: Sequence[Run], now: datetime, say: Say
) -> list[Standing]:
    venue, model = runs[0].asked.venue, runs[0].asked.model
    current = price_at(runs[0], now)
    problems: dict[str, str] = {}
    statuses: dict[str, JobStatus] = {}
    _reopen_lost_parts(workspace, ledger, venue, model, say)
    for job in ledger.jobs(venue=venue, model=model, states=[*OPEN, State.COLLECTED]):
        try:
            status = _step(workspace, ledger, provider, job, current, now, say)
        except Unreachable as trouble:
            say(f"Batch {job.batch} of {job.run}: the provider could not be asked just now: {trouble}")
            continue
        if status is None:
            continue
        statuses[job.job] = status
        if status.state is JobState.FAILED and status.learned_queue_tokens is None and not _part_of(ledger, job):
            problems[job.run] = f"The provider failed batch {job.batch}: {status.error or 'no reason given'}"
    return [_run_on(workspace, ledger, provider, run, problems, statuses, now, say) for run in runs]


def _part_of(ledger: Ledger, job: Job) -> str | None:
    return ledger.jobs(job=job.job)[0].part


def _step(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    job: Job,
    current: Price | None,
    now: datetime,
    say: Say,
) -> JobStatus | None:
    """Take one job as far as it will go now; returns the provider's word on it, if it was asked."""
    if job.state in (State.INTENDED, State.UPLOADED, State.UNCLEAR):
        job = submit.resolve(workspace, ledger, provider, job, say)
    if job.state is State.COLLECTED:
        collect.close(ledger, provider, job)
        return None
    if job.state not in (State.CREATED, State.ENDED) or job.provider_job is None:
        return None
    try:
        status = provider.status(job.provider_job)
    except Gone:
        theirs = "" if job.account == provider.account else " (it was created with another key)"
        say(f"The provider does not know {job.provider_job} of {job.run}{theirs}; it stays open and is asked again.")
        return None
    if not status.state.has_ended:
        return status
    if status.learned_queue_tokens is not None:
        ledger.learn(job.venue, job.model, "queue_tokens", status.learned_queue_tokens, now)
        say(f"The queue of {job.model} holds {status.learned_queue_tokens:,} tokens; batches will fit it from now on.")
    if job.state is State.CREATED:
        job = ledger.move(
            job,
            State.ENDED,
            created_at=status.created_at or job.created_at,
            ended_at=status.at,
            retain_until=status.retain_until,
        )
        reached(Point.ENDED)
    collect.salvage(workspace, ledger, provider, job, status, current, say)
    return status


def _reopen_lost_parts(workspace: Workspace, ledger: Ledger, venue: str, model: str, say: Say) -> None:
    """Answers that were deleted from the disk were paid for: fetch them again rather than buy them again."""
    for job in ledger.jobs(venue=venue, model=model, states=[State.CLOSED]):
        if job.part and not (workspace.root / job.part).exists():
            say(f"{job.part} is gone from the disk; fetching it from the provider again.")
            ledger.move(job, State.CREATED, part=None, billed_usd=None)


def _run_on(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    run: Run,
    problems: dict[str, str],
    statuses: dict[str, JobStatus],
    now: datetime,
    say: Say,
) -> Standing:
    problem = problems.get(run.name) or pilot_loss(workspace, ledger, run)
    reason = None
    if problem is None:
        try:
            reason = submit.buy(workspace, ledger, provider, run, 1, now, say).reason
        except RunnerError as refusal:
            problem = refusal.sentence
    stock.write_responses(workspace, ledger, run)
    return standing(workspace, ledger, run, statuses, reason, problem)


def pilot_loss(workspace: Workspace, ledger: Ledger, run: Run) -> str | None:
    """The sentence that stops a run whose first small batch came back truncated or rejected too often.

    A later approval overrules it.
    """
    task = run.asked.task
    jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model)
    answered = [job for job in jobs if job.part and job.answered and job.run.split("__", 1)[0] == task]
    approval = ledger.approval(run.name)
    if not answered or approval is None or answered[0].part is None:
        return None
    first = answered[0]
    part = workspace.root / answered[0].part
    # By our own clock on both sides: a later yes was given in view of these answers.
    if approval.at.timestamp() > part.stat().st_mtime:
        return None
    rows = pl.read_parquet(part, columns=["status", "error_message"])
    lost = rows.filter(pl.col("status").is_in(["truncated", "rejected"]))
    if lost.height <= submit.PILOT_LOSS * rows.height:
        return None
    why = next(iter(lost["error_message"].drop_nulls()), "answers longer than the output limit")
    return (
        f"{lost.height} of the first {rows.height} answers came back truncated or rejected ({why}); the rest is "
        f"not bought. See {Folders(workspace, first.run).raw}; `make submit` asks again and goes on if you say so."
    )


def standing(
    workspace: Workspace,
    ledger: Ledger,
    run: Run,
    statuses: dict[str, JobStatus] | None = None,
    reason: str | None = None,
    problem: str | None = None,
) -> Standing:
    """Where a run stands by the files and the ledger alone; asks no provider."""
    ids = stock.request_ids(Folders(workspace, run.name))
    venue, model = run.asked.venue, run.asked.model
    final = stock.answers(workspace, ledger, venue, model, ids)["request_id"].n_unique()
    flying = stock.in_flight(workspace, ledger, venue, model)
    ours = flying.filter(flying.is_in(ids.implode()))
    open_jobs = ledger.jobs(venue=venue, model=model, states=OPEN)
    known = statuses or {}
    if problem:
        what_next = problem
    elif final == ids.len():
        what_next = "complete: `make score`"
    elif reason:
        what_next = reason
    elif ours.len():
        what_next = "waiting for the provider: `make collect`"
    elif ledger.approval(run.name) is None:
        what_next = "not approved yet: `make submit` shows the cost and asks"
    else:
        what_next = "`make collect` submits the rest"
    return Standing(
        run,
        ids.len(),
        final,
        ours.len(),
        tuple(OpenJob(job, known.get(job.job)) for job in open_jobs),
        what_next,
        problem,
    )


def open_runs(workspace: Workspace, ledger: Ledger) -> list[str]:
    """Approved runs that still lack answers, oldest approval first."""
    return [
        name
        for name in ledger.approved_runs()
        if Folders(workspace, name).run_json.exists()
        and not standing(workspace, ledger, read_run(workspace, name)).is_complete
    ]
