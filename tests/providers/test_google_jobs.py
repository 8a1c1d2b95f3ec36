from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.providers.base import JobState, JobStatus
from runner.providers.google_jobs import read_job, results_of

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
ENDED = datetime(2026, 11, 20, 11, 30, tzinfo=UTC)
RESULTS = {"responsesFile": "files/batch-123"}


def operation(state="BATCH_STATE_SUCCEEDED", output=RESULTS, **fields):
    stats = {"requestCount": "50", "successfulRequestCount": "48", "failedRequestCount": "2"}
    metadata = {
        "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
        "name": "batches/123",
        "displayName": "tag-1",
        "state": state,
        "createTime": "2026-11-20T11:00:00.123456789Z",
        "endTime": "2026-11-20T11:30:00Z",
        "batchStats": stats,
        "inputConfig": {"fileName": "files/in"},
        "output": output,
    }
    return {"name": "batches/123", "metadata": metadata | fields.pop("metadata", {}), **fields}


def test_all_that_the_sdk_drops_is_read():
    assert read_job(operation(), NOON) == JobStatus(
        provider_job="batches/123",
        state=JobState.COMPLETED,
        at=NOON,
        tag="tag-1",
        file_id="files/in",
        created_at=datetime(2026, 11, 20, 11, 0, 0, 123456, UTC),
        total=50,
        done=48,
        failed=2,
        retain_until=ENDED + timedelta(weeks=6),
        expires_at=datetime(2026, 11, 22, 11, 0, 0, 123456, UTC),
    )
    failed = read_job(operation("BATCH_STATE_FAILED", error={"code": 13, "message": "it broke"}), NOON)
    assert (failed.state, failed.error_code, failed.error) == (JobState.FAILED, "INTERNAL", "it broke")


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("BATCH_STATE_PENDING", JobState.RUNNING),
        ("BATCH_STATE_RUNNING", JobState.RUNNING),
        ("JOB_STATE_SUCCEEDED", JobState.COMPLETED),
        ("BATCH_STATE_PARTIALLY_SUCCEEDED", JobState.COMPLETED),
        ("BATCH_STATE_FAILED", JobState.FAILED),
        ("BATCH_STATE_CANCELLED", JobState.CANCELLED),
        ("BATCH_STATE_EXPIRED", JobState.EXPIRED),
        ("BATCH_STATE_FROM_THE_FUTURE", JobState.RUNNING),
        ("SUCCEEDED", JobState.COMPLETED),
        (None, JobState.RUNNING),
        (7, JobState.RUNNING),
    ],
)
def test_states(word, state):
    assert read_job(operation(word), NOON).state is state


def test_a_job_that_is_being_cancelled_says_so():
    assert read_job(operation("BATCH_STATE_CANCELLING"), NOON).is_cancelling


@pytest.mark.parametrize("output", [None, {}, {"responsesFile": ""}, {"inlinedResponses": {}}])
def test_success_without_results_is_believed_after_a_while(output):
    late = operation(output=output)
    assert read_job(late, ENDED + timedelta(minutes=14)).state is JobState.RUNNING
    assert read_job(late, ENDED + timedelta(minutes=15)).state is JobState.COMPLETED
    timeless = operation(output=output, metadata={"endTime": None, "updateTime": None})
    assert read_job(timeless, NOON).state is JobState.RUNNING
    assert read_job(timeless, NOON + timedelta(days=3)).state is JobState.COMPLETED
    assert read_job(operation("BATCH_STATE_EXPIRED", output=output), ENDED).state is JobState.EXPIRED


def test_where_results_may_stand():
    entries = [{"response": {}, "metadata": {"key": "r1"}}]
    inline = {"inlinedResponses": {"inlinedResponses": entries}}
    assert results_of(operation()) == ("files/batch-123", [])
    assert results_of(operation(output=None, response=RESULTS)) == ("files/batch-123", [])
    assert results_of(operation(output=inline)) == (None, entries)
    assert results_of(operation(output=None, response=inline)) == (None, entries)
    assert results_of({"name": "batches/1"}) == (None, [])


@pytest.mark.parametrize("count", [50, "50"])
def test_counts_are_strings_or_numbers(count):
    assert read_job(operation(metadata={"batchStats": {"requestCount": count}}), NOON).total == 50


@given(st.text() | st.integers() | st.lists(st.integers()) | st.none(), st.sampled_from(["total", "created_at", "tag"]))
def test_odd_fields_count_as_absent(odd, field):
    key = {"total": "batchStats", "created_at": "createTime", "tag": "displayName"}[field]
    value = {"requestCount": odd} if field == "total" else odd
    job = read_job(operation(metadata={key: value}), NOON)
    assert job.provider_job == "batches/123"
    expected = {"total": int, "created_at": datetime, "tag": str}[field]
    assert getattr(job, field) is None or isinstance(getattr(job, field), expected)


@pytest.mark.parametrize("entry", [{}, {"name": ""}, {"name": 7}])
def test_a_job_without_a_name_is_none(entry):
    with pytest.raises(ValueError, match="without a name"):
        read_job(entry, NOON)
