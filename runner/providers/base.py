"""What every provider is to the chain. One file per provider behind this one protocol.

The order of every submission is the chain's: intend, upload, create, record. A provider says how one venue
speaks: lines, files, jobs. It keeps no state, retries only what cannot cost money, and never sees a benchmark.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol

from runner.request import Body, RequestId, Response


@dataclass(frozen=True, slots=True)
class Limits:
    """What one batch and one model's queue may hold; None where the provider sets none.

    ``max_bytes`` is of the file as encoded. ``queue_tokens`` bounds the input tokens of all open jobs of the
    model together (OpenAI's enqueued prompt tokens).
    """

    max_requests: int
    max_bytes: int
    queue_tokens: int | None
    window_tokens: int
    max_line_bytes: int | None = None


class JobState(StrEnum):
    """A provider's job, as far as the chain needs to know."""

    RUNNING = "running"
    COMPLETED = "completed"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    FAILED = "failed"

    @property
    def has_ended(self) -> bool:
        """Whether nothing more will come."""
        return self is not JobState.RUNNING


@dataclass(frozen=True, slots=True)
class JobStatus:
    """A job as the provider tells it. ``at`` is the reply's Date: the only clock for windows and deadlines.

    ``error`` is the provider's own sentence for a job-level failure, ``error_code`` its code;
    ``learned_queue_tokens`` the true queue limit where such a failure names it. Counts are None where the
    provider does not tell them while running.
    """

    provider_job: str
    state: JobState
    at: datetime
    tag: str | None = None
    created_at: datetime | None = None
    total: int | None = None
    done: int | None = None
    failed: int | None = None
    error_code: str | None = None
    error: str | None = None
    learned_queue_tokens: int | None = None
    retain_until: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """One complete reading of the provider's list of jobs: those that carry the tag, and the reply's Date."""

    jobs: tuple[JobStatus, ...]
    at: datetime


class NotCreated(Exception):
    """The provider said no (a 4xx on create): no job exists. ``code`` and ``sentence`` are its words."""

    def __init__(self, sentence: str, *, code: str | None = None, retry_later: bool = False) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.retry_later = retry_later


class Unclear(Exception):
    """A timeout, a broken connection or a 5xx on create: a job may exist. Look before creating again."""


class Gone(Exception):
    """The provider knows no job of this id (404)."""


class Unreachable(Exception):
    """The provider could not be asked just now (network, 5xx, rate limit, refused key). Nothing was lost.

    ``is_refusal`` when asking again will not help: the key is wrong or lacks the right.
    """

    def __init__(self, sentence: str, *, is_refusal: bool = False) -> None:
        super().__init__(sentence)
        self.is_refusal = is_refusal


ACCOUNT_TROUBLE = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"})
"""Error codes of a row that speak of the account, not of the request: it uses up no attempt. Every provider
translates its own words into these."""


class Provider(Protocol):
    """The doors of a venue. Not one of them may be called twice by itself: the chain decides."""

    @property
    def venue(self) -> str:
        """Who really answers."""
        ...

    @property
    def account(self) -> str:
        """A hash of venue and key: tells accounts apart without holding the key."""
        ...

    def encode(self, request_id: RequestId, model: str, body: Body) -> bytes:
        """One line of the batch file, without its newline."""
        ...

    def decode(self, line: bytes) -> Sequence[Response]:
        """One row per choice of a result line. Raises ValueError when the line cannot be read."""
        ...

    def limits(self, model: str) -> Limits:
        """What a batch and the queue of this model may hold."""
        ...

    def upload(self, path: Path, tag: str) -> str | None:
        """Send the file and return its id, or None for a venue without files. Raises NotCreated, Unreachable."""
        ...

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Make the job from an uploaded file's id (or, without files, the path) and return its id.

        Sent once, without the SDK's own retries. Raises NotCreated or Unclear, nothing else.
        """
        ...

    def find(self, tag: str, since: datetime, n: int) -> Listing:
        """Page through the whole list back to ``since`` for jobs that carry the tag (n requests)."""
        ...

    def status(self, provider_job: str) -> JobStatus:
        """Raises Gone or Unreachable."""
        ...

    def fetch(self, provider_job: str, folder: Path) -> list[Path]:
        """Stream every result file (output and error) into ``folder`` as received; check their lengths.

        Raises Unreachable when a file came short (it is fetched again later) and Gone when it is kept no more.
        """
        ...

    def cancel(self, provider_job: str) -> None:
        """Ask for cancellation."""
        ...

    def discard(self, file_id: str) -> None:
        """Delete an uploaded input file that is no longer needed; a failure is not an error."""
        ...
