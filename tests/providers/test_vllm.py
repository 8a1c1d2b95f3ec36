"""vLLM's provider against real processes: an engine that is killed, disobeys, fails, or is not here."""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from runner.providers.base import Gone, JobState, NotCreated
from runner.providers.lines import read_lines
from runner.providers.vllm import VLLMProvider
from runner.request import Body, Message, RequestId, Status

ENGINE = (sys.executable, str(Path(__file__).with_name("stand_in_vllm.py")))
MODEL = "meta-llama/Llama-3.3-70B-Instruct"
TAG = "0123abcd-1-0001-89abcdef"
EVER = datetime(2020, 1, 1, tzinfo=UTC)


class Room:
    """A folder with a batch, the engine's plans and diary, and providers."""

    def __init__(self, root: Path, n: int = 8) -> None:
        self.root = root
        self.batch = root / "batch.jsonl"
        self.ids = [f"r{number:02d}" for number in range(n)]
        vllm = self.provider(engine=None)
        body = Body((Message("user", "Positive or\u2028negative?"),), 16)
        self.batch.write_bytes(b"".join(vllm.encode(RequestId(name), MODEL, body) + b"\n" for name in self.ids))

    def provider(self, engine=ENGINE, host="here", arguments=(), **env) -> VLLMProvider:
        env = {"PATH": os.environ["PATH"], "STAND_IN": str(self.root), **env}
        return VLLMProvider(self.root / "vllm", engine, arguments, env, host)

    def plan(self, *plans: dict) -> None:
        (self.root / "plan.json").write_text(json.dumps(plans))

    def diary(self, what: str) -> list[dict]:
        path = self.root / "diary.jsonl"
        events = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [event for event in events if event["what"] == what]

    def written(self) -> Counter:
        return Counter(event["custom_id"] for event in self.diary("written"))

    def create(self, **plan) -> VLLMProvider:
        self.plan(plan)
        vllm = self.provider()
        assert vllm.create(MODEL, self.batch, TAG) == TAG
        return vllm

    def fetched(self, vllm: VLLMProvider) -> list[bytes]:
        return [line for path in vllm.fetch(TAG, self.root / "raw") for line in read_lines(path)]


def until(true, seconds=20.0):
    """Wait for something that comes by itself."""
    deadline = time.monotonic() + seconds
    while not (value := true()):
        assert time.monotonic() < deadline, "it did not come"
        time.sleep(0.01)
    return value


def ended(vllm: VLLMProvider):
    return until(lambda: (status := vllm.status(TAG)).state.has_ended and status)


@pytest.fixture
def room(tmp_path):
    room = Room(tmp_path)
    yield room
    for event in room.diary("start"):  # an engine outlives whoever started it, a failed test too
        try:
            os.kill(event["pid"], signal.SIGKILL)
        except ProcessLookupError:
            continue


def test_the_whole_life_of_a_job(room):
    before = datetime.now(UTC)
    vllm = room.provider(arguments=("--tensor-parallel-size", "4"), VLLM_COMMAND="x", VLLM_ARGS="y", VLLM_USE_V1="1")
    assert vllm.upload(room.batch, TAG) is None
    assert vllm.create(MODEL, room.batch, TAG) == TAG
    status = ended(vllm)
    assert (status.state, status.total, status.done, status.tag) == (JobState.COMPLETED, 8, 8, TAG)
    assert before <= status.created_at <= status.at <= datetime.now(UTC)
    assert vllm.jobs(EVER).jobs[0].provider_job == TAG
    assert vllm.jobs(datetime.now(UTC) + timedelta(hours=1)).jobs == ()
    (path,) = vllm.fetch(TAG, room.root / "raw")
    assert path.name == f"{TAG}.output.jsonl.zst"
    rows = [row for line in read_lines(path) for row in vllm.decode(line)]
    assert [row.request_id for row in rows] == room.ids
    assert {(row.status, row.text, row.output_tokens) for row in rows} == {(Status.OK, "positive", 6)}
    (start,) = room.diary("start")
    assert (start["model"], start["more"]) == (MODEL, ["--tensor-parallel-size", "4"])
    assert start["unknown"] == ["VLLM_USE_V1"], "ours are not the engine's"
    assert "platform cuda" in (room.root / "vllm" / TAG / "log.txt").read_text()


def test_no_key_of_a_provider_goes_to_the_engine(room):
    script, found = room.root / "engine.py", room.root / "found.txt"
    script.write_text(f"import os, pathlib; pathlib.Path({str(found)!r}).write_text(repr(dict(os.environ)))")
    kept = {"HF_TOKEN": "hf", "CUDA_VISIBLE_DEVICES": "0", "KEYBOARD": "k"}
    names = ("OPENAI_API_KEY", "AZURE_OPENAI_API_KEY", "GROQ_API_KEY", "GEMINI_API_KEY", "DEEPINFRA_TOKEN")
    secrets = dict.fromkeys((*names, "OPENAI_CUSTOM_HEADERS"), "sk-hush")
    vllm = room.provider(engine=(sys.executable, str(script)), **kept, **secrets)
    vllm.create(MODEL, room.batch, TAG)
    assert ended(vllm).state is JobState.FAILED
    said = found.read_text()
    assert "hush" not in said
    assert all(repr(name)[:-1] in said for name in kept)


def test_a_second_create_starts_no_second_engine(room):
    vllm = room.create(pause_s=0.02)
    assert room.provider().create(MODEL, room.batch, TAG) == TAG
    assert vllm.status(TAG).state is JobState.RUNNING
    ended(vllm)
    assert room.provider().create(MODEL, room.batch, TAG) == TAG
    assert ended(vllm).state is JobState.COMPLETED
    assert len(room.diary("start")) == 1


def test_progress_is_counted_while_the_engine_runs(room):
    vllm = room.create(pause_s=0.1)
    counts = [until(lambda least=least: (now := vllm.status(TAG)).done >= least and now) for least in (1, 3)]
    assert [(status.state, status.total) for status in counts] == [(JobState.RUNNING, 8)] * 2


def test_an_engine_that_dies_half_way_leaves_what_it_wrote(room):
    vllm = room.create(die_after=5)
    status = ended(vllm)
    assert (status.state, status.done, status.total) == (JobState.EXPIRED, 5, 8)
    assert "5 of 8" in status.error
    lines = room.fetched(vllm)
    assert [row.request_id for line in lines for row in vllm.decode(line)] == room.ids[:5]


def test_a_bad_line_fails_the_job_in_the_engines_words(room):
    room.batch.write_bytes(room.batch.read_bytes().replace(b"/v1/chat/completions", b"/v1/responses", 3))
    vllm = room.create()
    status = ended(vllm)
    assert (status.state, status.done) == (JobState.FAILED, 0)
    assert "ValueError: Invalid request on line 1" in status.error
    assert "log.txt" in status.error
    assert room.fetched(vllm) == []


def test_an_engine_without_memory_fails_only_where_it_answered_nothing(room):
    room.create(memory=0)
    assert ended(room.provider()).state is JobState.FAILED
    assert "CUDA out of memory" in room.provider().status(TAG).error


@pytest.mark.parametrize("as_text", [True, False])
def test_refused_requests_stand_in_the_same_file(room, as_text):
    vllm = room.create(refuse=[2, 7], as_text=as_text)
    assert ended(vllm).state is JobState.COMPLETED
    rows = {row.request_id: row for line in room.fetched(vllm) for row in vllm.decode(line)}
    assert {name for name, row in rows.items() if row.status is Status.REJECTED} == {"r01", "r06"}
    assert "maximum context length" in rows["r01"].error_message


def test_a_cancelled_job_keeps_what_it_answered(room):
    vllm = room.create(pause_s=0.05)
    until(lambda: vllm.status(TAG).done >= 2)
    vllm.cancel(TAG)
    status = ended(vllm)
    assert status.state is JobState.CANCELLED
    assert 2 <= status.done < 8
    assert len(room.fetched(vllm)) == status.done


def test_an_engine_that_does_not_obey_is_killed_the_second_time(room):
    vllm = room.create(pause_s=0.2, stubborn=True)
    until(lambda: vllm.status(TAG).done)
    vllm.cancel(TAG)
    time.sleep(0.1)
    status = vllm.status(TAG)
    assert (status.state, status.is_cancelling) == (JobState.RUNNING, True)
    old = time.time() - 61
    os.utime(room.root / "vllm" / TAG / "cancelled", (old, old))
    assert not vllm.status(TAG).is_cancelling, "time to ask again"
    vllm.cancel(TAG)
    assert ended(vllm).state is JobState.CANCELLED


def begun(room: Room) -> subprocess.Popen:
    """Another process that creates the job and then does nothing; it says when it begins."""
    code = f"""
import sys, time
from pathlib import Path
from runner.providers.vllm import VLLMProvider
root = Path({str(room.root)!r})
vllm = VLLMProvider(root / "vllm", {ENGINE!r}, (), {{"STAND_IN": str(root)}}, "here")
print(flush=True)
vllm.create({MODEL!r}, root / "batch.jsonl", {TAG!r})
time.sleep(60)
"""
    child = subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2], stdout=subprocess.PIPE)
    child.stdout.readline()
    return child


def test_the_engine_outlives_who_started_it(room):
    room.plan({"pause_s": 0.05})
    with begun(room) as child:
        until(room.written)
        child.kill()
    vllm = room.provider()
    (listed,) = vllm.jobs(EVER).jobs
    assert (listed.tag, listed.state) == (TAG, JobState.RUNNING)
    assert ended(vllm).state is JobState.COMPLETED
    assert len(room.diary("start")) == 1


@pytest.mark.parametrize("milliseconds", [0, 1, 3, 6, 10])
def test_a_create_killed_at_any_moment_starts_at_most_one_engine(room, milliseconds):
    with begun(room) as child:
        time.sleep(milliseconds / 1000)
        child.kill()
    time.sleep(0.1)  # what was started has shown itself; the chain waits for a minute
    vllm = room.provider()
    if not vllm.jobs(EVER).jobs:
        vllm.create(MODEL, room.batch, TAG)
    assert ended(vllm).state is JobState.COMPLETED
    assert len(room.diary("start")) == 1
    assert room.written() == dict.fromkeys(room.ids, 1)


def test_an_intent_whose_engine_was_never_started_is_no_job(room):
    vllm = room.provider()
    in_the_way = room.root / "vllm" / TAG / "log.txt"
    in_the_way.mkdir(parents=True)
    with pytest.raises(NotCreated) as caught:
        vllm.create(MODEL, room.batch, TAG)
    assert caught.value.retry_later
    assert vllm.jobs(EVER).jobs == ()
    with pytest.raises(Gone):
        vllm.status(TAG)
    in_the_way.rmdir()
    vllm.create(MODEL, room.batch, TAG)
    assert ended(vllm).state is JobState.COMPLETED


def test_an_engine_that_is_not_there_is_a_job_that_failed(room):
    vllm = room.provider(engine=("/no/such/engine",))
    vllm.create(MODEL, room.batch, TAG)
    status = ended(vllm)
    assert status.state is JobState.FAILED
    assert "/no/such/engine" in status.error


def test_a_number_that_is_another_process_by_now_is_not_the_engine(room):
    vllm = room.create(die_after=3)
    ended(vllm)
    with subprocess.Popen(["sleep", "30"], start_new_session=True) as stranger:
        (room.root / "vllm" / TAG / "group").write_text(str(stranger.pid))
        assert vllm.status(TAG).state is JobState.EXPIRED
        vllm.cancel(TAG)
        vllm.cancel(TAG)
        assert stranger.poll() is None
        stranger.kill()


def test_another_machines_engine_is_not_taken_for_dead_nor_killed(room):
    room.create(die_after=3)
    ended(room.provider())
    elsewhere = room.provider(host="there")
    status = elsewhere.status(TAG)
    assert (status.state, status.done) == (JobState.RUNNING, 3)
    assert "started on here" in status.error
    assert elsewhere.account != room.provider().account
    elsewhere.cancel(TAG)
    assert elsewhere.status(TAG).state is JobState.CANCELLED


def test_a_cancel_from_another_machine_reaches_no_process_of_this_one(room):
    vllm = room.create(pause_s=0.02)
    room.provider(host="there").cancel(TAG)
    assert ended(vllm).state is JobState.COMPLETED


def test_where_no_engine_is_the_user_runs_it_and_brings_the_output(room):
    vllm = room.provider(engine=None)
    vllm.create(MODEL, room.batch, TAG)
    status = vllm.status(TAG)
    assert (status.state, status.done) == (JobState.RUNNING, 0)
    folder = room.root / "vllm" / TAG
    assert str(folder / "output.jsonl") in status.error
    command = shlex.split(status.error.split("`")[1])
    assert command[0] == "vllm"
    away = room.root / "away"
    away.mkdir()
    (away / "input.jsonl").write_bytes((folder / "input.jsonl").read_bytes())
    subprocess.run([*ENGINE, *command[1:]], cwd=away, env={**os.environ, "STAND_IN": str(away)}, check=True)
    whole = (away / "output.jsonl").read_bytes()
    assert vllm.jobs(EVER).jobs[0].state is JobState.RUNNING
    for size in (1, len(whole) // 2, len(whole) - 2):
        (folder / "output.jsonl").write_bytes(whole[:size])
        assert vllm.status(TAG).state is JobState.RUNNING, "a copy on its way is not the end"
    (folder / "output.jsonl").write_bytes(whole.replace(b'"r03"', b'"x03"'))
    assert vllm.status(TAG).state is JobState.RUNNING, "another batch's answers are not these"
    (folder / "output.jsonl").write_bytes(whole.removesuffix(b"\n"))
    assert vllm.status(TAG).state is JobState.COMPLETED
    assert len(room.fetched(vllm)) == 8
    assert room.provider().status(TAG).state is JobState.COMPLETED, "also where an engine has come since"


def test_a_cancel_ends_the_waiting_with_what_is_there(room):
    vllm = room.provider(engine=None)
    vllm.create(MODEL, room.batch, TAG)
    folder = room.root / "vllm" / TAG
    (folder / "output.jsonl").write_bytes(b'{"custom_id":"r00","response":null,"error":"x"}\n{"custom_id"')
    vllm.cancel(TAG)
    assert vllm.status(TAG).state is JobState.CANCELLED
    assert len(room.fetched(vllm)) == 1


@pytest.mark.parametrize("name", ["unknown", "..", "../vllm", "/etc", ""])
def test_an_unknown_job_is_gone(room, name):
    room.create()
    for ask in (room.provider().status, room.provider().cancel, lambda job: room.provider().fetch(job, room.root)):
        with pytest.raises(Gone):
            ask(name)


def test_no_token_of_the_arguments_is_ever_said(room):
    secret = ("--hf-token", "hf_hush")
    waiting = room.provider(engine=None, arguments=secret)
    waiting.create(MODEL, room.batch, TAG)
    said = [waiting.status(TAG).error, repr(waiting)]
    (room.root / "vllm" / "t2").mkdir()
    (room.root / "vllm" / "t2" / "group").symlink_to("/no/such/folder/group")  # the shell cannot write there
    for tag, source in (("t2", room.batch), ("t3", room.root / "missing")):
        with pytest.raises(NotCreated) as caught:
            room.provider(arguments=secret).create(MODEL, source, tag)
        said.append(str(caught.value))
    assert "hush" not in "".join(said)
