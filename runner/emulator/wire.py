"""What a protocol must tell the machine that runs jobs: how its lines are read and how its results are written.

The state machine, the execution, the bill and the faults are the same for every provider; only this differs.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from runner.emulator.tariff import Model

if TYPE_CHECKING:
    from runner.emulator.jobs import Job

Json = dict[str, Any]
Messages = tuple[tuple[str, str], ...]
CountTokens = Callable[[Model, Messages], int]


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache breakpoint: the first ``parts`` of the messages are to be cached, for an hour if ``is_long``.

    So are the first ``chars`` characters of the message behind them.
    """

    parts: int
    is_long: bool = False
    chars: int = 0


@dataclass(frozen=True, slots=True)
class Ask:
    """One request line, read.

    ``model`` is the row that is charged and ``name`` what the client called it; ``refusal`` is the endpoint's
    error for a body that it does not accept (only then may ``model`` be None). ``messages`` are role and text, the
    blocks of one joined. ``marks`` None leaves caching to the service's own rule, a tuple allows it at these
    breakpoints only. ``thinking`` scales the thinking tokens
    (0 = none; None = as the model does by itself), ``thinking_cap`` limits them.
    """

    custom_id: str
    model: Model | None = None
    name: str = ""
    messages: Messages = ()
    max_tokens: int | None = None
    n: int = 1
    refusal: Json | None = None
    marks: tuple[Mark, ...] | None = None
    thinking: float | None = None
    thinking_cap: int | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """One answer text and why it ended: ``stop``, ``length`` or ``filtered`` (no text: it was blocked)."""

    text: str
    finish_reason: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of one request, and whether it was served (and billed) outside of the batch.

    ``input`` includes ``cached`` and ``cache_write`` (and that ``cache_write_long``, what was written for an
    hour); ``output`` includes ``reasoning``.
    """

    input: int = 0
    cached: int = 0
    output: int = 0
    reasoning: int = 0
    cache_write: int = 0
    cache_write_long: int = 0
    is_standard: bool = False


@dataclass(slots=True)
class Verdict:
    """What validation found. With problems nothing runs; ``problems`` lists every bad line.

    ``tokens`` are the prompts' counts in line order (0 for one that will be refused); ``refused`` counts lines
    that the endpoint will refuse. ``model`` is None only when all lines will be.
    """

    model: Model | None = None
    total: int = 0
    refused: int = 0
    problems: list[Json] = field(default_factory=list)
    tokens: array[int] = field(default_factory=lambda: array("Q"))


class Wire(Protocol):
    """One provider's lines."""

    def validate(self, lines: Iterable[bytes], job: Job, now: float, count: CountTokens) -> Verdict:
        """Read a whole input as the provider does before anything runs; every line counts in ``total``."""
        ...

    def ask(self, line: bytes, job: Job, tokens: int) -> Ask:
        """Read a line that passed validation; its prompt has so many tokens."""
        ...

    def answered(self, ask: Ask, choices: list[Choice], usage: Usage, now: float, salt: str) -> Json:
        """A result line with an answer."""
        ...

    def refused(self, custom_id: str, status: int, error: Json | None, salt: str) -> Json:
        """A result line whose request the endpoint answered with an error, or with none at all (status 0).

        ``error`` is the ``refusal`` of the ask; None = the service failed (500, 529), in its own words.
        """
        ...

    def unanswered(self, custom_id: str, ending: str, salt: str) -> Json:
        """A result line of a request that was not run because the job was ``expired`` or ``cancelled``."""
        ...
