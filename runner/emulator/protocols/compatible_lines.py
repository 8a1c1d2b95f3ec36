"""The lines of hosts of open models: OpenAI's, or only ``{custom_id, body}`` (Together, Mistral)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any

import orjson

from runner.emulator.jobs import Job
from runner.emulator.protocols.openai_body import body_refusal, messages_of, refusal
from runner.emulator.protocols.openai_lines import loads, problem
from runner.emulator.tariff import Model, Tariff, tariff
from runner.emulator.wire import Ask, Choice, CountTokens, Json, Usage, Verdict

FINISHES = {"stop": "stop", "length": "length", "filtered": "content_filter"}
ENDINGS = {
    "expired": "This request could not be executed before the completion window expired.",
    "cancelled": "This request could not be executed before the batch was cancelled.",
}
SERVER_ERROR = {"message": "Internal server error", "type": "server_error", "param": None, "code": "server_error"}
EFFORTS = {"low": 0.5, "medium": 1.0, "high": 2.0}
THOUGHT = "They ask for something short. Let me weigh it and answer."


@dataclass(frozen=True)
class ChatLines:
    """``Wire`` for ``/v1/chat/completions`` of a host.

    ``names_route`` where a line has a method and a URL; ``job_names_model`` where the model is the job's;
    ``max_n`` the most choices of one request. ``thoughts`` is the field of the message for what a model thinks
    aloud; None = in front of the answer, between marks (our choice where a host says nothing).
    """

    names_route: bool = True
    job_names_model: bool = False
    max_n: int = 128
    thoughts: str | None = None

    def validate(self, lines: Iterable[bytes], job: Job, now: float, count: CountTokens) -> Verdict:
        """Every bad line is found; one bad line fails the whole batch."""
        known = tariff(job.provider)
        verdict, seen = Verdict(), set[str]()
        for number, raw in enumerate(lines, 1):
            verdict.total = number
            line = loads(raw)
            found = self._problem(line, number, job) or self._admit(line, number, job, known, now, seen, verdict, count)
            if found is not None:
                verdict.problems.append(found)
        most = known.rules.max_requests
        if most is not None and verdict.total > most:
            message = f"The batch has {verdict.total:,} requests; at most {most:,} are allowed."
            verdict.problems.insert(0, problem("too_many_requests", message))
        return verdict

    def ask(self, line: bytes, job: Job, tokens: int) -> Ask:
        """The request of a line that passed validation."""
        raw = orjson.loads(line)
        body, name = raw["body"], self._model_of(raw, job)
        model = tariff(job.provider).model(name, job.created_at)
        assert model is not None, "validation found it"
        refused = self._refusal(body, model, tokens)
        if refused:
            return Ask(raw["custom_id"], model, name, refusal=refused)
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        effort = EFFORTS.get(body.get("reasoning_effort") or "")
        return Ask(raw["custom_id"], model, name, messages_of(body), limit, body.get("n") or 1, thinking=effort)

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A line of the output file: a whole ``chat.completion``."""
        thinks = ask.model is not None and ask.model.reasoning
        body = {
            "id": f"chatcmpl-{_token('chat', salt)}",
            "object": "chat.completion",
            "created": int(now),
            "model": ask.name,
            "choices": [
                {
                    "index": index,
                    "message": self._message(choice, thinks),
                    "finish_reason": FINISHES[choice.finish_reason],
                }
                for index, choice in enumerate(choices)
            ],
            "usage": {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.input + usage.output,
            },
            "system_fingerprint": "fp_emulator",  # a rehearsal signs itself, behind whatever name it is reached
        }
        return _result(ask.custom_id, salt, {"status_code": 200, "body": body})

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """A line whose request was answered by an HTTP error."""
        body = {"error": error or SERVER_ERROR} if status else {}
        return _result(custom_id, salt, {"status_code": status, "body": body})

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A line of the error file: not run in time."""
        error = {"code": f"batch_{ending}", "message": ENDINGS[ending]}
        return {"id": f"batch_req_{_token('line', salt)}", "custom_id": custom_id, "response": None, "error": error}

    def _model_of(self, line: Json, job: Job) -> Any:
        return (job.options or {}).get("model") if self.job_names_model else line["body"].get("model")

    def _problem(self, line: Any, number: int, job: Job) -> Json | None:
        """What is wrong with the form of a line, or None."""
        if not isinstance(line, dict):
            return problem("invalid_json_line", "This line is not parseable as valid JSON.", number)
        wanted = {"custom_id": str, "body": dict} | ({"method": str, "url": str} if self.names_route else {})
        for name, kind in wanted.items():
            if not isinstance(line.get(name), kind):
                return problem("missing_required_parameter", f"Missing required parameter: '{name}'.", number, name)
        if self.names_route and (line["method"], line["url"]) != ("POST", job.endpoint):
            message = "The URL provided for this request does not match the batch endpoint."
            return problem("invalid_url", message, number, "url")
        if line["body"].get("stream"):
            return problem("streaming_unsupported", "Streaming is not supported in batches.", number, "body.stream")
        if line["body"].get("messages") is None:
            return problem("invalid_request", "Messages parameter is required.", number, "body.messages")
        return None

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
        custom_id, body, name = line["custom_id"], line["body"], self._model_of(line, job)
        model = known.model(name, now)
        if model is None:
            return problem("model_not_found", f"The model '{name}' is not available for batches.", number, "body.model")
        if verdict.model is not None and verdict.model != model:
            return problem("mismatched_model", "All requests of a batch must use the same model.", number, "body.model")
        if custom_id in seen:
            return problem("duplicate_custom_id", f"The custom_id '{custom_id}' is used twice.", number, "custom_id")
        seen.add(custom_id)
        verdict.model = model
        tokens = count(model, messages_of(body))
        verdict.tokens.append(tokens)
        verdict.refused += self._refusal(body, model, tokens) is not None
        return None

    def _refusal(self, body: Json, model: Model, tokens: int) -> Json | None:
        """The endpoint's error for a body. These hosts take sampling parameters of models that think, too."""
        if (body.get("n") or 1) > self.max_n:
            return refusal(f"'n' : number must be at most {self.max_n}", "n", "invalid_value")
        return body_refusal({"model": model.name, **body}, replace(model, reasoning=False), tokens)

    def _message(self, choice: Choice, thinks: bool) -> Json:
        message = {"role": "assistant", "content": choice.text}
        if not thinks:
            return message
        if self.thoughts:
            return message | {self.thoughts: THOUGHT}
        if not choice.text and choice.finish_reason == "length":
            return message | {"content": f"<think>\n{THOUGHT[:20]}"}  # cut off while it was thinking
        return message | {"content": f"<think>\n{THOUGHT}\n</think>\n\n{choice.text}"}


@dataclass(frozen=True)
class TogetherLines(ChatLines):
    """Together's result lines: no ids of their own, an error beside the id of the request."""

    names_route: bool = False

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """``{custom_id, response}``."""
        line = super().answered(ask, choices, usage, now, salt)
        return {"custom_id": line["custom_id"], "response": line["response"]}

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """``{custom_id, error}``."""
        if not status:
            return {"custom_id": custom_id, "response": {"status_code": 0, "body": {}}}
        said = error or SERVER_ERROR
        return {"custom_id": custom_id, "error": {"message": said["message"], "code": said["code"]}}

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """``{custom_id, error}``."""
        return {"custom_id": custom_id, "error": {"message": ENDINGS[ending], "code": f"batch_{ending}"}}


@dataclass(frozen=True)
class MistralLines(ChatLines):
    """Mistral's lines: the model is the job's, the words of an error are those of its API."""

    names_route: bool = False
    job_names_model: bool = True

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """The body of an error is the error."""
        said = error or SERVER_ERROR
        body = {"object": "error", "message": said["message"], "type": said["type"], "param": None, "code": "3051"}
        response = {"status_code": 422 if status == 400 else status, "body": body if status else {}}
        return _result(custom_id, salt, response)


def _result(custom_id: str, salt: str, response: Json) -> Json:
    request_id = {"request_id": _token("request", salt)}
    return {"id": f"batch_req_{_token('line', salt)}", "custom_id": custom_id, "response": request_id | response} | {
        "error": None
    }


def _token(kind: str, salt: str) -> str:
    return blake2b(f"{kind}.{salt}".encode("utf-8", "replace"), digest_size=12).hexdigest()
