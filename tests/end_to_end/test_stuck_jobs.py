"""Jobs that will not end by themselves: each is said, ends with 1, and has a way out that counts the money."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any

import pytest

from runner import emulator
from tests.place import Place

HOUR = 3600


def _asked(corpus: Path, limit: int = 6) -> list[str]:
    return ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", str(limit)]


def _rows(place: Place) -> list[dict[str, Any]]:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        ledger.row_factory = sqlite3.Row
        return [dict(row) for row in ledger.execute("select * from jobs order by batch")]


def _is_refused(place: Place, job: str) -> bool:
    return (
        place.call("give-up", "--job", job, "--yes", check=False).returncode == 2
        and _rows(place)[0]["state"] != "closed"
    )


def test_a_job_past_its_window_is_said_and_given_up_at_its_bound(place: Place, corpus: Path) -> None:
    place.misbehave("stuck:1.0", clock="driven")
    place.call("submit", *_asked(corpus), "--emulate")
    job = _rows(place)[0]["job"]
    place.advance(23 * HOUR)
    place.call("collect")
    assert _is_refused(place, job), "it runs normally"
    place.advance(2 * HOUR)
    late = place.call("collect", check=False)
    assert (late.returncode, job in late.stderr) == (1, True)
    unasked = place.call("give-up", "--job", job, check=False)
    assert (unasked.returncode, _rows(place)[0]["state"]) == (2, "created")
    place.call("give-up", "--job", job, "--yes")
    (row,) = _rows(place)
    assert (row["state"], row["billed_usd"]) == ("closed", row["reserved_usd"])
    stopped = place.call("collect", check=False)
    assert (stopped.returncode, len(_rows(place))) == (1, 1), "nothing is bought again unasked"
    place.misbehave("stuck:0", clock="auto")
    place.call("submit", *_asked(corpus), "--emulate")
    place.call("run", *_asked(corpus), "--emulate", "--yes")
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_stopping_is_normal_for_half_an_hour_and_stuck_after_it(place: Place, corpus: Path) -> None:
    place.misbehave("cancel_stuck:1.0", clock="driven")
    place.call("submit", *_asked(corpus), "--emulate")
    job = _rows(place)[0]["job"]
    place.call("cancel", "--run", place.runs()[0])
    place.advance(29 * 60)
    place.call("collect")
    assert _is_refused(place, job)
    place.advance(2 * 60)
    assert place.call("collect", check=False).returncode == 1
    place.call("give-up", "--job", job, "--yes")
    assert _rows(place)[0]["state"] == "closed"
    assert place.call("collect").stderr.startswith("Nothing is open")


def test_an_unclear_create_of_a_lost_key_has_a_way_out(
    place: Place, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with emulator.start(tmp_path_factory.mktemp("provider"), faults=["create_500:1.0"]) as running:
        old = {"OPENAI_API_KEY": "sk-old-0123456789", "OPENAI_BASE_URL": f"{running.base_url}/openai/v1"}
        place.call("submit", *_asked(corpus), "--yes", check=False, **old)
        job = _rows(place)[0]["job"]
        assert place.call("give-up", "--job", job, "--yes", check=False, **old).returncode == 2, "its own key can tell"
        new = {**old, "OPENAI_API_KEY": "sk-new-0123456789"}
        lost = place.call("collect", check=False, **new)
        assert (lost.returncode, job in lost.stderr) == (1, True)
        place.call("give-up", "--job", job, "--yes", **new)
        assert _rows(place)[0]["state"] == "closed"
        asked = place.call("submit", *_asked(corpus), "--yes", check=False, **new)
        assert "Buy" not in asked.stderr and len(_rows(place)) == 2, "its requests may be bought again"


def test_a_job_that_a_lagging_list_hid_is_stopped_and_both_are_counted(place: Place, corpus: Path) -> None:
    place.misbehave("create_lost:1.0", "list_lag_long:1.0", clock="driven")
    place.call("submit", *_asked(corpus), "--emulate")
    place.misbehave("create_lost:0")
    place.call("collect")  # absent
    place.advance(61)
    place.call("collect")  # absent again: created anew
    assert len(place.jobs()) == 2
    place.advance(560)
    place.call("collect")  # the list shows the first one now
    first, second = _rows(place)
    assert {row["provider_job"] for row in (first, second)} == {job["id"] for job in place.jobs()}
    assert first["reserved_usd"] == second["reserved_usd"] and second["twin_of"] == first["job"]
    assert [job["state"] for job in place.jobs()].count("cancelling") == 1
    place.advance(HOUR)
    place.call("collect")
    place.call("collect")
    assert {row["state"] for row in _rows(place)} == {"closed"}
    billed = sum(line["usd"] for line in place.bill()["requests"])
    assert sum(row["billed_usd"] for row in _rows(place)) == pytest.approx(billed), "both are counted as billed"
    assert set(place.responses()["request_id"]) == place.asked()


def test_the_time_of_a_job_is_the_providers(place: Place, corpus: Path) -> None:
    place.misbehave(clock="driven")
    place.advance(-400 * 24 * HOUR)
    place.call("submit", *_asked(corpus), "--emulate")
    place.call("collect")
    created = place.jobs()[0]["created_at"]
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        (seconds,) = ledger.execute("select unixepoch(created_at) from jobs").fetchone()
    assert abs(seconds - created) <= 1
