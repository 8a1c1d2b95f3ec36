"""How much OpenAI's models can be told to think. As recorded from the real service; doubled from word to word."""

from __future__ import annotations

import re

from runner.emulator.protocols.openai_body import refusal
from runner.emulator.tariff import Model
from runner.emulator.wire import Json

THINKING = {"none": 0.0, "minimal": 0.125, "low": 0.5, "medium": 1.0, "high": 2.0, "xhigh": 4.0, "max": 8.0}
"""The tokens of each word, as a share of what the model thinks at medium."""

FAMILIES = [
    (re.compile(pattern), tuple(words.split()))
    for pattern, words in (
        (r"o\d", "low medium high"),
        (r"gpt-5-pro", "high"),
        (r"gpt-5(-mini|-nano)?$", "minimal low medium high"),
        (r"gpt-5\.\d-pro", "medium high xhigh"),
        (r"gpt-5\.1", "none low medium high"),
        (r"gpt-5\.[2-5]", "none low medium high xhigh"),
        (r"gpt-(6-astra|6\.1-sol)", "low medium high xhigh max"),
        (r"gpt-(5\.6|[6-9])", "none low medium high xhigh max"),
    )
]


def efforts_of(model: Model) -> tuple[str, ...]:
    """The words that a model takes; none of one that does not think at all."""
    return next((words for pattern, words in FAMILIES if pattern.match(model.name)), ())


def thinks(model: Model, effort: str | None) -> bool:
    """Whether it does when told so, or when told nothing."""
    return model.reasoning if effort is None else THINKING.get(effort, 1.0) > 0


def effort_refusal(effort: object, param: str, model: Model) -> Json | None:
    """The 400 to a word that the model does not take."""
    words = efforts_of(model)
    if effort is None or effort in words:
        return None
    if not words and param == "reasoning_effort":
        return refusal(f"Unrecognized request argument supplied: {param}", None, None)
    if not words:
        message = f"Unsupported parameter: '{param}' is not supported with this model."
        return refusal(message, param, "unsupported_parameter")
    listed = [f"'{word}'" for word in words]
    values = ", and ".join(filter(None, (", ".join(listed[:-1]), listed[-1])))
    message = f"Unsupported value: '{param}' does not support '{effort}' with this model. "
    return refusal(f"{message}Supported values are: {values}.", param, "unsupported_value")
