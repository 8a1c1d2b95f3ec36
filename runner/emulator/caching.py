"""Which tokens of a prompt were read from the provider's cache, and which were written to it."""

from __future__ import annotations

from hashlib import blake2b

from runner.emulator import draws
from runner.emulator.rules import CacheRules
from runner.emulator.tariff import Model
from runner.emulator.wire import Ask, Mark

BLOCK_BYTES = 512


class PrefixCache:
    """The prompts run so far in a job, as hashes of their beginnings.

    Where caching is automatic, beginnings are compared in steps of 512 bytes; else at the request's marks.
    """

    def __init__(self, seed: int, job: int, rules: CacheRules, *, is_cold: bool = False) -> None:
        self._is_cold = is_cold
        self._seed = seed
        self._job = job
        self._rules = rules
        self._known: set[int] = set()

    def use(self, ask: Ask, model: Model, tokens: int) -> tuple[int, int, int]:
        """Tokens read, tokens written, and how many of those were written for an hour.

        A prompt shorter than the rule's least is neither; whether a known beginning is found is a draw. What is
        written unasked and without marks costs nothing and is not counted.
        """
        least = model.cache_from or self._rules.from_tokens
        if tokens < least:
            return 0, 0, 0
        luck = draws.unit(self._seed, "cache", self._job, ask.custom_id)
        if ask.marks is not None:
            return self._at_marks(ask, ask.marks, tokens, least, model, luck)
        if not self._rules.automatic:
            return 0, 0, 0
        step = self._rules.step_tokens
        shared = self._shared(_bytes(ask, len(ask.messages)), tokens) // step * step
        is_hit = luck < self._hit_rate(model, is_long=True)
        return shared if is_hit and shared >= least else 0, 0, 0

    def _hit_rate(self, model: Model, *, is_long: bool) -> float:
        """The share of reads that find what is known."""
        if self._is_cold:
            return 0.0
        if self._rules.hit_rate is not None:
            return self._rules.hit_rate
        low, high = self._rules.hit_rates
        rate = low + (high - low) * draws.unit(self._seed, "hits", model.name)
        return rate if is_long else low + (rate - low) * draws.unit(self._seed, "short hits", model.name)

    def _shared(self, prompt: bytes, tokens: int) -> int:
        """Tokens of the longest known beginning; all beginnings of this prompt are known from now on."""
        state, shared = blake2b(digest_size=8), 0
        for end in range(BLOCK_BYTES, len(prompt) + 1, BLOCK_BYTES):
            state.update(prompt[end - BLOCK_BYTES : end])
            digest = int.from_bytes(state.digest(), "big")
            if digest in self._known:
                shared = end
            else:
                self._known.add(digest)
        return tokens * shared // len(prompt)

    def _at_marks(
        self, ask: Ask, marks: tuple[Mark, ...], tokens: int, least: int, model: Model, luck: float
    ) -> tuple[int, int, int]:
        """Read up to the last mark that is known, then write up to each further one, at its own duration."""
        size = max(len(_bytes(ask, len(ask.messages))), 1)
        cached = 0
        ends: list[tuple[int, bool]] = []
        for mark in sorted(marks, key=lambda mark: (mark.parts, mark.chars)):
            head = _bytes(ask, mark.parts, mark.chars)
            end = tokens * len(head) // size
            if end < least:
                continue
            digest = int.from_bytes(blake2b(head, digest_size=8).digest(), "big")
            if digest in self._known and luck < self._hit_rate(model, is_long=mark.is_long):
                cached, ends = end, []
            else:
                ends.append((end, mark.is_long))
            self._known.add(digest)
        written = written_long = 0
        for end, is_long in ends:
            share = end - cached - written
            written += share
            written_long += share if is_long else 0
        return cached, written, written_long


def _bytes(ask: Ask, parts: int, chars: int = 0) -> bytes:
    whole = [f"{role}\x00{text}" for role, text in ask.messages[:parts]]
    begun = [f"{role}\x00{text[:chars]}" for role, text in ask.messages[parts : parts + 1] if chars]
    return "\x00".join(whole + begun).encode("utf-8", "replace")
