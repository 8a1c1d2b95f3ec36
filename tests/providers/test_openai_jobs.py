from datetime import UTC, datetime, timedelta

import pytest

from runner.providers.base import JobState
from runner.providers.openai_jobs import queue_limit, read_job

CREATED = datetime(2026, 11, 20, 12, tzinfo=UTC)
ENDED = CREATED + timedelta(hours=2)
MESSAGE = (
    "Enqueued token limit reached for gpt-4o-mini in organization org-x. Limit: 2,000,000 enqueued tokens. "
    "Please try again once some in_progress batches have been completed."
)


def batch(status, *, done=0, failed=0, total=0, **fields):
    return {
        "id": "batch_1",
        "status": status,
        "created_at": int(CREATED.timestamp()),
        f"{status}_at": int(ENDED.timestamp()),
        "request_counts": {"total": total, "completed": done, "failed": failed},
        "metadata": {"persona_runner": "tag-1"},
        **fields,
    }


def state(*args, after=timedelta(minutes=1), **fields):
    return read_job(batch(*args, **fields), ENDED + after).state


def test_a_job_in_full():
    files = {"output_file_id": "file-1", "error_file_id": "file-2"}
    job = read_job(batch("completed", done=3, failed=1, total=4, **files), ENDED)
    assert (job.provider_job, job.tag, job.state, job.at) == ("batch_1", "tag-1", JobState.COMPLETED, ENDED)
    assert (job.total, job.done, job.failed) == (4, 3, 1)
    assert (job.created_at, job.retain_until) == (CREATED, ENDED + timedelta(days=30))


@pytest.mark.parametrize("word", ["validating", "in_progress", "finalizing", "cancelling", "something_new"])
def test_all_that_is_not_over_is_running(word):
    assert state(word, done=5, total=9) is JobState.RUNNING


@pytest.mark.parametrize(
    ("word", "ended"),
    [
        ("completed", JobState.COMPLETED),
        ("expired", JobState.EXPIRED),
        ("cancelled", JobState.CANCELLED),
        ("failed", JobState.FAILED),
        ("COMPLETED", JobState.COMPLETED),
    ],
)
def test_every_ending_is_told_apart(word, ended):
    assert state(word, done=5, total=9, output_file_id="file-1") is ended


def test_the_file_of_the_failed_is_waited_for_where_they_have_one_of_their_own():
    late = batch("completed", done=3, failed=1, total=4, output_file_id="file-1")
    assert read_job(late, ENDED).state is JobState.RUNNING
    assert read_job(late, ENDED, splits_results=False).state is JobState.COMPLETED
    assert read_job(late, ENDED + timedelta(minutes=15)).state is JobState.COMPLETED


@pytest.mark.parametrize("word", ["completed", "expired", "cancelled"])
@pytest.mark.parametrize("missing", [None, ""])
def test_paid_answers_without_a_file_are_waited_for_by_the_replys_clock(word, missing):
    late = {"done": 5, "total": 9, "output_file_id": missing, "error_file_id": "file-e"}
    assert state(word, **late) is JobState.RUNNING
    assert state(word, **late, after=timedelta(minutes=14, seconds=59)) is JobState.RUNNING
    assert state(word, **late, after=timedelta(minutes=15)) is JobState(word)


def test_what_has_no_answers_is_not_waited_for():
    assert state("cancelled", total=9) is JobState.CANCELLED
    assert state("expired", total=9) is JobState.EXPIRED
    assert state("completed", failed=9, total=9, error_file_id="file-e") is JobState.COMPLETED
    assert state("failed", failed=9, total=9) is JobState.FAILED
    assert state("completed", failed=9, total=9) is JobState.RUNNING
    assert state("completed", total=9) is JobState.RUNNING


def test_a_job_that_never_says_when_it_ended_is_waited_for_until_its_window_is_over():
    fields = batch("completed", done=1, total=1) | {"completed_at": None}
    assert read_job(fields, CREATED + timedelta(hours=24)).state is JobState.RUNNING
    assert read_job(fields, CREATED + timedelta(hours=25)).state is JobState.COMPLETED


def test_a_full_queue_teaches_its_true_limit():
    errors = {"data": [{"code": "token_limit_exceeded", "line": None, "message": MESSAGE}]}
    job = read_job(batch("failed", errors=errors), ENDED)
    assert (job.error_code, job.learned_queue_tokens) == ("token_limit_exceeded", 2_000_000)
    assert job.error == MESSAGE


@pytest.mark.parametrize(
    ("sentence", "limit"),
    [
        (MESSAGE, 2_000_000),
        ("Enqueued token limit reached for gpt-4o in organization XYZ. Limit: 90,000 enqueued tokens.'", 90_000),
        ("Enqueued token limit reached for gpt-4o. Limit: 90,000 / Enqueued: 85,000 / Requested: 10,000", 90_000),
        ("Enqueued token limit reached for o3: limit 1350000, current enqueued 1349999.", 1_350_000),
        ("The number of enqueued tokens has surpassed the configured limit of 50K for the deployment", 50_000),
        ("enqueued tokens have surpassed the configured limit of 50000K.", 50_000_000),
        ("ENQUEUED_TOKENS: LIMIT 3 M", 3_000_000),
        ("Enqueued token limit reached for gpt-6-luna", None),
        ("Enqueued token limit reached. Limit: 2.000.000 enqueued tokens", None),
        ("Enqueued token limit reached. Limit: 0 enqueued tokens", None),
        ("Enqueued token limit reached. Limit: " + "9" * 40, None),
        ("Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Used 29000, Requested 5000.", None),
        ("You exceeded your current quota, limit: 100", None),
        ("", None),
        (None, None),
    ],
)
def test_the_limit_of_the_queue_is_read_from_every_sentence_that_names_it_and_no_other(sentence, limit):
    assert queue_limit(sentence) == limit


def test_a_long_list_of_errors_is_told_in_three():
    errors = {"data": [{"code": "invalid_url", "line": n, "message": f"Bad {n}."} for n in range(1, 51)]}
    job = read_job(batch("failed", errors=errors), ENDED)
    assert job.error_code == "invalid_url"
    assert job.error == "line 1: Bad 1. line 2: Bad 2. line 3: Bad 3. (and 47 more)"
    assert job.learned_queue_tokens is None


def test_odd_fields_count_as_absent():
    job = read_job(
        {"id": "b", "status": 7, "created_at": "now", "request_counts": [], "metadata": "x", "errors": {"data": 3}},
        ENDED,
    )
    assert (job.state, job.tag, job.created_at, job.total, job.error) == (JobState.RUNNING, None, None, None, None)
    with pytest.raises(ValueError):
        read_job({"status": "completed"}, ENDED)
