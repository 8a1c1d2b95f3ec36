"""What OpenAI says beside an answer, in the words of either endpoint: its counts, its model, and how it was served."""

from __future__ import annotations

from typing import Any, TypedDict

from runner.providers.loose import as_count, as_object, as_text

OTHER_TIERS = frozenset({"priority", "fast", "scale", "performance"})
"""The words of ``service_tier`` that are never a batch's: those of openai 3.52.0 (types/chat/chat_completion.py) and
Groq's ``performance`` (https://console.groq.com/docs/service-tiers). ``default`` and Groq's ``on_demand`` tell nothing:
they are said outside of batches and inside. ``flex`` costs what a batch does."""


class Tokens(TypedDict):
    """The counts of a Response; None where the reply says nothing."""

    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None
    cache_write_tokens: int | None


NO_TOKENS = Tokens(input_tokens=0, cached_tokens=0, output_tokens=0, reasoning_tokens=0, cache_write_tokens=0)
"""Of every choice but the first."""


def tokens_of(usage: dict[str, Any]) -> Tokens:
    """Input includes what was read from the cache or written to it, output the reasoning tokens.

    Chat completions say ``prompt`` and ``completion`` where responses say ``input`` and ``output``.
    """
    read, written = ("input", "output") if "input_tokens" in usage else ("prompt", "completion")
    prompt, answer = (as_object(usage.get(f"{side}_tokens_details")) for side in (read, written))
    return Tokens(
        input_tokens=as_count(usage.get(f"{read}_tokens")),
        cached_tokens=as_count(prompt.get("cached_tokens")),
        output_tokens=as_count(usage.get(f"{written}_tokens")),
        reasoning_tokens=as_count(answer.get("reasoning_tokens")),
        cache_write_tokens=as_count(prompt.get("cache_write_tokens")),
    )


def version_of(body: dict[str, Any]) -> str | None:
    """The model's exact name and, where it is told, the fingerprint of what it ran on."""
    return " ".join(filter(None, (as_text(body.get("model")), as_text(body.get("system_fingerprint"))))) or None


def tier_of(body: dict[str, Any]) -> str | None:
    """The body's own word for how it was served."""
    return as_text(body.get("service_tier"))


def is_batch_tier(service_tier: str | None) -> bool | None:
    """False for a word that is never a batch's, else None: there is none that only a batch has."""
    return False if service_tier in OTHER_TIERS else None
