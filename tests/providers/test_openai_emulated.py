"""The provider on the emulator: whatever the registry says of a model, the endpoint takes."""

import json
import urllib.request
from datetime import UTC, date, datetime

import pytest

import runner.emulator
from runner.models import all_models
from runner.providers import connect
from runner.providers.base import JobState
from runner.providers.lines import read_lines
from runner.request import Body, Message, RequestId, Status

ASK = (Message("system", "Be brief."), Message("user", "Say something. " * 900))
MODELS = [model for model in all_models() if model.provider == "openai"]


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    """Before the first of the registry's retirements."""
    running = runner.emulator.start(tmp_path_factory.mktemp("emulator"), at=date(2026, 10, 22), clock="auto")
    yield running
    running.stop()


@pytest.fixture
def provider(server):
    return connect("openai", {}, base_url=f"{server.base_url}/openai", venue="emulator")


def bodies_for(model):
    return {
        RequestId(f"{effort or 'default'}-2"): Body(ASK, 7 + model.reasoning_allowance_of(effort), 0.0, effort=effort)
        for effort in (None, *model.efforts)
    }


@pytest.mark.parametrize("model", MODELS, ids=[model.id for model in MODELS])
def test_every_model_answers_at_every_effort_and_is_billed_what_it_says(server, provider, tmp_path, model):
    asked = bodies_for(model)
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"\n".join(provider.encode(name, model.id, body) for name, body in asked.items()) + b"\n")
    file_id = provider.upload(path, "tag")
    job = provider.create(model.id, file_id, "tag")
    states = [provider.status(job).state for _ in range(4)]
    assert states[-1] is JobState.COMPLETED
    files = provider.fetch(job, tmp_path / "raw")
    rows = {row.request_id: row for path in files for line in read_lines(path) for row in provider.decode(line)}
    assert {row.status for row in rows.values()} <= {Status.OK, Status.TRUNCATED}
    with urllib.request.urlopen(f"{server.base_url}/control/bill") as reply:
        billed = {row["custom_id"]: row for row in json.load(reply)["requests"] if row["job"] == job}
    assert rows.keys() == billed.keys() == asked.keys()
    for name, row in rows.items():
        bill = billed[name]
        assert (row.input_tokens, row.cached_tokens) == (bill["input_tokens"], bill["cached_tokens"])
        assert (row.output_tokens, row.reasoning_tokens) == (bill["output_tokens"], bill["reasoning_tokens"])
        assert (row.cache_write_tokens or 0) == bill["cache_write_tokens"]
        assert row.model_version.startswith(model.id)
        assert row.model_version.endswith(" fp_emulator")


def test_files_are_listed_until_they_are_deleted_or_expire(provider, tmp_path):
    path = tmp_path / "in.jsonl"
    body = Body(ASK, 5)
    path.write_bytes(provider.encode(RequestId("r"), "gpt-4.1-mini", body) + b"\n")
    input_id = provider.upload(path, "tag-7")
    job = provider.create("gpt-4.1-mini", input_id, "tag-7")
    for _ in range(3):
        status = provider.status(job)
    assert (status.file_id, status.tag) == (input_id, "tag-7")
    kept = {file.file_id: file for file in provider.files()}
    assert (kept[input_id].name, kept[input_id].bytes) == ("tag-7.jsonl", path.stat().st_size)
    assert isinstance(kept[input_id].created_at, datetime)
    assert kept[input_id].created_at.tzinfo is UTC
    results = [name for name, file in kept.items() if job in file.name]
    assert len(results) == 1
    for name in (input_id, *results):
        provider.discard(name)
    assert not {file.file_id for file in provider.files()} & {input_id, *results}
