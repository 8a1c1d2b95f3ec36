"""The lines of a Gemini batch file: what is asked and what comes back.

Formats: https://ai.google.dev/gemini-api/docs/batch-api and https://ai.google.dev/api/generate-content.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson

from runner.models import Model, find_model
from runner.providers.google_codes import account_trouble, sentence_of, word_of
from runner.providers.lenient import load_object, object_in
from runner.providers.loose import as_count, as_list, as_object, as_text, says_anything, shorten
from runner.request import Body, RequestId, Response, Status

ROLES = {"assistant": "model"}

REASONS = {"STOP": Status.OK, "MAX_TOKENS": Status.TRUNCATED} | dict.fromkeys(
    ("SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR", "ESCALATION"),
    Status.FILTERED,
)
"""Any other reason (OTHER, MALFORMED_RESPONSE, those of images and tools) is an answer if it has a text, and else says
why there is none."""

OTHER_TIERS = frozenset({"priority"})
"""The words of ``usageMetadata.serviceTier`` that are never a batch's (google-genai 3.4.0, types.ServiceTier). A batch
has none of its own, so that ``standard`` tells nothing, and ``flex`` costs what a batch does. ``trafficType``
is told by Vertex only."""

REJECTIONS = frozenset({"INVALID_ARGUMENT", "NOT_FOUND", "OUT_OF_RANGE", "UNIMPLEMENTED"})


@cache
def model_card(model: str) -> Model:
    """What is known of the model with this canonical id."""
    return find_model(f"google/{model}")


def encode_line(request_id: RequestId, model: str, body: Body) -> bytes:
    """One request line without its newline; the same arguments give the same bytes.

    Raises RunnerError for an effort that the model does not take.
    """
    turns = [each for each in body.messages if each.role != "system"]
    system = "\n\n".join(each.content for each in body.messages if each.role == "system")
    request: dict[str, Any] = {
        "contents": [{"role": ROLES.get(each.role, each.role), "parts": [{"text": each.content}]} for each in turns]
    }
    if system:
        request["systemInstruction"] = {"parts": [{"text": system}]}
    # Only in here are sampling parameters read: flat ones, as the SDK takes them, are no fields of a line.
    request["generationConfig"] = _config(model_card(model), body)
    return orjson.dumps({"key": request_id, "request": request})


def _config(card: Model, body: Body) -> dict[str, Any]:
    # Thoughts count against maxOutputTokens: the limit of the body holds the allowance for them, else they would
    # leave no room for the answer.
    config: dict[str, Any] = {"maxOutputTokens": body.max_output_tokens}
    refused = card.refused_at(body.effort)  # by every model: n
    if body.temperature is not None and "temperature" not in refused:
        config["temperature"] = body.temperature
    if body.top_p is not None and "top_p" not in refused:
        config["topP"] = body.top_p
    if thinking := _thinking(card, body.effort):
        config["thinkingConfig"] = thinking
    return config


def _thinking(card: Model, effort: str | None) -> dict[str, Any]:
    """Never both a budget and a level: that is an error, and so is either at a model that takes the other."""
    if card.thinking == "budget":
        return {"thinkingBudget": card.reasoning_allowance_of(effort)}
    if card.thinking == "level" and effort is not None:
        return {"thinkingLevel": effort.upper()}
    return {}


def decode_line(line: bytes) -> list[Response]:
    """One row per candidate, numbered from 0; a failed or blocked request is one row.

    Raises ValueError, and nothing else, when the line is not a JSON object with a ``key``.
    """
    entry = load_object(line)
    # Answers that came inline carry it in their metadata.
    request_id = as_text(entry.get("key")) or as_text(as_object(entry.get("metadata")).get("key"))
    if not request_id:
        raise ValueError("the line has no key")
    response, failed = object_in(entry.get("response")), entry.get("error") or entry.get("status")
    if response or (not failed and (entry.get("response") is not None or says_anything(entry, ("key", "metadata")))):
        return _answers(request_id, response)
    return [_failure(request_id, failed)]


def is_batch_tier(service_tier: str | None) -> bool | None:
    """False for a word that is never a batch's, else None; it comes in either case."""
    return False if (service_tier or "").lower() in OTHER_TIERS else None


def _answers(request_id: str, response: dict[str, Any]) -> list[Response]:
    tokens = _tokens(response.get("usageMetadata"))
    tier = as_object(response.get("usageMetadata")).get("serviceTier")
    origin = {"model_version": as_text(response.get("modelVersion")), "service_tier": as_text(tier)}
    candidates = [as_object(candidate) for candidate in as_list(response.get("candidates"))]
    if not candidates:
        return [_silence(request_id, as_object(response.get("promptFeedback")), tokens | origin)]
    # Renumbered, so that the row with the tokens is always choice 0.
    ordered = sorted(candidates, key=lambda candidate: as_count(candidate.get("index")) or 0)
    return [
        _answer(request_id, number, candidate, (tokens if number == 0 else dict.fromkeys(tokens, 0)) | origin)
        for number, candidate in enumerate(ordered)
    ]


def _answer(request_id: str, number: int, candidate: dict[str, Any], known: dict[str, Any]) -> Response:
    reason = as_text(candidate.get("finishReason"))
    text = _text(as_object(candidate.get("content")))
    status = REASONS.get(reason or "", Status.OK if text else Status.FILTERED if reason else Status.UNREAD)
    if status is Status.OK and not _is_understood(candidate.get("content")):
        status = Status.UNREAD
    return Response(
        request_id=request_id,
        choice=number,
        status=status,
        text=None if status is Status.UNREAD else text,
        finish_reason=reason,
        error_message=shorten(as_text(candidate.get("finishMessage"))) if status is Status.FILTERED else None,
        **known,
    )


def _silence(request_id: str, feedback: dict[str, Any], known: dict[str, Any]) -> Response:
    """No candidate at all: the prompt was blocked (that is a success to the provider), or it is not understood."""
    blocked = as_text(feedback.get("blockReason"))
    said = as_text(feedback.get("blockReasonMessage"))
    return Response(
        request_id=request_id,
        choice=0,
        status=Status.FILTERED if blocked else Status.UNREAD,
        text="" if blocked else None,
        finish_reason=blocked,
        error_message=shorten(said),
        **known,
    )


def _text(content: dict[str, Any]) -> str:
    """The parts that are text and no thoughts, joined as they stand."""
    parts = [as_object(part) for part in as_list(content.get("parts"))]
    return "".join(as_text(part.get("text")) or "" for part in parts if not part.get("thought"))


def _is_understood(content: object) -> bool:
    """Whether the content is in a form that is known; none at all is an empty answer."""
    parts = as_object(content).get("parts", [])
    return (
        isinstance(content, dict | None) and isinstance(parts, list) and all(isinstance(each, dict) for each in parts)
    )


def _tokens(said: object) -> dict[str, Any]:
    """The counts of a Response. The prompt's include the cached ones; an answer's do not include its thoughts.

    A count of 0 is left out by the provider; without any usage, or with one that is no count, nothing is known.
    """
    usage = as_object(said)
    names = ("promptTokenCount", "cachedContentTokenCount", "candidatesTokenCount", "thoughtsTokenCount")
    prompt, cached, answer, thoughts = (as_count(usage.get(name)) for name in names)
    is_untold = any(usage.get(name) is not None and as_count(usage.get(name)) is None for name in names)
    if prompt is None or is_untold:
        return {"input_tokens": None, "cached_tokens": None, "output_tokens": None, "reasoning_tokens": None}
    return {
        "input_tokens": prompt,
        "cached_tokens": cached or 0,
        "output_tokens": as_count((answer or 0) + (thoughts or 0)),
        "reasoning_tokens": thoughts or 0,
    }


def _failure(request_id: str, said: object) -> Response:
    error = as_object(said)
    word, trouble = word_of(error), account_trouble(error)
    status = Status.FAILED
    if word == "CANCELLED":
        status = Status.CANCELLED
    elif trouble is None and word in REJECTIONS:
        status = Status.REJECTED
    sentence = sentence_of(error) or as_text(said) or "The reply holds no answer."
    return Response(
        request_id=request_id,
        choice=0,
        status=status,
        error_code=trouble or word,
        error_message=shorten(f"{word}: {sentence}" if trouble and word else sentence),
    )
