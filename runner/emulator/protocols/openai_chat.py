"""``/v1/chat/completions``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from runner.emulator.protocols.openai_body import body_refusal, messages_of, refusal
from runner.emulator.protocols.openai_caching import caching_refusal
from runner.emulator.protocols.openai_efforts import effort_refusal, efforts_of, thinks
from runner.emulator.protocols.openai_endpoint import ONLY_RESPONSES, Asked, Wish, token
from runner.emulator.tariff import Model
from runner.emulator.wire import Choice, Json, Messages, Usage

FINISHES = {"stop": "stop", "length": "length", "filtered": "content_filter"}


class Chat:
    """``Endpoint`` of most models."""

    path = "/v1/chat/completions"
    prompt = "messages"

    def messages(self, body: Json) -> Messages:
        """Of ``messages``."""
        return messages_of(body)

    def wish(self, body: Json) -> Wish:
        """Both names of the output limit are good."""
        limit = body.get("max_completion_tokens") or body.get("max_tokens")
        return Wish(limit, body.get("n") or 1, body.get("reasoning_effort"))

    def refusal(self, body: Json, model: Model, tokens: int) -> Json | None:
        """Models that think refuse sampling parameters only as long as they do."""
        if model.name.endswith(ONLY_RESPONSES):
            message = "This model is only supported in v1/responses and not in v1/chat/completions."
            return refusal(message, "model", None)
        effort = body.get("reasoning_effort")
        if found := effort_refusal(effort, "reasoning_effort", model):
            return found
        if efforts_of(model) and body.get("max_tokens") is not None:
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. "
            return refusal(message + "Use 'max_completion_tokens' instead.", "max_tokens", "unsupported_parameter")
        found = body_refusal(body, replace(model, reasoning=thinks(model, effort)), tokens)
        return found or caching_refusal(body, self.prompt, model)

    def answer(self, ask: Asked, version: str, choices: Sequence[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A whole ``chat.completion``. Cache writes are told of models that charge them."""
        is_charged = ask.model is not None and ask.model.cache_write is not None
        written = {"cache_write_tokens": usage.cache_write} if is_charged else {}
        return {
            "id": f"chatcmpl-{token('chat', salt)}",
            "object": "chat.completion",
            "created": int(now),
            "model": version,
            "choices": [
                {
                    "index": index,
                    "message": {"role": "assistant", "content": choice.text, "refusal": None, "annotations": []},
                    "logprobs": None,
                    "finish_reason": FINISHES[choice.finish_reason],
                }
                for index, choice in enumerate(choices)
            ],
            "usage": {
                "prompt_tokens": usage.input,
                "completion_tokens": usage.output,
                "total_tokens": usage.input + usage.output,
                "prompt_tokens_details": {"cached_tokens": usage.cached, **written, "audio_tokens": 0},
                "completion_tokens_details": {
                    "reasoning_tokens": usage.reasoning,
                    "audio_tokens": 0,
                    "accepted_prediction_tokens": 0,
                    "rejected_prediction_tokens": 0,
                },
            },
            "service_tier": "default",
        }
