"""Gemini's operation of a batch as a JobStatus. Fields: https://ai.google.dev/api/batch-api.

The raw JSON is read: the SDK drops the counts, the input file and the error, and takes an unknown state for one
that never ends.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from runner.providers.base import JobState, JobStatus
from runner.providers.google_codes import sentence_of, word_of
from runner.providers.loose import as_count, as_list, as_moment, as_object, as_text, shorten

RETENTION = timedelta(weeks=6)
"""How long results are kept after the end: https://ai.google.dev/gemini-api/docs/batch-api."""

WINDOW = timedelta(hours=48)
"""A job that is pending or running for longer expires."""

LATE_FILES = timedelta(minutes=15)
"""How long a batch that ended with answers may name no results before that is believed."""

STATES = {
    "SUCCEEDED": JobState.COMPLETED,
    "PARTIALLY_SUCCEEDED": JobState.COMPLETED,
    "FAILED": JobState.FAILED,
    "CANCELLED": JobState.CANCELLED,
    "EXPIRED": JobState.EXPIRED,
}
"""The states that end, without BATCH_STATE_ or JOB_STATE_. Every other one is still running: a deadline ends it."""


def read_job(operation: dict[str, Any], at: datetime) -> JobStatus:
    """The operation of a reply whose Date is ``at``; ValueError where it has no name."""
    name = name_of(operation)
    batch = as_object(operation.get("metadata"))
    word = (as_text(batch.get("state")) or "").rpartition("STATE_")[2]
    state = STATES.get(word, JobState.RUNNING)
    created_at = as_moment(batch.get("createTime"))
    ended_at = as_moment(batch.get("endTime")) or as_moment(batch.get("updateTime")) if state.has_ended else None
    stats = as_object(batch.get("batchStats"))
    total, done, failed = (
        int64(stats.get(name)) for name in ("requestCount", "successfulRequestCount", "failedRequestCount")
    )
    believed_from = (ended_at or (created_at or at) + WINDOW) + LATE_FILES
    if state is JobState.COMPLETED and not any(results_of(operation)) and at < believed_from:
        state = JobState.RUNNING
    error = as_object(operation.get("error"))
    return JobStatus(
        provider_job=name,
        state=state,
        at=at,
        tag=as_text(batch.get("displayName")),
        file_id=as_text(as_object(batch.get("inputConfig")).get("fileName")),
        created_at=created_at,
        total=total,
        done=done,
        failed=failed,
        error_code=word_of(error),
        error=shorten(sentence_of(error)),
        retain_until=ended_at + RETENTION if ended_at else None,
        is_cancelling=word == "CANCELLING",
        expires_at=created_at + WINDOW if created_at else None,
    )


def results_of(operation: dict[str, Any]) -> tuple[str | None, list[dict[str, Any]]]:
    """The file that holds the results, or else the results themselves, which came inline."""
    places = as_object(operation.get("response")), as_object(as_object(operation.get("metadata")).get("output"))
    files = [as_text(place.get("responsesFile")) for place in places]
    inline = [as_list(as_object(place.get("inlinedResponses")).get("inlinedResponses")) for place in places]
    return next(filter(None, files), None), [as_object(entry) for entry in next(filter(None, inline), [])]


def name_of(entry: dict[str, Any]) -> str:
    """The name of a batch or a file, which is its id; ValueError where there is none."""
    name = as_text(entry.get("name"))
    if not name:
        raise ValueError("a reply without a name")
    return name


def int64(value: object) -> int | None:
    """A count, which JSON of a proto gives as a string."""
    return as_count(int(value) if isinstance(value, str) and value.isdecimal() and len(value) < 20 else value)
