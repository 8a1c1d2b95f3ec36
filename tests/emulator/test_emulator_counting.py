"""Counting tokens before they are bought: free, an estimate, and as strict as the rest of the service."""

from __future__ import annotations

from typing import Any

import anthropic
import pytest
from google_desk import ask as ask_google
from google_desk import sdk

from runner.emulator.branch import COUNT_ERROR

CLAUDE, FLASH = "claude-haiku-4-5", "gemini-2.5-flash"
COUNT = f"/v1/models/{FLASH}:countTokens"


def turn(text: str) -> list[dict[str, str]]:
    return [{"role": "user", "content": text}]


@pytest.fixture(scope="module")
def claude(desk: Any) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=f"{desk.server.base_url}/anthropic", api_key="any", max_retries=0)


def test_a_count_lies_within_one_percent_of_what_is_billed_and_is_free(desk: Any, claude: Any) -> None:
    prompts = {f"p{number}": "word " * (1_000 + number) for number in range(12)}
    counted: dict[str, int] = {}
    for _ in range(2):  # twice the same
        again = {
            name: claude.messages.count_tokens(model=CLAUDE, messages=turn(text)).input_tokens
            for name, text in prompts.items()
        }
        assert counted in ({}, again)
        counted = again
    assert desk.bill()["requests"] == []
    requests = [
        {"custom_id": name, "params": {"model": CLAUDE, "max_tokens": 5, "messages": turn(text)}}
        for name, text in prompts.items()
    ]
    batch = claude.messages.batches.create(requests=requests)
    while batch.processing_status != "ended":
        batch = claude.messages.batches.retrieve(batch.id)
    billed = {line["custom_id"]: line["input_tokens"] for line in desk.bill()["requests"]}
    errors = [counted[name] / billed[name] - 1 for name in prompts]
    assert max(map(abs, errors)) <= COUNT_ERROR
    assert min(errors) < 0 < max(errors), "an estimate, not the bill itself"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"max_tokens": 5}, "max_tokens: Extra inputs"),
        ({"temperature": 0.0}, "temperature: Extra inputs"),
        ({"messages": []}, "at least one message"),
        ({"model": "claude-none"}, "model: claude-none"),
    ],
)
def test_anthropic_refuses_to_count_what_is_no_prompt(claude: Any, more: dict[str, Any], words: str) -> None:
    with pytest.raises(anthropic.APIStatusError, match=words) as caught:
        claude.messages.count_tokens(model=CLAUDE, messages=turn("Say something."), extra_body=more)
    assert caught.value.status_code in (400, 404)


def test_gemini_counts_instructions_only_inside_a_whole_request(desk: Any) -> None:
    base_url = desk.server.base_url
    contents = [{"role": "user", "parts": [{"text": "Say something."}]}]
    system = {"systemInstruction": {"parts": [{"text": "Be brief. " * 50}]}}
    client = sdk(base_url)  # one that nobody holds closes its connections
    bare = client.models.count_tokens(model=FLASH, contents="Say something.").total_tokens
    whole = {"model": f"models/{FLASH}", "contents": contents, **system}
    status, reply = ask_google(base_url, "POST", COUNT, {"generateContentRequest": whole})
    assert status == 200 and bare is not None and reply["totalTokens"] > bare + 100
    assert ask_google(base_url, "POST", COUNT, {"contents": contents, **system})[0] == 400


@pytest.mark.parametrize(
    ("path", "body", "status", "words"),
    [
        (COUNT, {"generateContentRequest": {"contents": []}}, 400, "model is not specified"),
        (COUNT, {"generateContentRequest": {"model": f"models/{FLASH}"}}, 400, "contents is not specified"),
        (COUNT, {}, 400, "contents is not specified"),
        (COUNT, b"[", 400, "Invalid JSON"),
        (COUNT.replace(FLASH, "gemini-0"), {"contents": [{"parts": [{"text": "a"}]}]}, 404, "gemini-0 is not found"),
    ],
)
def test_gemini_refuses_to_count_what_is_no_request(desk: Any, path: str, body: Any, status: int, words: str) -> None:
    found, reply = ask_google(desk.server.base_url, "POST", path, body)
    assert found == status and words in reply["error"]["message"]
