"""OpenAI's chat completions body: its texts, and the 400 that the endpoint answers to one it refuses."""

from __future__ import annotations

from typing import Any

from runner.emulator.tariff import Model
from runner.emulator.wire import Json, Messages

CHAT_PARAMETERS = frozenset(
    """
    messages model audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens
    max_tokens metadata modalities moderation n parallel_tool_calls prediction presence_penalty prompt_cache_key
    prompt_cache_options prompt_cache_retention reasoning_effort response_format safety_identifier seed service_tier
    stop store stream stream_options temperature tool_choice tools top_logprobs top_p user verbosity
    web_search_options
    """.split()
)
SAMPLING_DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


def refusal(message: str, param: str | None, code: str | None) -> Json:
    """The ``error`` object of a 400."""
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}


def messages_of(body: Json) -> Messages:
    """Role and text of each message; what is malformed counts as no text (the endpoint refuses it later)."""
    if not isinstance(body["messages"], list):
        return ()
    return tuple((str(m.get("role")), _content(m.get("content"))) for m in body["messages"] if isinstance(m, dict))


def _content(content: Any) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(p.get("text", "")) for p in parts if isinstance(p, dict) and p.get("type") == "text")


def body_refusal(body: Json, model: Model, tokens: int) -> Json | None:
    """The 400 that the endpoint answers to this body, or None when it accepts it."""
    for name in body:
        if name not in CHAT_PARAMETERS:
            return refusal(f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    return (
        _messages_refusal(body["messages"])
        or _limit_refusal(body, model)
        or _sampling_refusal(body, model)
        or _window_refusal(model, tokens)
    )


def _messages_refusal(messages: Any) -> Json | None:
    if not isinstance(messages, list):
        return refusal("Invalid type for 'messages': expected an array of objects.", "messages", "invalid_type")
    if not messages:
        return refusal("Invalid 'messages': empty array.", "messages", "empty_array")
    for index, message in enumerate(messages):
        at = f"messages[{index}]"
        if not isinstance(message, dict):
            return refusal(f"Invalid type for '{at}': expected an object.", at, "invalid_type")
        if message.get("role") not in ("system", "developer", "user", "assistant", "tool", "function"):
            return refusal(f"Invalid value: '{message.get('role')}'.", f"{at}.role", "invalid_value")
        if not isinstance(message.get("content"), str | list):
            where = f"{at}.content"
            return refusal(f"Invalid type for '{where}': expected a string or array.", where, "invalid_type")
    return None


def _limit_refusal(body: Json, model: Model) -> Json | None:
    given = [name for name in ("max_tokens", "max_completion_tokens") if body.get(name) is not None]
    if len(given) == 2:
        message = "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported."
        return refusal(message, "max_tokens", "invalid_parameter_combination")
    for name in given:
        limit = body[name]
        if model.reasoning and name == "max_tokens":
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. "
            message += "Use 'max_completion_tokens' instead."
            return refusal(message, name, "unsupported_parameter")
        if not isinstance(limit, int) or isinstance(limit, bool):
            return refusal(f"Invalid type for '{name}': expected an integer.", name, "invalid_type")
        if limit < 1:
            message = f"Invalid '{name}': integer below minimum value. Expected a value >= 1, but got {limit}."
            return refusal(message, name, "integer_below_min_value")
        if limit > model.max_output:
            message = f"{name} is too large: {limit}. This model supports at most {model.max_output} "
            message += f"completion tokens, whereas you provided {limit}."
            return refusal(message, name, "invalid_value")
    n = body.get("n")
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 128):
        return refusal(f"Invalid 'n': expected an integer in 1..128, but got {n}.", "n", "invalid_value")
    return None


def _sampling_refusal(body: Json, model: Model) -> Json | None:
    for name, default in SAMPLING_DEFAULTS.items():
        value = body.get(name)
        if value is None:
            continue
        if not isinstance(value, int | float) or isinstance(value, bool):
            return refusal(f"Invalid type for '{name}': expected a decimal.", name, "invalid_type")
        if model.reasoning and value != default:
            message = f"Unsupported value: '{name}' does not support {value} with this model. "
            message += f"Only the default ({default}) value is supported."
            return refusal(message, name, "unsupported_value")
        low, high = {"temperature": (0, 2), "top_p": (0, 1)}.get(name, (-2, 2))
        if not low <= value <= high:
            message = f"Invalid '{name}': expected a value in {low}..{high}, but got {value}."
            return refusal(message, name, "decimal_out_of_range")
    return None


def _window_refusal(model: Model, tokens: int) -> Json | None:
    if tokens <= model.window:
        return None
    message = f"This model's maximum context length is {model.window} tokens. However, your messages resulted "
    message += f"in {tokens} tokens. Please reduce the length of the messages."
    return refusal(message, "messages", "context_length_exceeded")
