"""What the ledger keeps: a job with its state, an approval, and the money that both come to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class State(StrEnum):
    """How far a job has come, in order; ``unclear`` is a create whose answer was lost."""

    INTENDED = "intended"
    UPLOADED = "uploaded"
    UNCLEAR = "unclear"
    CREATED = "created"
    ENDED = "ended"
    COLLECTED = "collected"
    CLOSED = "closed"


OPEN = (State.INTENDED, State.UPLOADED, State.UNCLEAR, State.CREATED, State.ENDED)
"""States whose requests must not be bought again: an answer may still come."""

SENT = tuple(state for state in OPEN if state is not State.INTENDED)
"""Open states of a job that is, or may be, at the provider; one that is only intended surely is not."""


@dataclass(frozen=True)
class Job:
    """One batch on its way. ``reserved_usd`` is the bound held back until collection, then ``billed_usd``.

    Both are None where no price is known. ``scope`` is what a BUDGET caps: task, model, protocol and corpus.
    ``absent_at`` is the provider's time of a first complete listing in which an unclear job did not stand.
    ``part`` is the path of its answers, relative to the workspace; ``collected_at`` is when they came, by our clock;
    ``digests`` are the sha256 of that file and of the provider's, by their names.
    ``cancelling_at`` is when the provider was first seen stopping it. ``remade_at`` is the time of the list that
    lacked the job a second time, so that it was created anew; a job that turns up for the first create after all has
    a row of its own, whose ``twin_of`` names this one. The times of its life are the provider's; ``intended_at``, and
    the end of a job that is lost or refused, are ours.

    ``promised`` is how many answers the provider counts (or, where it counts none, the lines sent); ``looked_at`` the
    provider's time when its files were last found to hold fewer, ``accepted_at`` when the user gave those up. Of what
    is billed, ``at_bound_usd`` stands for requests of which nobody told what they used; ``unread`` requests have a
    reply that was not understood.
    """

    job: str
    venue: str
    account: str
    model: str
    run: str
    scope: str
    stage: int
    batch: int
    sha256: str
    n: int
    tokens: int
    reserved_usd: float | None
    state: State
    intended_at: datetime
    file_id: str | None = None
    provider_job: str | None = None
    created_at: datetime | None = None
    absent_at: datetime | None = None
    ended_at: datetime | None = None
    retain_until: datetime | None = None
    billed_usd: float | None = None
    answered: int | None = None
    part: str | None = None
    error: str | None = None
    collected_at: datetime | None = None
    cancelling_at: datetime | None = None
    remade_at: datetime | None = None
    twin_of: str | None = None
    promised: int | None = None
    looked_at: datetime | None = None
    accepted_at: datetime | None = None
    at_bound_usd: float | None = None
    unread: int | None = None
    digests: dict[str, str] = field(default_factory=dict, hash=False)


@dataclass(frozen=True)
class Approval:
    """The user's yes to a run: all that it may ever cost. ``bound_usd`` is None when no price is known.

    ``budget_usd`` caps what all runs of the scope may have cost when this one buys more. ``is_withdrawn`` when
    the user has cancelled the run: nothing of it is sent any more until the next yes. ``instances`` is set where the
    yes was to so many of the first instances only: a pilot.
    """

    run: str
    bound_usd: float | None
    at: datetime
    budget_usd: float | None = None
    is_withdrawn: bool = False
    instances: int | None = None


@dataclass(frozen=True)
class Spent:
    """Money of collected jobs, and money held back for open ones (USD); what has no price counts as nothing.

    ``is_known`` says whether every job had a price: only then is it all that was spent. ``at_bound_usd`` is the part
    of what was billed that may have been less: with it, the sum is an upper bound.
    """

    billed_usd: float
    reserved_usd: float
    is_known: bool = True
    at_bound_usd: float = 0.0

    @property
    def total_usd(self) -> float:
        """What may be gone in the worst case."""
        return self.billed_usd + self.reserved_usd

    @property
    def is_bound(self) -> bool:
        """Whether what was billed may have been less."""
        return self.at_bound_usd > 0
