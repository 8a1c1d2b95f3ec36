"""One request answered: the text, its length, its tokens and whether its prompt was cached."""

from __future__ import annotations

from hashlib import blake2b

from runner.emulator import draws, engine, tokenizer
from runner.emulator.tariff import Model
from runner.emulator.wire import Ask, Choice

TOKENS_PER_MESSAGE = 3
TOKENS_PER_REPLY = 3
OVERHEAD_SPREAD = 2
OVERHEAD_CAP = 20
"""A prompt never counts more tokens than its UTF-8 bytes and this: clients rely on it as a bound."""

CACHE_FROM_TOKENS = 1024
CACHE_STEP_TOKENS = 128
CACHE_BLOCK_BYTES = 512
CACHE_HIT_RATE = 0.7

REASONING_STEP = 64
REASONING_MEAN_STEPS = 4


def prompt_tokens(seed: int, model: str, messages: tuple[tuple[str, str], ...]) -> int:
    """Tokens of a chat prompt. The overhead over the texts is the service's secret: 3 + 3 per message, ± 2."""
    overhead = TOKENS_PER_REPLY + draws.between(-OVERHEAD_SPREAD, OVERHEAD_SPREAD, seed, "overhead", model)
    size = sum(len(content.encode("utf-8", "replace")) for _, content in messages)
    tokens = overhead + sum(TOKENS_PER_MESSAGE + 1 + tokenizer.count(content) for _, content in messages)
    return min(tokens, size + OVERHEAD_CAP)


class PrefixCache:
    """The prompts run so far in a job, as hashes of their prefixes in steps of 512 bytes."""

    def __init__(self, seed: int, job: int) -> None:
        self._seed = seed
        self._job = job
        self._known: set[int] = set()

    def cached_tokens(self, ask: Ask, tokens: int) -> int:
        """Tokens of the prompt that were cached: from 1,024 on, in steps of 128, if the draw is a hit."""
        if tokens < CACHE_FROM_TOKENS:
            return 0
        prompt = "\x00".join(f"{role}\x00{content}" for role, content in ask.messages).encode("utf-8", "replace")
        state, shared = blake2b(digest_size=8), 0
        for end in range(CACHE_BLOCK_BYTES, len(prompt) + 1, CACHE_BLOCK_BYTES):
            state.update(prompt[end - CACHE_BLOCK_BYTES : end])
            digest = int.from_bytes(state.digest(), "big")
            if digest in self._known:
                shared = end
            else:
                self._known.add(digest)
        if draws.unit(self._seed, "cache", self._job, ask.custom_id) >= CACHE_HIT_RATE:
            return 0
        cached = tokens * shared // len(prompt) // CACHE_STEP_TOKENS * CACHE_STEP_TOKENS
        return cached if cached >= CACHE_FROM_TOKENS else 0


def answer(seed: int, job: int, ask: Ask, model: Model, *, plain: bool) -> tuple[list[Choice], int, int]:
    """The choices, their output tokens in all, and how many of those were reasoning."""
    prompt = "\n\n".join(content for _, content in ask.messages)
    limit = ask.max_tokens or model.max_output
    choices: list[Choice] = []
    output = reasoning = 0
    for number in range(ask.n):
        thought = 0
        if model.reasoning:
            luck = draws.stream(seed, "reasoning", job, ask.custom_id, number)
            thought = min(limit, REASONING_STEP * round(luck.expovariate(1 / REASONING_MEAN_STEPS)))
        text, tokens, is_cut = tokenizer.cut(engine.answer(prompt, choice=number, plain=plain), limit - thought)
        choices.append(Choice(text, "length" if is_cut else "stop"))
        output += thought + tokens
        reasoning += thought
    return choices, output, reasoning
