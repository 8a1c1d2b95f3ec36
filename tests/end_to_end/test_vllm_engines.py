"""The whole chain with engines of the user's own: real processes that die, and one that is somewhere else."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.place import Place

STAND_IN = Path(__file__).parents[1] / "providers" / "stand_in_vllm.py"


def _asked(corpus: Path, limit: int = 16) -> list[str]:
    model = "vllm/meta-llama/Llama-3.3-70B-Instruct"
    return ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(limit)]


def _env(place: Place, *plans: dict[str, Any]) -> dict[str, str]:
    (place.root / "plan.json").write_text(json.dumps(plans))
    return {"VLLM_COMMAND": f"{sys.executable} {STAND_IN}", "STAND_IN": str(place.root)}


def _diary(place: Place, what: str) -> list[dict[str, Any]]:
    path = place.root / "diary.jsonl"
    events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [event for event in events if event["what"] == what]


def _written(place: Place) -> Counter[str]:
    """How often the engines wrote an answer to each request."""
    return Counter(event["custom_id"] for event in _diary(place, "written"))


def _until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


@pytest.fixture
def mine(place: Place) -> Iterator[Place]:
    """A place whose engines do not outlive the test."""
    yield place
    for event in _diary(place, "start"):
        try:
            os.kill(event["pid"], signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_engines_that_die_half_way_cost_no_answer_twice(mine: Place, corpus: Path) -> None:
    env = _env(mine, {"die_after": 20}, {"refuse": [1], "pause_s": 0.02}, {"memory": 3})
    mine.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **env)
    assert _written(mine) == dict.fromkeys(mine.asked(), 1)
    assert not _diary(mine, "second engine")
    rows = mine.responses()
    assert Counter(rows["status"]) == {"ok": len(mine.asked()) - 1, "rejected": 1}
    assert set(rows["attempt"]) == {1}, "an engine's death uses up nobody's attempt"
    assert mine.summary()["cost"]["billed_usd"] is None
    assert mine.summary()["venue"] == "vllm"


@pytest.mark.parametrize("point", ["job_sent", pytest.param("created", marks=pytest.mark.slow)])
def test_a_runner_killed_while_the_engine_works_finds_it_again(mine: Place, corpus: Path, point: str) -> None:
    env = _env(mine, {"pause_s": 0.02})
    runner = mine.start("run", *_asked(corpus), "--yes", PERSONA_RUNNER_STOP_AT=point, **env)
    with runner:
        _until(lambda: _is_stopped(runner.pid))
        runner.kill()
    mine.call("collect", "--wait", "--poll", "0.05", **env)
    assert _written(mine) == dict.fromkeys(mine.asked(), 1)
    assert set(mine.responses()["status"]) == {"ok"}


@pytest.mark.slow
def test_an_engine_that_cannot_begin_is_said_and_the_next_one_does_all(mine: Place, corpus: Path) -> None:
    env = _env(mine, {"memory": 0})
    failed = mine.call("run", *_asked(corpus), "--yes", "--poll", "0.05", check=False, **env)
    assert failed.returncode == 1
    assert "CUDA out of memory" in failed.stderr
    mine.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **env)
    assert _written(mine) == dict.fromkeys(mine.asked(), 1)


def test_an_engine_on_another_machine(mine: Place, corpus: Path) -> None:
    nothing_here = {"VLLM_COMMAND": ""}
    mine.call("submit", *_asked(corpus, limit=12), "--yes", **nothing_here)
    (folder,) = (mine.root / "batches" / "vllm").iterdir()
    waiting = json.loads(mine.call("collect", "--json", **nothing_here).stdout)
    assert waiting["runs"][0]["in_flight"] == 48
    command = [sys.executable, str(STAND_IN), "run-batch", "-i", "input.jsonl", "-o", "output.jsonl", "--model", "m"]
    subprocess.run(command, cwd=folder, check=True, env={**os.environ, **_env(mine)})
    mine.call("collect", **nothing_here)
    assert set(mine.responses()["status"]) == {"ok"}
    assert set(mine.responses()["request_id"]) == mine.asked()


def test_all_of_it_is_on_its_way_at_once_and_submit_says_what_to_run(mine: Place, corpus: Path) -> None:
    done = mine.call("submit", *_asked(corpus), "--yes", VLLM_COMMAND="")
    (folder,) = (mine.root / "batches" / "vllm").iterdir()
    assert len((folder / "input.jsonl").read_text().splitlines()) == 64, "no first small batch"
    assert "vllm run-batch -i input.jsonl" in done.stderr
    assert str(folder.relative_to(mine.root)) in done.stderr


@pytest.mark.slow
def test_a_cancelled_run_keeps_what_its_engine_answered(mine: Place, corpus: Path) -> None:
    env = _env(mine, {"pause_s": 0.05})
    mine.call("submit", *_asked(corpus, limit=12), "--yes", **env)
    _until(lambda: _written(mine))
    mine.call("cancel", *_asked(corpus)[:4], "--wait", "--poll", "0.05", **env)
    kept = set(_written(mine))
    assert 0 < len(kept) < 48
    mine.call("run", *_asked(corpus, limit=12), "--yes", "--poll", "0.05", **env)
    assert _written(mine) == dict.fromkeys(mine.asked(), 1)


def _is_stopped(pid: int) -> bool:
    done = subprocess.run(["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return done.stdout.startswith("T")
