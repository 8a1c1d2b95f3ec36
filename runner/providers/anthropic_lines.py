"""The lines of an Anthropic message batch: what is asked and what comes back.

Formats: https://platform.claude.com/docs/en/api/messages/batches. One line of our file is one element of the
``requests`` of a create; one line of a result file is ``{"custom_id", "result": {"type", ...}}``.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import orjson

from runner.models import Model, find_model
from runner.providers.lenient import load_object, object_in
from runner.providers.loose import as_code, as_count, as_list, as_object, as_text, says_anything, shorten
from runner.providers.marks import Piece, marked
from runner.request import Body, Hint, RequestId, Response, Status

VERSION = "2026-10-21"
"""The API version of today; it refuses sampling parameters."""

SAMPLING_VERSION = "2023-06-01"
"""The last API version that takes them."""

SAMPLING = frozenset({"temperature", "top_p"})

STOPS = {
    "end_turn": Status.OK,
    "stop_sequence": Status.OK,
    "max_tokens": Status.TRUNCATED,
    "model_context_window_exceeded": Status.TRUNCATED,
    "refusal": Status.REFUSED,
}
"""Any other reason (tool_use and pause_turn, which need tools that we never send) is an answer if it has a text, and
else says why there is none."""

REJECTIONS = frozenset({"invalid_request_error", "request_too_large", "not_found_error"})

TROUBLES = {
    "enforced_spend_limit_reached": "billing_hard_limit_reached",
    "contract_spend_limit_reached": "billing_hard_limit_reached",
    "linked_organization_spend_limit_reached": "billing_hard_limit_reached",
    "organization_on_hold": "billing_not_active",
    "billing_error": "billing_not_active",
}
"""Error codes and types that speak of the account, in the words of ``base.ACCOUNT_TROUBLE``."""

ENDS = ("errored", "expired", "canceled")
"""The types of a result that are none."""

NO_ACCESS = frozenset({"authentication_error", "permission_error"})
"""Of a row they speak of the account too; there is no word of their own for it."""

SAID_TROUBLES = (
    (re.compile(r"credit balance is too low", re.I), "insufficient_quota"),
    (re.compile(r"reached your specified .*usage limits", re.I), "billing_hard_limit_reached"),
    (re.compile(r"organization has been disabled", re.I), "billing_not_active"),
)
"""The same, where all that tells is the sentence of an invalid_request_error."""

TIERS = {"batch": True, "standard": False, "priority": False}
"""The words of ``usage.service_tier`` (anthropic 2.11.0, types/usage.py), and whether they are the batch's."""

SIGNED = "msg_emulator"
"""How the ids of messages begin that an emulator made up."""


@cache
def model_card(model: str) -> Model:
    """What is known of the model with this canonical id."""
    return find_model(f"anthropic/{model}")


def version_for(model: str, body: Body) -> str:
    """The API version by which such a request goes."""
    return SAMPLING_VERSION if SAMPLING & _params(model, body).keys() else VERSION


def needs_sampling(line: bytes) -> bool:
    """Whether a line of our file carries sampling parameters; ValueError where it is none."""
    return bool(SAMPLING & as_object(as_object(orjson.loads(line)).get("params")).keys())


def encode_line(request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
    """One element of ``requests``; the same arguments give the same bytes.

    Each mark of the hint ends a text block with ``cache_control``:
    https://platform.claude.com/docs/en/build-with-claude/prompt-caching. Raises RunnerError for an effort that the
    model does not take.
    """
    return orjson.dumps({"custom_id": request_id, "params": _params(model, body, hint)})


def _params(model: str, body: Body, hint: Hint | None = None) -> dict[str, Any]:
    refused = model_card(model).refused_at(body.effort)
    told = marked(body.messages, hint.marks if hint else ())
    said = list(zip(body.messages, told, strict=True))
    turns = [{"role": each.role, "content": _content(pieces)} for each, pieces in said if each.role != "system"]
    heads = [pieces for each, pieces in said if each.role == "system"]
    system = _content(tuple(piece for head in [*(_spaced(head) for head in heads[:-1]), *heads[-1:]] for piece in head))
    params: dict[str, Any] = {"model": model, "max_tokens": body.max_output_tokens, "messages": turns}
    if system:
        params["system"] = system
    if body.effort is not None:
        params["output_config"] = {"effort": body.effort}
    for name, value in (("temperature", body.temperature), ("top_p", body.top_p)):
        if value is not None and name not in refused:
            params[name] = value
    return params


def _content(pieces: Sequence[Piece]) -> str | list[dict[str, Any]]:
    """A plain text where nothing is marked, else blocks."""
    if not any(piece.ttl for piece in pieces):
        return "".join(piece.text for piece in pieces)
    blocks: list[dict[str, Any]] = []
    for piece in pieces:
        kept = {"cache_control": {"type": "ephemeral", "ttl": piece.ttl}} if piece.ttl else {}
        blocks.append({"type": "text", "text": piece.text, **kept})
    return blocks


def _spaced(pieces: Sequence[Piece]) -> list[Piece]:
    """With the blank line that stands behind it in the one system text."""
    return [*pieces[:-1], replace(pieces[-1], text=pieces[-1].text + "\n\n")]


def decode_line(line: bytes) -> list[Response]:
    """One row. Raises ValueError, and nothing else, when the line is not a JSON object with a ``custom_id``."""
    entry = load_object(line)
    request_id = as_text(entry.get("custom_id"))
    if not request_id:
        raise ValueError("the line has no custom_id")
    result = object_in(entry.get("result"))
    kind = as_text(result.get("type"))
    says_more = says_anything(result, ("type",)) or says_anything(entry, ("custom_id", "result"))
    if kind == "succeeded" or (kind not in ENDS and not result.get("error") and says_more):
        return [_answer(request_id, object_in(result.get("message")))]
    if kind == "expired":
        return [Response(request_id, 0, Status.EXPIRED, error_code="expired")]
    if kind == "canceled":
        return [Response(request_id, 0, Status.CANCELLED, error_code="canceled")]
    return [_failure(request_id, kind, as_object(result.get("error")))]


def is_batch_tier(service_tier: str | None) -> bool | None:
    """Whether a row that says so was served as part of a batch; None where it says nothing that is known."""
    return TIERS.get(service_tier or "")


def _answer(request_id: str, message: dict[str, Any]) -> Response:
    reason = as_text(message.get("stop_reason"))
    text = _text(message.get("content"))
    status = STOPS.get(reason or "", Status.OK if text else Status.FILTERED if reason else Status.UNREAD)
    if status is Status.OK and not _is_understood(message.get("content")):
        status = Status.UNREAD
    signed = SIGNED if (as_text(message.get("id")) or "").startswith(SIGNED) else None
    usage = as_object(message.get("usage"))
    fresh, written, read = (
        as_count(usage.get(key)) for key in ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
    )
    is_untold = any(
        usage.get(key) is not None and count is None
        for key, count in (("cache_creation_input_tokens", written), ("cache_read_input_tokens", read))
    )
    kept = as_object(usage.get("cache_creation"))
    return Response(
        request_id=request_id,
        choice=0,
        status=status,
        text=None if status is Status.UNREAD else text,
        finish_reason=reason,
        # Theirs counts only what was neither read from the cache nor written to it; ours counts all.
        input_tokens=None if fresh is None or is_untold else as_count(fresh + (written or 0) + (read or 0)),
        cached_tokens=read,
        output_tokens=as_count(usage.get("output_tokens")),
        reasoning_tokens=as_count(as_object(usage.get("output_tokens_details")).get("thinking_tokens")),
        cache_write_tokens=written,
        cache_write_long_tokens=as_count(kept.get("ephemeral_1h_input_tokens")),
        model_version=" ".join(filter(None, (as_text(message.get("model")), signed))) or None,
        service_tier=as_text(usage.get("service_tier")),
    )


def _text(content: object) -> str:
    """The text blocks, joined as they stand: thoughts are none, and a citation splits a sentence."""
    blocks = [as_object(block) for block in as_list(content)]
    return "".join(as_text(block.get("text")) or "" for block in blocks if block.get("type") == "text")


def _is_understood(content: object) -> bool:
    """Whether the content is blocks, those of text with one; none at all is an empty answer."""
    return isinstance(content, list) and all(
        isinstance(block, dict) and (block.get("type") != "text" or isinstance(block.get("text"), str))
        for block in content
    )


def _failure(request_id: str, kind: str | None, envelope: dict[str, Any]) -> Response:
    error = as_object(envelope.get("error")) or envelope
    word, sentence = as_code(error.get("type")), as_text(error.get("message"))
    code = account_trouble(error) or ("billing_not_active" if word in NO_ACCESS else None)
    rejected = code is None and word in REJECTIONS
    return Response(
        request_id=request_id,
        choice=0,
        status=Status.REJECTED if rejected else Status.FAILED,
        error_code=code or word or kind,
        error_message=shorten(": ".join(filter(None, (code and word, sentence))) or "The reply holds no answer."),
    )


def account_trouble(error: dict[str, Any]) -> str | None:
    """The code in ``base.ACCOUNT_TROUBLE`` of an ``error`` object that speaks of the account, else None.

    Branches on the words of ``details.error_code`` and ``type``: the SDK's classes mistake unknown types.
    """
    named = as_text(as_object(error.get("details")).get("error_code")), as_text(error.get("type"))
    said = as_text(error.get("message")) or ""
    known = [TROUBLES[word] for word in named if word in TROUBLES]
    known += [code for pattern, code in SAID_TROUBLES if pattern.search(said)]
    return known[0] if known else None
