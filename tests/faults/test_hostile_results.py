"""Result files that are meant to do harm: downloads that hang, bombs, a folder that cannot be written.

What is said of memory is the peak of a real process, compared with the same command and harmless results.
"""

from __future__ import annotations

import json
import signal
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from runner.chain.journal import Point
from tests.faults.deeds import stops
from tests.place import Place
from tests.providers.stub_openai import Stub

MOST_KB = 300_000
"""How much more memory the worst result file may take."""
MB = b"a" * 1_000_000


def _asked(corpus: Path, model: str = "gpt-5.4-mini", limit: int = 12) -> list[str]:
    return ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(limit), "--yes"]


def _env(stub: Stub) -> dict[str, str]:
    return {"OPENAI_API_KEY": "sk-A-0123456789", "OPENAI_BASE_URL": stub.base_url}


def _drain(stub: Stub) -> None:
    for batch in list(stub.batches.values()):
        while batch["status"] in ("validating", "in_progress", "finalizing"):
            stub.retrieve(batch["id"])


def _until(true: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.02)


def test_a_download_that_hangs_keeps_nobody_waiting_and_may_be_killed(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        place.call("submit", *_asked(corpus), **_env(stub))
        _drain(stub)
        stub.faults["content"] = ["hang after"]
        collecting = place.start("collect", **_env(stub))
        with collecting:
            _until(lambda: stub.count("content"))
            place.call("submit", *_asked(corpus, "gpt-5.4"), **_env(stub))
            assert stub.count("create") == 2
            assert collecting.poll() is None
            collecting.kill()
        _drain(stub)
        place.call("collect", **_env(stub))
        assert {len(place.responses(run)) for run in place.runs()} == {48}
        assert stub.count("create") == 2
        (*left,) = (place.root / "results").glob("*/raw/.*")
        assert left == []


def test_one_jobs_folder_that_cannot_be_written_stops_no_other_job(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        place.call("submit", *_asked(corpus, limit=2), **_env(stub))
        _drain(stub)
        (first,) = place.runs()
        place.call("collect", **_env(stub))
        place.call("submit", *_asked(corpus, limit=6), **_env(stub))
        (second,) = set(place.runs()) - {first}
        place.call("submit", *_asked(corpus, limit=12), **_env(stub))
        (third,) = set(place.runs()) - {first, second}
        _drain(stub)
        raw = place.root / "results" / second / "raw"
        raw.parent.mkdir(exist_ok=True)
        raw.write_bytes(b"no folder")
        done = place.call("collect", check=False, **_env(stub))
        assert done.returncode == 1
        assert str(raw.relative_to(place.root)) in done.stderr
        assert len(list((place.root / "results" / third).glob("parts/*"))) == 1
        raw.unlink()
        place.call("collect", **_env(stub))
        assert set(place.responses(third)["request_id"]) == place.asked(third)
        assert stub.count("create") == 3


class Bomber(Stub):
    """Sends its results gzipped, and in place of the first ones lines of its own (text before and after the bomb)."""

    def __init__(self, bombs: list[tuple[str, bytes, int, str]]) -> None:
        super().__init__(lambda body: "positive")
        self.bombs = bombs

    def finish(self, batch: dict[str, Any]) -> None:
        lines = self.lines_of(batch)
        packer = zlib.compressobj(1, wbits=31)
        packed = [packer.compress(json.dumps(self.respond(line)).encode() + b"\n") for line in lines[len(self.bombs) :]]
        for line, (head, bomb, times, tail) in zip(lines, self.bombs, strict=False):
            packed.append(packer.compress(f'{{"custom_id": "{line["custom_id"]}", {head}'.encode()))
            packed += [packer.compress(bomb) for _ in range(times)]
            packed.append(packer.compress(f"{tail}}}\n".encode()))
        batch["request_counts"] = {"total": len(lines), "completed": len(lines), "failed": 0}
        batch["output_file_id"] = self.add_file(b"".join([*packed, packer.flush()]))
        self.files[batch["output_file_id"]][0]["bytes"] = None


def _bombs(size_mb: int) -> list[tuple[str, bytes, int, str]]:
    return [
        ('"response": "', MB, size_mb, '"'),
        ('"response": ', b"[" * 20_000 + b"]" * 20_000, 1, ""),
        ('"response": [', b"[]," * 300_000, 60, "0]"),
    ]


def _peak_kb(place: Place, corpus: Path, stub: Stub) -> int:
    """Submit and collect; the most memory that the collecting process ever had."""
    with stub:
        place.call("submit", *_asked(corpus), **_env(stub))
        _drain(stub)
        with place.start("collect", PERSONA_RUNNER_STOP_AT=Point.RESPONSES_WRITTEN, **_env(stub)) as process:
            assert stops(process), process.communicate()
            status = Path(f"/proc/{process.pid}/status").read_text()
            process.send_signal(signal.SIGCONT)
            process.communicate()
    return int(status.partition("VmHWM:")[2].split()[0])


@pytest.fixture(scope="module")
def base_kb(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> int:
    """The same with harmless results."""
    return _peak_kb(Place(tmp_path_factory.mktemp("usual")), corpus, Stub(lambda body: "positive"))


@pytest.mark.parametrize("size_mb", [200, pytest.param(800, marks=pytest.mark.slow)])
def test_bombs_take_little_memory_and_the_rest_of_the_job_goes_on(
    place: Place, corpus: Path, base_kb: int, size_mb: int
) -> None:
    bomber = Bomber(_bombs(size_mb))
    assert _peak_kb(place, corpus, bomber) - base_kb < MOST_KB
    assert len(place.responses()) == 48 - 3, "each bomb costs its own answer only"
    (quarantine,) = (place.root / "results").glob("*/raw/*.quarantine.jsonl")
    assert len(quarantine.read_bytes().splitlines()) == 3


@pytest.mark.slow
def test_the_longest_line_that_is_read_takes_little_memory(place: Place, corpus: Path, base_kb: int) -> None:
    head = '"response": {"status_code": 200, "body": {"choices": [{"finish_reason": "stop", "message": {"content": "'
    tail = '"}}], "usage": {"prompt_tokens": 9, "completion_tokens": 9}}}'
    assert _peak_kb(place, corpus, Bomber([(head, MB, 63, tail)])) - base_kb < MOST_KB
    assert place.responses()["text"].str.len_chars().max() == 63_000_000
