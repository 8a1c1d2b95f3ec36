"""OpenAI's batch lines: what validation says of each request line, and how result lines look.

Codes and messages as recorded from the real service; where only the rule is known the wording is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any

import orjson

from runner.emulator.protocols.openai_body import body_refusal, messages_of
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Ask, Choice, CountTokens, Json, Usage, Verdict

REQUIRED = ("custom_id", "method", "url", "body")
ENDINGS = {
    "expired": "This request could not be executed before the completion window expired.",
    "cancelled": "This request could not be executed before the batch was cancelled.",
}


def problem(code: str, message: str, line: int | None = None, param: str | None = None) -> Json:
    """An entry of a failed batch's ``errors.data``."""
    return {"code": code, "line": line, "message": message, "param": param}


def loads(line: bytes) -> Any:
    """The JSON value of a line, or None when it is none."""
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return None


class OpenAILines:
    """``Wire`` for ``/v1/chat/completions``."""

    def validate(self, lines: Iterable[bytes], endpoint: str, now: float, count: CountTokens) -> Verdict:
        """Every bad line is found, so that one look tells all; one bad line fails the whole batch."""
        limits = tariff("openai")
        verdict = Verdict()
        seen: set[str] = set()
        for number, raw in enumerate(lines, 1):
            verdict.total = number
            line = loads(raw)
            found = _line_problem(line, number, endpoint)
            if found is None:
                found = self._admit(line, number, now, seen, verdict, count)
            if found is not None:
                verdict.problems.append(found)
        if verdict.total > limits.max_requests:
            message = f"The batch has {verdict.total:,} requests; at most {limits.max_requests:,} are allowed."
            verdict.problems.insert(0, problem("too_many_tasks", message))
        return verdict

    def _admit(
        self, line: Json, number: int, now: float, seen: set[str], verdict: Verdict, count: CountTokens
    ) -> Json | None:
        """Take a well-formed line into the verdict, or say why not."""
        custom_id, body = line["custom_id"], line["body"]
        model = tariff("openai").model(body["model"], now)
        if model is None:
            message = f"The provided model '{body['model']}' is not supported by the Batch API."
            return problem("model_not_found", message, number, "body.model")
        if verdict.model is not None and verdict.model != model:
            message = f"Model '{model.name}' does not match the model of the batch, '{verdict.model.name}'."
            return problem("mismatched_model", message, number, "body.model")
        if custom_id in seen:
            message = f"The custom_id '{custom_id}' is used more than once in the input file."
            return problem("duplicate_custom_id", message, number, "custom_id")
        seen.add(custom_id)
        verdict.model = model
        tokens = count(model, messages_of(body))
        verdict.tokens.append(tokens)
        verdict.refused += body_refusal(body, model, tokens) is not None
        return None

    def ask(self, line: bytes, model: Model, tokens: int) -> Ask:
        """The request of a line that passed validation."""
        raw = orjson.loads(line)
        body = raw["body"]
        refused = body_refusal(body, model, tokens)
        if refused:
            return Ask(raw["custom_id"], body["model"], (), refusal=refused)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return Ask(raw["custom_id"], body["model"], messages_of(body), limit, body.get("n") or 1)

    def answered(self, ask: Ask, model: Model, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A line of the output file: a whole ``chat.completion``."""
        name = model.snapshot if ask.model == model.name else ask.model
        body = {
            "id": f"chatcmpl-{_token('chat', salt)}",
            "object": "chat.completion",
            "created": int(now),
            "model": name,
            "choices": [
                {
                    "index": index,
                    "message": {
                        "role": "assistant",
                        "content": choice.text,
                        "refusal": None,
                        "annotations": [],
                    },
                    "logprobs": None,
                    "finish_reason": choice.finish_reason,
                }
                for index, choice in enumerate(choices)
            ],
            "usage": {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.input + usage.output,
                "prompt_tokens_details": {"cached_tokens": usage.cached, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": usage.reasoning,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": "default",
            "system_fingerprint": "fp_emulator",  # a rehearsal signs itself, behind whatever name it is reached
        }
        return _result(ask.custom_id, salt, {"status_code": 200, "body": body})

    def refused(self, custom_id: str, status: int, body: Json, salt: str) -> Json:
        """A line whose request was answered by an HTTP error; the job-level ``error`` stays null."""
        return _result(custom_id, salt, {"status_code": status, "body": body})

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A line of the error file: not run in time."""
        error = {"code": f"batch_{ending}", "message": ENDINGS[ending]}
        return {"id": f"batch_req_{_token('line', salt)}", "custom_id": custom_id, "response": None, "error": error}


def _result(custom_id: str, salt: str, response: Json) -> Json:
    return {
        "id": f"batch_req_{_token('line', salt)}",
        "custom_id": custom_id,
        "response": {"request_id": _token("request", salt), **response},
        "error": None,
    }


def _token(kind: str, salt: str) -> str:
    return blake2b(f"{kind}.{salt}".encode("utf-8", "replace"), digest_size=12).hexdigest()


def _line_problem(line: Any, number: int, endpoint: str) -> Json | None:
    """What is wrong with the form of a line, or None."""
    if not isinstance(line, dict):
        return problem("invalid_json_line", "This line is not parseable as valid JSON.", number)
    for name in REQUIRED:
        if line.get(name) is None:
            message = f"Missing required parameter: '{name}'."
            return problem("missing_required_parameter", message, number, name)
    for name, kind in (("custom_id", str), ("method", str), ("url", str), ("body", dict)):
        if not isinstance(line[name], kind):
            message = f"Invalid type for '{name}': expected {'an object' if kind is dict else 'a string'}."
            return problem("invalid_type", message, number, name)
    if line["url"] != endpoint:
        message = "The URL provided for this request does not match the batch endpoint."
        return problem("invalid_url", message, number, "url")
    if line["method"] != "POST":
        return problem("invalid_method", "The method of a batch request must be 'POST'.", number, "method")
    body = line["body"]
    if body.get("stream"):
        message = "Chat Completions: Streaming is not supported in the Batch API."
        return problem("streaming_unsupported", message, number, "body.stream")
    for name in ("model", "messages"):
        if body.get(name) is None:
            return problem("invalid_request", f"{name.title()} parameter is required.", number, f"body.{name}")
    return None
