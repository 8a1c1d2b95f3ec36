"""The answer to a create is lost at a provider whose jobs carry no name (Anthropic).

What is guaranteed: while a job of its time and size may be ours, nothing is created in its place; the ids of its
results decide whose it is; a stranger's job is let go and never taken for ours again; and only when two complete
lists show no such job is the batch created anew. What is not: to tell our job from a stranger's of the same size
before one of them has ended, so that a stranger's can hold us up for as long as it runs (24 hours at most).
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path

import pytest

from runner.chain.journal import Point
from tests.faults import evidence
from tests.faults.cells import command, furnish
from tests.faults.deeds import Deed, befall
from tests.place import Place


@pytest.fixture
def both(tmp_path: Path, converted: Path) -> tuple[Place, Place]:
    """Our folder and a stranger's, who shares the provider's account."""
    ours, theirs = furnish(tmp_path / "ours", converted), furnish(tmp_path / "theirs", converted)
    theirs.emulator.mkdir()
    ours.emulator.symlink_to(theirs.emulator)
    return ours, theirs


def _other(converted: Path) -> list[str]:
    """As many requests as ours, none of them ours."""
    return [*command("anthropic", converted), "--seed", "5"]


def _refuted(place: Place) -> int:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        return int(ledger.execute("select count(*) from refuted").fetchone()[0])


@pytest.mark.slow
@pytest.mark.parametrize("point", [Point.UPLOADED, Point.JOB_SENT])
def test_a_strangers_job_of_the_same_size_is_let_go(both: tuple[Place, Place], converted: Path, point: Point) -> None:
    ours, theirs = both
    befall(ours, command("anthropic", converted), point, Deed.KILLED)
    theirs.call("submit", *_other(converted)[1:])
    ours.call(*command("anthropic", converted))
    mine, there = ours.asked(), evidence.provider(ours)
    assert not mine & theirs.asked()
    assert Counter({request: there.billed[request] for request in mine}) == dict.fromkeys(mine, 1)
    assert set(ours.responses()["status"]) == {"ok"}
    assert _refuted(ours) == (1 if point is Point.UPLOADED else 0)
    theirs.call(*_other(converted))
    assert set(theirs.responses()["request_id"]) == theirs.asked()


@pytest.mark.slow
def test_while_a_job_may_be_ours_nothing_is_created(both: tuple[Place, Place], converted: Path) -> None:
    ours, theirs = both
    befall(ours, command("anthropic", converted), Point.UPLOADED, Deed.KILLED)
    theirs.misbehave("stuck:1.0")
    theirs.call("submit", *_other(converted)[1:])
    for _ in range(3):
        ours.call("collect")
    assert len(evidence.provider(ours).jobs) == 1, "only the stranger's"
