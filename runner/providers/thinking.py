"""Thoughts that a model writes in front of its answer: they are paid for, and not part of the answer."""

from __future__ import annotations

from runner.providers.loose import as_list, as_object, as_text

OPEN, CLOSE = "<think>", "</think>"


def spoken(content: object) -> str | None:
    """The text of a message's content: a string, or the text parts of a list that may hold thoughts (Mistral)."""
    parts = [as_object(part) for part in as_list(content)]
    texts = [as_text(part.get("text")) for part in parts if part.get("type") == "text"]
    return as_text(content) or "".join(filter(None, texts)) or None


def without_thinking(text: str) -> str:
    """The answer without ``<think>…</think>`` at its start.

    DeepSeek-R1's chat template writes the opening mark into the prompt, so that it is often absent from the text.
    Thoughts that were cut off before they ended leave no answer at all.
    """
    head, closed, rest = text.partition(CLOSE)
    if closed and OPEN not in head.lstrip().removeprefix(OPEN):
        return rest.lstrip()
    return "" if text.lstrip().startswith(OPEN) else text
