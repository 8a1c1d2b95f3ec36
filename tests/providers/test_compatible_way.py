"""The whole way at every host of the dialect and at Mistral, over HTTP, against the emulator."""

import json
import urllib.request
from datetime import UTC, datetime

import pytest

import runner.emulator
from runner.providers import connect
from runner.providers.base import Gone, JobState, Unclear
from runner.providers.lines import read_lines
from runner.request import Body, Message, RequestId, Status

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
HOSTS = {
    "groq": "llama-3.3-70b-versatile",
    "nebius": "deepseek-ai/DeepSeek-R1-0528",
    "deepinfra": "deepseek-ai/DeepSeek-R1",
    "together": "Qwen/Qwen2.5-7B-Instruct-Turbo",
    "qwen": "qwen-plus",
    "mistral": "mistral-small-2603",
}
every_host = pytest.mark.parametrize("name", HOSTS)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    with runner.emulator.start(tmp_path_factory.mktemp("emulator"), clock="auto") as running:
        yield running


@pytest.fixture
def control(emulator):
    def ask(name, body=None):
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{emulator.base_url}/control/{name}", data)) as answer:
            return json.loads(answer.read())

    return ask


def host(emulator, name):
    return connect(name, {}, base_url=f"{emulator.base_url}/{name}", venue="emulator")


def batch_file(provider, name, folder, prefix, n=5):
    """A batch file of n requests, and their ids."""
    ids = [f"{name}{prefix}{number}" for number in range(n)]
    bodies = [Body((Message("user", f"Is {number} more than 2? \u2028 Yes or no."),), 600) for number in range(n)]
    lines = [provider.encode(RequestId(one), HOSTS[name], body) for one, body in zip(ids, bodies, strict=True)]
    path = folder / f"{prefix}.jsonl"
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path, ids


def finished(provider, job):
    for _ in range(9):
        status = provider.status(job)
        if status.state.has_ended:
            return status
    raise AssertionError("it never ends")


@every_host
def test_from_the_file_to_the_answers(emulator, control, tmp_path, name):
    provider = host(emulator, name)
    path, ids = batch_file(provider, name, tmp_path, "a")
    file_id = provider.upload(path, "tag-a")
    assert file_id in {file.file_id for file in provider.files()}
    job = provider.create(HOSTS[name], file_id, f"tag-{name}")

    status = finished(provider, job)
    assert status.state is JobState.COMPLETED
    assert status.created_at is not None
    assert status.retain_until is not None
    assert status.retain_until > status.at
    if name != "together":  # it counts nothing
        assert (status.total, status.done, status.failed) == (5, 5, 0)

    paths = provider.fetch(job, tmp_path / "raw")
    rows = [row for path in paths for line in read_lines(path) for row in provider.decode(line)]
    assert {row.request_id for row in rows} == set(ids)
    assert {row.status for row in rows} <= {Status.OK, Status.TRUNCATED}
    assert sum(row.status is Status.OK for row in rows) >= 3
    assert all("emulator" in row.model_version for row in rows), "a rehearsal signs itself"
    assert not any("think" in row.text or "weigh" in row.text for row in rows)
    billed = {row["custom_id"]: row for row in control("bill")["requests"] if row["custom_id"] in ids}
    assert {row.request_id: (row.input_tokens, row.output_tokens) for row in rows} == {
        one: (billed[one]["input_tokens"], billed[one]["output_tokens"]) for one in ids
    }
    provider.discard(file_id)
    assert file_id not in {file.file_id for file in provider.files()}
    provider.discard(file_id)


@every_host
def test_a_lost_answer_is_found_in_the_list(emulator, control, tmp_path, name):
    provider = host(emulator, name)
    file_id = provider.upload(batch_file(provider, name, tmp_path, "b")[0], "tag-b")
    control("faults", {"create_lost": 1})
    try:
        for _ in range(2):  # cut off, then a 500
            with pytest.raises(Unclear):
                provider.create(HOSTS[name], file_id, f"lost-{name}")
    finally:
        control("faults", {"create_lost": 0})
    ours = [job for job in provider.jobs(LONG_AGO).jobs if job.tag == f"lost-{name}" or job.file_id == file_id]
    assert len(ours) == 2
    assert all(job.file_id == file_id for job in ours)
    assert {job.tag for job in ours} == {None if name == "together" else f"lost-{name}"}


@every_host
def test_what_was_answered_before_the_end_is_kept(emulator, control, tmp_path, name):
    provider = host(emulator, name)
    path, ids = batch_file(provider, name, tmp_path, "c", n=10)
    control("faults", {"expired_partial": 1})
    try:
        job = provider.create(HOSTS[name], provider.upload(path, "tag-c"), f"expired-{name}")
    finally:
        control("faults", {"expired_partial": 0})
    assert finished(provider, job).state is JobState.EXPIRED
    files = provider.fetch(job, tmp_path / "raw")
    rows = [row for file in files for line in read_lines(file) for row in provider.decode(line)]
    assert {row.request_id for row in rows} == set(ids)
    expired = {row.request_id for row in rows if row.status is Status.EXPIRED}
    billed = {row["custom_id"] for row in control("bill")["requests"]}
    assert 0 < len(expired) < 10
    assert billed & set(ids) == set(ids) - expired


@every_host
def test_cancel_ends_a_job_and_leaves_an_ended_one(emulator, tmp_path, name):
    provider = host(emulator, name)
    path, _ = batch_file(provider, name, tmp_path, "d")
    job = provider.create(HOSTS[name], provider.upload(path, "tag-d"), f"cancel-{name}")
    provider.status(job)
    provider.cancel(job)
    assert finished(provider, job).state is JobState.CANCELLED
    provider.cancel(job)
    assert finished(provider, job).state is JobState.CANCELLED
    for ask in (provider.status, provider.cancel, lambda unknown: provider.fetch(unknown, tmp_path)):
        with pytest.raises(Gone):
            ask("no-such-job")


@every_host
def test_a_job_that_fails_says_why(emulator, tmp_path, name):
    provider = host(emulator, name)
    path, _ = batch_file(provider, name, tmp_path, "e", n=1)
    path.write_bytes(path.read_bytes() * 2)
    job = provider.create(HOSTS[name], provider.upload(path, "tag-e"), f"twice-{name}")
    status = finished(provider, job)
    assert status.state is JobState.FAILED
    assert "twice" in status.error
    assert provider.fetch(job, tmp_path) == []
