import os
import signal
import sqlite3
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runner.ledger import OPEN, Approval, Job, Ledger, Spent, State
from tests.ledger_rows import a_job

NOW = datetime(2026, 11, 21, 3, 0, 0, 123456, tzinfo=UTC)


def job(name: str, **changes: object) -> Job:
    return a_job(name, **{"account": "a1", "state": State.INTENDED, "intended_at": NOW, **changes})


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "batches" / "ledger.sqlite")


def test_a_job_is_read_back_as_it_was_written(ledger: Ledger) -> None:
    ledger.intend(job("j1", retain_until=NOW + timedelta(days=30)))
    assert ledger.jobs() == [job("j1", retain_until=NOW + timedelta(days=30))]


def test_money_is_held_back_while_a_job_is_open_and_billed_when_it_is_home(ledger: Ledger) -> None:
    one = job("j1")
    ledger.intend(one)
    ledger.intend(job("j2", run="other"))
    for state in OPEN:
        ledger.move(one, state)
        assert ledger.spent(run="r") == Spent(0.0, 0.25)
    ledger.move(one, State.COLLECTED, billed_usd=0.1)
    assert ledger.spent(run="r") == Spent(0.1, 0.0)
    assert ledger.spent(scope="s").total_usd == pytest.approx(0.35)


def test_batch_numbers_are_never_used_twice(ledger: Ledger) -> None:
    assert ledger.next_batch("r", 1) == 1
    one = job("j1")
    ledger.intend(one)
    ledger.move(one, State.CLOSED)
    assert ledger.next_batch("r", 1) == 2
    assert ledger.next_batch("r", 2) == 1


def test_the_latest_approval_counts(ledger: Ledger) -> None:
    assert ledger.approval("r") is None
    ledger.approve("r", 1.0, NOW)
    ledger.approve("r", None, NOW)
    approval = ledger.approval("r")
    assert approval is not None
    assert approval.bound_usd is None
    assert ledger.approved_runs() == ["r"]


def test_a_withdrawn_yes_is_none_until_the_next_one(ledger: Ledger) -> None:
    assert not ledger.is_withdrawn("r")
    ledger.withdraw("r", NOW)
    assert ledger.approval("r") is None, "there was no yes to take back"
    ledger.approve("r", 1.0, NOW, 2.0)
    ledger.withdraw("r", NOW)
    assert ledger.approval("r") == Approval("r", 1.0, NOW, 2.0, is_withdrawn=True)
    ledger.approve("r", 3.0, NOW)
    assert not ledger.is_withdrawn("r")


def test_a_ledger_of_an_earlier_version_opens(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    with sqlite3.connect(path) as old:
        old.execute("create table approvals (run text not null, bound_usd real, at text not null, budget_usd real)")
        old.execute("insert into approvals values ('r', 1.5, '2026-11-01T00:00:00+00:00', null)")
    ledger = Ledger(path)
    assert not ledger.is_withdrawn("r")
    ledger.withdraw("r", NOW)
    assert ledger.is_withdrawn("r")


def test_the_latest_learned_limit_counts_for_a_while(ledger: Ledger) -> None:
    def told(venue: str, since: datetime) -> object:
        return ledger.learned(venue, "gpt-4.1", "queue_tokens", since)

    assert told("openai", NOW) is None
    ledger.learn("openai", "gpt-4.1", "queue_tokens", 900_000, NOW - timedelta(days=1))
    ledger.learn("openai", "gpt-4.1", "queue_tokens", 90_000, NOW)
    assert told("openai", NOW - timedelta(days=7)) == (90_000, NOW)
    assert told("emulator", NOW) is None
    assert told("openai", NOW + timedelta(seconds=1)) is None, "an account's tier rises"


def test_refuted_jobs_stay_refuted(ledger: Ledger) -> None:
    ledger.intend(one := job("j1"))
    ledger.refute(one, "msgbatch_1")
    assert ledger.refuted(one) == {"msgbatch_1"}
    assert ledger.refuted(job("j2")) == frozenset()


def test_what_was_written_survives_a_kill_right_after(tmp_path: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    script = (
        "import os, signal, sys; from pathlib import Path; from datetime import UTC, datetime\n"
        "from runner.ledger import Ledger\n"
        f"Ledger(Path({str(path)!r})).approve('r', 2.5, datetime.now(UTC))\n"
        "os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], env=dict(os.environ), check=False)
    assert done.returncode == -signal.SIGKILL
    approval = Ledger(path).approval("r")
    assert approval is not None
    assert approval.bound_usd == 2.5


@pytest.mark.parametrize("reached", [State.INTENDED, State.UPLOADED, State.CREATED])
def test_a_copy_of_the_file_alone_knows_every_job_that_may_exist(tmp_path: Path, reached: State) -> None:
    ledger = Ledger(tmp_path / "ledger.sqlite")
    ledger.intend(job("j1"))
    if reached is not State.INTENDED:
        ledger.move(job("j1"), reached)
    (tmp_path / "copy.sqlite").write_bytes((tmp_path / "ledger.sqlite").read_bytes())
    assert [each.state for each in Ledger(tmp_path / "copy.sqlite").jobs()] == [reached]
