"""The lines of an OpenAI batch file: what is asked and what comes back.

Formats: https://platform.openai.com/docs/guides/batch and /docs/api-reference/chat/object. Compatible servers
and ``vllm run-batch`` speak them with dialects; a reader accepts failures in either file and a body of null.
"""

from __future__ import annotations

import json
from functools import cache
from typing import Any, Final, TypedDict

import orjson

from runner.models import Model, find_model
from runner.providers.base import ACCOUNT_TROUBLE
from runner.providers.loose import as_code, as_count, as_object, as_text, shorten
from runner.request import Body, RequestId, Response, Status

ENDPOINT: Final = "/v1/chat/completions"

RETRIED_CODES = frozenset({0, 401, 402, 403, 408, 409, 429})
"""HTTP codes of a line that speak of the moment or the account, not of the request."""

RETRIED_WORDS = ACCOUNT_TROUBLE | {"rate_limit_exceeded"}

ENDINGS = {"batch_expired": Status.EXPIRED, "batch_cancelled": Status.CANCELLED}


@cache
def model_card(model: str) -> Model:
    """What is known of the model with this canonical id (a slash in it belongs to its name)."""
    return find_model(f"openai/{model}")


def encode_line(request_id: RequestId, model: str, body: Body) -> bytes:
    """One request line without its newline; the same arguments give the same bytes."""
    card = model_card(model)
    asked: dict[str, Any] = {
        "model": model,
        "messages": [{"role": message.role, "content": message.content} for message in body.messages],
        card.output_limit_parameter: body.max_output_tokens,
    }
    sampling = {"temperature": body.temperature, "top_p": body.top_p, "n": body.n if body.n > 1 else None}
    for name, value in sampling.items():
        if value is not None and name not in card.refused:
            asked[name] = value
    return orjson.dumps({"custom_id": request_id, "method": "POST", "url": ENDPOINT, "body": asked})


def decode_line(line: bytes) -> list[Response]:
    """One row per choice, numbered from 0; a failed request is one row.

    Raises ValueError, and nothing else, when the line is not a JSON object with a ``custom_id``.
    """
    entry = _load(line)
    if not isinstance(entry, dict):
        raise ValueError("the line is not a JSON object")
    request_id = as_text(entry.get("custom_id"))
    if not request_id:
        raise ValueError("the line has no custom_id")
    response = as_object(entry.get("response"))
    body = as_object(response.get("body"))
    code = as_count(response.get("status_code"))
    choices = body.get("choices")
    if code in (200, None) and isinstance(choices, list) and choices:
        return _answers(request_id, body, [as_object(choice) for choice in choices])
    return [_failure(request_id, code, body, entry.get("error"))]


def _load(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    # An answer that was cut inside an emoji may hold half a surrogate pair, and some servers write NaN. orjson
    # refuses both, but the line is paid for: it is read with them replaced.
    try:
        lenient = json.loads(line.decode(), parse_constant=lambda name: None)
        return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None


def _answers(request_id: str, body: dict[str, Any], choices: list[dict[str, Any]]) -> list[Response]:
    # The order of choices is not promised. Renumbered, so that the row with the tokens is always choice 0.
    ordered = sorted(choices, key=lambda choice: as_count(choice.get("index")) or 0)
    usage = as_object(body.get("usage"))
    version = " ".join(filter(None, (as_text(body.get("model")), as_text(body.get("system_fingerprint")))))
    rows = []
    for number, choice in enumerate(ordered):
        message = as_object(choice.get("message"))
        refusal = as_text(message.get("refusal"))
        reason = as_text(choice.get("finish_reason"))
        rows.append(
            Response(
                request_id=request_id,
                choice=number,
                status=_ending(reason, refusal),
                text=as_text(message.get("content")) or refusal or "",
                finish_reason=reason,
                model_version=version or None,
                **(_tokens(usage) if number == 0 else NO_TOKENS),
            )
        )
    return rows


def _ending(reason: str | None, refusal: str | None) -> Status:
    if reason == "content_filter":
        return Status.FILTERED
    if refusal:
        return Status.REFUSED
    return Status.TRUNCATED if reason == "length" else Status.OK


class Tokens(TypedDict):
    """The four counts of a Response; None where the reply says nothing."""

    input_tokens: int | None
    cached_tokens: int | None
    output_tokens: int | None
    reasoning_tokens: int | None


NO_TOKENS = Tokens(input_tokens=0, cached_tokens=0, output_tokens=0, reasoning_tokens=0)


def _tokens(usage: dict[str, Any]) -> Tokens:
    """Input includes the cached tokens, output the reasoning tokens."""
    prompt, completion = (as_object(usage.get(key)) for key in ("prompt_tokens_details", "completion_tokens_details"))
    return Tokens(
        input_tokens=as_count(usage.get("prompt_tokens")),
        cached_tokens=as_count(prompt.get("cached_tokens")),
        output_tokens=as_count(usage.get("completion_tokens")),
        reasoning_tokens=as_count(completion.get("reasoning_tokens")),
    )


def _failure(request_id: str, code: int | None, body: dict[str, Any], outer: object) -> Response:
    # OpenAI says it in body.error and leaves error null; vLLM the other way round, sometimes as a string.
    said = body.get("error") or outer or {}
    error = as_object(said)
    error = as_object(error.get("error")) or error
    word = as_code(error.get("code")) or as_code(error.get("type"))
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
        **_tokens(as_object(body.get("usage"))),
    )


def _reason(code: int | None) -> str:
    return "The reply holds no answer." if code in (None, 200) else f"The request ended with status {code}."
