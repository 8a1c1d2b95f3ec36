"""OpenAI's batch object as a JobStatus. Fields: https://platform.openai.com/docs/api-reference/batch/object."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import Any

from runner.providers.base import JobState, JobStatus
from runner.providers.loose import as_code, as_count, as_list, as_moment, as_object, as_text, shorten

TAG = "persona_runner"
"""The metadata key that carries our tag."""

WINDOW = timedelta(hours=24)

RETENTION = timedelta(days=30)
"""Output files are deleted 30 days after the batch ended."""

LATE_FILES = timedelta(minutes=15)
"""How long a batch that ended with answers may lack the ids of their files before that is believed."""

ENQUEUED = re.compile(r"enqueued[ _-]tokens?", re.I)
LIMIT = re.compile(r"\blimit(?: of|:)?\s*(?P<number>\d[\d,]{0,23})(?![.,]?\d)\s?(?P<unit>[KMB]\b)?", re.I)
UNITS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9}

STATES = {
    "completed": JobState.COMPLETED,
    "succeeded": JobState.COMPLETED,
    "expired": JobState.EXPIRED,
    "cancelled": JobState.CANCELLED,
    "canceled": JobState.CANCELLED,
    "failed": JobState.FAILED,
}
"""Words of OpenAI and of the hosts that speak its dialect. All others (validating, in_progress, finalizing,
cancelling, and what may come) are still running."""


def read_job(
    batch: dict[str, Any], at: datetime, kept: timedelta = RETENTION, *, splits_results: bool = True
) -> JobStatus:
    """The batch object of a reply whose Date is ``at``; its results are ``kept``. ValueError where it has no id.

    ``splits_results`` where failures always have a file of their own: then it is waited for.
    """
    provider_job = as_text(batch.get("id"))
    if not provider_job:
        raise ValueError("a job without an id")
    status = str(batch.get("status")).lower()  # some servers shout
    state = STATES.get(status, JobState.RUNNING)
    created_at = as_moment(batch.get("created_at"))
    # Some hosts have one moment for every ending.
    ended_at = as_moment(batch.get(f"{state}_at") or batch.get("completed_at")) if state.has_ended else None
    if (
        _lacks_files(batch, state, splits_results=splits_results)
        and at < (ended_at or (created_at or at) + WINDOW) + LATE_FILES
    ):
        state = JobState.RUNNING
    counts = as_object(batch.get("request_counts"))
    code, sentence = _errors(batch)
    return JobStatus(
        provider_job=provider_job,
        state=state,
        at=at,
        tag=as_text(as_object(batch.get("metadata")).get(TAG)),
        file_id=as_text(batch.get("input_file_id")),
        created_at=created_at,
        total=as_count(counts.get("total")),
        done=as_count(counts.get("completed")),
        failed=as_count(counts.get("failed")),
        error_code=code,
        error=shorten(sentence),
        learned_queue_tokens=queue_limit(sentence),
        retain_until=ended_at + kept if ended_at else None,
        is_cancelling=status == "cancelling",
        expires_at=as_moment(batch.get("expires_at") or batch.get("job_deadline")),  # the latter is Together's
    )


def queue_limit(sentence: str | None) -> int | None:
    """The limit in enqueued tokens that a refusal names, and no other limit (tokens per minute have one too).

    OpenAI: "Enqueued token limit reached for M in organization O. Limit: 2,000,000 enqueued tokens." Azure: "The
    number of enqueued tokens has surpassed the configured limit of 30K for the deployment 'D'."
    """
    found = LIMIT.search(sentence) if sentence and ENQUEUED.search(sentence) else None
    if found is None:
        return None
    number = int(found["number"].replace(",", "")) * UNITS[(found["unit"] or "").lower()]
    return as_count(number) or None


def _lacks_files(batch: dict[str, Any], state: JobState, *, splits_results: bool) -> bool:
    """Whether the counts promise lines that no file id leads to yet: ids may come after the end."""
    if not state.has_ended:
        return False
    if batch.get("output_file_id"):
        failed = as_count(as_object(batch.get("request_counts")).get("failed"))
        return splits_results and bool(failed) and not batch.get("error_file_id")
    counts = as_object(batch.get("request_counts"))
    if not counts and state is not JobState.FAILED:
        return not batch.get("error_file_id")  # a host that counts nothing: no file at all is too little
    total, done, failed = (as_count(counts.get(key)) or 0 for key in ("total", "completed", "failed"))
    if done:
        return True
    if batch.get("error_file_id") or state is JobState.FAILED:
        return False
    return failed > 0 or (state is JobState.COMPLETED and total > 0)


def _errors(batch: dict[str, Any]) -> tuple[str | None, str | None]:
    """The first code, and the first three messages of a list that may be as long as the file."""
    errors = [as_object(error) for error in as_list(as_object(batch.get("errors")).get("data"))]
    words = []
    for error in errors[:3]:
        line = as_count(error.get("line"))
        words.append((f"line {line}: " if line else "") + (as_text(error.get("message")) or "no reason given"))
    if len(errors) > 3:
        words.append(f"(and {len(errors) - 3} more)")
    return (as_code(errors[0].get("code")) if errors else None), " ".join(words) or as_text(batch.get("error")) or None
