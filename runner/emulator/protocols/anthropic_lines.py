"""Anthropic's batch lines: one element of ``requests`` each, and the lines of the one result file."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

import orjson

from runner.emulator.jobs import Job
from runner.emulator.protocols.anthropic_body import marks_of, params_refusal, refusal, texts_of, thinking_of
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Ask, Choice, CountTokens, Json, Usage, Verdict

STOPS = {"stop": "end_turn", "length": "max_tokens", "filtered": "refusal"}
ENDINGS = {"expired": "expired", "cancelled": "canceled"}
INTERNAL = refusal("Internal server error", "api_error")
SIGNATURE = "EmulatedThought"


class AnthropicLines:
    """``Wire`` for Message Batches. What is wrong with a create was said before there was a job."""

    def validate(self, lines: Iterable[bytes], job: Job, now: float, count: CountTokens) -> Verdict:
        """Nothing fails a whole batch any more: bad parameters are one request's own error."""
        verdict = Verdict()
        for line in lines:
            verdict.total += 1
            params, model = _read(line, job)[1:]
            tokens = 0 if model is None else count(model, texts_of(params))
            verdict.tokens.append(tokens)
            if params_refusal(params, model, _version(job), tokens) is None:
                verdict.model = verdict.model or model
            else:
                verdict.refused += 1
        return verdict

    def ask(self, line: bytes, job: Job, tokens: int) -> Ask:
        """The request of a line."""
        custom_id, params, model = _read(line, job)
        refused = params_refusal(params, model, _version(job), tokens)
        if refused is not None or model is None:
            return Ask(custom_id, model, refusal=refused)
        thinking, cap = thinking_of(params, model)
        return Ask(
            custom_id=custom_id,
            model=model,
            name=params["model"],
            messages=texts_of(params),
            max_tokens=min(params["max_tokens"], model.window - tokens),
            marks=marks_of(params),
            thinking=thinking,
            thinking_cap=cap,
        )

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A ``succeeded`` line. A rehearsal signs itself: in the message's id, behind whatever name it is reached."""
        (choice,) = choices
        content: list[Json] = [{"type": "text", "text": choice.text}] if choice.text else []
        if usage.reasoning:
            content.insert(0, {"type": "thinking", "thinking": "", "signature": SIGNATURE})
        stop = STOPS[choice.finish_reason]
        if stop == "max_tokens" and ask.model and usage.input + usage.output >= ask.model.window:
            stop = "model_context_window_exceeded"
        message = {
            "id": f"msg_emulator_{_token(salt)}",
            "type": "message",
            "role": "assistant",
            "model": ask.model.snapshot if ask.model and ask.name == ask.model.name else ask.name,
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "stop_details": {"type": "refusal", "category": None, "explanation": None} if stop == "refusal" else None,
            "usage": _usage(usage),
        }
        return {"custom_id": ask.custom_id, "result": {"type": "succeeded", "message": message}}

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """An ``errored`` line."""
        envelope = {"type": "error", "error": error or INTERNAL, "request_id": None}
        return {"custom_id": custom_id, "result": {"type": "errored", "error": envelope}}

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A line of a request that was not run."""
        return {"custom_id": custom_id, "result": {"type": ENDINGS[ending]}}


def _read(line: bytes, job: Job) -> tuple[str, Json, Model | None]:
    raw = orjson.loads(line)
    params = raw["params"]
    return raw["custom_id"], params, tariff(job.provider).model(params.get("model"), job.created_at)


def _version(job: Job) -> str:
    return str((job.options or {})["version"])


def _usage(usage: Usage) -> Json:
    """``input_tokens`` are those that were neither read from the cache nor written to it."""
    return {
        "input_tokens": usage.input - usage.cached - usage.cache_write,
        "cache_creation_input_tokens": usage.cache_write,
        "cache_read_input_tokens": usage.cached,
        "cache_creation": {
            "ephemeral_5m_input_tokens": usage.cache_write - usage.cache_write_long,
            "ephemeral_1h_input_tokens": usage.cache_write_long,
        },
        "output_tokens": usage.output,
        "output_tokens_details": {"thinking_tokens": usage.reasoning},
        "server_tool_use": None,
        "service_tier": "standard" if usage.is_standard else "batch",
        "inference_geo": "emulator",
    }


def _token(salt: str) -> str:
    return blake2b(salt.encode(), digest_size=12).hexdigest()
