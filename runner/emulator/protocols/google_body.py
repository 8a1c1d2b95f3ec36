"""A Gemini ``GenerateContentRequest``: its names, its texts, how much is thought, and why it is refused.

As everywhere in Google's JSON, names may be camelCase or snake_case. A name that the message does not have spoils
the whole create; a value that the model does not take is that one request's error.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from runner.emulator.tariff import Model
from runner.emulator.wire import Json, Messages

INVALID = 3

THINKING = frozenset("includeThoughts thinkingBudget thinkingLevel".split())
CONFIG = frozenset(
    """
    candidateCount stopSequences maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty
    responseLogprobs logprobs responseMimeType responseSchema responseJsonSchema responseModalities thinkingConfig
    speechConfig imageConfig mediaResolution enableEnhancedCivicAnswers
    """.split()
)
REQUEST = frozenset(
    """
    model contents systemInstruction generationConfig safetySettings tools toolConfig cachedContent serviceTier store
    """.split()
)
CONTENT = frozenset({"role", "parts"})
PART = frozenset(
    """
    text thought thoughtSignature inlineData fileData functionCall functionResponse executableCode codeExecutionResult
    videoMetadata partMetadata mediaResolution toolCall toolResponse
    """.split()
)

RANGES = {"temperature": (0, 2), "topP": (0, 1)}
MOST_CANDIDATES = 8

BUDGETED = re.compile(r"gemini-2\.5")
BUDGETS = (
    (re.compile(r"gemini-2\.5-pro"), (128, 32_768)),
    (re.compile(r"gemini-2\.5-flash-lite"), (512, 24_576)),
    (re.compile(r""), (1, 24_576)),
)
"""0 turns thinking off except at Pro, -1 leaves it to the model: https://ai.google.dev/gemini-api/docs/thinking."""

WITHOUT_MINIMAL = re.compile(r"gemini-3\.1-pro|gemini-3\.[78]-flash")
LEVELS = {"MINIMAL": 0.1, "LOW": 0.5, "MEDIUM": 1.0, "HIGH": 2.0}


def refusal(message: str) -> Json:
    """The ``error`` of a result line."""
    return {"code": INVALID, "message": message}


def camel(name: str) -> str:
    """``top_p`` as ``topP``."""
    head, *rest = name.split("_")
    return head + "".join(word[:1].upper() + word[1:] for word in rest)


def plain(value: Any) -> Json:
    """An object with camelCase names; anything else is an empty one."""
    return {camel(name): each for name, each in value.items()} if isinstance(value, dict) else {}


def unknown_name(request: Json) -> str | None:
    """The first name in a request that its message does not have."""
    top = plain(request)
    config = plain(top.get("generationConfig"))
    for known, given in (
        (REQUEST, request),
        (CONFIG, top.get("generationConfig")),
        (THINKING, config.get("thinkingConfig")),
        *((CONTENT, content) for content in _contents(top)),
        *((PART, part) for content in _contents(top) for part in _parts(content)),
    ):
        for name in given if isinstance(given, dict) else ():
            if camel(name) not in known:
                return str(name)
    return None


def texts_of(request: Json) -> Messages:
    """Role and text of each part, the system's first; what is malformed counts as no text (it is refused later)."""
    return tuple(
        (str(content.get("role", "user")), str(part.get("text", "")))
        for content in _contents(plain(request))
        for part in _parts(content)
    )


def limit_of(request: Json, model: Model) -> int:
    """The most tokens of an answer, thoughts included."""
    limit = plain(plain(request).get("generationConfig")).get("maxOutputTokens")
    return model.max_output if limit is None else int(limit)


def candidates_of(request: Json) -> int:
    """How many answers are asked for."""
    return int(plain(plain(request).get("generationConfig")).get("candidateCount") or 1)


def thinking_of(request: Json, model: Model) -> tuple[float | None, int | None]:
    """How much is thought, in units of what is usual (None = as the model does), and the most tokens of it."""
    thinking = plain(plain(plain(request).get("generationConfig")).get("thinkingConfig"))
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if level is not None:
        return LEVELS[str(level).upper()], None
    if budget is None or int(budget) < 0:
        return None, None
    return float(int(budget) > 0), int(budget)


def request_refusal(request: Any, model: Model, tokens: int) -> Json | None:
    """The error that the model answers to a request with known names, or None when it accepts it."""
    if not isinstance(request, dict):
        return refusal("* GenerateContentRequest.contents: contents is not specified\n")
    top = plain(request)
    config = plain(top.get("generationConfig"))
    return (
        _contents_refusal(top)
        or _numbers_refusal(config, model)
        or _thinking_refusal(plain(config.get("thinkingConfig")), model)
        or _size_refusal(model, tokens)
    )


def _contents(top: Json) -> Iterator[Json]:
    """The system instruction and the turns."""
    system = plain(top.get("systemInstruction"))
    if system:
        yield {**system, "role": "system"}
    turns = top.get("contents")
    for turn in turns if isinstance(turns, list) else [turns]:
        if isinstance(turn, dict):
            yield plain(turn)


def _parts(content: Json) -> Iterator[Json]:
    parts = content.get("parts")
    yield from (plain(part) for part in (parts if isinstance(parts, list) else [parts]) if isinstance(part, dict))


def _contents_refusal(top: Json) -> Json | None:
    turns = [content for content in _contents(top) if content.get("role") != "system"]
    if not turns:
        return refusal("* GenerateContentRequest.contents: contents is not specified\n")
    for number, turn in enumerate(turns):
        if turn.get("role", "user") not in ("user", "model"):
            return refusal("Please use a valid role: user, model.")
        parts = list(_parts(turn))
        if not parts:
            at = f"GenerateContentRequest.contents[{number}].parts"
            return refusal(f"* {at}: contents.parts must not be empty.\n")
        if not all(isinstance(part.get("text"), str) for part in parts):
            at = f"GenerateContentRequest.contents[{number}].parts[0].data"
            return refusal(f"* {at}: required oneof field 'data' must have one initialized field\n")
    return None


def _numbers_refusal(config: Json, model: Model) -> Json | None:
    at = "* GenerateContentRequest.generation_config"
    for name, (least, most) in RANGES.items():
        value = config.get(name)
        if value is not None and not (_is_number(value) and least <= value <= most):
            return refusal(f"{at}.{name}: {name} must be in the range [{least}, {most}].\n")
    limit = config.get("maxOutputTokens")
    if limit is not None and not (_is_integer(limit) and 1 <= int(limit) <= model.max_output):
        supported = f"the supported range is from 1 (inclusive) to {model.max_output + 1} (exclusive)"
        return refusal(f"Unable to submit request because it has a maxOutputTokens value of {limit} but {supported}.")
    count = config.get("candidateCount")
    if count is not None and not (_is_integer(count) and 1 <= int(count) <= MOST_CANDIDATES):
        return refusal(f"{at}.candidate_count: candidate_count must be in the range [1, {MOST_CANDIDATES}].\n")
    return None


def _thinking_refusal(thinking: Json, model: Model) -> Json | None:
    budget, level = thinking.get("thinkingBudget"), thinking.get("thinkingLevel")
    if budget is not None and level is not None:
        return refusal("You can only set only one of thinking budget and thinking level.")
    if level is not None:
        if BUDGETED.match(model.name):
            return refusal("Thinking level is not supported for this model.")
        word = str(level).upper()
        if word not in LEVELS or (word == "MINIMAL" and WITHOUT_MINIMAL.match(model.name)):
            return refusal(f"Thinking level {word} is not supported for this model. Please retry with other level.")
    if budget is not None:
        least, most = next(bounds for models, bounds in BUDGETS if models.match(model.name))
        free = (-1,) if "pro" in model.name else (-1, 0)
        if not _is_integer(budget) or not (int(budget) in free or least <= int(budget) <= most):
            return refusal(
                f"The thinking budget {budget} is invalid. Please choose a value between {least} and {most}."
            )
    return None


def _size_refusal(model: Model, tokens: int) -> Json | None:
    if tokens <= model.window:
        return None
    most = f"exceeds the maximum number of tokens allowed ({model.window})"
    return refusal(f"The input token count ({tokens}) {most}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_integer(value: Any) -> bool:
    """Proto-JSON takes a number of 64 bits as a string, too."""
    if isinstance(value, str):
        return bool(re.fullmatch(r"-?[0-9]{1,18}", value))
    return isinstance(value, int) and not isinstance(value, bool)
