"""What OpenAI's endpoints differ in: how a body asks, and how it is answered."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Protocol

from runner.emulator.tariff import Model
from runner.emulator.wire import Ask, Choice, Json, Messages, Usage

ONLY_RESPONSES = "-pro"
"""How the names of models end that are served at /v1/responses alone."""


@dataclass(frozen=True, slots=True)
class Asked(Ask):
    """A request line of OpenAI's: at which endpoint it asked."""

    path: str = ""
    effort: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a body wants of its answer; None = as the model does by itself."""

    max_tokens: int | None
    n: int
    effort: str | None


class Endpoint(Protocol):
    """One of the endpoints that a batch may have."""

    @property
    def path(self) -> str:
        """Its URL."""
        ...

    @property
    def prompt(self) -> str:
        """The field of a body that holds the messages."""
        ...

    def messages(self, body: Json) -> Messages:
        """Role and text of each message; what is malformed counts as no text (it is refused later)."""
        ...

    def wish(self, body: Json) -> Wish:
        """What a body that is not refused wants."""
        ...

    def refusal(self, body: Json, model: Model, tokens: int) -> Json | None:
        """The 400 to this body, whose prompt has so many tokens; None when it is accepted."""
        ...

    def answer(self, ask: Asked, version: str, choices: Sequence[Choice], usage: Usage, now: float, salt: str) -> Json:
        """The body of the reply."""
        ...


def token(kind: str, salt: str) -> str:
    """The random part of an id."""
    return blake2b(f"{kind}.{salt}".encode("utf-8", "replace"), digest_size=12).hexdigest()
