"""Jobs that will not end by themselves, told by the provider's own clock, and what the user can do about each."""

from __future__ import annotations

from datetime import datetime, timedelta

from runner.ledger import Job, Ledger
from runner.providers.base import JobStatus, Provider
from runner.reporting.words import duration, usd

NOBODY = ""
"""The account of a job that was entered again after the ledger was lost: which key began it is not known."""
CANCELLING = timedelta(minutes=30)
"""How long a provider may take to stop a job."""
OVERDUE = timedelta(minutes=15)
"""How long after its window a job may still be writing its results."""


def name_of(job: Job) -> str:
    """A job as sentences name it: with the name that commands take."""
    return f"Batch {job.batch} of {job.run} ({job.job})"


def give_up_words(job: Job) -> str:
    """What giving it up does, for sentences that offer it."""
    money = "what it may have cost" if job.reserved_usd is None else usd(job.reserved_usd)
    return f"`make give-up JOB={job.job}` counts {money} as spent and frees the run"


def is_foreign(job: Job, provider: Provider) -> bool:
    """Whether another key, organisation or project made it: what this one does not list proves nothing."""
    return job.account != provider.account


def foreign(job: Job, what: str) -> str:
    """What is said of such a job."""
    if job.account == NOBODY:
        return (
            f"{name_of(job)} stood in the ledger that was lost, and {job.venue} does not list it for this key: set the "
            f"key that sent it and give `make orphans ADOPT=all` again, or {give_up_words(job)}."
        )
    begun = f"{name_of(job)} was {what} with another key (or project)"
    return f"{begun}; set that one to have its answers, or {give_up_words(job)}."


def stopping_since(ledger: Ledger, job: Job, at: datetime) -> Job:
    """The job with the moment at which it was first seen being stopped."""
    return job if job.cancelling_at else ledger.move(job, job.state, cancelling_at=at)


def overdue(job: Job, status: JobStatus) -> str | None:
    """Why a running job will not end by itself; None where it is as it should be."""
    if status.state.has_ended:
        return None
    if job.cancelling_at is not None:
        since = status.at - job.cancelling_at
        return f"has been stopping for {duration(since.total_seconds())}" if since > CANCELLING else None
    if status.expires_at is not None and status.at > status.expires_at + OVERDUE:
        late = duration((status.at - status.expires_at).total_seconds())
        return f"still runs {late} after the time at which {job.venue} itself says that it expires"
    return None
