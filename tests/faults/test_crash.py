"""Never pay twice: a process killed at any point of the journal, then the same command again."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from runner.chain.journal import Point
from tests.place import Place

SLICE = {Point.JOB_SENT, Point.PART_WRITTEN, Point.SUMMARY_WRITTEN}
"""Run by ``make test``; the others by ``make test-all``."""


def _asked(corpus: Path) -> list[str]:
    return ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", "16", "--emulate"]


def _points() -> list[object]:
    return [pytest.param(point, id=point, marks=() if point in SLICE else pytest.mark.slow) for point in Point]


@pytest.mark.parametrize("point", _points())
def test_killed_there_and_run_again_everything_is_bought_once(place: Place, corpus: Path, point: Point) -> None:
    command = ["run", *_asked(corpus), "--yes"]
    killed = place.call(*command, check=False, PERSONA_RUNNER_DIE_AT=point)
    assert killed.returncode == -signal.SIGKILL, f"the work never came to {point}: {killed.stderr}"
    place.call(*command)
    asked = place.asked()
    assert len(asked) == 64
    assert place.times_billed() == dict.fromkeys(asked, 1)
    assert set(place.responses()["request_id"]) == asked
    assert place.summary()["state"] == "complete"
    nothing = place.call("collect")
    assert "Nothing is open" in nothing.stderr


@pytest.mark.slow
def test_killed_again_and_again_it_still_ends_with_each_request_bought_once(place: Place, corpus: Path) -> None:
    command = ["run", *_asked(corpus), "--yes"]
    for point in (Point.FILE_SENT, Point.JOB_SENT, Point.CREATED, Point.FETCHED, Point.COLLECTED):
        place.call(*command, check=False, PERSONA_RUNNER_DIE_AT=point)
    place.call(*command)
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_two_at_once_buy_once(place: Place, corpus: Path) -> None:
    command = ["run", *_asked(corpus), "--yes"]
    both = [place.start(*command) for _ in range(2)]
    ends = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0], ends
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_runs_that_share_prompts_share_the_payment(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus), "--yes")
    bought = place.times_billed()
    larger = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", "24", "--emulate"]
    place.call("run", *larger, "--yes")
    both = place.times_billed()
    assert set(bought) < set(both)
    assert set(both.values()) == {1}
    reuse = [place.summary(run)["cost"]["reused_usd"] for run in place.runs()]
    assert sorted(value > 0 for value in reuse) == [False, True]
