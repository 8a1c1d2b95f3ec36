"""Gemini's batch lines: ``{"key", "request"}`` in, ``{"key", "response" | "error"}`` out, all in one file."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import orjson

from runner.emulator.jobs import Job
from runner.emulator.protocols.google_body import (
    candidates_of,
    limit_of,
    request_refusal,
    texts_of,
    thinking_of,
    unknown_name,
)
from runner.emulator.protocols.google_objects import Refused, loads
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Ask, Choice, CountTokens, Json, Usage, Verdict

REASONS = {"stop": "STOP", "length": "MAX_TOKENS"}
BLOCKED = "PROHIBITED_CONTENT"
INTERNAL = {
    "code": 13,
    "message": "An internal error has occurred. Please retry or report in "
    "https://developers.generativeai.google/guide/troubleshooting",
}
ENDINGS = {
    "expired": {"code": 4, "message": "Deadline expired before operation could complete."},
    "cancelled": {"code": 1, "message": "The operation was cancelled."},
}
MOST_SAID = 10


class GoogleLines:
    """``Wire`` for Gemini batches of one model."""

    def validate(self, lines: Iterable[bytes], job: Job, now: float, count: CountTokens) -> Verdict:
        """What is no request refuses the create (``Refused``); a request that the model refuses fails alone."""
        model = model_of(job)
        verdict = Verdict(model)
        wrong: list[str] = []
        for number, line in enumerate(lines, 1):
            entry = loads(line)
            if said := _malformed(line, entry):
                wrong.append(f"Error on line {number}: {said}")
            if len(wrong) >= MOST_SAID:
                break
            if wrong:
                continue
            request = entry.get("request")
            tokens = count(model, texts_of(request)) if isinstance(request, dict) else 0
            verdict.total += 1
            verdict.tokens.append(tokens)
            verdict.refused += request_refusal(request, model, tokens) is not None
        if wrong:
            raise Refused(400, "INVALID_ARGUMENT", "\n".join(wrong))
        if not verdict.total:
            raise Refused(400, "INVALID_ARGUMENT", "The input file contains no requests.")
        return verdict

    def ask(self, line: bytes, job: Job, tokens: int) -> Ask:
        """The request of a line; one without a key is answered without one."""
        model, entry = model_of(job), orjson.loads(line)
        key, request = str(entry.get("key") or ""), entry.get("request")
        if refused := request_refusal(request, model, tokens):
            return Ask(key, model, refusal=refused)
        thinking, cap = thinking_of(request, model)
        return Ask(
            custom_id=key,
            model=model,
            name=model.snapshot,
            messages=texts_of(request),
            max_tokens=limit_of(request, model),
            n=candidates_of(request),
            thinking=thinking,
            thinking_cap=cap,
        )

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A line with candidates; a blocked prompt is a success without any. A rehearsal signs its version."""
        response: Json = {
            "usageMetadata": _usage(usage),
            "modelVersion": f"{ask.name}-emulator",
            "responseId": blake2b(salt.encode(), digest_size=12).hexdigest(),
        }
        if any(choice.finish_reason == "filtered" for choice in choices):
            response["promptFeedback"] = {"blockReason": BLOCKED}
        else:
            response["candidates"] = [_candidate(number, choice) for number, choice in enumerate(choices)]
        return _keyed(ask.custom_id, "response", response)

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """A line with an error."""
        return _keyed(custom_id, "error", error or INTERNAL)

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A line of a request that was not run."""
        return _keyed(custom_id, "error", ENDINGS[ending])


def model_of(job: Job) -> Model:
    """The model that the create named; it was known then."""
    model = tariff(job.provider).model((job.options or {})["model"], job.created_at)
    assert model is not None
    return model


def _malformed(line: bytes, entry: Any) -> str | None:
    """What makes a line no request; names beside ``key`` and ``request`` are not looked at."""
    if not isinstance(entry, dict):
        return "invalid JSON"
    request = entry.get("request")
    name = unknown_name(request) if isinstance(request, dict) else None
    if name is None:
        return None
    column = line.find(f'"{name}"'.encode()) + 1
    return f"invalid JSON, near column {column}: no such field: '{name}'"


def _keyed(key: str, kind: str, value: Json) -> Json:
    return {"key": key, kind: value} if key else {kind: value}


def _candidate(number: int, choice: Choice) -> Json:
    content: Json = {"role": "model"}
    if choice.text:
        content["parts"] = [{"text": choice.text}]
    return {"content": content, "finishReason": REASONS[choice.finish_reason], "index": number}


def _usage(usage: Usage) -> dict[str, Any]:
    """A count of 0 is left out, as everywhere in proto-JSON."""
    counts = {
        "promptTokenCount": usage.input,
        "candidatesTokenCount": usage.output - usage.reasoning,
        "totalTokenCount": usage.input + usage.output,
        "cachedContentTokenCount": usage.cached,
        "thoughtsTokenCount": usage.reasoning,
    }
    details = {"promptTokensDetails": [{"modality": "TEXT", "tokenCount": usage.input}]}
    return {name: count for name, count in counts.items() if count} | details
