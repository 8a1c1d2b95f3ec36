"""Mistral's own job and list."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

import runner.emulator
from runner.providers import connect
from runner.providers.base import JobState, NotCreated
from runner.providers.mistral import as_batch
from runner.providers.openai_jobs import read_job
from runner.request import Body, Message, RequestId

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
MODEL = "mistral-small-2603"
JOB = {
    "id": "3f2c",
    "object": "batch",
    "input_files": ["in-1"],
    "endpoint": "/v1/chat/completions",
    "model": MODEL,
    "metadata": {"persona_runner": "tag-1"},
    "errors": [],
    "status": "SUCCESS",
    "created_at": int(NOON.timestamp()) - 7200,
    "completed_at": int(NOON.timestamp()) - 3600,
    "total_requests": 5,
    "completed_requests": 5,
    "succeeded_requests": 4,
    "failed_requests": 1,
    "output_file": "out-1",
    "error_file": "err-1",
}


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    with runner.emulator.start(tmp_path_factory.mktemp("emulator"), clock="auto", plain=True) as running:
        yield running


@pytest.fixture
def provider(emulator):
    return connect("mistral", {}, base_url=f"{emulator.base_url}/mistral", venue="emulator")


@pytest.fixture
def file_id(provider, tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_bytes(provider.encode(RequestId("r0"), MODEL, Body((Message("user", "Hello."),), 20)) + b"\n")
    return provider.upload(path, "tag")


@pytest.mark.parametrize(
    ("word", "state", "is_cancelling"),
    [
        ("QUEUED", JobState.RUNNING, False),
        ("RUNNING", JobState.RUNNING, False),
        ("SUCCESS", JobState.COMPLETED, False),
        ("FAILED", JobState.FAILED, False),
        ("TIMEOUT_EXCEEDED", JobState.EXPIRED, False),
        ("CANCELLATION_REQUESTED", JobState.RUNNING, True),
        ("CANCELLED", JobState.CANCELLED, False),
        ("SOMETHING_NEW", JobState.RUNNING, False),
    ],
)
def test_every_state(word, state, is_cancelling):
    job = read_job(as_batch(JOB | {"status": word}), NOON)
    assert (job.state, job.is_cancelling) == (state, is_cancelling)


def test_the_fields_of_a_job():
    job = read_job(as_batch(JOB), NOON, timedelta(hours=24))
    assert (job.provider_job, job.tag, job.file_id) == ("3f2c", "tag-1", "in-1")
    assert (job.total, job.done, job.failed) == (5, 4, 1)
    assert job.retain_until == NOON + timedelta(hours=23)


def test_why_a_job_failed():
    said = [{"message": f"Invalid line {number}", "count": 2} for number in range(5)]
    job = read_job(as_batch(JOB | {"status": "FAILED", "errors": said}), NOON)
    assert job.error == "Invalid line 0 Invalid line 1 Invalid line 2 (and 2 more)"


odd = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda value: st.lists(value) | st.dictionaries(st.text(), value),
    max_leaves=5,
)


@given(st.dictionaries(st.sampled_from(sorted(JOB)), odd))
def test_odd_fields_stop_nothing(fields):
    job = read_job(as_batch(JOB | fields | {"id": "3f2c"}), NOON)
    assert job.provider_job == "3f2c"


def test_the_whole_list_is_read_by_its_pages(provider, file_id):
    created = {provider.create(MODEL, file_id, f"page-{number}") for number in range(101)}
    listing = provider.jobs(LONG_AGO)
    found = [job.provider_job for job in listing.jobs]
    assert created <= set(found)
    assert len(found) == len(set(found))
    assert {job.tag for job in listing.jobs} >= {f"page-{number}" for number in range(101)}
    assert provider.jobs(listing.at + timedelta(days=1)).jobs, "the first page is always read"


def test_results_are_kept_for_a_day(provider, file_id, emulator, tmp_path):
    job = provider.create(MODEL, file_id, "kept")
    while not (status := provider.status(job)).state.has_ended:
        pass
    assert timedelta(hours=23) < status.retain_until - status.at <= timedelta(hours=24)
    assert provider.fetch(job, tmp_path)


@pytest.mark.parametrize(
    ("model", "source", "later", "words"),
    [
        ("no-such-model", None, False, "Invalid model: no-such-model"),
        (MODEL, "no-such-file", True, "No file matches"),
    ],
)
def test_a_clear_no_in_the_words_of_mistral(provider, file_id, model, source, later, words):
    before = len(provider.jobs(LONG_AGO).jobs)
    with pytest.raises(NotCreated, match=words) as caught:
        provider.create(model, source or file_id, "t")
    assert caught.value.retry_later is later
    assert len(provider.jobs(LONG_AGO).jobs) == before
