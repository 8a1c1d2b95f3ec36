"""One request answered: the text, its length and its tokens."""

from __future__ import annotations

import math

from runner.emulator import draws, engine, tokenizer
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Ask, Choice, Messages

TOKENS_PER_MESSAGE = 3
TOKENS_PER_REPLY = 3
OVERHEAD_SPREAD = 2
OVERHEAD_CAP = 20
"""A prompt never counts more tokens than its UTF-8 bytes and this: clients rely on it as a bound."""

REASONING_STEP = 64
REASONING_MEAN_STEPS = 4


def factor(seed: int, provider: str, model: str) -> float:
    """The provider's tokens per token of ours: drawn per seed and model, for a client cannot know it either."""
    low, high = tariff(provider).rules.tokens_per_token
    return low + (high - low) * draws.unit(seed, "tokenizer", provider, model)


def prompt_tokens(seed: int, model: str, messages: Messages, per_token: float = 1.0) -> int:
    """Tokens of a chat prompt. The overhead over the texts is the service's secret: 3 + 3 per message, ± 2."""
    overhead = TOKENS_PER_REPLY + draws.between(-OVERHEAD_SPREAD, OVERHEAD_SPREAD, seed, "overhead", model)
    size = sum(len(content.encode("utf-8", "replace")) for _, content in messages)
    texts = sum(tokenizer.count(content) for _, content in messages)
    tokens = overhead + (TOKENS_PER_MESSAGE + 1) * len(messages) + math.ceil(texts * per_token)
    return min(tokens, size + OVERHEAD_CAP)


def answer(
    seed: int, job: int, ask: Ask, model: Model, *, plain: bool, per_token: float = 1.0
) -> tuple[list[Choice], int, int]:
    """The choices, their output tokens in all, and how many of those were reasoning."""
    prompt = "\n\n".join(content for _, content in ask.messages)
    limit = ask.max_tokens or model.max_output
    thinking = float(model.reasoning) if ask.thinking is None else ask.thinking
    choices: list[Choice] = []
    output = reasoning = 0
    for number in range(ask.n):
        thought = 0
        if thinking > 0:
            luck = draws.stream(seed, "reasoning", job, ask.custom_id, number)
            steps = round(luck.expovariate(1 / REASONING_MEAN_STEPS) * thinking)
            thought = min(limit, REASONING_STEP * steps, limit if ask.thinking_cap is None else ask.thinking_cap)
        text = engine.answer(prompt, choice=number, plain=plain)
        text, tokens, is_cut = tokenizer.cut(text, int((limit - thought) / per_token))
        choices.append(Choice(text, "length" if is_cut else "stop"))
        output += thought + min(math.ceil(tokens * per_token), limit - thought)
        reasoning += thought
    return choices, output, reasoning
