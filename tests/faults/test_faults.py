"""The emulator misbehaves; the chain ends with a true account, and nothing is bought twice or lost.

Every fault with every protocol, and the storms, are run by ``make faults``; here is every fault with one protocol.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from runner.emulator.faults import FAULTS
from tests.faults import evidence
from tests.faults.cells import PROTOCOLS, command, furnish
from tests.faults.storms import cells, storm, weather

SLICE = {"mistral-expired_partial"}
"""Run by ``make test``; the others by ``make test-all``."""


def _cells() -> list[object]:
    chosen = [cell for cell in cells() if cell.protocol == "openai" or str(cell) in SLICE]
    return [pytest.param(cell, id=str(cell), marks=() if str(cell) in SLICE else pytest.mark.slow) for cell in chosen]


@pytest.mark.parametrize("cell", _cells())
def test_a_fault_ends_with_a_true_account(tmp_path: Path, converted: Path, cell: object) -> None:
    verdict = weather(cell, tmp_path / "place", converted)  # type: ignore[arg-type]
    assert verdict.complaints == ()
    assert (verdict.double_payments, verdict.lost_answers) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_under_all_faults_at_once_the_run_is_complete_and_the_bill_agrees(
    tmp_path: Path, converted: Path, protocol: str
) -> None:
    verdict = weather(storm(protocol, seed=1), tmp_path / "place", converted)
    assert verdict.complaints == ()


@pytest.mark.slow
def test_the_bill_is_what_we_say_it_was_and_within_what_was_approved(tmp_path: Path, converted: Path) -> None:
    place = furnish(tmp_path / "place", converted)
    place.call(*command("openai", converted))
    there, cost = evidence.provider(place), place.summary()["cost"]
    assert cost["billed_usd"] == pytest.approx(there.usd)
    assert cost["billed_usd"] <= cost["bound_usd"]


@pytest.mark.slow
def test_an_unreadable_line_is_a_loss_that_is_said_and_bought_again_once(tmp_path: Path, converted: Path) -> None:
    place = furnish(tmp_path / "place", converted)
    place.misbehave("bad_line:0.1")
    place.call(*command("openai", converted), check=False)
    assert max(place.times_billed().values()) <= 2
    assert list((place.root / "results" / place.runs()[0] / "raw").glob("*.quarantine.jsonl"))


def test_every_fault_of_the_emulator_is_in_the_matrix() -> None:
    assert {cell.name for cell in cells()} == set(FAULTS)
