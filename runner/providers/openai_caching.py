"""What a line tells OpenAI of caching. Facts: https://developers.openai.com/api/docs/guides/prompt-caching."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from runner.providers.marks import Piece, marked
from runner.request import Body, Hint, Mark


def contents(body: Body, hint: Hint | None, kind: Literal["text", "input_text"]) -> list[str | list[dict[str, Any]]]:
    """Each message's content: a plain text where nothing is marked, else parts of the endpoint's ``kind``."""
    return [_parts(pieces, kind) for pieces in marked(body.messages, _allowed(body, hint.marks if hint else ()))]


def settings(hint: Hint | None) -> dict[str, Any]:
    """The parameters beside the messages, the same at both endpoints.

    From gpt-5.6 on a whole prompt is written to the cache, at a surcharge, unless ``mode`` is explicit.
    """
    if hint is None:
        return {}
    key = {"prompt_cache_key": hint.key} if hint.key else {}
    return key | ({"prompt_cache_options": {"mode": "explicit"}} if hint.only_marked else {})


def _allowed(body: Body, marks: Sequence[Mark]) -> list[Mark]:
    """An assistant's message takes no breakpoint: its marks move to the end of what stands before it."""
    allowed: list[Mark] = []
    for mark in marks:
        end = last = 0
        for message in body.messages:
            start, end = end, end + len(message.content)
            if message.role != "assistant" and start < mark.end:
                last = min(mark.end, end)
        if last and (not allowed or allowed[-1].end < last):
            allowed.append(Mark(last, mark.ttl))
    return allowed


def _parts(pieces: Sequence[Piece], kind: str) -> str | list[dict[str, Any]]:
    if not any(piece.ttl for piece in pieces):
        return "".join(piece.text for piece in pieces)
    parts: list[dict[str, Any]] = []
    for piece in pieces:
        # Without a ttl of its own it is kept for 30 minutes, the one duration that both endpoints know.
        kept = {"prompt_cache_breakpoint": {"mode": "explicit"}} if piece.ttl else {}
        parts.append({"type": kind, "text": piece.text, **kept})
    return parts
