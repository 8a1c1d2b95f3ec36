"""What a model's queue and the account have room for: the provider's limits, what it told us, and our open jobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

import polars as pl

from runner.ledger import OPEN, Job, Ledger
from runner.packing import SAFE_SHARE
from runner.providers.base import Limits
from runner.venues import is_rehearsal

Say = Callable[[str], None]

TAKEN = timedelta(minutes=5)
"""How long to leave a queue alone that other work has filled: every refused batch is an upload for nothing."""
TOLD = timedelta(days=7)
"""How long a limit counts that the provider told: an account's tier rises."""


@dataclass(frozen=True)
class Queue:
    """What our open jobs hold, and what may be held at most (None = no limit).

    ``tokens`` are the input tokens of the model's jobs; ``requests`` and ``jobs`` are the account's. ``is_taken``
    when the provider said a moment ago that work which is not ours fills the queue.
    """

    tokens: int
    most_tokens: int | None
    requests: int
    most_requests: int | None
    jobs: int
    most_jobs: int | None
    is_taken: bool = False

    @property
    def free_jobs(self) -> int | None:
        """Jobs that may still be created."""
        return None if self.most_jobs is None else max(0, self.most_jobs - self.jobs)

    def fitting(self, wanted: pl.DataFrame) -> pl.DataFrame:
        """The longest prefix of whole instances that there is room for; an empty queue takes part of one."""
        if self.is_taken or self.free_jobs == 0:
            return wanted.clear()
        if self.most_requests is not None:
            room = self.most_requests - self.requests
            wanted = whole_instances(wanted, wanted.select(pl.int_range(pl.len()) < room).to_series())
        if self.most_tokens is None or wanted.is_empty():
            return wanted
        # A margin, as in every file: the provider's own count differs from ours by chat overhead.
        taken = wanted["tokens"].cum_sum() + self.tokens
        whole = whole_instances(wanted, taken <= int(self.most_tokens * SAFE_SHARE))
        return wanted.filter(taken <= self.most_tokens) if whole.is_empty() and not self.tokens else whole

    def __str__(self) -> str:
        said = []
        if self.most_tokens is not None:
            said.append(f"{self.tokens:,} of {self.most_tokens:,} tokens")
        if self.most_requests is not None:
            said.append(f"{self.requests:,} of {self.most_requests:,} requests")
        if self.most_jobs is not None:
            said.append(f"{self.jobs:,} of {self.most_jobs:,} jobs")
        return ", ".join(said) or "no limit is known"


def queue_of(ledger: Ledger, venue: str, account: str | None, model: str, limits: Limits, now: datetime) -> Queue:
    """The queue of a model at a venue, as the ledger and the provider's limits say; of all accounts for None."""
    jobs = [job for job in ledger.jobs(venue=venue, states=OPEN) if account in (None, job.account)]
    told = ledger.learned(venue, model, "queue_tokens", now - TOLD)
    return Queue(
        tokens=sum(job.tokens for job in jobs if job.model == model),
        most_tokens=told[0] if told else limits.queue_tokens,
        requests=sum(job.n for job in jobs),
        most_requests=limits.queue_requests,
        jobs=len(jobs),
        most_jobs=limits.max_jobs,
        is_taken=ledger.learned(venue, model, "queue_taken", now - TAKEN) is not None,
    )


def learn(ledger: Ledger, job: Job, limit: int, now: datetime, say: Say) -> None:
    """Keep the limit in tokens that the provider named when it had no room for a job."""
    ledger.learn(job.venue, job.model, "queue_tokens", limit, now)
    if job.tokens <= limit:  # it would have fitted: the room is taken by work that is not ours
        if not is_rehearsal(job.venue):  # there, time passes by being asked
            ledger.learn(job.venue, job.model, "queue_taken", job.tokens, now)
        say(f"The queue of {job.model} ({limit:,} tokens) is taken by other work; trying again later.")
    else:
        say(f"The queue of {job.model} holds {limit:,} tokens; batches will fit it from now on.")


def whole_instances(wanted: pl.DataFrame, fits: pl.Series) -> pl.DataFrame:
    """The rows that fit, up to the first instance of which not all do."""
    if fits.all():
        return wanted
    first_out = wanted.filter(~fits)["instance"][0]
    return wanted.filter(fits & (wanted["instance"] != first_out))
