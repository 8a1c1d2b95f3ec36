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

from runner.request import Body, Hint, RequestId, Response


@dataclass(frozen=True, slots=True)
class Limits:
    """What one batch, one model's queue and the account may hold; None where the provider sets none.

    ``max_bytes`` is of the file as encoded. ``queue_tokens`` bounds the input tokens of all open jobs of the
    model together (OpenAI's enqueued prompt tokens); ``queue_requests`` the requests of all open jobs of the
    account (Anthropic); ``max_jobs`` the open jobs of the account (Gemini's concurrent batches). ``is_own`` when the
    user's own machines answer: nothing is bought, so that no first small batch has to go ahead.
    """

    max_requests: int
    max_bytes: int
    queue_tokens: int | None
    window_tokens: int
    max_line_bytes: int | None = None
    queue_requests: int | None = None
    max_jobs: int | None = None
    is_own: bool = False


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

    ``tag`` and ``file_id`` (of the uploaded input) say whose job it is, where the venue keeps them.
    ``error`` is the provider's own sentence for a job-level failure or, of a running job, what it waits for;
    ``error_code`` its code;
    ``learned_queue_tokens`` the true queue limit where such a failure names it. Counts are None where the
    provider does not tell them while running; ``total`` is every request of the job. ``is_cancelling`` when a
    running job was asked to stop. ``expires_at`` is when it will have ended by the provider's own word.
    """

    provider_job: str
    state: JobState
    at: datetime
    tag: str | None = None
    file_id: str | None = None
    created_at: datetime | None = None
    total: int | None = None
    done: int | None = None
    failed: int | None = None
    error_code: str | None = None
    error: str | None = None
    learned_queue_tokens: int | None = None
    retain_until: datetime | None = None
    is_cancelling: bool = False
    expires_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    """One complete reading of the account's list of jobs, back to a moment, and the last reply's Date."""

    jobs: tuple[JobStatus, ...]
    at: datetime


def is_past(page: Sequence[JobStatus], since: datetime) -> bool:
    """Whether a page of a list of jobs, and so all that come after it, is older than ``since``.

    No order is promised: only a page that itself runs from newer to older is believed.
    """
    made = [job.created_at for job in page if job.created_at is not None]
    runs_down = len(made) == len(page) > 1 and made == sorted(made, reverse=True) and made[0] > made[-1]
    return runs_down and made[0] < since


@dataclass(frozen=True, slots=True)
class KeptFile:
    """A file that the account keeps at the venue; ``bytes`` and ``created_at`` are None where it does not say."""

    file_id: str
    name: str
    bytes: int | None
    created_at: datetime | None


class NotCreated(Exception):
    """The provider said no (a 4xx on create): no job exists. ``code`` and ``sentence`` are its words.

    ``retry_later`` when the same create may work later; ``is_full`` when that is because the queue, the number
    of jobs or the rate is used up, and ``learned_queue_tokens`` the limit where the sentence names it.
    """

    def __init__(
        self,
        sentence: str,
        *,
        code: str | None = None,
        retry_later: bool = False,
        is_full: bool = False,
        learned_queue_tokens: int | None = None,
    ) -> None:
        super().__init__(sentence)
        self.sentence = sentence
        self.code = code
        self.retry_later = retry_later
        self.is_full = is_full
        self.learned_queue_tokens = learned_queue_tokens


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

    @property
    def names_jobs(self) -> bool:
        """Whether a job of the list can be told to be ours, by its tag or its input file.

        Where not (Anthropic), time and count make a candidate, and the ids of its results decide.
        """
        ...

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """One line of the batch file, without its newline.

        What ``hint`` says of caching is left out where the venue does not know it.
        """
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

        Sent once, without the SDK's own retries or redirects. Raises NotCreated or Unclear; Unreachable when there
        was no connection at all, so that nothing was sent.
        """
        ...

    def jobs(self, since: datetime) -> Listing:
        """Page through the whole list of jobs back to ``since``. Raises Unreachable."""
        ...

    def files(self) -> Sequence[KeptFile]:
        """Every batch file that the account keeps here, ours or not; empty for a venue without. Raises Unreachable."""
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
        """Delete an uploaded input file that is no longer needed. Raises Unreachable when asking again may help."""
        ...
