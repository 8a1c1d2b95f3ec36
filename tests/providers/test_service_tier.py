"""How a row says that it was served, and which of those words are a batch's."""

import json

import pytest

from runner import providers
from runner.providers import anthropic_lines, google_lines, openai_lines

CHAT = {"choices": [{"index": 0, "message": {"content": "Yes."}, "finish_reason": "stop"}]}
TEXT = {"type": "output_text", "text": "Yes."}
RESPONSE = {"object": "response", "status": "completed", "output": [{"type": "message", "content": [TEXT]}]}
ABSENT = object()


def anthropic(tier):
    usage = {"input_tokens": 10, "output_tokens": 2} | ({} if tier is ABSENT else {"service_tier": tier})
    message = {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "usage": usage}
    return {"custom_id": "r", "result": {"type": "succeeded", "message": message}}


def openai(body, tier, code=200):
    whole = body | ({} if tier is ABSENT else {"service_tier": tier})
    return {"custom_id": "r", "response": {"status_code": code, "body": whole}, "error": None}


def google(tier, **response):
    usage = {"promptTokenCount": 10} | ({} if tier is ABSENT else {"serviceTier": tier})
    return {"key": "r", "response": {"usageMetadata": usage, **response}}


CANDIDATES = {"candidates": [{"content": {"parts": [{"text": "Yes."}]}, "finishReason": "STOP"}] * 2}
BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}}
LINES = {
    "anthropic": (anthropic_lines, anthropic),
    "chat": (openai_lines, lambda tier: openai(CHAT, tier)),
    "response": (openai_lines, lambda tier: openai(RESPONSE, tier)),
    "failure": (openai_lines, lambda tier: openai({"error": {"code": "x"}}, tier, 500)),
    "google": (google_lines, lambda tier: google(tier, **CANDIDATES)),
    "google, blocked": (google_lines, lambda tier: google(tier, **BLOCKED)),
}


@pytest.mark.parametrize("kind", LINES)
def test_every_row_of_a_line_keeps_the_lines_own_word_and_nothing_else_in_its_place(kind):
    reader, line = LINES[kind]
    for tier, kept in (("priority", "priority"), (ABSENT, None), (None, None), (3, None), ({"a": "b"}, None)):
        rows = reader.decode_line(json.dumps(line(tier)).encode())
        assert rows and [row.service_tier for row in rows] == [kept] * len(rows)


@pytest.mark.parametrize(
    ("provider", "tier", "told"),
    [
        ("anthropic", "batch", True),
        ("anthropic", "standard", False),
        ("anthropic", "priority", False),
        ("openai", "default", None),  # what real batches say, and what is said outside of them
        ("openai", "auto", None),
        ("openai", "priority", False),
        ("openai", "flex", None),
        ("openai", "scale", False),
        ("google", "STANDARD", None),
        ("google", "PRIORITY", False),
        ("google", "flex", None),
        ("groq", "on_demand", None),
        ("groq", "performance", False),
        ("mistral", "priority", None),  # no word of its API
        ("vllm", "priority", None),
    ],
)
def test_a_word_is_a_batchs_or_another_tiers_or_tells_nothing(provider, tier, told):
    assert providers.is_batch_tier(provider, tier) is told


def test_a_word_that_is_not_known_and_none_at_all_tell_nothing_at_any_provider():
    for provider in providers.names():
        assert providers.is_batch_tier(provider, None) is None
        assert providers.is_batch_tier(provider, "a tier of next year") is None
