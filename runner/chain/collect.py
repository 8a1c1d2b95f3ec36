"""raw files and responses: what was paid for is kept, however its job ended."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

import polars as pl

from runner.chain.deleted import run_of
from runner.chain.files import sync_folder, write_frame, written
from runner.chain.journal import Point, reached
from runner.chain.prices import bound_price_at, with_bound, with_cost
from runner.chain.returned import other_models, swap_sentence
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import FINAL_WORDS, MAX_ATTEMPTS, attempts, known_ids, sizes
from runner.ledger import Job, Ledger, State
from runner.providers.base import ACCOUNT_TROUBLE, Gone, JobState, JobStatus, Provider, Unreachable
from runner.providers.lenient import load_object
from runner.providers.lines import Overlong, read_lines
from runner.providers.loose import shorten
from runner.request import RESPONSE_SCHEMA, Response, Status

Say = Callable[[str], None]
Keep = Callable[[bytes], None]
"""What is done with a line that cannot be read."""

_ID = re.compile(rb'"([a-z2-7]{26})"')
"""Whatever a provider calls the key of a line, no other string of ours looks like this."""

_TOLD = tuple(field.name for field in fields(Response))


def ignore(_: bytes) -> None:
    """Keep no line."""


class NotOurs(Exception):
    """A job that was taken for ours answered none of our requests, but others."""


def download(workspace: Workspace, provider: Provider, job: Job) -> list[Path]:
    """An ended job's result files, in a folder of this process beside their place: nothing of it needs the lock.

    Raises Unreachable, Gone.
    """
    assert job.provider_job is not None
    found = provider.fetch(job.provider_job, _landing(workspace, job, str(os.getpid())))
    reached(Point.DOWNLOADED)
    return found


def _landing(workspace: Workspace, job: Job, process: str) -> Path:
    return Folders(workspace, job.run).raw / f".{job.job}.{process}"


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
    same part. While ``patient``, a job that counts answers but has no file is asked again later. Raises Unreachable,
    Gone, NotOurs.
    """
    folders = Folders(workspace, job.run)
    files = _keep(job, folders, found)
    reached(Point.FETCHED)
    if not files and (status.done or status.failed) and status.state is not JobState.EXPIRED:
        if patient:
            raise Unreachable("it has ended and counts answers, but its files are not there yet")
        raise Gone(f"it counts {status.done or 0:,} answers and gives no file")
    if not files and status.state is JobState.FAILED:
        return ledger.move(job, State.COLLECTED, error=status.error or "it failed and left no files", billed_usd=0.0)
    if patient and any(map(_is_cut, files)):
        raise Unreachable("a result file ends in the middle of a line")
    return _take_home(workspace, ledger, provider, job, files, status, say)


def _is_cut(path: Path) -> bool:
    """Whether the last line has no end and cannot be read: a download that was cut where no length tells."""
    rest = b""
    for line in read_lines(path, keep_ends=True):
        rest = b"" if line.endswith(b"\n") or isinstance(line, Overlong) else line
        del line  # or a long one would stay while the next is read
    try:
        return bool(rest and not load_object(rest))
    except ValueError:
        return True


def restore(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, say: Say) -> bool:
    """Make a deleted part again from the raw files, if they are still here."""
    files = sorted(Folders(workspace, job.run).raw.glob(f"{job.job}.*.jsonl.zst"))
    if not files:
        return False
    ended = JobStatus(job.provider_job or "", JobState.COMPLETED, job.ended_at or job.intended_at, error=job.error)
    ledger.move(_take_home(workspace, ledger, provider, job, files, ended, say), State.CLOSED)
    return True


def _take_home(
    workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, files: list[Path], status: JobStatus, say: Say
) -> Job:
    """Result files to the part, and the part into the ledger."""
    folders = Folders(workspace, job.run)
    with _quarantine(folders.raw / f"{job.job}.quarantine.jsonl") as keep:
        reading, part = read_part(workspace, ledger, provider, job, files, status, keep)
    if not reading.rows and reading.unknown and not provider.names_jobs:
        for path in files:
            path.unlink()
        (folders.raw / f"{job.job}.quarantine.jsonl").unlink(missing_ok=True)
        raise NotOurs
    _report(reading, folders, job, say)
    _report_models(run_of(workspace, job), part, job, say)
    reading.rows.clear()  # they stand in the part
    path = folders.part(job.job)
    write_frame(path, part)
    reached(Point.PART_WRITTEN)
    job = ledger.move(
        job,
        State.COLLECTED,
        part=str(path.relative_to(workspace.root)),
        billed_usd=None if part["cost_usd"].null_count() == part.height else float(part["cost_usd"].sum()),
        answered=part.filter(pl.col("status").is_in(FINAL_WORDS))["request_id"].n_unique(),
        error=status.error,
        collected_at=job.collected_at or datetime.now(UTC),
    )
    reached(Point.COLLECTED)
    return job


def read_part(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    job: Job,
    files: list[Path],
    status: JobStatus,
    keep: Keep = ignore,
) -> tuple[Reading, pl.DataFrame]:
    """What result files say, and the part made from it; writes nothing, but for what ``keep`` does with bad lines."""
    ids = known_ids(workspace, job)
    reading = read_results(provider, files, None if ids is None else frozenset(ids), keep)
    expected = reading.ids if ids is None else frozenset(ids)
    if any(map(_is_cut, files)):  # what did not come was billed like the rest: a loss, not an absence
        reading = replace(reading, unreadable_ids=expected - {request_id for request_id, _ in reading.rows})
    tries = attempts(workspace, ledger, job.venue, job.model, expected)
    part = _part(reading, expected, tries, job, status, run_of(workspace, job))
    return reading, _with_losses(workspace, part, job, reading.unreadable_ids)


def _with_losses(workspace: Workspace, part: pl.DataFrame, job: Job, lost: frozenset[str]) -> pl.DataFrame:
    """A line that cannot be read was billed all the same: it counts at its bound, so that no bill is understated."""
    if not lost or part["cost_usd"].null_count() == part.height:
        return part
    if not Folders(workspace, job.run).bodies(job.stage).exists():
        return _at_most(part, job, next(iter(lost)))
    run = run_of(workspace, job)
    rows = sizes(Folders(workspace, job.run), job.stage)
    columns = rows.filter(pl.col("request_id").is_in(list(lost))).collect()
    bounds = with_bound(columns, bound_price_at(run, job.intended_at)).select("request_id", "bound_usd")
    return (
        part.join(bounds, on="request_id", how="left", maintain_order="left")
        .with_columns(cost_usd=pl.coalesce("bound_usd", "cost_usd"))
        .drop("bound_usd")
    )


def _at_most(part: pl.DataFrame, job: Job, lost: str) -> pl.DataFrame:
    """The same where the prompts were deleted: one lost line takes all that the whole job may have cost."""
    rest = float(part["cost_usd"].fill_null(0.0).sum())
    most = max(0.0, (job.reserved_usd or 0.0) - rest)
    return part.with_columns(
        cost_usd=pl.when(pl.col("request_id") == lost).then(most).otherwise(pl.col("cost_usd").fill_null(0.0))
    )


def account_trouble(workspace: Workspace, job: Job) -> str | None:
    """The provider's sentence when a job brought nothing because of the account, not of its requests."""
    if not job.part or job.answered:
        return None
    rows = pl.read_parquet(workspace.root / job.part, columns=["error_code", "error_message"])
    said = rows.filter(pl.col("error_code").is_in(list(ACCOUNT_TROUBLE)))["error_message"].drop_nulls()
    return said[0] if said.len() else None


def _keep(job: Job, folders: Folders, found: Iterable[Path]) -> list[Path]:
    """The job's result files under our name for it."""
    # A provider's id may hold what no file name can: only what the file is stays of its name.
    files = [path.replace(folders.raw / ".".join((job.job, *path.name.split(".")[-3:]))) for path in found]
    if files:
        sync_folder(folders.raw)
    return files


def sweep(workspace: Workspace, job: Job, process: str = "*") -> None:
    """Remove what downloads of a job have left beside their place: of every process, also of those that were killed."""
    for folder in Folders(workspace, job.run).raw.glob(_landing(workspace, job, process).name):
        shutil.rmtree(folder, ignore_errors=True)


def close(ledger: Ledger, provider: Provider, job: Job, *, keep_files: bool) -> Job:
    """Remove the uploaded input file, whose work is done, and close the job."""
    if job.file_id and not keep_files:
        provider.discard(job.file_id)
        reached(Point.DISCARDED)
    job = ledger.move(job, State.CLOSED)
    reached(Point.CLOSED)
    return job


@dataclass(frozen=True)
class Reading:
    """What the result files said: the best row per (request, choice), and what did not belong.

    ``why`` is what is wrong with the first of the ``unreadable`` lines.
    """

    rows: dict[tuple[str, int], Response]
    unreadable: int
    unreadable_ids: frozenset[str]
    duplicated: int
    unknown: int
    why: str | None = None

    @property
    def ids(self) -> frozenset[str]:
        """Whatever it names."""
        return frozenset(request_id for request_id, _ in self.rows) | self.unreadable_ids


def read_results(
    provider: Provider, files: Iterable[Path], expected: frozenset[str] | None, keep: Keep = ignore
) -> Reading:
    """Read every line of output and error files; a bad line goes to ``keep`` and never stops the others.

    Where it is not known what is ``expected`` any more, whatever may be an id of ours is.

    Of several rows for one choice a final one beats one to retry, and the first ok wins.
    """
    rows: dict[tuple[str, int], Response] = {}
    why: str | None = None
    bad = 0
    bad_ids: set[str] = set()
    duplicated = unknown = 0
    for path in files:
        for line in read_lines(path):
            try:
                responses = provider.decode(line)
            except ValueError as trouble:
                keep(line)
                bad, why = bad + 1, why or shorten(str(trouble))
                bad_ids.update(name for match in _ID.finditer(line) if _is_one_of(name := match[1].decode(), expected))
                del line
                continue
            for response in responses:
                key = (response.request_id, response.choice)
                if not _is_one_of(response.request_id, expected):
                    unknown += 1
                elif key not in rows:
                    rows[key] = response
                else:
                    duplicated += 1
                    if _rank(response.status) < _rank(rows[key].status):
                        rows[key] = response
            del line, responses  # or a long one would stay while the next is read
    answered = {request_id for request_id, _ in rows}
    return Reading(rows, bad, frozenset(bad_ids) - answered, duplicated, unknown, why)


def _is_one_of(request_id: str, expected: frozenset[str] | None) -> bool:
    return bool(_ID.fullmatch(f'"{request_id}"'.encode())) if expected is None else request_id in expected


def _rank(status: Status) -> int:
    return 0 if status is Status.OK else 1 if status.is_final else 2


@contextmanager
def _quarantine(path: Path) -> Iterator[Keep]:
    """A place for lines that cannot be read, written as they come; of one that is too long, its beginning."""
    with ExitStack() as exits:
        files: list[BinaryIO] = []

        def keep(line: bytes) -> None:
            if not files:
                files.append(exits.enter_context(exits.enter_context(written(path)).open("wb")))
            files[0].write(line + b"\n")

        yield keep


def _report(reading: Reading, folders: Folders, job: Job, say: Say) -> None:
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


def _part(
    reading: Reading,
    expected: frozenset[str],
    tries: dict[str, int],
    job: Job,
    status: JobStatus,
    run: Run,
) -> pl.DataFrame:
    rows = list(reading.rows.values())
    answered = {row.request_id for row in rows}
    # A job that ends early after some progress does not use up the attempt of those it did not reach.
    progressed = any(row.status.is_final for row in rows)
    for request_id in sorted(expected - answered):
        rows.append(Response(request_id, 0, _absence(request_id, reading, status), error_message=status.error))
    records = []
    for row in rows:
        early = progressed and row.status in (Status.EXPIRED, Status.CANCELLED)
        spared = early or row.error_code in ACCOUNT_TROUBLE
        attempt = tries.get(row.request_id, 0) + (0 if spared else 1)
        if row.status is Status.UNREADABLE:  # re-bought once, not more: the provider may repeat itself
            attempt = max(attempt, MAX_ATTEMPTS - 1)
        told = {name: getattr(row, name) for name in _TOLD}
        records.append({**told, "status": str(row.status), "attempt": attempt})
    frame = pl.DataFrame(records, schema_overrides=RESPONSE_SCHEMA, infer_schema_length=None)
    return (
        with_cost(frame, run, job.intended_at)
        .with_columns(
            venue=pl.lit(job.venue),
            model=pl.lit(job.model),
            job=pl.lit(job.job),
            received_at=pl.lit(status.at).cast(RESPONSE_SCHEMA["received_at"]),
        )
        .select(list(RESPONSE_SCHEMA))
        .cast(RESPONSE_SCHEMA)  # type: ignore[arg-type]
        .sort("request_id", "choice")
    )


def _absence(request_id: str, reading: Reading, status: JobStatus) -> Status:
    if request_id in reading.unreadable_ids:
        return Status.UNREADABLE
    if status.state is JobState.EXPIRED:
        return Status.EXPIRED
    if status.state is JobState.CANCELLED:
        return Status.CANCELLED
    return Status.MISSING
