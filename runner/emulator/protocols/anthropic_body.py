"""The parameters of a Messages request: its texts and cache marks, and the error that it gets when it is refused.

What belongs to single models is from their migration guides: from Opus 4.7 and Sonnet 5 on they take no sampling
parameters at all, and effort came with Opus 4.5.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from runner.emulator.tariff import Model
from runner.emulator.wire import Json, Mark, Messages

SAMPLING_VERSION = "2023-06-01"
VERSIONS = (SAMPLING_VERSION, "2026-10-21")

PARAMETERS = frozenset(
    """
    model messages max_tokens system metadata stop_sequences stream tools tool_choice thinking output_config
    cache_control service_tier container inference_geo diagnostics temperature top_p top_k
    """.split()
)
SAMPLING = ("temperature", "top_p", "top_k")
SAMPLED = re.compile(r"claude-(3-|opus-4(-[156])?$|sonnet-4|haiku-4)")
ONE_SAMPLER = re.compile(r"claude-(opus-4-[156]|sonnet-4-[56]|haiku-4)")
EFFORTS = (
    (re.compile(r"claude-(3-|opus-4(-1)?$|sonnet-4(-5)?$|haiku-4)"), ()),
    (re.compile(r"claude-opus-4-5"), ("low", "medium", "high")),
    (re.compile(r"claude-(opus|sonnet)-4-6"), ("low", "medium", "high", "max")),
    (re.compile(r""), ("low", "medium", "high", "xhigh", "max")),
)
THOUGHT = {"low": 0.25, "medium": 0.5, "high": 1.0, "xhigh": 1.5, "max": 2.0}
"""How much more or less than by default (high) a model thinks: ours, no provider says."""
MOST_MARKS = 4
LEAST_BUDGET = 1024
NO_ROOM = "prompt is too long: {tokens} tokens > {window} maximum"


def refusal(message: str, kind: str = "invalid_request_error") -> Json:
    """The ``error`` of an envelope."""
    return {"type": kind, "message": message}


def texts_of(params: Json) -> Messages:
    """Role and text of each turn, the system's first; what is malformed counts as no text (it is refused later)."""
    return tuple((role, "".join(_text(block) for block in blocks)) for role, blocks in _turns(params))


def marks_of(params: Json) -> tuple[Mark, ...]:
    """The cache breakpoints; one at the top level stands for the last block."""
    turns = list(_turns(params))
    marks: list[Mark] = []
    for number, (_, blocks) in enumerate(turns):
        chars = 0
        for place, block in enumerate(blocks, 1):
            chars += len(_text(block))
            if isinstance(control := block.get("cache_control"), dict):
                is_last = place == len(blocks)
                marks.append(Mark(number + is_last, control.get("ttl") == "1h", 0 if is_last else chars))
    if isinstance(control := params.get("cache_control"), dict):
        marks.append(Mark(len(turns), control.get("ttl") == "1h"))
    return tuple(marks)


def thinking_of(params: Json, model: Model) -> tuple[float | None, int | None]:
    """How much is thought, in units of what is usual, and the budget in tokens."""
    thinking = params.get("thinking") or {}
    kind = thinking.get("type", "adaptive" if model.reasoning else "disabled")
    if kind in ("disabled", "between_tools"):
        return 0.0, None
    effort = (params.get("output_config") or {}).get("effort") or "high"
    return THOUGHT[effort], thinking.get("budget_tokens")


def params_refusal(params: Json, model: Model | None, version: str, tokens: int) -> Json | None:
    """The error that the endpoint answers to these parameters, or None when it accepts them."""
    for name in params:
        if name not in PARAMETERS or (name in SAMPLING and version != SAMPLING_VERSION):
            return refusal(f"{name}: Extra inputs are not permitted")
    if not isinstance(params.get("model"), str):
        return refusal("model: Field required" if "model" not in params else "model: Input should be a valid string")
    if model is None:
        return refusal(f"model: {params['model']}", "not_found_error")
    return (
        _messages_refusal(params)
        or _system_refusal(params.get("system"))
        or _sampling_refusal(params, model)
        or _effort_refusal(params, model)
        or _thinking_refusal(params, model)
        or _limits_refusal(params, model, tokens)
    )


def _turns(params: Json) -> Iterator[tuple[str, list[Json]]]:
    """Role and blocks, those that are objects."""
    messages = params.get("messages")
    turns: list[Any] = [{"role": "system", "content": params["system"]}] if params.get("system") else []
    for turn in turns + (messages if isinstance(messages, list) else []):
        if isinstance(turn, dict):
            content = turn.get("content")
            blocks = [{"text": content}] if isinstance(content, str) else content if isinstance(content, list) else []
            yield str(turn.get("role")), [block for block in blocks if isinstance(block, dict)]


def _text(block: Json) -> str:
    return str(block.get("text", ""))


def _messages_refusal(params: Json) -> Json | None:
    messages = params.get("messages")
    if not isinstance(messages, list):
        said = "Field required" if messages is None else "Input should be a valid list"
        return refusal(f"messages: {said}")
    if not messages:
        return refusal("messages: at least one message is required")
    for number, turn in enumerate(messages):
        at = f"messages.{number}"
        role = turn.get("role") if isinstance(turn, dict) else None
        if role == "system":
            message = 'Unexpected role "system". The Messages API accepts a top-level `system` parameter, not "system" '
            return refusal(f"messages: {message}as an input message role.")
        if role not in ("user", "assistant"):
            return refusal(f"{at}.role: Input should be 'user' or 'assistant'")
        if found := _content_refusal(turn.get("content"), at):
            return found
    return None


def _content_refusal(content: Any, at: str) -> Json | None:
    if isinstance(content, str):
        return None if content else refusal(f"{at}: all messages must have non-empty content")
    if not isinstance(content, list) or not content:
        return refusal(f"{at}.content: Input should be a valid string or list")
    for block in content:
        if not isinstance(block, dict) or block.get("type") != "text" or not isinstance(block.get("text"), str):
            return refusal(f"{at}.content: only text blocks are emulated")
        if not block["text"].strip():
            return refusal("messages: text content blocks must be non-empty")
    return None


def _system_refusal(system: Any) -> Json | None:
    if system is None or isinstance(system, str):
        return None
    return _content_refusal(system, "system")


def _sampling_refusal(params: Json, model: Model) -> Json | None:
    both = params.get("temperature") is not None and params.get("top_p") is not None
    if both and ONE_SAMPLER.match(model.name):
        return refusal("`temperature` and `top_p` cannot both be specified for this model. Please use only one.")
    for name in SAMPLING:
        value = params.get(name)
        if value is None:
            continue
        if not SAMPLED.match(model.name):
            return refusal(f"`{name}` is deprecated for this model.")
        if isinstance(value, bool) or not isinstance(value, int | float):
            return refusal(f"{name}: Input should be a valid number")
        if value < 0 or (name != "top_k" and value > 1):
            return refusal(f"{name}: Input should be in the range 0..1")
    return None


def _effort_refusal(params: Json, model: Model) -> Json | None:
    config = params.get("output_config")
    if config is not None and not isinstance(config, dict):
        return refusal("output_config: Input should be a valid dictionary")
    effort = (config or {}).get("effort")
    if effort is None:
        return None
    known = next(words for models, words in EFFORTS if models.match(model.name))
    if not known:
        return refusal("This model does not support the effort parameter.")
    if effort not in known:
        return refusal(f"output_config.effort: Input should be one of {', '.join(known)}")
    return None


def _thinking_refusal(params: Json, model: Model) -> Json | None:
    thinking = params.get("thinking")
    if thinking is None:
        return None
    kind = thinking.get("type") if isinstance(thinking, dict) else None
    if kind not in ("enabled", "disabled", "adaptive", "between_tools"):
        return refusal("thinking: Input tag does not match any of 'adaptive', 'disabled', 'enabled'")
    budget = thinking.get("budget_tokens")
    if kind == "enabled":
        if not SAMPLED.match(model.name):  # the same models that take sampling parameters
            return refusal('"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive".')
        if not isinstance(budget, int) or isinstance(budget, bool) or budget < LEAST_BUDGET:
            least = f"Input should be greater than or equal to {LEAST_BUDGET}"
            return refusal(f"thinking.enabled.budget_tokens: {least}")
        if budget >= params["max_tokens"]:
            return refusal("`max_tokens` must be greater than `thinking.budget_tokens`")
    return None


def _limits_refusal(params: Json, model: Model, tokens: int) -> Json | None:
    limit = params["max_tokens"]
    if limit > model.max_output:
        most = f"{limit} > {model.max_output}, which is the maximum allowed number of output tokens for {model.name}"
        return refusal(f"max_tokens: {most}")
    if found := _caching_refusal(params):
        return found
    if tokens >= model.window:
        return refusal(NO_ROOM.format(tokens=tokens, window=model.window))
    return None


def _caching_refusal(params: Json) -> Json | None:
    """Four marks at most, of known durations, the longer before the shorter. Too short a beginning is no error."""
    blocks = [block for _, blocks in _turns(params) for block in blocks]
    controls = [each["cache_control"] for each in (*blocks, params) if each.get("cache_control") is not None]
    for control in controls:
        if not isinstance(control, dict) or control.get("type") != "ephemeral":
            return refusal("cache_control: Input tag does not match any of the expected tags: 'ephemeral'")
        if control.get("ttl", "5m") not in ("5m", "1h"):
            return refusal("cache_control.ephemeral.ttl: Input should be '5m' or '1h'")
    marks = marks_of(params)
    if len(marks) > MOST_MARKS:
        return refusal(f"A maximum of {MOST_MARKS} blocks with cache_control may be provided. Found {len(marks)}.")
    if any(later.is_long and not sooner.is_long for sooner, later in pairwise(marks)):
        message = "a ttl='1h' cache_control block must not come after a ttl='5m' cache_control block. "
        return refusal(
            message + "Note that blocks are processed in the following order: `tools`, `system`, `messages`."
        )
    return None
