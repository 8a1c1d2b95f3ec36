"""The bodies of OpenAI's dialect: their texts, and the 400 that is answered to one that is refused."""

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
TEXTS = ("text", "input_text", "output_text")
SAMPLING_DEFAULTS = {"temperature": 1, "top_p": 1, "presence_penalty": 0, "frequency_penalty": 0}


def refusal(message: str, param: str | None, code: str | None) -> Json:
    """The ``error`` object of a 400."""
    return {"message": message, "type": "invalid_request_error", "param": param, "code": code}


def messages_of(body: Json, field: str = "messages") -> Messages:
    """Role and text of each message; what is malformed counts as no text (the endpoint refuses it later)."""
    if not isinstance(body[field], list):
        return ()
    return tuple((str(m.get("role")), _content(m.get("content"))) for m in body[field] if isinstance(m, dict))


def parts_of(content: Any) -> list[Json]:
    """The parts of a content that have a text; a plain text is one."""
    if isinstance(content, str):
        return [{"text": content}]
    parts = content if isinstance(content, list) else []
    return [part for part in parts if isinstance(part, dict) and part.get("type") in TEXTS]


def _content(content: Any) -> str:
    return "".join(str(part.get("text", "")) for part in parts_of(content))


def body_refusal(body: Json, model: Model, tokens: int) -> Json | None:
    """The 400 to a body of chat completions, or None when it is accepted."""
    return (
        unknown_refusal(body, CHAT_PARAMETERS)
        or messages_refusal(body["messages"], "messages")
        or _limit_refusal(body, model)
        or sampling_refusal(body, model)
        or window_refusal(model, tokens, "messages")
    )


def unknown_refusal(body: Json, known: frozenset[str]) -> Json | None:
    """The 400 to a parameter that does not exist."""
    unknown = next((name for name in body if name not in known), None)
    return refusal(f"Unknown parameter: '{unknown}'.", unknown, "unknown_parameter") if unknown is not None else None


def messages_refusal(messages: Any, field: str) -> Json | None:
    """The 400 to messages that are none."""
    if not isinstance(messages, list):
        return refusal(f"Invalid type for '{field}': expected an array of objects.", field, "invalid_type")
    if not messages:
        return refusal(f"Invalid '{field}': empty array.", field, "empty_array")
    for index, message in enumerate(messages):
        at = f"{field}[{index}]"
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
        if model.reasoning and name == "max_tokens":
            message = "Unsupported parameter: 'max_tokens' is not supported with this model. "
            message += "Use 'max_completion_tokens' instead."
            return refusal(message, name, "unsupported_parameter")
        if found := limit_refusal(body[name], name, model):
            return found
    n = body.get("n")
    if n is not None and (not isinstance(n, int) or isinstance(n, bool) or not 1 <= n <= 128):
        return refusal(f"Invalid 'n': expected an integer in 1..128, but got {n}.", "n", "invalid_value")
    return None


def limit_refusal(limit: Any, name: str, model: Model, least: int = 1) -> Json | None:
    """The 400 to an output limit."""
    if not isinstance(limit, int) or isinstance(limit, bool):
        return refusal(f"Invalid type for '{name}': expected an integer.", name, "invalid_type")
    if limit < least:
        message = f"Invalid '{name}': integer below minimum value. "
        message += f"Expected a value >= {least}, but got {limit} instead."
        return refusal(message, name, "integer_below_min_value")
    if limit > model.max_output:
        message = f"{name} is too large: {limit}. This model supports at most {model.max_output} "
        message += f"completion tokens, whereas you provided {limit}."
        return refusal(message, name, "invalid_value")
    return None


def sampling_refusal(body: Json, model: Model) -> Json | None:
    """The 400 to a sampling parameter: one that thinks takes the defaults only."""
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


def window_refusal(model: Model, tokens: int, field: str) -> Json | None:
    """The 400 to a prompt that is too long."""
    if tokens <= model.window:
        return None
    message = f"This model's maximum context length is {model.window} tokens. However, your messages resulted "
    message += f"in {tokens} tokens. Please reduce the length of the messages."
    return refusal(message, field, "context_length_exceeded")
