"""What a job is said to have answered and did not bring, and what is billed where nobody told what was used.

A provider bills what it answered, whether or not it arrives and says what it took. Where that is not known, the most
that it can be is counted, so that no bill is understated and BUDGET holds.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from runner.chain.prices import bound_price_at, with_bound
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import sizes
from runner.ledger import Job
from runner.providers.base import JobState, JobStatus
from runner.request import Response

LOOKS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""When an ended job whose files hold fewer answers than it counts is looked at again, by the provider's clock."""
NOT_DELIVERED = "not_delivered"
"""The error code of a request whose answer is counted by the provider and in no file."""


@dataclass(frozen=True)
class Gap:
    """Of ``promised`` answers ``delivered`` came. Of those ``absent``, which are in no file, ``lost`` were billed."""

    promised: int
    delivered: int
    absent: frozenset[str]

    @property
    def lost(self) -> int:
        """How many requests were answered, and so billed, without a trace."""
        return min(len(self.absent), max(0, self.promised - self.delivered))

    @property
    def is_whole(self) -> bool:
        """Whether not one of the promised answers came."""
        return self.promised > 0 and self.delivered == 0

    def __bool__(self) -> bool:
        return self.lost > 0 or self.is_whole


def promised(job: Job, status: JobStatus) -> int:
    """How many answers an ended job is said to hold: the provider's count, without one the lines sent.

    A job that did not come to its end, of which nothing is counted, promises nothing.
    """
    if status.done is not None:
        return min(status.done, job.n)
    return max(0, job.n - (status.failed or 0)) if status.state is JobState.COMPLETED else 0


def gap_of(job: Job, expected: Collection[str], rows: Iterable[Response], unreadable: Collection[str]) -> Gap:
    """What is missing of a job's answers. Lines that cannot be read have arrived too; they are losses of their own."""
    came = {row.request_id: False for row in rows}
    came |= {row.request_id: True for row in rows if row.has_arrived}
    absent = frozenset(expected) - came.keys() - frozenset(unreadable)
    return Gap(job.promised or 0, sum(came.values()) + len(unreadable), absent)


def is_due(job: Job, at: datetime) -> bool:
    """Whether a job that was short is to be looked at now; after the last look always."""
    if job.looked_at is None or job.ended_at is None or job.looked_at - job.ended_at >= LOOKS[-1]:
        return True
    return any(job.looked_at - job.ended_at < look <= at - job.ended_at for look in LOOKS)


def is_patient(job: Job, at: datetime) -> bool:
    """Whether what is missing may still come."""
    return job.ended_at is not None and at - job.ended_at < LOOKS[-1]


def untold(rows: Iterable[Response], window_tokens: int) -> frozenset[str]:
    """The requests that were answered without saying, in counts that can be true, what they used.

    No prompt has no token, no text has none, and nothing is longer than the model's window.
    """
    arrived: dict[str, list[Response]] = {}
    for row in rows:
        arrived.setdefault(row.request_id, []).append(row)
    return frozenset(
        name
        for name, choices in arrived.items()
        if any(row.has_arrived for row in choices) and not _is_told(choices, window_tokens)
    )


def _is_told(choices: list[Response], window_tokens: int) -> bool:
    first = next((row for row in choices if row.choice == 0), None)
    if first is None or first.input_tokens is None or first.output_tokens is None:
        return False
    most = window_tokens * len(choices)
    is_silent = not any(row.text for row in choices)
    least = 0 if is_silent else 1
    return 0 < first.input_tokens <= window_tokens and least <= first.output_tokens <= most


def at_bounds(
    workspace: Workspace, part: pl.DataFrame, job: Job, run: Run, ids: frozenset[str], gap: Gap
) -> pl.DataFrame:
    """Add ``cost_is_bound``: these requests cost their bound, and of those absent the dearest that can be lost."""
    part = part.with_columns(cost_is_bound=pl.lit(False))
    absent = gap.absent if gap.lost else frozenset()
    if not ids | absent or part["cost_usd"].null_count() == part.height:
        return part
    if not Folders(workspace, job.run).bodies(job.stage).exists():
        return _at_most(part, job, min(ids | absent))
    bounds = bounds_of(workspace, job, run, ids | absent, job.intended_at)
    lost = bounds.filter(pl.col("request_id").is_in(list(absent))).head(gap.lost)
    kept = pl.concat([bounds.filter(pl.col("request_id").is_in(list(ids))), lost])
    return (
        part.join(kept, on="request_id", how="left", maintain_order="left")
        .with_columns(cost_is_bound=pl.col("bound_usd").is_not_null() & (pl.col("choice") == 0))
        .with_columns(cost_usd=pl.when("cost_is_bound").then("bound_usd").otherwise("cost_usd"))
        .drop("bound_usd")
    )


def _at_most(part: pl.DataFrame, job: Job, lost: str) -> pl.DataFrame:
    """The same where the prompts were deleted: one of them takes all that the whole job may have cost."""
    is_lost = (pl.col("request_id") == lost) & (pl.col("choice") == 0)
    rest = float(part.filter(~is_lost)["cost_usd"].fill_null(0.0).sum())
    most = max(0.0, (job.reserved_usd or 0.0) - rest)
    return part.with_columns(
        cost_is_bound=is_lost, cost_usd=pl.when(is_lost).then(most).otherwise(pl.col("cost_usd").fill_null(0.0))
    )


def bounds_of(workspace: Workspace, job: Job, run: Run, ids: Collection[str], at: datetime) -> pl.DataFrame:
    """The bound of each of these requests of a job, if bought at ``at``: request_id, bound_usd; dearest first."""
    wanted = sizes(Folders(workspace, job.run), job.stage).filter(pl.col("request_id").is_in(list(ids))).collect()
    bounds = with_bound(wanted, bound_price_at(run, at)).select("request_id", "bound_usd")
    return bounds.sort("bound_usd", "request_id", descending=True)
