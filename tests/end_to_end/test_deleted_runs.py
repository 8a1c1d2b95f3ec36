"""Folders that were deleted by hand: what is out is brought home all the same, and nothing is bought twice."""

from __future__ import annotations

import shutil
import sqlite3
from pathlib import Path

from tests.place import Place

DAY = 86_400


def _asked(corpus: Path, limit: int = 6) -> list[str]:
    asked = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", str(limit)]
    return [*asked, "--emulate"]


def _delete(place: Place, run: str, *folders: str) -> None:
    for folder in folders:
        shutil.rmtree(place.root / folder / run)


def _job(place: Place) -> str:
    with sqlite3.connect(place.root / "batches" / "ledger.sqlite") as ledger:
        return str(ledger.execute("select job from jobs order by batch").fetchone()[0])


def test_a_job_of_a_deleted_run_is_named_and_brought_home(place: Place, corpus: Path) -> None:
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus))
    (run,) = place.runs()
    asked = place.asked()
    _delete(place, run, "batches")
    for command in (["collect"], ["status", "--exit-code"]):
        said = place.call(*command, check=False)
        assert (said.returncode, _job(place) in said.stdout + said.stderr) == (1, True)
    place.call("submit", *_asked(corpus, 8), check=False)
    assert len(place.jobs()) == 1, "what the job holds is not known: nothing may be bought"
    place.misbehave(clock="auto")
    while place.call("collect", check=False).returncode:
        pass
    place.call("run", *_asked(corpus, 8), "--yes")
    assert place.times_billed() == dict.fromkeys(asked | place.asked(place.runs()[-1]), 1)
    assert list((place.root / "results" / run / "raw").iterdir()), "as received"


def test_a_run_that_was_deleted_when_it_was_complete_blocks_no_other(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus))
    _delete(place, place.runs()[0], "batches")
    place.call("run", *_asked(corpus, 8))  # by the parts
    _delete(place, place.runs()[0], "batches", "results")
    place.call("collect")
    place.call("run", *_asked(corpus, 10))  # by what is fetched again
    assert set(place.times_billed().values()) == {1}


def test_deleted_answers_that_the_provider_keeps_no_more_need_a_yes(place: Place, corpus: Path) -> None:
    place.call("run", *_asked(corpus))
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus, 8))
    (first, second) = sorted(place.runs(), key=lambda name: (place.root / "results" / name / "parts").exists())[::-1]
    bought = len(place.jobs())
    _delete(place, first, "batches", "results")
    place.advance(40 * DAY)
    stopped = place.call("collect", check=False)
    stopped = place.call("collect", check=False)
    assert stopped.returncode == 1
    assert len(place.jobs()) == bought
    place.misbehave(clock="auto")
    place.call("submit", "--run", second)
    place.call("collect", "--wait")
    assert set(place.responses(second)["request_id"]) == place.asked(second)


def test_a_run_is_forgotten_when_nothing_is_out_and_others_keep_what_they_use(place: Place, corpus: Path) -> None:
    place.misbehave(clock="driven")
    place.call("submit", *_asked(corpus))
    (small,) = place.runs()
    assert place.call("forget", "--run", small, "--yes", check=False).returncode == 2, "a job is out"
    assert place.call("forget", "--run", "..", "--yes", check=False).returncode == 2
    place.misbehave(clock="auto")
    place.call("run", *_asked(corpus))
    place.call("run", *_asked(corpus, 8))
    assert place.call("forget", "--run", small, check=False).returncode == 2, "it asks"
    place.call("forget", "--run", small, "--yes")
    assert place.runs() != [] and small not in place.runs()
    place.call("run", *_asked(corpus, 8))
    place.call("verify")
    (large,) = place.runs()
    place.call("forget", "--run", large, "--yes")
    assert not (place.root / "results" / large).exists()
    place.call("run", *_asked(corpus, 8))
    again = [times for name, times in place.times_billed().items() if name in place.asked(large)]
    assert set(again) == {1, 2}, "what nobody used any more was given up; the rest is still here"
