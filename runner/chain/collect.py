"""raw files and responses: what was paid for is kept, however its job ended."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from runner.chain.deleted import run_of
from runner.chain.files import digest_of, write_frame
from runner.chain.journal import Point, reached
from runner.chain.losses import Gap, promised
from runner.chain.parts import Home, read_part, tally, unread_in
from runner.chain.reading import is_cut, quarantine
from runner.chain.received import put_away, raw_files, spoilt
from runner.chain.returned import other_models, swap_sentence
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.sending import GUESSED
from runner.chain.standing import REFUSED
from runner.chain.stock import has_part
from runner.ledger import Job, Ledger, State
from runner.providers.base import ACCOUNT_TROUBLE, Gone, JobState, JobStatus, Provider
from runner.request import RESPONSE_SCHEMA, Status

Say = Callable[[str], None]


class NotOurs(Exception):
    """A job that was taken for ours answered none of our requests, but others."""


class Short(Exception):
    """An ended job's files hold fewer answers than it counts: they may still come."""


class Withheld(Exception):
    """An ended job counts answers and has given none of them, however often it was looked at."""

    def __init__(self, gap: Gap) -> None:
        super().__init__()
        self.gap = gap


def salvage(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    job: Job,
    status: JobStatus,
    found: Iterable[Path],
    say: Say,
    *,
    patient: bool,
) -> Job:
    """Take an ended job's answers home: raw files, then the part, then the ledger, which says ``collected``.

    ``found`` is what was downloaded. Idempotent at every step: after a crash it is downloaded again and overwrites the
    same part. While ``patient``, a job whose files hold less than it counts is Short; later what lacks is lost, but
    nothing is taken for lost unasked where not one answer came (Withheld). Raises Gone, NotOurs, too.
    """
    folders = Folders(workspace, job.run)
    files = put_away(job, folders, found)
    reached(Point.FETCHED)
    job = replace(job, promised=promised(job, status))
    if not files and not job.promised:
        if status.failed and status.state is not JobState.EXPIRED:
            if patient:
                raise Short("it has ended, and its files are not there yet")
            raise Gone("it counts failures and gives no file")
        if status.state is JobState.FAILED:
            error, ended_at = status.error or "it failed and left no files.", job.ended_at
            if _is_refused(provider, job, status):
                error, ended_at = f"{REFUSED}{error}", datetime.now(UTC)
            return ledger.move(job, State.COLLECTED, error=error, billed_usd=0.0, ended_at=ended_at)
    aside = folders.raw / f"{job.job}.quarantine.jsonl"
    with quarantine(aside) as keep:
        home = read_part(workspace, ledger, provider, job, files, status, keep)
    gap = home.gap
    if job.error == GUESSED and not home.reading.rows and home.reading.unknown:
        for path in (*files, aside):
            path.unlink(missing_ok=True)
        raise NotOurs
    if patient and (gap or any(map(is_cut, files))):
        aside.unlink(missing_ok=True)
        raise Short(f"it counts {gap.promised:,} answers, of which {gap.delivered:,} are there")
    if gap.is_whole and job.accepted_at is None:
        raise Withheld(gap)
    return _store(workspace, ledger, job, home, status, say)


def _is_refused(provider: Provider, job: Job, status: JobStatus) -> bool:
    """Whether a job that failed as a whole would do so again, as it is."""
    passes = status.learned_queue_tokens is not None or status.error_code in ACCOUNT_TROUBLE
    return not passes and not provider.limits(job.model).is_own  # there, what lacks is the engine's to mend


def restore(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, say: Say) -> bool:
    """Make a deleted or damaged part again from the raw files, if they are still here as they were."""
    folders = Folders(workspace, job.run)
    files = raw_files(workspace, job)
    if not files or spoilt(workspace, job):
        return False
    ended = JobStatus(job.provider_job or "", JobState.COMPLETED, job.ended_at or job.intended_at, error=job.error)
    with quarantine(folders.raw / f"{job.job}.quarantine.jsonl") as keep:
        home = read_part(workspace, ledger, provider, job, files, ended, keep)
    ledger.move(_store(workspace, ledger, job, home, ended, say), State.CLOSED)
    return True


def read_again(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, say: Say) -> None:
    """Replies that were not understood when they came: what is understood now takes their place in the part."""
    folders = Folders(workspace, job.run)
    files, path = raw_files(workspace, job), folders.part(job.job)
    if not files or not has_part(workspace, job):
        return
    old = pl.read_parquet(path)
    ids = old.filter(pl.col("status") == Status.UNREAD)["request_id"].unique()
    status = JobStatus(job.provider_job or "", JobState.COMPLETED, old["received_at"][0], error=job.error)
    new = read_part(workspace, ledger, provider, job, files, status).part
    new = new.filter(pl.col("request_id").is_in(ids.implode()))
    tries = old.select("request_id", "attempt").unique("request_id")
    new = new.drop("attempt").join(tries, on="request_id", how="left").select(list(RESPONSE_SCHEMA))
    rest = old.filter(~pl.col("request_id").is_in(ids.implode()))
    part = pl.concat([rest, new], how="diagonal").sort("request_id", "choice")
    if unread_in(part) == unread_in(old):
        return
    write_frame(path, part)
    reached(Point.READ_AGAIN)
    ledger.move(job, job.state, digests={**job.digests, path.name: digest_of(path)}, **tally(part))
    say(f"{unread_in(old) - unread_in(part):,} replies of batch {job.batch} of {job.run} can be read now.")


def _store(workspace: Workspace, ledger: Ledger, job: Job, home: Home, status: JobStatus, say: Say) -> Job:
    """The part to the disk, and into the ledger."""
    folders, part = Folders(workspace, job.run), home.part
    _report(home, folders, job, say)
    _report_models(run_of(workspace, job), part, job, say)
    home.reading.rows.clear()  # they stand in the part
    path = folders.part(job.job)
    write_frame(path, part)
    reached(Point.PART_WRITTEN)
    job = ledger.move(
        job,
        State.COLLECTED,
        part=str(path.relative_to(workspace.root)),
        error=status.error,
        collected_at=job.collected_at or datetime.now(UTC),
        promised=job.promised,
        digests={each.name: digest_of(each) for each in (path, *raw_files(workspace, job))},
        **tally(part),
    )
    reached(Point.COLLECTED)
    return job


def account_trouble(workspace: Workspace, job: Job) -> str | None:
    """The provider's sentence when a job brought nothing because of the account, not of its requests."""
    if not job.part or job.answered:
        return None
    rows = pl.read_parquet(workspace.root / job.part, columns=["error_code", "error_message"])
    said = rows.filter(pl.col("error_code").is_in(list(ACCOUNT_TROUBLE)))["error_message"].drop_nulls()
    return said[0] if said.len() else None


def close(ledger: Ledger, provider: Provider, job: Job, *, keep_files: bool) -> Job:
    """Remove the uploaded input file, whose work is done, and close the job."""
    if job.file_id and not keep_files:
        provider.discard(job.file_id)
        reached(Point.DISCARDED)
    job = ledger.move(job, State.CLOSED)
    reached(Point.CLOSED)
    return job


def _report(home: Home, folders: Folders, job: Job, say: Say) -> None:
    reading, gap = home.reading, home.gap
    if gap:
        say(
            f"Batch {job.batch} of {job.run} counts {gap.promised:,} answers and gave {gap.delivered:,}: {gap.lost:,} "
            f"are lost and count at the most that they can have cost; what is missing is bought again once."
        )
    if unread := unread_in(home.part):
        say(
            f"{unread:,} replies of batch {job.batch} of {job.run} arrived in a form that is not known; they are kept "
            f"in {folders.raw}, and not bought again."
        )
    if reading.unreadable:
        path = folders.raw / f"{job.job}.quarantine.jsonl"
        say(f"{reading.unreadable:,} lines of {job.job} could not be read (the first: {reading.why}); see {path}.")
    if reading.duplicated:
        say(f"{reading.duplicated} rows of {job.job} came twice; the first answer counts.")
    if reading.unknown:
        say(f"{reading.unknown} rows of {job.job} carry ids that were not asked; they are left in the raw file.")


def _report_models(run: Run, part: pl.DataFrame, job: Job, say: Say) -> None:
    """A model that nobody asked for is no line's fault, so every answer stays; but it is said."""
    versions = part["model_version"].drop_nulls()
    if said := swap_sentence(run.asked, other_models(run.asked, versions), versions.len()):
        say(f"Warning: batch {job.batch} of {job.run}: {said}.")
