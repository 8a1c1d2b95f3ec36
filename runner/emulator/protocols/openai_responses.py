"""``/v1/responses``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runner.emulator.protocols.openai_body import (
    limit_refusal,
    messages_of,
    messages_refusal,
    refusal,
    sampling_refusal,
    unknown_refusal,
    window_refusal,
)
from runner.emulator.protocols.openai_caching import caching_refusal
from runner.emulator.protocols.openai_efforts import effort_refusal, thinks
from runner.emulator.protocols.openai_endpoint import Asked, Wish, token
from runner.emulator.tariff import Model
from runner.emulator.wire import Choice, Json, Messages, Usage

PARAMETERS = frozenset(
    """
    background context_management conversation include input instructions max_output_tokens max_tool_calls metadata
    model moderation parallel_tool_calls previous_response_id prompt prompt_cache_key prompt_cache_options
    prompt_cache_retention reasoning safety_identifier service_tier store stream stream_options temperature text
    tool_choice tools top_logprobs top_p truncation user
    """.split()
)
LEAST_OUTPUT = 16
CUTS = {"length": "max_output_tokens", "filtered": "content_filter"}


class Responses:
    """``Endpoint`` of every model, and of some the only one."""

    path = "/v1/responses"
    prompt = "input"

    def messages(self, body: Json) -> Messages:
        """Of ``input``, which may be a text."""
        if isinstance(body["input"], str):
            return (("user", body["input"]),)
        return messages_of(body, "input")

    def wish(self, body: Json) -> Wish:
        """One answer per request."""
        return Wish(body.get("max_output_tokens"), 1, (body.get("reasoning") or {}).get("effort"))

    def refusal(self, body: Json, model: Model, tokens: int) -> Json | None:
        """As chat completions, in this endpoint's names."""
        if found := unknown_refusal(body, PARAMETERS):
            return found
        if not isinstance(body["input"], str) and (found := messages_refusal(body["input"], "input")):
            return found
        reasoning, limit = body.get("reasoning") or {}, body.get("max_output_tokens")
        if not isinstance(reasoning, dict):
            return refusal("Invalid type for 'reasoning': expected an object.", "reasoning", "invalid_type")
        effort = reasoning.get("effort")
        if limit is not None and (found := limit_refusal(limit, "max_output_tokens", model, LEAST_OUTPUT)):
            return found
        return (
            effort_refusal(effort, "reasoning.effort", model)
            or sampling_refusal(body, replace(model, reasoning=thinks(model, effort)))
            or caching_refusal(body, self.prompt, model)
            or window_refusal(model, tokens, "input")
        )

    def answer(self, ask: Asked, version: str, choices: Sequence[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A whole ``response``. One that was cut while it was thinking holds no message."""
        choice = choices[0]
        cut = CUTS.get(choice.finish_reason)
        thought = {"id": f"rs_{token('thought', salt)}", "type": "reasoning", "summary": []}
        text = {"type": "output_text", "text": choice.text, "annotations": [], "logprobs": []}
        message = {
            "id": f"msg_{token('message', salt)}",
            "type": "message",
            "status": "incomplete" if cut else "completed",
            "role": "assistant",
            "content": [text],
        }
        output = [thought] * (usage.reasoning > 0) + [message] * (cut is None or choice.text != "")
        return {
            "id": f"resp_{token('response', salt)}",
            "object": "response",
            "created_at": int(now),
            "status": "incomplete" if cut else "completed",
            "background": False,
            "error": None,
            "incomplete_details": {"reason": cut} if cut else None,
            "instructions": None,
            "max_output_tokens": ask.max_tokens,
            "metadata": {},
            "model": version,
            "output": output,
            "parallel_tool_calls": True,
            "previous_response_id": None,
            "reasoning": {"effort": ask.effort, "summary": None},
            "service_tier": "default",
            "text": {"format": {"type": "text"}, "verbosity": "medium"},
            "tool_choice": "auto",
            "tools": [],
            "truncation": "disabled",
            "usage": {
                "input_tokens": usage.input,
                "input_tokens_details": {"cached_tokens": usage.cached, "cache_write_tokens": usage.cache_write},
                "output_tokens": usage.output,
                "output_tokens_details": {"reasoning_tokens": usage.reasoning},
                "total_tokens": usage.input + usage.output,
            },
            "user": None,
        }
