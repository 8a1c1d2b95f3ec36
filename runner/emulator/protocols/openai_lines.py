"""OpenAI's batch lines: what validation says of each request line, and how result lines look.

Codes and messages as recorded from the real service; where only the rule is known the wording is ours.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import orjson

from runner.emulator.jobs import Job
from runner.emulator.protocols.openai_caching import marks_of
from runner.emulator.protocols.openai_chat import Chat
from runner.emulator.protocols.openai_efforts import THINKING
from runner.emulator.protocols.openai_endpoint import Asked, Endpoint, token
from runner.emulator.protocols.openai_responses import Responses
from runner.emulator.tariff import Tariff, tariff
from runner.emulator.wire import Ask, Choice, CountTokens, Json, Usage, Verdict

REQUIRED = ("custom_id", "method", "url", "body")
ENDINGS = {
    "expired": "This request could not be executed before the completion window expired.",
    "cancelled": "This request could not be executed before the batch was cancelled.",
}

CHAT: Endpoint = Chat()
ENDPOINTS: dict[str, Endpoint] = {endpoint.path: endpoint for endpoint in (CHAT, Responses())}
SERVER_ERROR = {
    "message": "The server had an error while processing your request. Sorry about that!",
    "type": "server_error",
    "param": None,
    "code": "server_error",
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
    """``Wire`` of both endpoints."""

    def validate(self, lines: Iterable[bytes], job: Job, now: float, count: CountTokens) -> Verdict:
        """Every bad line is found, so that one look tells all; one bad line fails the whole batch."""
        known = tariff(job.provider)
        most = known.rules.max_requests
        verdict = Verdict()
        seen: set[str] = set()
        for number, raw in enumerate(lines, 1):
            verdict.total = number
            line = loads(raw)
            found = _line_problem(line, number, job.endpoint)
            if found is None:
                found = self._admit(line, number, job, known, now, seen, verdict, count)
            if found is not None:
                verdict.problems.append(found)
        if most is not None and verdict.total > most:
            message = f"The batch has {verdict.total:,} requests; at most {most:,} are allowed."
            verdict.problems.insert(0, problem("too_many_tasks", message))
        return verdict

    def _admit(
        self,
        line: Json,
        number: int,
        job: Job,
        known: Tariff,
        now: float,
        seen: set[str],
        verdict: Verdict,
        count: CountTokens,
    ) -> Json | None:
        """Take a well-formed line into the verdict, or say why not."""
        custom_id, body, endpoint = line["custom_id"], line["body"], ENDPOINTS.get(job.endpoint, CHAT)
        model = known.model(body["model"], now)
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
        tokens = count(model, endpoint.messages(body))
        verdict.tokens.append(tokens)
        verdict.refused += endpoint.refusal(body, model, tokens) is not None
        return None

    def ask(self, line: bytes, job: Job, tokens: int) -> Ask:
        """The request of a line that passed validation."""
        raw = orjson.loads(line)
        body = raw["body"]
        name = body["model"]
        model = tariff(job.provider).model(name, job.created_at)
        assert model is not None, "validation found it"
        endpoint = ENDPOINTS.get(job.endpoint, CHAT)
        refused = endpoint.refusal(body, model, tokens)
        if refused:
            return Asked(raw["custom_id"], model, name, refusal=refused)
        wish = endpoint.wish(body)
        return Asked(
            custom_id=raw["custom_id"],
            model=model,
            name=name,
            messages=endpoint.messages(body),
            max_tokens=wish.max_tokens,
            n=wish.n,
            marks=marks_of(body, endpoint.prompt, model),
            thinking=None if wish.effort is None else THINKING[wish.effort],
            path=endpoint.path,
            effort=wish.effort,
        )

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A line of the output file: a whole body of the endpoint."""
        assert isinstance(ask, Asked), "made above"
        version = ask.model.snapshot if ask.model and ask.name == ask.model.name else ask.name
        body = ENDPOINTS[ask.path].answer(ask, version, choices, usage, now, salt)
        body["system_fingerprint"] = "fp_emulator"  # a rehearsal signs itself, behind whatever name it is reached
        return _result(ask.custom_id, salt, {"status_code": 200, "body": body})

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """A line whose request was answered by an HTTP error; the job-level ``error`` stays null."""
        body = {"error": error or SERVER_ERROR} if status else {}
        return _result(custom_id, salt, {"status_code": status, "body": body})

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A line of the error file: not run in time."""
        error = {"code": f"batch_{ending}", "message": ENDINGS[ending]}
        return {"id": f"batch_req_{token('line', salt)}", "custom_id": custom_id, "response": None, "error": error}


def _result(custom_id: str, salt: str, response: Json) -> Json:
    return {
        "id": f"batch_req_{token('line', salt)}",
        "custom_id": custom_id,
        "response": {"request_id": token("request", salt), **response},
        "error": None,
    }


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
    body, prompt = line["body"], ENDPOINTS.get(endpoint, CHAT).prompt
    if body.get("stream"):
        message = f"{'Chat Completions' if prompt == CHAT.prompt else 'Responses'}: Streaming is not supported in the "
        return problem("streaming_unsupported", message + "Batch API.", number, "body.stream")
    for name in ("model", prompt):
        if body.get(name) is None:
            return problem("invalid_request", f"{name.title()} parameter is required.", number, f"body.{name}")
    return None
