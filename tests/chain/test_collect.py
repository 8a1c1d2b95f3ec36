"""What result files say, read with the real provider's decoder: nothing that was paid for is lost to a bad line."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.benchmarks.base import Funnel
from runner.chain.collect import close, salvage
from runner.chain.files import write_frame
from runner.chain.reading import read_results
from runner.chain.received import download
from runner.chain.runs import Asked, Folders, Run, Workspace, write_run
from runner.chain.stock import MAX_ATTEMPTS, answers, attempts
from runner.ledger import Job, Ledger, State
from runner.providers.base import JobState, JobStatus
from runner.providers.openai import OpenAIProvider
from runner.request import RequestId
from tests.ledger_rows import a_job
from tests.providers.stub_openai import Stub

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
IDS = [f"{letter * 26}" for letter in "abcdef"]


def provider(stub: Stub | None = None) -> OpenAIProvider:
    return OpenAIProvider(stub.base_url if stub else "http://127.0.0.1:9/v1", "sk-test", "openai")


def ok(name: str, text: str = "positive", n: int = 1) -> bytes:
    choices = [
        {"index": i, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"} for i in range(n)
    ]
    usage = {"prompt_tokens": 100, "completion_tokens": 2, "total_tokens": 102}
    body = {"id": "c", "object": "chat.completion", "model": "gpt-4.1-mini-2025", "choices": choices, "usage": usage}
    return _line(name, {"status_code": 200, "request_id": "r", "body": body}, None)


def failed(name: str, code: str) -> bytes:
    return _line(name, None, {"code": code, "message": "said the provider"})


def _line(name: str, response: Any, error: Any) -> bytes:
    raw = {"id": "b", "custom_id": name, "response": response, "error": error}
    return json.dumps(raw, ensure_ascii=False).encode()


def write(folder: Path, *lines: bytes) -> Path:
    path = folder / "x.output.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_a_bad_line_goes_to_quarantine_and_stops_nobody(tmp_path: Path) -> None:
    half = ok(IDS[1])[:60]
    path = write(tmp_path, ok(IDS[0], "a\u2028b\x85c"), half, b"not json", ok(IDS[2]))
    reading = read_results(provider(), [path], frozenset(IDS))
    assert {key[0] for key in reading.rows} == {IDS[0], IDS[2]}
    assert reading.rows[IDS[0], 0].text == "a\u2028b\x85c"
    assert reading.unreadable == 2
    assert reading.unreadable_ids == {IDS[1]}


def test_unknown_ids_are_left_and_of_doubles_the_first_ok_counts(tmp_path: Path) -> None:
    path = write(tmp_path, failed(IDS[0], "batch_expired"), ok(IDS[0], "one"), ok(IDS[0], "two"), ok(IDS[5]))
    reading = read_results(provider(), [path], frozenset(IDS[:5]))
    assert [row.text for row in reading.rows.values()] == ["one"]
    assert (reading.duplicated, reading.unknown) == (2, 1)


@settings(max_examples=25)
@given(st.lists(st.sampled_from(range(6)), max_size=12), st.randoms(use_true_random=False))
def test_the_order_of_lines_and_files_does_not_matter(chosen: list[int], random: Any) -> None:
    lines = [ok(IDS[i], str(i)) for i in chosen]
    shuffled = list(lines)
    random.shuffle(shuffled)
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        one = read_results(provider(), [write(Path(folder), *lines)], frozenset(IDS)).rows
        two = read_results(provider(), [write(Path(folder), *shuffled)], frozenset(IDS)).rows
    assert {key: row.text for key, row in one.items()} == {key: row.text for key, row in two.items()}


def _run() -> Run:
    """A run at a host without prices; what it asks does not matter here."""
    asked = Asked(
        benchmark="b",
        task="3.1",
        model="gpt-4.1-mini",
        provider="openai",
        venue="host:1",
        protocol="strict",
        version="1",
        corpus="c",
        settings=("p-conv",),
        limit=None,
        seed=0,
        samples=1,
    )
    empty = {"parameters": {}, "versions": {}, "assumptions": (), "test_family": (), "explanation": None}
    facts = {"source": "", "instances": 0, "requests": 0, "unique": 0, "token_counter": "", "tokens_exact": True}
    return Run(asked=asked, funnel=Funnel(()), caution=None, created_at="", **facts, **empty)  # type: ignore[arg-type]


class Bench:
    """A workspace with one created job over IDS at a stub."""

    def __init__(self, root: Path, stub: Stub) -> None:
        self.workspace = Workspace(root)
        self.ledger = Ledger(self.workspace.ledger)
        self.run = _run()
        write_run(self.workspace, self.run)
        self.provider = provider(stub)
        self.stub = stub
        self.count = 0

    def job(self) -> Job:
        self.count += 1
        facts = {"model": "gpt-4.1-mini", "run": self.run.name, "n": len(IDS), "tokens": 600, "reserved_usd": 1.0}
        job = a_job(f"job{self.count}", **facts, state=State.ENDED, intended_at=NOW)
        self.ledger.intend(job)
        write_frame(Folders(self.workspace, self.run.name).batch_ids(1, self.count), pl.DataFrame({"request_id": IDS}))
        return job

    def collect(
        self, state: JobState, output: list[bytes], errors: list[bytes] | None = None, done: int | None = None
    ) -> Job:
        """One job that ended in ``state`` with these files at the provider, which counts ``done`` answers."""
        files = {"output_file_id": output, "error_file_id": errors or []}
        ids = {name: self.stub.add_file(b"\n".join(lines) + b"\n") for name, lines in files.items() if lines}
        batch = self.stub.add_batch(status=str(state), **ids)
        job = self.ledger.move(self.job(), State.ENDED, provider_job=batch["id"])
        status = JobStatus(batch["id"], state, NOW, done=done)
        found = download(self.workspace, self.provider, job)
        home = salvage(self.workspace, self.ledger, self.provider, job, status, found, lambda _: None, patient=False)
        return close(self.ledger, self.provider, home, keep_files=False)

    def final(self) -> dict[str, str]:
        frame = answers(self.workspace, self.ledger, "openai", "gpt-4.1-mini", pl.Series(IDS))
        return dict(zip(frame["request_id"], frame["status"], strict=True))

    def tries(self) -> dict[str, int]:
        return attempts(self.workspace, self.ledger, "openai", "gpt-4.1-mini", IDS)


@pytest.mark.parametrize("state", [JobState.COMPLETED, JobState.EXPIRED, JobState.CANCELLED, JobState.FAILED])
def test_every_terminal_state_is_salvaged(tmp_path: Path, state: JobState) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        job = bench.collect(state, [ok(name) for name in IDS[:3]], [failed(IDS[3], "batch_expired")])
        assert job.state is State.CLOSED
        assert job.answered == 3
        assert bench.final() == dict.fromkeys(IDS[:3], "ok")


def test_an_early_end_uses_up_no_attempt(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        bench.collect(JobState.EXPIRED, [ok(IDS[0])], [failed(IDS[1], "batch_expired")])
        assert bench.tries()[IDS[1]] == 0
        assert bench.tries()[IDS[2]] == 0
        for _ in range(MAX_ATTEMPTS):
            bench.collect(JobState.EXPIRED, [], [failed(name, "batch_expired") for name in IDS])
        assert bench.tries()[IDS[1]] == 0
        assert bench.final() == {IDS[0]: "ok"}


def test_after_the_last_attempt_a_request_is_finally_missing(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        for _ in range(MAX_ATTEMPTS - 1):
            bench.collect(JobState.COMPLETED, [ok(IDS[0])], done=1)
        assert bench.final() == {IDS[0]: "ok"}
        bench.collect(JobState.COMPLETED, [ok(IDS[0])], done=1)
        assert bench.final() == {IDS[0]: "ok", **dict.fromkeys(IDS[1:], "missing")}


@pytest.mark.parametrize("done", [len(IDS), len(IDS) - 2, None])
def test_an_answer_that_is_counted_and_not_delivered_is_bought_again_once(tmp_path: Path, done: int | None) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        bench.collect(JobState.COMPLETED, [ok(IDS[0])], done=done)
        assert bench.final() == {IDS[0]: "ok"}
        assert {bench.tries()[name] for name in IDS[1:]} == {MAX_ATTEMPTS - 1}
        bench.collect(JobState.COMPLETED, [ok(IDS[0])], done=done)
        assert bench.final() == {IDS[0]: "ok", **dict.fromkeys(IDS[1:], "missing")}


def test_what_no_count_promises_is_no_loss(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        bench.collect(JobState.EXPIRED, [ok(IDS[0])], done=1)
        assert {bench.tries()[name] for name in IDS[1:]} == {0}


def test_an_unreadable_line_is_bought_again_once(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        cut = ok(IDS[1])[:70]
        rest = [ok(name) for name in IDS[2:]]
        bench.collect(JobState.COMPLETED, [ok(IDS[0]), cut, *rest])
        assert IDS[1] not in bench.final()
        bench.collect(JobState.COMPLETED, [ok(IDS[0]), cut, *rest])
        assert bench.final()[IDS[1]] == "missing"


def test_a_late_ok_of_an_earlier_job_beats_a_retry_and_the_first_ok_stays(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        bench.collect(JobState.COMPLETED, [failed(IDS[0], "server_error"), ok(IDS[1], "first")])
        bench.collect(JobState.COMPLETED, [ok(IDS[0], "now"), ok(IDS[1], "second")])
        frame = answers(bench.workspace, bench.ledger, "openai", "gpt-4.1-mini", pl.Series(IDS[:2]))
        assert dict(zip(frame["request_id"], frame["text"], strict=True)) == {IDS[0]: "now", IDS[1]: "first"}


def test_answers_never_cross_venues(tmp_path: Path) -> None:
    with Stub() as stub:
        bench = Bench(tmp_path, stub)
        bench.collect(JobState.COMPLETED, [ok(name) for name in IDS])
        assert answers(bench.workspace, bench.ledger, "emulator", "gpt-4.1-mini", pl.Series(IDS)).is_empty()


def test_tokens_stand_once_however_many_choices_came(tmp_path: Path) -> None:
    reading = read_results(provider(), [write(tmp_path, ok(IDS[0], n=4))], frozenset(IDS))
    rows = [reading.rows[IDS[0], choice] for choice in range(4)]
    assert [row.input_tokens for row in rows] == [100, 0, 0, 0]
    assert provider().encode(RequestId(IDS[0]), "gpt-4.1-mini", _body(4)).count(b'"n":4') == 1


def _body(n: int) -> Any:
    from runner.request import Body, Message

    return Body((Message("user", "hi"),), 16, n=n)
