"""The lines of an OpenAI batch file: what is asked and what comes back.

Formats: https://platform.openai.com/docs/guides/batch and /docs/api-reference/chat/object. Compatible servers
and ``vllm run-batch`` speak them with dialects; a reader accepts failures in either file and a body of null, and
knows by the body alone which endpoint answered.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final, Literal

import orjson

from runner.models import Model, find_model
from runner.providers.base import ACCOUNT_TROUBLE
from runner.providers.lenient import load_object, object_in
from runner.providers.loose import as_code, as_count, as_list, as_object, as_text, says_anything, shorten
from runner.providers.openai_caching import contents, settings
from runner.providers.openai_responses import RESPONSES, response_answer, responses_body
from runner.providers.openai_usage import NO_TOKENS, tier_of, tokens_of, version_of
from runner.providers.thinking import spoken
from runner.request import Body, Hint, RequestId, Response, Status

ENDPOINT: Final = "/v1/chat/completions"

RETRIED_CODES = frozenset({0, 401, 402, 403, 408, 409, 429})
"""HTTP codes of a line that speak of the moment or the account, not of the request."""

RETRIED_WORDS = ACCOUNT_TROUBLE | {"rate_limit_exceeded"}

NO_ANSWER = ("failed", "cancelled")
"""What a response's ``status`` says of one that has none."""

ENDINGS = {
    "batch_expired": Status.EXPIRED,
    "batch_cancelled": Status.CANCELLED,
    # Not allowed, and not the next time either: Azure's word for a prompt, and those of a response that failed.
    "content_filter": Status.FILTERED,
    "invalid_prompt": Status.FILTERED,
    "bio_policy": Status.FILTERED,
    "misalignment_policy_violation": Status.FILTERED,
}


@cache
def model_card(model: str, provider: str = "openai") -> Model:
    """What is known of the model with this canonical id (a slash in it belongs to its name)."""
    return find_model(f"{provider}/{model}")


def endpoint_of(model: str, provider: str = "openai") -> Literal["/v1/chat/completions", "/v1/responses"]:
    """The endpoint that serves the model."""
    return RESPONSES if model_card(model, provider).endpoint == RESPONSES else ENDPOINT


def encode_line(
    request_id: RequestId, model: str, body: Body, provider: str = "openai", hint: Hint | None = None
) -> bytes:
    """One request line without its newline; the same arguments give the same bytes."""
    card, url = model_card(model, provider), endpoint_of(model, provider)
    asked = responses_body(card, model, body, hint) if url == RESPONSES else _chat_body(card, model, body, hint)
    return orjson.dumps({"custom_id": request_id, "method": "POST", "url": url, "body": asked})


def _chat_body(card: Model, model: str, body: Body, hint: Hint | None) -> dict[str, Any]:
    told = zip(body.messages, contents(body, hint, "text"), strict=True)
    asked: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": content} for message, content in told],
        card.output_limit_parameter: body.max_output_tokens,
        **settings(hint),
    }
    refused = card.refused_at(body.effort)
    sampling = {"temperature": body.temperature, "top_p": body.top_p, "n": body.n if body.n > 1 else None}
    for name, value in sampling.items():
        if value is not None and name not in refused:
            asked[name] = value
    if body.effort is not None:
        asked["reasoning_effort"] = body.effort
    return asked


def decode_line(line: bytes) -> list[Response]:
    """One row per choice, numbered from 0; a failed request is one row, and so is a reply that is not understood.

    Raises ValueError, and nothing else, when the line is not a JSON object with a ``custom_id``.
    """
    entry = load_object(line)
    request_id = as_text(entry.get("custom_id"))
    if not request_id:
        raise ValueError("the line has no custom_id")
    response = object_in(entry.get("response"))
    body = object_in(response.get("body"))
    code = as_count(response.get("status_code"))
    choices = body.get("choices")
    if code is None or 200 <= code < 300:
        if isinstance(choices, list) and choices:
            return _answers(request_id, body, [as_object(choice) for choice in choices])
        if answer := response_answer(request_id, body):
            return [answer]
        has_failed = body.get("error") or entry.get("error") or body.get("status") in NO_ANSWER
        if not has_failed and (code is not None or says_anything(entry, ("id", "custom_id"))):
            return [_silence(request_id, body)]
    return [_failure(request_id, code, body, entry.get("error"))]


def _answers(request_id: str, body: dict[str, Any], choices: list[dict[str, Any]]) -> list[Response]:
    # The order of choices is not promised. Renumbered, so that the row with the tokens is always choice 0.
    ordered = sorted(choices, key=lambda choice: as_count(choice.get("index")) or 0)
    usage = as_object(body.get("usage"))
    version = version_of(body)
    rows = []
    for number, choice in enumerate(ordered):
        message = as_object(choice.get("message"))
        refusal = as_text(message.get("refusal"))
        reason = as_text(choice.get("finish_reason"))
        status = _ending(reason, refusal)
        if status is Status.OK and not _is_understood(choice):
            status = Status.UNREAD
        rows.append(
            Response(
                request_id=request_id,
                choice=number,
                status=status,
                text=None if status is Status.UNREAD else spoken(message.get("content")) or refusal or "",
                finish_reason=reason,
                model_version=version,
                service_tier=tier_of(body),
                **(tokens_of(usage) if number == 0 else NO_TOKENS),
            )
        )
    return rows


def _is_understood(choice: dict[str, Any]) -> bool:
    """Whether a choice has a message in a form that is known; one that ended for a reason may be empty."""
    message = choice.get("message")
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    return isinstance(content, str | list) or (content is None and as_text(choice.get("finish_reason")) is not None)


def _silence(request_id: str, body: dict[str, Any]) -> Response:
    """A reply without an answer: blocked where it says why, else one that is not understood."""
    reason = _why_silent(body)
    return Response(
        request_id=request_id,
        choice=0,
        status=Status.FILTERED if reason else Status.UNREAD,
        text="" if reason else None,
        finish_reason=reason,
        model_version=version_of(body),
        service_tier=tier_of(body),
        **tokens_of(as_object(body.get("usage"))),
    )


def _why_silent(body: dict[str, Any]) -> str | None:
    """The reason of a reply without choices: its own word, Gemini's behind this protocol, or Azure's filters."""
    feedback = as_object(body.get("promptFeedback") or body.get("prompt_feedback"))
    words = (body.get("finish_reason"), feedback.get("blockReason"), feedback.get("block_reason"))
    filters = [as_object(each).get("content_filter_results") for each in as_list(body.get("prompt_filter_results"))]
    is_filtered = any(
        as_object(kind).get("filtered") is True for found in filters for kind in as_object(found).values()
    )
    return next(filter(None, map(as_text, words)), "content_filter" if is_filtered else None)


def _ending(reason: str | None, refusal: str | None) -> Status:
    if reason == "content_filter":
        return Status.FILTERED
    if refusal:
        return Status.REFUSED
    if reason == "error":  # Mistral's word for an answer that broke off
        return Status.FAILED
    return Status.TRUNCATED if reason in ("length", "model_length") else Status.OK


def _failure(request_id: str, code: int | None, body: dict[str, Any], outer: object) -> Response:
    # OpenAI says it in body.error and leaves error null; vLLM the other way round, sometimes as a string.
    said = body.get("error") or outer or {}
    error = as_object(said)
    error = as_object(error.get("error")) or error
    words = [as_code(error.get(key)) for key in ("code", "type")]
    # A spend limit may hide behind a code of its own: organization_spend_limit_exceeded, of type insufficient_quota.
    word = next((word for word in words if word in ACCOUNT_TROUBLE), words[0] or words[1])
    rejected = code is not None and 400 <= code < 500
    if word in ENDINGS:
        status = ENDINGS[word]
    elif rejected and code not in RETRIED_CODES and word not in RETRIED_WORDS:
        status = Status.REJECTED
    else:
        status = Status.FAILED
    return Response(
        request_id=request_id,
        choice=0,
        status=status,
        error_code=word or (None if code in (None, 200) else str(code)),
        error_message=shorten(as_text(error.get("message")) or as_text(said) or _reason(code)),
        service_tier=tier_of(body),
        **tokens_of(as_object(body.get("usage"))),
    )


def _reason(code: int | None) -> str:
    return "The reply holds no answer." if code in (None, 200) else f"The request ended with status {code}."
