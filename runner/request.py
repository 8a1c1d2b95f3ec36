"""A request is its content: the body that carries the meaning, its identity, and the rows of its answers."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any, Literal, NewType

import orjson
import polars as pl

RequestId = NewType("RequestId", str)
Usd = NewType("Usd", float)


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat: ``role`` is ``system``, ``user`` or ``assistant``."""

    role: str
    content: str


@dataclass(frozen=True, slots=True)
class Body:
    """The meaning-bearing part of a request; two requests with equal bodies are the same purchase.

    ``max_output_tokens`` is what the answer may take; the build adds the model's reasoning allowance.
    A sampling parameter that is None is not sent. ``n`` asks the provider for n choices of one prompt.
    ``effort`` is how much a thinking model is to think; None leaves it to the model.
    """

    messages: tuple[Message, ...]
    max_output_tokens: int
    temperature: float | None = 0.0
    top_p: float | None = None
    n: int = 1
    effort: str | None = None

    def to_json(self) -> str:
        """Sorted-key JSON of the fields that say something: what is stored, hashed and sent."""
        meaning = {key: value for key, value in asdict(self).items() if value is not None}
        return orjson.dumps(meaning, option=orjson.OPT_SORT_KEYS).decode()

    @classmethod
    def from_json(cls, text: str) -> Body:
        """Read back what ``to_json`` wrote; an absent sampling parameter is one that is not sent."""
        raw: dict[str, Any] = orjson.loads(text)
        raw["messages"] = tuple(Message(**message) for message in raw["messages"])
        return cls(**{field.name: raw.get(field.name) for field in fields(cls)})  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Request:
    """What a stage wants asked for one instance in one setting; ``draw`` numbers independent samples."""

    instance_id: str
    setting: str
    body: Body
    draw: int = 0


Ttl = Literal["5m", "30m", "1h"]


@dataclass(frozen=True, slots=True)
class Mark:
    """A cache breakpoint: behind the first ``end`` characters of all messages' contents, one after another.

    An end that falls between two messages stands behind the former. What is written there is kept for ``ttl``.
    """

    end: int
    ttl: Ttl


@dataclass(frozen=True, slots=True)
class Hint:
    """What a request's line says of the provider's prompt cache beside its body. It changes what is paid, not what
    is asked, so it is no part of the request's identity.

    ``marks`` are ascending, four at most. ``key`` names those that begin alike (OpenAI's prompt_cache_key).
    ``only_marked`` tells a provider that writes whole prompts by itself to write at the marks only.
    """

    marks: tuple[Mark, ...] = ()
    key: str | None = None
    only_marked: bool = False


def request_id(venue: str, model: str, draw: int, body_json: str) -> RequestId:
    """128 bits of sha256 over venue, canonical model id, draw and body, in base32.

    26 characters of ``[a-z2-7]``: a legal ``custom_id`` at every provider. It is the join key, the key of
    reuse across runs, and the proof after a crash. Nothing that varies by run, machine or path enters it.
    """
    text = "\x1f".join((venue, model, str(draw), body_json))
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()[:16]
    return RequestId(base64.b32encode(digest).decode().rstrip("=").lower())


class Status(StrEnum):
    """How a request ended. Final ones are never bought again; the others are tried again.

    ``unread`` is neither: a reply that arrived, and was paid for, whose body this version does not understand.
    """

    OK = "ok"
    REFUSED = "refused"
    FILTERED = "filtered"
    TRUNCATED = "truncated"
    REJECTED = "rejected"
    FAILED = "failed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    MISSING = "missing"
    UNREADABLE = "unreadable"
    UNREAD = "unread"

    @property
    def is_final(self) -> bool:
        """Whether the provider would answer the same again, so that buying again is waste."""
        return self in FINAL


FINAL = frozenset({Status.OK, Status.REFUSED, Status.FILTERED, Status.TRUNCATED, Status.REJECTED})
ARRIVED = frozenset({Status.OK, Status.REFUSED, Status.FILTERED, Status.TRUNCATED, Status.UNREAD})
"""Of replies that a provider counts as a success, and bills, where no error comes with them."""


@dataclass(frozen=True, slots=True)
class Response:
    """One choice of one answered request, as a provider's line says it (tokens are counts).

    ``input_tokens`` are all of the prompt, those read from the provider's cache (``cached_tokens``) and those
    written to it (``cache_write_tokens``, None where it does not tell) included; of the written ones
    ``cache_write_long_tokens`` are kept for an hour (None where there is no such choice). ``output_tokens`` include
    the thinking (``reasoning_tokens``). ``service_tier`` is the row's own word for how it was served, None where it
    has none; the provider's module knows whether that is the batch's.
    """

    request_id: str
    choice: int
    status: Status
    text: str | None = None
    finish_reason: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cache_write_tokens: int | None = None
    cache_write_long_tokens: int | None = None
    error_code: str | None = None
    error_message: str | None = None
    model_version: str | None = None
    service_tier: str | None = None

    @property
    def has_arrived(self) -> bool:
        """Whether it is a reply of the model's, and not an error or an absence."""
        return self.status in ARRIVED and self.error_code is None


RESPONSE_SCHEMA: dict[str, pl.DataType] = {
    "request_id": pl.String(),
    "choice": pl.Int32(),
    "status": pl.String(),
    "text": pl.String(),
    "finish_reason": pl.String(),
    "input_tokens": pl.Int64(),
    "cached_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "reasoning_tokens": pl.Int64(),
    "cache_write_tokens": pl.Int64(),
    "cache_write_long_tokens": pl.Int64(),
    "cost_usd": pl.Float64(),
    "cost_is_bound": pl.Boolean(),
    "service_tier": pl.String(),
    "error_code": pl.String(),
    "error_message": pl.String(),
    "venue": pl.String(),
    "model": pl.String(),
    "model_version": pl.String(),
    "job": pl.String(),
    "attempt": pl.Int32(),
    "received_at": pl.Datetime("us", "UTC"),
}
"""Columns of ``parts/<job>.parquet`` and, with ``bought_by``, of ``responses.parquet``.

Tokens and cost belong to the request and stand on its choice 0 only (0 elsewhere), so that sums are true.
``cost_is_bound`` where nobody told what was used, so that the cost is the most that it can be. Parts of earlier
versions lack the later columns, ``service_tier`` among them."""
