"""What OpenAI says beside an answer, in the words of either endpoint: what it counted, and which model it was."""

from __future__ import annotations

from typing import Any, TypedDict

from runner.providers.loose import as_count, as_object, as_text


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
