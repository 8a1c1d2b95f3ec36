"""Whether what a model sends back can be used: the first small batch is judged before the rest is bought."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import polars as pl

from runner.benchmarks import find_task
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import has_part, request_ids
from runner.ledger import Job, Ledger
from runner.providers.base import ACCOUNT_TROUBLE
from runner.reporting.words import plain
from runner.request import Status
from runner.venues import is_rehearsal

PILOT_LOSS = 0.05
"""Share of pilot replies without a usable answer above which the rest is not bought without a new yes."""
UNREAD_LOSS = 0.01
"""Share of a job's replies that are not understood above which nothing more of the model is bought."""
NOT_REACHED = (Status.EXPIRED, Status.CANCELLED)
"""What never came to the model says nothing of its answers."""
UNPARSABLE = "not to be read as an answer"
LONGEST_EXAMPLE = 80


def unread_loss(workspace: Workspace, ledger: Ledger, run: Run, approved_at: datetime) -> str | None:
    """The sentence where replies of the model arrived in a form that is not known, too many to be an exception.

    One is too many in the first batch of a task: nobody knows yet that its replies can be read at all.
    """
    jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model)
    begun: set[str] = set()
    for job in jobs:
        if job.part is None:
            continue
        is_first = _task(job) not in begun
        if job.answered or job.unread:
            begun.add(_task(job))
        most = 0 if is_first else UNREAD_LOSS * job.n
        if (job.unread or 0) > most and has_part(workspace, job) and approved_at <= _came(workspace, job):
            raw = sorted(Folders(workspace, job.run).raw.glob(f"{job.job}.*.jsonl.zst"))
            where = raw[0].relative_to(workspace.root) if raw else "its raw file, which is gone"
            return (
                f"{job.unread:,} of {job.n:,} replies in batch {job.batch} of {job.run} arrived in a form that is not "
                f"known, and nothing more is bought of {job.model}. They are in {where}; a later version reads them at "
                f"`make collect`. `make submit` buys the others if you say so."
            )
    return None


def pilot_loss(workspace: Workspace, ledger: Ledger, run: Run, approved_at: datetime) -> str | None:
    """The sentence where the first replies of this model to this task were too often anything but an answer."""
    jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model)
    for job in jobs:
        if job.part is None or _task(job) != run.asked.task or not has_part(workspace, job):
            continue
        rows = pl.read_parquet(
            workspace.root / job.part, columns=["request_id", "status", "text", "error_code", "error_message"]
        )
        rows = rows.filter(
            ~pl.col("status").is_in(list(map(str, NOT_REACHED)))
            & ~pl.col("error_code").is_in(list(ACCOUNT_TROUBLE)).fill_null(False)
        )
        if rows.is_empty():
            continue
        return None if approved_at > _came(workspace, job) else _verdict(workspace, run, job, rows)
    return None


def _verdict(workspace: Workspace, run: Run, job: Job, rows: pl.DataFrame) -> str | None:
    unusable = dict(_unusable(job, rows))
    replies = rows["request_id"].n_unique()
    if len(unusable) <= PILOT_LOSS * replies:
        return None
    ids = request_ids(Folders(workspace, run.name))
    if ids.is_in(rows["request_id"].implode()).all():
        return None  # there is no rest
    counted = Counter(why for why, _ in unusable.values()).most_common()
    said = ", ".join(f"{n:,} {why}" for why, n in counted)
    example = next((text for _, text in unusable.values() if text), None)
    quoted = f', as in "{plain(example)[:LONGEST_EXAMPLE]}"' if example else ""
    raw = Folders(workspace, job.run).raw.relative_to(workspace.root)
    return (
        f"{len(unusable):,} of the first {replies:,} replies are no answers ({said}{quoted}), and the rest is not "
        f"bought. See {raw}; `make submit` asks again and goes on if you say so."
    )


def _unusable(job: Job, rows: pl.DataFrame) -> Iterator[tuple[str, tuple[str, str | None]]]:
    """Of each request without one usable answer: why, and what was said."""
    _, task = find_task(_task(job), _protocol(job))
    parse = task.stages[job.stage - 1].parse
    for (request_id,), choices in rows.group_by("request_id", maintain_order=True):
        texts = choices.filter(pl.col("status") == Status.OK)["text"]
        if any(parse(text or "") is not None for text in texts):
            continue
        first = choices.row(0, named=True)
        why = UNPARSABLE if texts.len() else first["status"]
        yield str(request_id), (why, first["error_message"] or first["text"])


def _came(workspace: Workspace, job: Job) -> datetime:
    """When the answers came, by our own clock: a later yes was given in view of them."""
    if job.collected_at is None:  # of an earlier version
        return datetime.fromtimestamp((workspace.root / str(job.part)).stat().st_mtime, UTC)
    return job.collected_at


def _protocol(job: Job) -> str:
    """From the run's name, ``<task>__<model>__<protocol>__[emulator__]<hash>``: its folder may be gone."""
    words = job.run.split("__")[:-1]
    return words[-2] if is_rehearsal(job.venue) else words[-1]


def _task(job: Job) -> str:
    return job.run.split("__", 1)[0]
