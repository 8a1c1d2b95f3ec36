"""The provider's own count of a body: what its batch then bills, for nothing, and one reason where there is none."""

import json
import urllib.request
from datetime import date

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stub_anthropic import Stub

import runner.emulator
from runner.errors import RunnerError
from runner.providers import connect, names
from runner.providers.base import Unreachable
from runner.providers.counting import counter_of
from runner.providers.lines import read_lines
from runner.request import Body, Message, RequestId

KEY = "sk-hush0123456789"
MODELS = {"anthropic": "claude-sonnet-5", "google": "gemini-2.5-pro"}
KEYS = {"anthropic": "ANTHROPIC_API_KEY", "google": "GEMINI_API_KEY"}
PATHS = {"anthropic": "/v1/messages/count_tokens", "google": "/v1/models/gemini-2.5-pro:countTokens"}
CHAT = (Message("system", "Be brief."), Message("user", "A?"), Message("assistant", "B."), Message("user", "C?"))
SIMPLE = Body((Message("user", "Yes or no?"),), 600)


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    folder = tmp_path_factory.mktemp("emulator")
    with runner.emulator.start(folder, clock="auto", at=date(2026, 11, 20)) as running:
        yield running


@pytest.fixture(scope="module")
def stub():
    with Stub() as running:
        yield running


def bill(emulator):
    with urllib.request.urlopen(f"{emulator.base_url}/control/bill") as reply:
        return {line["custom_id"]: line["input_tokens"] for line in json.load(reply)["requests"]}


@pytest.mark.parametrize("provider", MODELS)
def test_a_count_is_within_one_percent_of_what_the_batch_of_the_same_body_bills(emulator, tmp_path, provider):
    model = MODELS[provider]
    where = {"base_url": f"{emulator.base_url}/{provider}", "venue": f"emulator:{provider}"}
    count, desk = counter_of(provider, {}, **where), connect(provider, {}, **where)
    long = Message("user", "What she wrote, and what they answered to it. " * 400)
    bodies = {
        f"{provider}-one": Body((long,), 5_000),
        f"{provider}-chat": Body((*CHAT, long), 5_000),
        f"{provider}-sampled": Body((long, *CHAT[2:]), 5_000, temperature=0.7, top_p=0.9),
        f"{provider}-effort": Body((*CHAT[:1], long), 5_000, effort="low"),
    }
    counted = {name: count(model, body) for name, body in bodies.items()}
    assert bill(emulator).keys().isdisjoint(bodies), "a count is free"
    path = tmp_path / "batch.jsonl"
    lines = [desk.encode(RequestId(name), model, body) for name, body in bodies.items()]
    path.write_bytes(b"\n".join(lines) + b"\n")
    job = desk.create(model, desk.upload(path, "tag") or path, "tag")
    while not desk.status(job).state.has_ended:
        pass
    rows = [row for file in desk.fetch(job, tmp_path) for line in read_lines(file) for row in desk.decode(line)]
    billed = bill(emulator)
    assert {row.request_id: row.input_tokens for row in rows} == {name: billed[name] for name in bodies}
    for name, tokens in counted.items():
        assert tokens == pytest.approx(billed[name], rel=0.01)


@given(
    texts=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1).filter(str.strip), max_size=4),
    effort=st.sampled_from([None, "low", "high"]),
    temperature=st.sampled_from([None, 0.0, 1.0]),
)
@pytest.mark.parametrize("provider", MODELS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_body_that_a_batch_takes_can_be_counted(emulator, provider, texts, effort, temperature):
    roles = ["user", "assistant", "user", "assistant"]
    turns = [Message("system", "Be brief."), *map(Message, roles, texts), Message("user", "And?")]
    body = Body(tuple(turns), 600, temperature=temperature, effort=effort)
    count = counter_of(provider, {}, base_url=f"{emulator.base_url}/{provider}", venue="emulator")
    assert count(MODELS[provider], body) > 0


def test_only_those_count_who_have_an_endpoint_for_it_and_only_with_a_key():
    here = {"base_url": "http://127.0.0.1:9"}
    assert {name for name in names() if counter_of(name, {}, **here)} == set(MODELS)
    for provider, variable in KEYS.items():
        assert counter_of(provider, {}) is None
        assert counter_of(provider, {variable: KEY}) is not None
        with pytest.raises(RunnerError, match="copy it again"):
            counter_of(provider, {variable: f"{KEY} {KEY}"})


@pytest.mark.parametrize("provider", MODELS)
@pytest.mark.parametrize(
    ("status", "reply", "is_refusal"),
    [
        (401, {"error": {"message": f"bad {KEY}"}}, True),
        (404, {"error": {"message": "no such model"}}, False),
        (429, {"error": {"message": "too many"}}, False),
        (500, b"<html>", False),
        (200, b"<html>", False),
        (200, {}, False),
        (200, {"input_tokens": "7", "totalTokens": -7}, False),
    ],
)
def test_what_is_no_count_is_one_reason_asked_for_once(stub, provider, status, reply, is_refusal):
    stub.calls.clear()
    stub.replies.clear()
    stub.say(f"POST {PATHS[provider]}", status, reply, **{"retry-after": "30"})
    base_url = {"anthropic": "ANTHROPIC_BASE_URL", "google": "GOOGLE_GEMINI_BASE_URL"}[provider]
    count = counter_of(provider, {KEYS[provider]: KEY, base_url: stub.base_url})
    with pytest.raises(Unreachable) as caught:
        count(MODELS[provider], SIMPLE)
    assert caught.value.is_refusal is is_refusal
    assert KEY not in str(caught.value)
    assert len(stub.calls) == 1, "nobody waits for a count"


@pytest.mark.parametrize("provider", MODELS)
def test_where_nobody_answers_that_is_said(provider):
    count = counter_of(provider, {}, base_url="http://127.0.0.1:9", venue="emulator")
    with pytest.raises(Unreachable, match="The connection to emulator failed"):
        count(MODELS[provider], SIMPLE)


def test_gemini_is_asked_with_the_system_instruction_inside_the_named_request(stub):
    stub.replies.clear()
    stub.say(f"POST {PATHS['google']}", 200, {"totalTokens": 7})
    count = counter_of("google", {}, base_url=stub.base_url, venue="emulator")
    assert count(MODELS["google"], Body(CHAT, 600)) == 7
    asked = json.loads(stub.calls[-1].body)
    assert list(asked) == ["generateContentRequest"]
    assert asked["generateContentRequest"]["model"] == "models/gemini-2.5-pro"
    assert asked["generateContentRequest"]["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
