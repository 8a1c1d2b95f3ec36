"""Never pay twice: a command that is cut short at any point of the journal, then the same command again.

Every protocol, point and deed is run by ``make faults``; here are all points of one protocol, and the point at
which most is at stake of the others.
"""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from runner.chain.journal import Point
from tests.faults.cells import PROTOCOLS, command, furnish
from tests.faults.crash import Crash, cells, crash
from tests.faults.deeds import Deed, befall, stops
from tests.place import Place

SLICE = (
    Crash("openai", Point.FETCHED, Deed.DISK_FULL),
    Crash("anthropic", Point.JOB_SENT, Deed.KILLED),
    Crash("google", Point.PART_WRITTEN, Deed.INTERRUPTED),
    Crash("google", Point.BUILT, Deed.DISK_FULL),  # before the emulator has begun, which counts prompts there
)
"""Run by ``make test``; the others by ``make test-all``."""


def _cells() -> list[object]:
    every_point = [cell for cell in cells() if cell.protocol == "openai" and cell.deed is Deed.KILLED]
    job_sent = [Crash(protocol, Point.JOB_SENT, deed) for protocol in PROTOCOLS for deed in Deed]
    chosen = dict.fromkeys([*SLICE, *every_point, *job_sent])
    return [pytest.param(cell, id=str(cell), marks=() if cell in SLICE else pytest.mark.slow) for cell in chosen]


@pytest.mark.parametrize("cell", _cells())
def test_cut_short_and_run_again_everything_is_bought_once(tmp_path: Path, converted: Path, cell: Crash) -> None:
    verdict = crash(cell, tmp_path / "place", converted)
    assert verdict.complaints == ()
    assert (verdict.double_payments, verdict.lost_answers) == (0, 0)


@pytest.mark.slow
def test_killed_again_and_again_it_still_ends_with_each_request_bought_once(tmp_path: Path, converted: Path) -> None:
    place, words = furnish(tmp_path / "place", converted), command("openai", converted, instances=16)
    for point in (Point.FILE_SENT, Point.JOB_SENT, Point.CREATED, Point.FETCHED, Point.COLLECTED):
        befall(place, words, point, Deed.KILLED)
    place.call(*words)
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_of_two_at_once_one_works_and_the_other_says_who(tmp_path: Path, converted: Path) -> None:
    place, words = furnish(tmp_path / "place", converted), ["submit", *command("openai", converted)[1:]]
    first = place.start(*words, PERSONA_RUNNER_STOP_AT=Point.INTENDED)
    assert stops(first)
    second = place.start(*words)
    assert second.stderr is not None
    said = iter(second.stderr.readline, "")
    assert any(f"Another persona-runner (process {first.pid}) is at work" in line for line in said)
    first.send_signal(signal.SIGCONT)
    ends = [process.communicate() for process in (first, second)]
    assert [first.returncode, second.returncode] == [0, 0], ends
    place.call("collect", "--wait")
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


@pytest.mark.slow
def test_runs_that_share_prompts_share_the_payment(place: Place, corpus: Path) -> None:
    asked = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--emulate", "--yes", "--limit"]
    place.call("run", *asked, "16")
    bought = place.times_billed()
    place.call("run", *asked, "24")
    both = place.times_billed()
    assert set(bought) < set(both)
    assert set(both.values()) == {1}
    reuse = [place.summary(run)["cost"]["reused_usd"] for run in place.runs()]
    assert sorted(value > 0 for value in reuse) == [False, True]
