"""Jobs that do not end, runs that are not wanted any more, jobs that nobody knows: nothing is lost or paid twice."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.place import Place


def _asked(corpus: Path, limit: int = 12, model: str = "gpt-5.4-mini") -> list[str]:
    return ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(limit), "--emulate"]


def _batches(place: Place) -> list[tuple[str, int]]:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        return list(ledger.execute("select state, n from jobs order by batch"))


def test_a_cancelled_run_keeps_what_was_answered_and_goes_on_only_when_told(place: Place, corpus: Path) -> None:
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus))
    place.advance(600)  # in progress
    place.call("collect")
    place.call("cancel", *_asked(corpus)[:4], "--emulate")
    place.advance(3600)
    done = place.call("collect")
    assert "cancelled" in done.stdout
    kept = set(place.times_billed())
    assert place.call("collect").stderr.startswith("Nothing is open"), "nothing is sent after the word"
    assert set(place.times_billed()) == kept
    again = place.call("status", *_asked(corpus)[:4], "--emulate")
    assert "`persona-runner submit`" in again.stdout
    place.misbehave(clock="auto")
    place.call("run", *_asked(corpus), "--yes")
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)
    assert kept <= place.asked()


def test_a_run_is_cancelled_only_by_its_name(place: Place, corpus: Path) -> None:
    place.call("submit", *_asked(corpus))
    refused = place.call("cancel", check=False)
    assert refused.returncode == 2
    assert "--run <its name>" in refused.stderr


def test_what_was_never_sent_is_closed_by_a_cancel(place: Place, corpus: Path) -> None:
    place.misbehave("create_500:1.0")
    place.call("submit", *_asked(corpus))
    assert [state for state, _ in _batches(place)] == ["unclear"]
    for _ in range(3):  # two complete listings, 60 s apart by the emulator's clock
        place.call("cancel", *_asked(corpus)[:4], "--emulate")
    assert [state for state, _ in _batches(place)] == ["closed"]
    assert place.times_billed() == {}


def test_a_job_past_the_deadline_is_cut_and_the_rest_goes_in_smaller_pieces(place: Place, corpus: Path) -> None:
    place.misbehave("stuck:1.0")
    place.call("submit", *_asked(corpus))
    place.misbehave("stuck:0")
    done = place.call("run", *_asked(corpus), "--deadline", "20h", "--yes")
    assert "Cancelling batch 1" in done.stderr
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)
    sizes = [n for _, n in _batches(place)]
    assert sizes[0] == 48
    assert max(sizes[1:]) <= 24


def test_an_expired_jobs_paid_half_is_kept_and_only_the_rest_is_sent_again(place: Place, corpus: Path) -> None:
    place.misbehave("expired_partial:1.0")
    place.call("submit", *_asked(corpus))
    place.misbehave("expired_partial:0")
    while "closed" not in dict(_batches(place)):
        place.call("collect")
    half = place.times_billed()
    assert 0 < len(half) < 48
    place.call("run", *_asked(corpus), "--yes")
    sent_again = sum(n for _, n in _batches(place)) - 48
    assert sent_again == 48 - len(half)
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


@pytest.mark.slow
def test_a_job_that_the_ledger_forgot_is_found_and_adopted(place: Place, corpus: Path) -> None:
    place.call("submit", *_asked(corpus))
    for path in (place.root / "batches").glob("ledger.sqlite*"):
        path.unlink()
    listed = json.loads(place.call("orphans", "--provider", "openai", "--emulate", "--json").stdout)
    kinds = {orphan["kind"]: orphan for orphan in listed["orphans"]}
    assert kinds["job"]["run"] == kinds["file"]["run"] == place.runs()[0]
    assert kinds["job"]["size"] == 48
    assert {job["state"] for job in place.jobs()} <= {"validating", "in_progress"}, "looking changes nothing"
    command = ["orphans", "--provider", "openai", "--emulate", "--adopt", kinds["job"]["name"]]
    place.call(*command)
    twice = place.call(*command, check=False)
    assert (twice.returncode, "stands in the ledger" in twice.stderr) == (2, True)
    place.call("collect", "--wait")
    assert set(place.responses()["request_id"]) == place.asked()
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)
    again = json.loads(place.call("orphans", "--emulate", "--json").stdout)
    assert again["orphans"] == []


def test_a_model_that_is_gone_is_named_with_its_day_and_replayed_only_on_the_emulator(
    place: Place, corpus: Path
) -> None:
    gone = place.call("build", *_asked(corpus, 3, "o4-mini"), check=False)
    assert gone.returncode == 2
    assert "2026-10-23" in gone.stderr
    real = place.call("build", *_asked(corpus, 3, "o4-mini")[:-1], "--as-of", "2026-06-01", check=False)
    assert (real.returncode, "--emulate" in real.stderr) == (2, True)
    place.call("run", *_asked(corpus, 3, "o4-mini"), "--as-of", "2026-06-01", "--yes")
    assert place.summary()["state"] == "complete"
    assert place.summary()["venue"] == "emulator:openai@2026-06-01"


def test_scripts_can_ask_where_a_run_stands(place: Place, corpus: Path) -> None:
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus, 3))
    for options, code in ((), 0), (("--exit-code",), 3):
        waiting = place.call("status", *options, check=False)
        assert waiting.returncode == code
        assert "queue of gpt-5.4-mini" in waiting.stdout
