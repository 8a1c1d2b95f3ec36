"""What an adversary tried on the ways out: cancel, deadline, adopt, budgets, queues. None of it pays twice."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from runner.ledger import Ledger
from tests.faults.cells import furnish
from tests.place import Place

OPENAI, ANTHROPIC = "gpt-5.4-mini", "claude-sonnet-5"


@pytest.fixture
def ours(tmp_path: Path, converted: Path) -> Place:
    return furnish(tmp_path / "ours", converted)


def _asked(converted: Path, model: str, limit: int = 6, seed: int = 0) -> list[str]:
    asked = ["--model", model, "--task", "3.1", "--data", str(converted), "--limit", str(limit), "--seed", str(seed)]
    return [*asked, "--emulate"]


def _rows(place: Place, sql: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        return list(ledger.execute(sql))


def _job_at_the_provider(place: Place) -> str:
    return str(place.bill()["jobs"][-1]["job"])


@pytest.mark.parametrize("model", [OPENAI, pytest.param(ANTHROPIC, marks=pytest.mark.slow)])
def test_adopting_what_is_being_looked_for_takes_it_up_once(ours: Place, converted: Path, model: str) -> None:
    ours.misbehave("create_lost:1")
    ours.call("submit", *_asked(converted, model), "--yes")
    ours.misbehave("create_lost:0")
    job = _job_at_the_provider(ours)
    ours.advance(90_000)
    ours.call("orphans", "--emulate", "--adopt", job)
    assert _rows(ours, "select provider_job from jobs") == [(job,)]
    ours.call("run", *_asked(converted, model), "--yes")
    assert ours.times_billed() == dict.fromkeys(ours.asked(), 1)


@pytest.mark.slow
def test_a_strangers_batch_of_the_same_size_is_not_cancelled(ours: Place, tmp_path: Path, converted: Path) -> None:
    theirs = furnish(tmp_path / "theirs", converted)
    theirs.emulator.mkdir(parents=True)
    ours.emulator.rmdir() if ours.emulator.exists() else None
    ours.emulator.symlink_to(theirs.emulator)  # one account
    theirs.misbehave(clock="driven")
    ours.misbehave("create_500:1")
    ours.call("submit", *_asked(converted, ANTHROPIC), "--yes")
    ours.misbehave("create_500:0")
    theirs.call("submit", *_asked(converted, ANTHROPIC, seed=5), "--yes")
    done = ours.call("cancel", "--run", ours.runs()[0])
    assert "may be a stranger's" in done.stderr
    assert [job["state"] for job in ours.bill()["jobs"]] == ["validating"]


@pytest.mark.slow
def test_a_job_is_adopted_for_the_run_that_it_answers_most(ours: Place, converted: Path) -> None:
    small, large = _asked(converted, ANTHROPIC, 6), _asked(converted, ANTHROPIC, 12)
    ours.call("build", *small)
    ours.call("submit", *large, "--yes")
    for path in (ours.root / "batches").glob("ledger.sqlite*"):
        path.unlink()
    ours.advance(90_000)
    ours.call("orphans", "--provider", "anthropic", "--emulate", "--adopt", _job_at_the_provider(ours))
    ours.call("collect")
    ours.call("run", *large, "--yes")
    ours.call("run", *small, "--yes")
    assert set(ours.times_billed().values()) == {1}


@pytest.mark.slow
def test_a_refused_budget_does_not_bring_a_cancelled_run_back(ours: Place, converted: Path) -> None:
    ours.misbehave(clock="driven")
    ours.call("submit", *_asked(converted, OPENAI, 20), "--yes")
    ours.call("cancel", "--run", ours.runs()[0])
    refused = ours.call("submit", *_asked(converted, OPENAI, 20), "--budget", "0.0001", "--yes", check=False)
    assert refused.returncode == 2
    ours.misbehave(clock="auto")
    for _ in range(3):
        ours.call("collect", check=False)
    assert len(_rows(ours, "select * from jobs")) == 1, "nothing was sent after the cancel"


@pytest.mark.slow
def test_a_deadline_is_for_the_runs_that_were_named(ours: Place, converted: Path) -> None:
    ours.call("run", *_asked(converted, OPENAI, 3, seed=7), "--yes")
    ours.misbehave("stuck:1", clock="driven")
    ours.call("submit", *_asked(converted, OPENAI, 8, seed=5), "--yes")
    ours.advance(7_200)
    ours.call("submit", *_asked(converted, OPENAI, 6, seed=9), "--yes")
    (newest,) = _rows(ours, "select run from jobs order by intended_at desc limit 1")[0]
    ours.call("collect", "--run", str(newest), "--deadline", "1h")
    assert "cancelling" not in {job["state"] for job in ours.bill()["jobs"]}


@pytest.mark.slow
def test_a_request_larger_than_the_queue_is_said_and_holds_up_nobody(ours: Place, converted: Path) -> None:
    asked = _asked(converted, OPENAI)
    ours.call("build", *asked)
    tokens = pl.read_parquet(ours.root / "batches" / ours.runs()[0] / "stage-1" / "bodies.parquet")["tokens"]
    ledger = Ledger(ours.root / "batches" / "ledger.sqlite")
    ledger.learn("emulator:openai", OPENAI, "queue_tokens", tokens.sort()[-2], datetime.now(UTC))
    ledger.close()
    done = ours.call("run", *asked, "--yes", check=False)
    assert "1 requests are larger than the batch queue" in done.stderr
    assert len(ours.times_billed()) == tokens.len() - 1


@pytest.mark.slow
def test_a_run_whose_requests_all_fly_in_another_is_not_forgotten(ours: Place, converted: Path) -> None:
    ours.misbehave(clock="driven")
    ours.call("submit", *_asked(converted, OPENAI, 8), "--yes")
    (large,) = ours.runs()
    ours.call("submit", *_asked(converted, OPENAI, 6), "--yes")
    ours.call("cancel", "--run", large)
    ours.misbehave(clock="auto")
    ours.call("collect", check=False)
    said = ours.call("collect", check=False)
    assert "Nothing is open" not in said.stderr
