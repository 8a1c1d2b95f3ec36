"""What a protocol must tell the machine that runs jobs: how its lines are read and how its results are written.

The state machine, the execution, the bill and the faults are the same for every provider; only this differs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, Protocol

from runner.emulator.tariff import Model

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Ask:
    """One request line, read. ``refusal`` is the endpoint's error for a body that it does not accept."""

    custom_id: str
    model: str
    messages: tuple[tuple[str, str], ...]
    max_tokens: int | None = None
    n: int = 1
    refusal: Json | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer text and why it ended: ``stop`` or ``length``."""

    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request: ``input`` includes ``cached``, ``output`` includes ``reasoning``."""

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0


Messages = tuple[tuple[str, str], ...]
CountTokens = Callable[[Model, Messages], int]


@dataclass(slots=True)
class Verdict:
    """What validation found. With problems nothing runs; ``problems`` lists every bad line.

    ``tokens`` are the prompts' counts in line order; ``refused`` counts lines that the endpoint will refuse.
    """

    model: Model | None = None
    total: int = 0
    refused: int = 0
    problems: list[Json] = field(default_factory=list)
    tokens: array[int] = field(default_factory=lambda: array("Q"))


class Wire(Protocol):
    """One provider's lines."""

    def validate(self, lines: Iterable[bytes], endpoint: str, now: float, count: CountTokens) -> Verdict:
        """Read a whole input file as the provider does before anything runs."""
        ...

    def ask(self, line: bytes, model: Model, tokens: int) -> Ask:
        """Read a line that passed validation; its prompt has so many tokens."""
        ...

    def answered(self, ask: Ask, model: Model, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A result line with an answer."""
        ...

    def refused(self, custom_id: str, status: int, body: Json, salt: str) -> Json:
        """A result line whose request the endpoint answered with an error."""
        ...

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A result line of a request that was not run because the job was ``expired`` or ``cancelled``."""
        ...
