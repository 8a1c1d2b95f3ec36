"""A job's part: a row for each choice of each of its requests, what it cost, and what that tells the ledger."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from pathlib import Path

import polars as pl

from runner.chain.deleted import run_of
from runner.chain.losses import NOT_DELIVERED, Gap, at_bounds, gap_of, untold
from runner.chain.prices import with_cost
from runner.chain.reading import Keep, Reading, ignore, is_cut, read_results
from runner.chain.runs import Run, Workspace
from runner.chain.stock import FINAL_WORDS, MAX_ATTEMPTS, attempts, known_ids
from runner.ledger import Job, Ledger
from runner.providers.base import ACCOUNT_TROUBLE, JobState, JobStatus, Provider
from runner.request import RESPONSE_SCHEMA, Response, Status

_TOLD = tuple(field.name for field in fields(Response))


@dataclass(frozen=True)
class Home:
    """What a job brought: what its files say, the part made from it, and what is missing."""

    reading: Reading
    part: pl.DataFrame
    gap: Gap


def read_part(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    job: Job,
    files: list[Path],
    status: JobStatus,
    keep: Keep = ignore,
) -> Home:
    """What result files say, and the part made from it; writes nothing, but for what ``keep`` does with bad lines."""
    run, ids = run_of(workspace, job), known_ids(workspace, job)
    reading = read_results(provider, files, None if ids is None else frozenset(ids), keep)
    expected = reading.ids if ids is None else frozenset(ids)
    if not job.promised and any(map(is_cut, files)):  # nobody counted what did not come: it may all be billed
        reading = replace(reading, unreadable_ids=expected - {request_id for request_id, _ in reading.rows})
    rows = list(reading.rows.values())
    gap = gap_of(job, expected, rows, reading.unreadable_ids)
    at_bound = reading.unreadable_ids | untold(rows, provider.limits(job.model).window_tokens)
    tries = attempts(workspace, ledger, job.venue, job.model, expected)
    part = _part(reading, expected, gap, tries, job, status, run)
    return Home(reading, _in_order(at_bounds(workspace, part, job, run, at_bound, gap)), gap)


def tally(part: pl.DataFrame) -> dict[str, object]:
    """What the ledger knows of a part."""
    is_priced = part["cost_usd"].null_count() < part.height
    return {
        "billed_usd": float(part["cost_usd"].sum()) if is_priced else None,
        "at_bound_usd": float(part.filter("cost_is_bound")["cost_usd"].sum()) if is_priced else None,
        "answered": part.filter(pl.col("status").is_in(FINAL_WORDS))["request_id"].n_unique(),
        "unread": unread_in(part),
    }


def unread_in(part: pl.DataFrame) -> int:
    """The requests of a part whose reply was not understood, not even one choice of it."""
    final = part.filter(pl.col("status").is_in(FINAL_WORDS))["request_id"]
    odd = part.filter(pl.col("status") == Status.UNREAD)["request_id"].unique()
    return odd.filter(~odd.is_in(final.implode())).len()


def _part(
    reading: Reading,
    expected: frozenset[str],
    gap: Gap,
    tries: dict[str, int],
    job: Job,
    status: JobStatus,
    run: Run,
) -> pl.DataFrame:
    rows = list(reading.rows.values())
    answered = {row.request_id for row in rows}
    for request_id in sorted(expected - answered):
        if gap.lost and request_id in gap.absent:
            rows.append(Response(request_id, 0, Status.MISSING, error_code=NOT_DELIVERED, error_message=status.error))
        else:
            rows.append(Response(request_id, 0, _absence(request_id, reading, status), error_message=status.error))
    records = []
    for row in rows:
        # What an early end did not reach was not tried; batches in a row that reach nothing stop the run.
        spared = row.status in (Status.EXPIRED, Status.CANCELLED) or row.error_code in ACCOUNT_TROUBLE
        attempt = tries.get(row.request_id, 0) + (0 if spared else 1)
        # Paid for: re-bought once, not more, for the provider may repeat itself.
        if row.status is Status.UNREADABLE or row.error_code == NOT_DELIVERED:
            attempt = max(attempt, MAX_ATTEMPTS - 1)
        told = {name: getattr(row, name) for name in _TOLD}
        records.append({**told, "status": str(row.status), "attempt": attempt})
    frame = pl.DataFrame(records, schema_overrides=RESPONSE_SCHEMA, infer_schema_length=None)
    return with_cost(frame, run, job.intended_at).with_columns(
        venue=pl.lit(job.venue),
        model=pl.lit(job.model),
        job=pl.lit(job.job),
        received_at=pl.lit(status.at).cast(RESPONSE_SCHEMA["received_at"]),
    )


def _in_order(part: pl.DataFrame) -> pl.DataFrame:
    columns = part.select(list(RESPONSE_SCHEMA))
    return columns.cast(RESPONSE_SCHEMA).sort("request_id", "choice")  # type: ignore[arg-type]


def _absence(request_id: str, reading: Reading, status: JobStatus) -> Status:
    if request_id in reading.unreadable_ids:
        return Status.UNREADABLE
    if status.state is JobState.EXPIRED:
        return Status.EXPIRED
    if status.state is JobState.CANCELLED:
        return Status.CANCELLED
    return Status.MISSING
