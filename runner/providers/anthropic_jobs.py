"""Anthropic's message batch as a JobStatus. Fields: https://platform.claude.com/docs/en/api/messages/batches."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from runner.providers.base import JobState, JobStatus
from runner.providers.loose import as_count, as_moment, as_object, as_text

RETENTION = timedelta(days=29)
"""Results are kept so long after the batch was created."""

ENDS = ("succeeded", "errored", "canceled", "expired")


def read_job(batch: dict[str, Any], at: datetime) -> JobStatus:
    """The batch object of a reply whose Date is ``at``; ValueError where it has no id.

    Until the whole batch has ended all requests count as ``processing``: there is no progress to be told.
    """
    provider_job = as_text(batch.get("id"))
    if not provider_job:
        raise ValueError("a job without an id")
    said = as_object(batch.get("request_counts"))
    counts = {name: as_count(said.get(name)) for name in (*ENDS, "processing")}
    known = [count for count in counts.values() if count is not None]
    state = _state(batch.get("processing_status"), counts)
    created_at = as_moment(batch.get("created_at"))
    return JobStatus(
        provider_job=provider_job,
        state=state,
        at=at,
        created_at=created_at,
        total=sum(known) if known else None,
        done=counts["succeeded"] if state.has_ended else None,
        failed=counts["errored"] if state.has_ended else None,
        retain_until=created_at + RETENTION if created_at else None,
        is_cancelling=batch.get("processing_status") == "canceling",
        expires_at=as_moment(batch.get("expires_at")),
    )


def _state(status: object, counts: dict[str, int | None]) -> JobState:
    """A batch ends in one way only; its counts tell how. With any answer it is complete: each line has its own end."""
    if status != "ended":
        return JobState.RUNNING
    succeeded, errored, canceled, expired = (counts[name] or 0 for name in ENDS)
    if succeeded or errored or not (canceled or expired):
        return JobState.COMPLETED
    return JobState.EXPIRED if expired else JobState.CANCELLED
