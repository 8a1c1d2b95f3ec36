"""A ledger that is gone, empty, cut off or an old copy: nothing is bought, reading works, there is a way back."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.place import Place


def _asked(corpus: Path, limit: int = 6, model: str = "gpt-5.4-mini") -> list[str]:
    asked = ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(limit)]
    return [*asked, "--emulate"]


def _ledger(place: Place) -> Path:
    return place.root / "batches" / "ledger.sqlite"


def _gone(path: Path) -> None:
    for each in path.parent.glob("ledger.sqlite*"):
        each.unlink()


def _empty(path: Path) -> None:
    _gone(path)
    path.write_bytes(b"")


def _without_rows(path: Path) -> None:
    with sqlite3.connect(path) as ledger:
        ledger.executescript("delete from jobs; delete from approvals")


def _cut(path: Path) -> None:
    whole = path.read_bytes()
    _gone(path)
    path.write_bytes(whole[: len(whole) // 2])


@pytest.mark.parametrize("model", ["gpt-5.4-mini", "claude-sonnet-5"])
def test_the_way_back_buys_nothing_twice_and_completes_the_run(place: Place, corpus: Path, model: str) -> None:
    place.call("run", *_asked(corpus, model=model))  # a part collected
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus, 9, model))  # a job in flight
    jobs = len(place.jobs())
    _gone(_ledger(place))
    for command in (["submit", *_asked(corpus, 9, model)], ["collect"], ["run", *_asked(corpus, 12, model)]):
        assert place.call(*command, check=False).returncode == 2
    assert place.call("status").returncode == 0
    place.misbehave(clock="auto" if model.startswith("claude") else "driven")  # there only results tell whose they are
    place.advance(7200)
    place.call("orphans", "--adopt", "all")
    place.misbehave(clock="auto")
    place.call("collect", "--wait")
    assert len(place.jobs()) == jobs
    place.call("run", *_asked(corpus, 9, model))
    large = next(name for name in place.runs() if len(place.asked(name)) == 36)
    assert place.times_billed() == dict.fromkeys(place.asked(large), 1)
    assert place.summary(large)["state"] == "complete"


@pytest.mark.parametrize("damage", [_gone, _empty, _without_rows, _cut])
def test_what_is_only_read_is_read_as_before(scored: Place, corpus: Path, damage: Callable[[Path], None]) -> None:
    before = scored.summary()
    damage(_ledger(scored))
    assert scored.call("run", *_asked(corpus, 16), check=False).returncode == 2
    for command in ("score", "verify") if damage is _cut else ("score",):
        scored.call(command)
    after = scored.summary()
    assert {name: after[name] for name in ("rows", "effects", "look", "requests")} == {
        name: before[name] for name in ("rows", "effects", "look", "requests")
    }
    scored.call("orphans", "--adopt", "all")
    scored.call("run", *_asked(corpus, 16))
    assert set(scored.times_billed().values()) == {1}
    assert scored.summary()["cost"]["billed_usd"] == pytest.approx(before["cost"]["billed_usd"])


def test_an_older_copy_of_the_ledger_is_told(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus))
    shutil.copy(_ledger(place), place.root / "older.sqlite")
    place.call("run", *_asked(corpus, 9))
    _gone(_ledger(place))
    shutil.copy(place.root / "older.sqlite", _ledger(place))
    assert place.call("run", *_asked(corpus, 12), check=False).returncode == 2
    place.call("orphans", "--adopt", "all")
    place.call("run", *_asked(corpus, 12))
    assert set(place.times_billed().values()) == {1}
