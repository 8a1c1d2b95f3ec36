"""What the lines of our providers' modules cost at the emulator: its protocol reads them, its caches and tariff bill.

There is no server, no queue and no clock: its caches forget nothing within a file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache

from runner.emulator.caching import PrefixCache
from runner.emulator.jobs import Job
from runner.emulator.registry import HOSTS
from runner.emulator.tariff import tariff
from runner.emulator.wire import Ask
from runner.models import Model
from runner.providers import connect
from runner.providers.base import Provider
from runner.request import Body, Hint, RequestId

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
JOB = 1
"""Every file is job 1 to the emulator: a request then has the same luck in whatever file it is sent."""

Counts = Callable[[int, int, Ask], tuple[int, int]]
"""(seed, place, request) -> the tokens of its prompt and of its answer, as the emulator counts them for that seed."""


@dataclass(frozen=True, slots=True)
class Line:
    """A request as it is sent, and the tokens of its texts as the emulator's tokenizer counts them."""

    request_id: RequestId
    body: Body
    tokens: int
    hint: Hint | None = None


@dataclass(frozen=True, slots=True)
class Paid:
    """What requests cost in a batch, and outside of one with nothing read from a cache; their tokens."""

    usd: float = 0.0
    standard_usd: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0

    def __add__(self, other: Paid) -> Paid:
        return Paid(*(getattr(self, field.name) + getattr(other, field.name) for field in fields(Paid)))


@cache
def provider_of(name: str) -> Provider:
    """Our module of a provider; it is asked for lines and limits only."""
    return connect(name, {}, base_url="http://127.0.0.1:9", venue="emulator")


def read(card: Model, lines: Iterable[Line]) -> Iterator[Ask]:
    """The lines that our provider's module writes, as the emulator's protocol understands them, one at a time."""
    wire, job = HOSTS[card.provider].dialect.wire, job_of(card.provider, card.id)
    encode = provider_of(card.provider).encode
    for line in lines:
        ask: Ask = wire.ask(encode(line.request_id, card.id, line.body, line.hint), job, line.tokens)
        assert ask.model is not None and ask.refusal is None, ask.refusal
        yield ask


def bill(card: Model, asks: Iterable[Ask], seeds: int, counts: Counts) -> list[Paid]:
    """What one file of these requests costs, for each seed."""
    rules = tariff(card.provider).rules.cache
    caches = [PrefixCache(seed, JOB, rules) for seed in range(seeds)]
    paid = [Paid()] * seeds
    for place, ask in enumerate(asks):
        model = ask.model
        assert model is not None and model.standard is not None
        for seed, known in enumerate(caches):
            tokens, output = counts(seed, place, ask)
            cached, written, long = known.use(ask, model, tokens)
            usd = model.usd(tokens, cached, output, written, long)
            paid[seed] += Paid(usd, model.standard.usd(tokens, 0, output), tokens, output)
    return paid


def job_of(provider: str, model: str) -> Job:
    """A job as far as a protocol looks at one when it reads lines."""
    given = {
        "provider": provider,
        "endpoint": "/v1/chat/completions",
        "options": {"version": "2026-10-21", "model": model},
        "created_at": NOW.timestamp(),
    }
    return Job(**{field.name: given.get(field.name) for field in fields(Job)})  # type: ignore[arg-type]
