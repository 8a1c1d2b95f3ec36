from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from stub_anthropic import NOON, batch

from runner.providers.anthropic_jobs import read_job
from runner.providers.base import JobState, JobStatus

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("counts", "state"),
    [
        ({"succeeded": 3}, JobState.COMPLETED),
        ({"succeeded": 1, "expired": 2}, JobState.COMPLETED),
        ({"errored": 1, "canceled": 2}, JobState.COMPLETED),
        ({"expired": 3}, JobState.EXPIRED),
        ({"canceled": 3}, JobState.CANCELLED),
        ({"canceled": 1, "expired": 2}, JobState.EXPIRED),
        ({}, JobState.COMPLETED),
    ],
)
def test_how_a_batch_ended_is_told_by_its_counts(counts, state):
    job = read_job(batch(counts=counts), NOON)
    assert job.state is state
    assert (job.total, job.done, job.failed) == (
        sum(counts.values()),
        counts.get("succeeded", 0),
        counts.get("errored", 0),
    )


@pytest.mark.parametrize("status", ["in_progress", "canceling", "paused", None, 3])
def test_a_batch_that_has_not_ended_tells_its_size_but_no_progress(status):
    job = read_job(batch(processing_status=status, counts={"processing": 5}), NOON)
    assert (job.state, job.total, job.done, job.failed) == (JobState.RUNNING, 5, None, None)
    assert job.is_cancelling is (status == "canceling")


def test_results_are_kept_29_days_from_the_creation():
    job = read_job(batch(created_at="2026-11-20T10:00:00Z", ended_at="2026-11-21T10:00:00Z"), NOON)
    assert job.retain_until == datetime(2026, 12, 19, 10, tzinfo=UTC)


@given(st.fixed_dictionaries({"id": st.text(min_size=1)}, optional=dict.fromkeys(list(batch())[2:], JSON)))
def test_an_odd_field_counts_as_absent(odd):
    job = read_job(odd, NOON)
    assert isinstance(job, JobStatus)
    assert job.provider_job == odd["id"]


@pytest.mark.parametrize("odd", [{}, {"id": ""}, {"id": 7}])
def test_without_an_id_it_is_no_batch(odd):
    with pytest.raises(ValueError):
        read_job(odd, NOON)
