"""What OpenAI's bodies say of caching: https://developers.openai.com/api/docs/guides/prompt-caching.

Models that charge for writing (gpt-5.6 and later) write and find beginnings at breakpoints only. By itself one stands
behind the last message.
"""

from __future__ import annotations

from typing import Any

from runner.emulator.protocols.openai_body import parts_of, refusal
from runner.emulator.tariff import Model
from runner.emulator.wire import Json, Mark

BREAKPOINT = "prompt_cache_breakpoint"
OPTIONS = "prompt_cache_options"
MOST_MARKS = 4
MOST_KEY = 64
MODES = ("implicit", "explicit")


def marks_of(body: Json, field: str, model: Model) -> tuple[Mark, ...] | None:
    """The breakpoints that are written, the latest four; None of a model that finds any beginning."""
    if model.cache_write is None:
        return None
    messages = body[field] if isinstance(body[field], list) else [{"content": body[field]}]
    marks: list[Mark] = []
    for number, message in enumerate(messages):
        chars = 0
        for part in parts_of(message.get("content")):
            chars += len(str(part.get("text", "")))
            if part.get(BREAKPOINT):
                marks.append(Mark(number, chars=chars))
    if (body.get(OPTIONS) or {}).get("mode") != "explicit":
        marks = [*marks[1 - MOST_MARKS :], Mark(len(messages))]
    return tuple(marks[-MOST_MARKS:])


def caching_refusal(body: Json, field: str, model: Model) -> Json | None:
    """The 400 to what is said of caching."""
    key, options = body.get("prompt_cache_key"), body.get(OPTIONS)
    if key is not None and not isinstance(key, str):
        return refusal("Invalid type for 'prompt_cache_key': expected a string.", "prompt_cache_key", "invalid_type")
    if key is not None and len(key) > MOST_KEY:
        message = f"Invalid 'prompt_cache_key': string too long. Expected a string with maximum length {MOST_KEY}, "
        message += f"but got a string with length {len(key)} instead."
        return refusal(message, "prompt_cache_key", "string_above_max_length")
    if options is not None and model.cache_write is None:
        message = f"Unsupported parameter: '{OPTIONS}' is not supported with this model."
        return refusal(message, OPTIONS, "unsupported_parameter")
    if options is not None and (not isinstance(options, dict) or options.get("mode", "implicit") not in MODES):
        return refusal(f"Invalid value for '{OPTIONS}'.", OPTIONS, "invalid_value")
    messages: list[Any] = body[field] if isinstance(body[field], list) else []
    for number, message in enumerate(messages):
        content = message.get("content")
        for place, part in enumerate(content if isinstance(content, list) else []):
            mark = part.get(BREAKPOINT) if isinstance(part, dict) else None
            where = f"{field}[{number}].content[{place}].{BREAKPOINT}"
            if mark is not None and (model.cache_write is None or message.get("role") == "assistant"):
                return refusal(f"Unsupported parameter: '{where}'.", where, "unsupported_parameter")
            if mark is not None and (not isinstance(mark, dict) or mark.get("mode") != "explicit"):
                return refusal(
                    f"Invalid value: '{where}.mode'. Supported values are: 'explicit'.", where, "invalid_value"
                )
    return None
