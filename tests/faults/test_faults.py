"""The emulator misbehaves; the chain ends with a true account, and nothing is bought twice or lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import emulator
from tests.place import Place

HARMLESS = ["late_file_ids", "error_file_empty_id", "u2028", "duplicate_line", "unknown_id", "truncated_download"]
"""Faults after which every answer is there and was billed once."""
REPEATED = ["missing_id", "status_zero", "expired_partial", "create_500", "create_lost", "not_found_after_create"]
"""Faults after which some requests have to be sent again; those that were billed are not."""
SLICE = {"truncated_download", "expired_partial", "create_lost"}


def _faults(names: list[str]) -> list[object]:
    return [pytest.param(name, id=name, marks=() if name in SLICE else pytest.mark.slow) for name in names]


def _run(place: Place, corpus: Path, *faults: str) -> None:
    """Run to the end at a service with these faults, giving the same command again as a user would."""
    emulator.start(place.root / "batches" / "emulator", faults=faults).stop()
    asked = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", "16", "--emulate"]
    for _ in range(6):
        done = place.call("run", *asked, "--yes", check=False)
        if done.returncode == 0 and place.summary()["state"] == "complete":
            return
    raise AssertionError(f"it never ended:\n{done.stdout}\n{done.stderr}")


@pytest.mark.parametrize("fault", _faults(HARMLESS))
def test_all_answers_come_home_and_are_bought_once(place: Place, corpus: Path, fault: str) -> None:
    _run(place, corpus, fault)
    asked = place.asked()
    assert place.times_billed() == dict.fromkeys(asked, 1)
    assert set(place.responses()["request_id"]) == asked
    assert set(place.responses()["status"]) == {"ok"}


@pytest.mark.parametrize("fault", _faults(REPEATED))
def test_what_was_billed_is_never_bought_again(place: Place, corpus: Path, fault: str) -> None:
    _run(place, corpus, f"{fault}:0.4")
    billed = place.times_billed()
    assert set(billed.values()) == {1}
    summary = place.summary()
    assert summary["requests"]["final"] == summary["requests"]["total"] == 64
    assert set(place.responses()["status"]) <= {"ok", "missing"}


def test_the_bill_is_what_we_say_it_was(place: Place, corpus: Path) -> None:
    _run(place, corpus)
    bill = place.bill()
    assert place.summary()["cost"]["billed_usd"] == pytest.approx(sum(line["usd"] for line in bill["requests"]))
    assert place.summary()["cost"]["billed_usd"] <= place.summary()["cost"]["bound_usd"]


@pytest.mark.slow
def test_an_unreadable_line_is_a_loss_that_is_said_and_bought_again_once(place: Place, corpus: Path) -> None:
    _run(place, corpus, "bad_line:0.1")
    assert max(place.times_billed().values()) <= 2
    assert list((place.root / "results" / place.runs()[0] / "raw").glob("*.quarantine.jsonl"))
