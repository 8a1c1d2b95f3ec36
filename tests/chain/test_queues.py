"""What there is room for: never more than the provider allows, whole instances, and what it told us counts."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.chain.queues import TAKEN, TOLD, Queue, learn, queue_of
from runner.ledger import Job, Ledger, State
from runner.providers.base import Limits
from tests.ledger_rows import a_job

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)
LIMITS = Limits(1000, 10**6, 10_000, 100_000, queue_requests=50, max_jobs=2)


def _job(name: str, account: str = "a", model: str = "m", state: State = State.CREATED, **changes: object) -> Job:
    facts = {"venue": "v", "run": "r", "n": 10, "tokens": 4_000, "reserved_usd": None}
    return a_job(name, **{**facts, "account": account, "model": model, "state": state, **changes})


def _wanted(tokens: list[int], per_instance: int = 1) -> pl.DataFrame:
    return pl.DataFrame({"tokens": tokens, "instance": [i // per_instance for i in range(len(tokens))]})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger.sqlite")


def test_tokens_are_the_models_requests_and_jobs_the_accounts(ledger: Ledger) -> None:
    for job in (_job("1"), _job("2", model="other"), _job("3", account="b"), _job("4", state=State.CLOSED)):
        ledger.intend(job)
    queue = queue_of(ledger, "v", "a", "m", LIMITS, NOW)
    assert (queue.tokens, queue.requests, queue.jobs, queue.free_jobs) == (4_000, 20, 2, 0)
    assert queue.fitting(_wanted([1])).is_empty(), "no more jobs may be open"
    assert queue_of(ledger, "v", None, "m", LIMITS, NOW).jobs == 3
    assert queue_of(ledger, "elsewhere", "a", "m", LIMITS, NOW).jobs == 0


@given(
    st.lists(st.integers(1, 500), min_size=1, max_size=40),
    st.integers(1, 4),
    st.integers(0, 2_000),
    st.one_of(st.none(), st.integers(1, 5_000)),
    st.one_of(st.none(), st.integers(1, 60)),
)
def test_what_fits_is_a_prefix_of_whole_instances_within_every_limit(
    tokens: list[int], size: int, queued: int, most: int | None, requests: int | None
) -> None:
    wanted = _wanted(tokens, size)
    fitting = Queue(queued, most, 5, requests, 0, None).fitting(wanted)
    assert fitting.equals(wanted.head(fitting.height))
    if most is not None and not fitting.is_empty():
        assert queued + fitting["tokens"].sum() <= most
    if requests is not None:
        assert fitting.is_empty() or 5 + fitting.height <= requests
    if queued and not fitting.is_empty() and fitting.height < wanted.height:
        assert fitting["instance"][-1] != wanted["instance"][fitting.height]


def test_a_told_limit_goes_before_the_registrys_until_it_is_old(ledger: Ledger) -> None:
    said: list[str] = []
    learn(ledger, _job("1", tokens=9_000), 5_000, NOW, said.append)
    assert queue_of(ledger, "v", "a", "m", LIMITS, NOW).most_tokens == 5_000
    assert not queue_of(ledger, "v", "a", "m", LIMITS, NOW).is_taken, "the batch was larger than the queue"
    assert queue_of(ledger, "v", "a", "m", LIMITS, NOW + TOLD + timedelta(hours=1)).most_tokens == 10_000
    assert "5,000" in said[0]


def test_a_queue_that_others_filled_is_left_alone_for_a_while(ledger: Ledger) -> None:
    learn(ledger, _job("1", tokens=3_000), 5_000, NOW, lambda sentence: None)
    taken = queue_of(ledger, "v", "a", "m", LIMITS, NOW + TAKEN / 2)
    assert taken.is_taken
    assert taken.fitting(_wanted([1])).is_empty()
    assert not queue_of(ledger, "v", "a", "m", LIMITS, NOW + TAKEN * 2).is_taken
