"""What only the user can decide of a job that is stuck, and of a run that is over: `accept`, `give-up`, `forget`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from runner.chain.journal import Point, reached
from runner.chain.losses import bounds_of
from runner.chain.runs import Folders, Run, Workspace, read_run, run_names
from runner.chain.standing import LOST, WITHHELD
from runner.chain.stock import batch_ids, request_ids
from runner.chain.stuck import is_foreign, name_of, overdue, stopping_since
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.providers.base import Gone, JobStatus, Provider, Unreachable
from runner.reporting.words import usd

Say = Callable[[str], None]
Ask = Callable[[str], bool]

FORGOTTEN = "forgotten by the user"
"""The error of a job whose answers were given up."""


def find_job(ledger: Ledger, name: str) -> Job:
    """The job of this name, ours or the provider's. Raises RunnerError when there is none."""
    found = [job for job in ledger.jobs() if name in (job.job, job.provider_job)]
    if found:
        return found[-1]
    out = ", ".join(job.job for job in ledger.jobs(states=OPEN)) or "none"
    raise RunnerError(f"There is no job {name!r} in the ledger; those that are out: {out}.")


@dataclass(frozen=True)
class Withheld:
    """A job that counts ``answers`` and has given none: what they may have cost, and what asking again may cost.

    Dollars are None where no price is known.
    """

    job: Job
    run: Run
    answers: int
    lost_usd: float | None
    again_usd: float | None


def find_withheld(workspace: Workspace, ledger: Ledger, name: str, now: datetime) -> Withheld:
    """The job of this name. Raises RunnerError where there is none, or nothing of it is to be given up."""
    job = find_job(ledger, name)
    if job.state not in OPEN or not (job.error or "").startswith(WITHHELD):
        raise RunnerError(
            f"{name} is {job.state}, and nothing of it is to be given up: that is for jobs that count answers and give "
            f"none, 15 minutes after their end (`make collect` says which)."
        )
    run, ids = read_run(workspace, job.run), batch_ids(workspace, job).to_list()
    then = bounds_of(workspace, job, run, ids, job.intended_at)["bound_usd"]
    again = bounds_of(workspace, job, run, ids, now)["bound_usd"]
    answers = job.promised or 0
    return Withheld(
        job,
        run,
        answers,
        None if then.null_count() else float(then.head(answers).sum()),
        None if again.null_count() else float(again.sum()),
    )


def accept(workspace: Workspace, ledger: Ledger, name: str, ask: Ask, now: datetime, say: Say) -> Run | None:
    """Ask, and keep the yes: at the next look the answers that a job did not give count as lost, and as paid.

    What they asked may then be bought again, once, inside BUDGET: the approval grows by what that may cost. The job's
    run; None when the user said no.
    """
    with workspace.locked(say):
        found = find_withheld(workspace, ledger, name, now)
        job, run = found.job, found.run
        say(
            f"Batch {job.batch} of {job.run} ({job.n:,} requests, {job.provider_job} at {job.venue}) counts "
            f"{found.answers:,} answers and has given none. Giving them up counts {_most(found.lost_usd)} as "
            f"spent, and buying them again costs {_most(found.again_usd)}. Its raw files stay."
        )
        if not ask(f"Give up {found.answers:,} answers, and buy them again once?"):
            return None
        before = ledger.approval(job.run)
        is_bound = before is not None and not before.is_withdrawn
        if before is not None and is_bound and before.bound_usd is not None and found.again_usd is not None:
            bound = before.bound_usd + found.again_usd
            ledger.approve(job.run, bound, before.at, before.budget_usd, before.instances)
        ledger.move(job, State.ENDED, accepted_at=now, error=None)
        reached(Point.ACCEPTED)
        return run


def _most(amount: float | None) -> str:
    return "an unknown sum (no price is known)" if amount is None else f"at most {usd(amount)}"


def give_up(
    workspace: Workspace, ledger: Ledger, provider: Provider, name: str, ask: Ask, now: datetime, say: Say
) -> bool:
    """Count a stuck job as paid and let its requests go; False when the user said no.

    Raises RunnerError where it is not stuck: what runs, or is being looked for, ends by itself.
    """
    job = find_job(ledger, name)
    why = _why_stuck(ledger, provider, job)
    money = "an unknown sum" if job.reserved_usd is None else f"{usd(job.reserved_usd)}, its bound,"
    say(f"{name_of(job)} {why}. Its {job.n:,} requests may have been answered, and paid for.")
    if not ask(f"Give it up: {money} counts as spent, and `make submit` may buy its requests again?"):
        return False
    with workspace.locked(say):
        job = find_job(ledger, name)
        why = _why_stuck(ledger, provider, job)
        if job.provider_job and not is_foreign(job, provider):
            with suppress(Unreachable, Gone):
                provider.cancel(job.provider_job)
        ledger.move(job, State.CLOSED, error=f"{LOST}given up ({why})", billed_usd=job.reserved_usd, ended_at=now)
    say(
        f"{job.job} is given up. `make submit` shows what its requests cost again and asks; should the job turn up, "
        f"`make orphans` lists it, and `make orphans ADOPT={job.provider_job or '…'}` takes its answers home."
    )
    return True


def forget(workspace: Workspace, ledger: Ledger, name: str, ask: Ask, now: datetime, say: Say) -> bool:
    """Delete a run, also one whose folder is gone already; False when the user said no.

    Its money stays spent, and answers that other runs use stay where they are. Raises RunnerError while a job is out.
    """
    jobs = ledger.jobs(run=name)
    if not jobs and name not in run_names(workspace):
        raise RunnerError(f"There is no run {name!r} in {workspace.batches} or in the ledger.")
    kept = _used_by_others(workspace, jobs)
    for line in _given_up(workspace, ledger, name, jobs, kept):
        say(line)
    if not ask(f"Forget {name}?"):
        return False
    with workspace.locked(say):
        jobs = ledger.jobs(run=name)
        kept = _used_by_others(workspace, jobs)
        _given_up(workspace, ledger, name, jobs, kept)  # nothing was sent meanwhile
        ledger.withdraw(name, now)
        for job in jobs:
            if job.job not in kept:
                ledger.move(job, State.CLOSED, part=None, error=FORGOTTEN)
        folders = Folders(workspace, name)
        _delete(folders.results, {path for job in kept for path in folders.results.rglob(f"{job}.*")})
        _delete(folders.asked, set())
    say(f"{name} is forgotten. What it cost stays in the ledger; what it asked may be bought again by another run.")
    return True


def _given_up(workspace: Workspace, ledger: Ledger, name: str, jobs: list[Job], kept: frozenset[str]) -> list[str]:
    """What forgetting a run gives up. Raises RunnerError while one of its jobs is out."""
    if out := [job for job in jobs if job.state in (*OPEN, State.COLLECTED)]:
        raise RunnerError(
            f"{name} has jobs out ({', '.join(job.job for job in out)}): `make cancel RUN={name}` and `make collect` "
            f"bring home what they answered; `make give-up JOB=…` is for one that is stuck."
        )
    lost = [job for job in jobs if job.job not in kept]
    spent = ledger.spent(run=name)
    money = usd(spent.billed_usd) if spent.is_known else "an unknown sum"
    answered = sum(job.answered or 0 for job in lost)
    said = [f"{name} cost {money}. Given up: its requests, scores, reports, and {answered:,} answers that it bought."]
    if kept:
        said.append(f"The answers of {len(kept)} of its {len(jobs)} jobs are used by other runs and stay.")
    return said


def _used_by_others(workspace: Workspace, jobs: list[Job]) -> frozenset[str]:
    """The jobs, all of one run, whose answers another run of this folder asks for too."""
    parts = [job for job in jobs if job.part and (workspace.root / job.part).exists()]
    used: set[str] = set()
    for name in run_names(workspace) if parts else []:
        asked = read_run(workspace, name).asked
        if name == parts[0].run or (asked.venue, asked.model) != (parts[0].venue, parts[0].model):
            continue
        ids = request_ids(Folders(workspace, name)).implode()
        for job in parts:
            if job.job not in used and pl.read_parquet(workspace.root / str(job.part))["request_id"].is_in(ids).any():
                used.add(job.job)
    return frozenset(used)


def _delete(folder: Path, kept: set[Path]) -> None:
    """Remove a folder but for these files."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            with suppress(OSError):  # something in it is kept
                path.rmdir()
        elif path not in kept:
            path.unlink()
    with suppress(OSError):
        folder.rmdir()


def _why_stuck(ledger: Ledger, provider: Provider, job: Job) -> str:
    """What keeps the job from an end. Raises RunnerError where nothing does."""
    if job.state not in OPEN:
        raise RunnerError(f"{name_of(job)} is {job.state}: there is nothing to give up.")
    if job.state is State.INTENDED:
        raise RunnerError(f"{name_of(job)} was never created and cost nothing: `make collect` sends it.")
    if job.provider_job is None:
        if is_foreign(job, provider):
            return "was begun with another key (or project), and only its list can tell whether it was created"
        raise RunnerError(f"{name_of(job)} is being looked for: `make collect` twice, 60 s apart, decides.")
    try:
        status = provider.status(job.provider_job)
    except Gone as gone:
        if is_foreign(job, provider):
            return f"was created with another key (or project), and this one does not know it ({gone})"
        raise RunnerError(f"{name_of(job)} is not known just now: `make collect` twice, 60 s apart, decides.") from None
    except Unreachable as trouble:
        if trouble.is_refusal:
            return f"cannot be asked about: {job.venue} refuses the key ({trouble})"
        raise RunnerError(f"{job.venue} could not be asked about {job.job}: {trouble}", exit_code=1) from None
    return _why_running(ledger, job, status)


def _why_running(ledger: Ledger, job: Job, status: JobStatus) -> str:
    if status.state.has_ended:
        raise RunnerError(f"{name_of(job)} has ended: `make collect` brings its answers home.")
    if status.is_cancelling:
        job = stopping_since(ledger, job, status.at)
    why = overdue(job, status)
    if why is None:
        how = "is being stopped, which may take 30 minutes" if status.is_cancelling else "runs normally"
        raise RunnerError(f"{name_of(job)} {how}: `make collect` brings its answers home, `make cancel` stops its run.")
    return why
