"""What lies at a provider and stands in no ledger row: jobs that may cost money, files that fill the storage."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

import polars as pl

from runner.chain.files import write_frame
from runner.chain.prices import bound_price_at, with_bound
from runner.chain.reading import read_results
from runner.chain.runs import Folders, Run, Workspace, read_run, run_names
from runner.chain.sending import EVER, new_job
from runner.chain.standing import LOST
from runner.chain.stock import known_ids, sizes
from runner.chain.stuck import NOBODY
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.providers.base import Gone, JobStatus, Provider, Unreachable

Say = Callable[[str], None]

TAG = re.compile(r"(?P<run>[0-9a-f]{8})-(?P<stage>\d+)-(?P<batch>\d{4,})-[0-9a-f]{8}")


@dataclass(frozen=True)
class Orphan:
    """A job (``size`` in requests) or a file (in bytes) that no ledger row of this folder knows.

    ``run`` is the run of this folder that its tag names: it was sent from here, or from a copy of this folder.
    """

    kind: str
    name: str
    what: str
    size: int | None
    age_s: float | None
    run: str | None = None


def find_orphans(workspace: Workspace, ledger: Ledger, provider: Provider) -> list[Orphan]:
    """Read the account's lists of jobs and files and leave out what the ledger knows; changes nothing."""
    known = ledger.jobs(venue=provider.venue)
    jobs = {job.provider_job for job in known if job.provider_job}
    files = {job.file_id for job in known if job.file_id and job.state is not State.CLOSED}
    unclear = [job for job in known if job.state in (State.UPLOADED, State.UNCLEAR)]
    names = {job.job for job in unclear}  # these are looked for by themselves
    listing = provider.jobs(EVER)
    found = [
        Orphan(
            "job",
            status.provider_job,
            str(status.state),
            status.total,
            _age(status.created_at, listing.at),
            _run_of(workspace, status.tag),
        )
        for status in listing.jobs
        if status.provider_job not in jobs and status.tag not in names
    ]
    stems = [name.rsplit("/", 1)[-1] for name in jobs]  # result files carry the name of their job
    for file in provider.files():
        if file.file_id in files or any(stem in file.name or stem in file.file_id for stem in stems):
            continue
        run = _run_of(workspace, file.name.removesuffix(".jsonl"))
        found.append(Orphan("file", file.file_id, file.name, file.bytes, _age(file.created_at, listing.at), run))
    return found


def adopt(workspace: Workspace, ledger: Ledger, provider: Provider, provider_job: str, say: Say) -> Job:
    """Take a job of the provider into the ledger, so that `collect` brings its answers home.

    Which requests it holds is known from the batch that its tag names or, once it has ended, from its results.
    Raises RunnerError when neither tells, or when the ledger knows it already.
    """
    for row in ledger.jobs(venue=provider.venue):
        if row.provider_job == provider_job and (row.error or "").startswith(LOST):
            say(f"{provider_job} was given up as lost; `make collect` tries it again.")
            return ledger.move(row, State.CREATED, absent_at=None, ended_at=None, billed_usd=None, error=None)
        if row.provider_job == provider_job:
            raise RunnerError(f"{provider_job} stands in the ledger already: `make collect` brings it home.")
    try:
        status = provider.status(provider_job)
    except (Gone, Unreachable) as trouble:
        raise RunnerError(f"{provider.venue} does not tell about {provider_job}: {trouble}") from None
    if (waits := _row_of(workspace, ledger, provider, status)) is not None:
        return _take(ledger, provider, waits, status, say)
    tagged = _tagged(workspace, provider, status)
    run, stage, ids = tagged or _by_results(workspace, provider, status)
    for row in ledger.jobs(venue=provider.venue, states=[State.UPLOADED, State.UNCLEAR]):
        if set(_ids(workspace, row)) == set(ids):
            return _take(ledger, provider, row, status, say)
    folders = Folders(workspace, run.name)
    batch = ledger.next_batch(run.name, stage)
    write_frame(folders.batch_ids(stage, batch), ids.to_frame("request_id"))
    mine = sizes(folders, stage).join(ids.to_frame("request_id").lazy(), on="request_id", how="semi").collect()
    made = status.created_at or status.at
    job = replace(
        new_job(run, provider.account, stage, batch, with_bound(mine, bound_price_at(run, made)), made),
        state=State.CREATED,
        n=ids.len(),
        file_id=status.file_id,
        provider_job=provider_job,
        created_at=status.created_at,
    )
    ledger.intend(job)
    say(f"{provider_job} is now batch {batch} of {run.name} ({job.n:,} requests); `make collect` brings it home.")
    return job


def _ids(workspace: Workspace, row: Job) -> list[str]:
    ids = known_ids(workspace, row)
    return [] if ids is None else ids.to_list()


def _row_of(workspace: Workspace, ledger: Ledger, provider: Provider, status: JobStatus) -> Job | None:
    """The row that waits for this job of the provider, by its tag; of one that was entered again, by its batch."""
    match, run = TAG.fullmatch(status.tag or ""), _run_of(workspace, status.tag)
    for row in ledger.jobs(venue=provider.venue):
        if row.provider_job is not None:
            continue
        if row.job == status.tag and (row.state in OPEN or (row.error or "").startswith(LOST)):
            return row
        batch = (row.run, str(row.stage), f"{row.batch:04d}")
        if row.account == NOBODY and match and batch == (run, match["stage"], match["batch"]):
            return row
    return None


def _take(ledger: Ledger, provider: Provider, row: Job, status: JobStatus, say: Say) -> Job:
    """Give a row its job: its answers will be fetched, unless they are here already."""
    told = {"provider_job": status.provider_job, "created_at": status.created_at, "account": provider.account}
    if row.part:
        say(f"{status.provider_job} is batch {row.batch} of {row.run}, whose answers are here.")
        return ledger.move(row, row.state, **told)
    say(f"{status.provider_job} is batch {row.batch} of {row.run}, whose creation was unclear.")
    return ledger.move(
        row, State.CREATED, **told, file_id=status.file_id or row.file_id, absent_at=None, ended_at=None, error=None,
        billed_usd=None,
    )  # fmt: skip


def adopt_all(workspace: Workspace, ledger: Ledger, provider: Provider, say: Say) -> int:
    """Give every job of the provider's list that is from this folder its row; tells how many were taken.

    What its tag names is from here. Where jobs carry none, those that have ended are known by their results.
    """
    taken = 0
    for status in provider.jobs(EVER).jobs:
        rows = ledger.jobs(venue=provider.venue)
        if any(row.provider_job == status.provider_job for row in rows):
            continue
        sizes = {row.n for row in rows if row.state is State.UNCLEAR}
        if provider.names_jobs and not _run_of(workspace, status.tag):
            continue
        if not provider.names_jobs and not (status.state.has_ended and status.total in sizes):
            continue
        try:
            adopt(workspace, ledger, provider, status.provider_job, say)
            taken += 1
        except RunnerError as trouble:
            say(trouble.sentence)
    return taken


def _tagged(workspace: Workspace, provider: Provider, status: JobStatus) -> tuple[Run, int, pl.Series] | None:
    """Run, stage and requests of the batch that the job's tag names, if its file is still here."""
    match = TAG.fullmatch(status.tag or "")
    name = _run_of(workspace, status.tag)
    if match is None or name is None:
        return None
    run = read_run(workspace, name)
    stage = int(match["stage"])
    path = Folders(workspace, name).batch_ids(stage, int(match["batch"]))
    if run.asked.venue != provider.venue or not path.exists():
        return None
    ids = pl.read_parquet(path)["request_id"]
    return (run, stage, ids) if status.total in (None, 0, ids.len()) else None


def _by_results(workspace: Workspace, provider: Provider, status: JobStatus) -> tuple[Run, int, pl.Series]:
    """The run of this folder whose requests an ended job has answered."""
    if not status.state.has_ended:
        raise RunnerError(
            f"{status.provider_job} still runs, and nothing here tells which requests it holds: adopt it when it has "
            f"ended, or cancel it."
        )
    with tempfile.TemporaryDirectory() as folder:
        try:
            files = provider.fetch(status.provider_job, Path(folder))
        except (Gone, Unreachable) as trouble:
            raise RunnerError(f"The results of {status.provider_job} cannot be had: {trouble}") from None
        found: list[tuple[Run, int, pl.Series]] = []
        for run in (read_run(workspace, name) for name in run_names(workspace)):
            for path in sorted(Folders(workspace, run.name).asked.glob("stage-*/bodies.parquet")):
                asked = pl.read_parquet(path, columns=["request_id"])["request_id"]
                rows = read_results(provider, files, frozenset(asked)).rows if run.asked.venue == provider.venue else {}
                if answered := sorted({request_id for request_id, _ in rows}):
                    stage = int(path.parent.name.removeprefix("stage-"))
                    found.append((run, stage, pl.Series("request_id", answered)))
    if found:
        return max(found, key=lambda each: each[2].len())
    raise RunnerError(f"{status.provider_job} answers no request of a run in {workspace.batches}: it is not from here.")


def _run_of(workspace: Workspace, tag: str | None) -> str | None:
    match = TAG.fullmatch(tag or "")
    if match is None:
        return None
    return next((name for name in run_names(workspace) if name.endswith(f"__{match['run']}")), None)


def _age(created_at: datetime | None, now: datetime) -> float | None:
    return None if created_at is None else (now - created_at).total_seconds()
