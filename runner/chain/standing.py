"""Where a run stands, by the files and the ledger alone, and what keeps it from going on by itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import polars as pl

from runner.chain.deleted import fetched_blindly, unknown_jobs
from runner.chain.pilot_check import pilot_loss, unread_loss
from runner.chain.prices import bound_price_at, with_bound
from runner.chain.queues import whole_instances
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.chain.stock import Out, answered, has_part, known_ids, out, request_ids, room_usd, to_buy, unread
from runner.ledger import OPEN, Approval, Job, Ledger, State
from runner.providers.base import JobStatus
from runner.request import Status

PILOT = "only a pilot is approved: `make estimate` rests on it (`make plan` after `make score`), `make submit` goes on"
BOUND = "the approved bound is reached: `make submit` (or a higher `BUDGET`) buys more"
"""What is said where nothing more may be bought without a new yes."""
LOST = "lost: "
"""How the error of a job begins whose answers can be had no more."""
WITHHELD = "withheld: "
"""How the error of an ended job begins that counts answers and gives none of them."""
REFUSED = "refused: "
"""How the error of a job begins that the provider did not take, and would not take another time."""
EMPTY_ENDINGS = 3
"""So many batches in a row that end without a row are no accident."""


@dataclass(frozen=True)
class OpenJob:
    """A job that is still out, with the provider's latest word on it (None when it has not been asked)."""

    job: Job
    status: JobStatus | None


@dataclass(frozen=True)
class Standing:
    """Where a run stands: unique requests, those finally answered, in flight and waiting, and what is next.

    ``in_flight`` is what jobs of its own have, or may have, brought to the provider, ``elsewhere`` how many of its
    requests those of other runs have; ``not_sent`` are in batches that did not get there, and ``unsent`` says why.
    ``problem`` is a sentence when the run cannot go on by itself; ``passes`` when time alone may help; ``needs_yes``
    when nothing more is bought until somebody approves of it.
    """

    run: Run
    total: int
    final: int
    in_flight: int
    open_jobs: tuple[OpenJob, ...]
    next: str
    problem: str | None = None
    passes: bool = False
    needs_yes: bool = False
    elsewhere: Mapping[str, int] = field(default_factory=dict)
    not_sent: int = 0
    unsent: str | None = None

    @property
    def is_complete(self) -> bool:
        """Whether every request has its final answer."""
        return self.final == self.total

    @property
    def is_moving(self) -> bool:
        """Whether waiting helps: something of ours is out or will be, and nothing stops the run."""
        waits = self.passes or self.is_in_flight or self.not_sent > 0
        return not self.is_complete and self.problem is None and waits

    @property
    def is_in_flight(self) -> bool:
        """Whether something of it is at the provider, whichever run's job brought it there."""
        return self.in_flight > 0 or bool(self.elsewhere)

    @property
    def waiting(self) -> int:
        """Requests in no batch yet."""
        return self.total - self.final - self.in_flight - sum(self.elsewhere.values()) - self.not_sent

    @property
    def trouble(self) -> str | None:
        """Why a command that wanted to go on with it has failed: it is stopped, or something of it was not sent."""
        return self.problem or self.unsent


def standing(
    workspace: Workspace,
    ledger: Ledger,
    run: Run,
    statuses: Mapping[str, JobStatus] | None = None,
    reason: str | None = None,
    problem: str | None = None,
    *,
    passes: bool = False,
    responses: pl.DataFrame | None = None,
) -> Standing:
    """Where a run stands; asks no provider. What was just learned from one, or read, is handed in."""
    ids = request_ids(Folders(workspace, run.name))
    venue, model = run.asked.venue, run.asked.model
    have = answered(workspace, ledger, venue, model, ids) if responses is None else responses["request_id"]
    final = have.n_unique()
    complete = final == ids.len()
    bought = out(workspace, ledger, run, ids)
    ours = bought.in_flight.len() + sum(bought.elsewhere.values())
    unsent = None if complete else _unsent(ledger, run, bought)
    problem = None if complete else problem or halted(workspace, ledger, run)
    approval, is_held = ledger.approval(run.name), False
    if problem:
        what_next = problem
    elif complete:
        what_next = "complete: `make score`"
    elif ledger.is_withdrawn(run.name) and ledger.jobs(run=run.name, states=OPEN):
        what_next = "cancelled; `make collect` takes home what the provider has answered"
    elif ledger.is_withdrawn(run.name):
        what_next = "cancelled; what was answered is kept: `make submit` shows what the rest costs and asks"
    elif unsent:
        what_next = f"{unsent}; `make collect` tries again"
    elif reason:
        what_next = reason
    elif not bought.not_sent.is_empty():
        what_next = f"{bought.not_sent.len():,} not sent yet: `make collect` sends them"
    elif bought.elsewhere:
        where = ", ".join(f"{n:,} in flight in {name}" for name, n in bought.elsewhere.items())
        what_next = f"{where}: `make collect`"
    elif ours:
        what_next = "waiting for the provider: `make collect`"
    elif arrived := _unread(workspace, ledger, run, ids):
        what_next = problem = arrived
    elif approval is None:
        what_next = "not approved yet: `make submit` shows the cost and asks"
    elif held := _held(workspace, ledger, run, approval):
        what_next, is_held = held, True
    else:
        what_next = "`make collect` submits the rest"
    open_jobs = ledger.jobs(venue=venue, model=model, states=OPEN)
    known = statuses or {}
    return Standing(
        run,
        ids.len(),
        final,
        bought.in_flight.len(),
        tuple(OpenJob(job, known.get(job.job)) for job in open_jobs),
        what_next,
        problem,
        passes,
        not complete
        and not ours
        and bought.not_sent.is_empty()
        and (approval is None or approval.is_withdrawn or is_held),
        bought.elsewhere,
        bought.not_sent.len(),
        unsent,
    )


def _unsent(ledger: Ledger, run: Run, bought: Out) -> str | None:
    """That batches were to be sent and were not; None where none was tried."""
    tried = ledger.jobs(venue=run.asked.venue, model=run.asked.model, states=[State.INTENDED])
    why = next((job.error for job in tried if job.run in bought.holders and job.error), None)
    return None if why is None else f"{bought.not_sent.len():,} requests are not sent: {why}"


def _held(workspace: Workspace, ledger: Ledger, run: Run, approval: Approval) -> str | None:
    """Why a new yes is needed, in words; None where something may be bought."""
    wanted = with_bound(to_buy(workspace, ledger, run, 1), bound_price_at(run, datetime.now(UTC)))
    may_buy, held = approved(ledger, run, approval, wanted)
    return held if may_buy.is_empty() else None


def approved(ledger: Ledger, run: Run, approval: Approval, wanted: pl.DataFrame) -> tuple[pl.DataFrame, str]:
    """Of what is to be bought, with its bounds, the longest prefix of whole instances that the yes still covers.

    With it comes what to say of the rest.
    """
    held = BOUND
    if approval.instances is not None:
        wanted, held = wanted.filter(pl.col("instance") < approval.instances), PILOT
    room = room_usd(ledger, run, approval)
    if room is None or wanted.is_empty():
        return wanted, held
    affordable = whole_instances(wanted, wanted["bound_usd"].fill_null(0.0).cum_sum() <= room + 1e-9)
    return affordable, held if affordable.height == wanted.height else BOUND


def halted(workspace: Workspace, ledger: Ledger, run: Run) -> str | None:
    """The sentence that stops a run until the user says so: answers lost or withheld, or replies that are of no use."""
    approval = ledger.approval(run.name)
    if approval is None:
        return None
    return (
        _unknown(workspace, ledger, run)
        or withheld(ledger, run)
        or _lost(workspace, ledger, run, approval)
        or _refusal(ledger, run, approval.at)
        or _empty_endings(workspace, ledger, run, approval.at)
        or unread_loss(workspace, ledger, run, approval.at)
        or pilot_loss(workspace, ledger, run, approval.at)
    )


def _unknown(workspace: Workspace, ledger: Ledger, run: Run) -> str | None:
    """Whether some job may hold requests of this run without anything here telling so."""
    for job in unknown_jobs(workspace, ledger, venue=run.asked.venue, model=run.asked.model):
        return fetched_blindly(job)
    return None


def withheld(ledger: Ledger, run: Run) -> str | None:
    """Of a job of the model that counts answers and gives none: only `accept` goes on without them."""
    for job in ledger.jobs(venue=run.asked.venue, model=run.asked.model, states=OPEN):
        if (job.error or "").startswith(WITHHELD):
            why = (job.error or "").removeprefix(WITHHELD)
            return (
                f"batch {job.batch} of {job.run} has ended, but {why}. Nothing more is bought of {job.model}: "
                f"`make collect` looks again, `make accept JOB={job.job}` gives those answers up and goes on."
            )
    return None


def _lost(workspace: Workspace, ledger: Ledger, run: Run, approval: Approval) -> str | None:
    """Whether answers of this run, or what may be some, were lost since the yes, whoever had bought them."""
    lost = [
        job
        for job in ledger.jobs(venue=run.asked.venue, model=run.asked.model)
        if (job.error or "").startswith(LOST) and job.ended_at and job.ended_at > approval.at
    ]
    for job in lost:
        ids = known_ids(workspace, job)
        mine = request_ids(Folders(workspace, run.name))
        if job.run == run.name or ids is None or ids.is_in(mine.implode()).any():
            whose = "" if job.run == run.name else f" of {job.run}"
            return (
                f"batch {job.batch}{whose} ({job.n:,} requests) is {job.error}. Nothing of it is bought again unasked: "
                f"`make submit` shows what that costs."
            )
    return None


def _refusal(ledger: Ledger, run: Run, approved_at: datetime) -> str | None:
    """Whether the provider has refused a batch since, as it would refuse the next one."""
    for job in ledger.jobs(run=run.name):
        if (job.error or "").startswith(REFUSED) and job.ended_at and job.ended_at > approved_at:
            return f"batch {job.batch} was {job.error} It is not sent again unasked: `make submit` tries it."
    return None


def _empty_endings(workspace: Workspace, ledger: Ledger, run: Run, approved_at: datetime) -> str | None:
    """Whether the latest batches that came back since all ended before a single request was looked at."""
    back = {job.collected_at: job for job in ledger.jobs(run=run.name) if job.part and job.collected_at}
    latest = [back[at] for at in sorted(back) if at > approved_at][-EMPTY_ENDINGS:]
    if len(latest) < EMPTY_ENDINGS or not all(_is_empty(workspace, job) for job in latest):
        return None
    return (
        f"the latest {EMPTY_ENDINGS} batches expired or were cancelled without one row. Nothing more is bought "
        f"unasked: `make submit` goes on."
    )


def _is_empty(workspace: Workspace, job: Job) -> bool:
    if job.answered or not has_part(workspace, job):
        return False
    return set(pl.read_parquet(workspace.root / (job.part or ""), columns=["status"])["status"].unique()) <= {
        Status.EXPIRED,
        Status.CANCELLED,
    }


def _unread(workspace: Workspace, ledger: Ledger, run: Run, ids: pl.Series) -> str | None:
    """What to say of a run that lacks nothing but replies which arrived and are not understood."""
    odd = unread(workspace, ledger, run.asked.venue, run.asked.model)
    odd = odd.filter(odd.is_in(ids.implode()))
    if odd.is_empty() or not to_buy(workspace, ledger, run, 1).is_empty():
        return None
    return (
        f"{odd.len():,} replies arrived in a form that this version does not know: they were paid for and are not "
        f"bought again, and the table stays PARTIAL. A later version reads them at `make collect`."
    )


def open_runs(workspace: Workspace, ledger: Ledger) -> list[str]:
    """Runs with something to do: a job not closed, or an approval and answers to come; oldest approval first."""
    out = dict.fromkeys(job.run for job in ledger.jobs(states=[*OPEN, State.COLLECTED]))
    wanted = [
        name
        for name in ledger.approved_runs()
        if Folders(workspace, name).run_json.exists()
        and not ledger.is_withdrawn(name)
        and not standing(workspace, ledger, read_run(workspace, name)).is_complete
    ]
    return [name for name in dict.fromkeys([*wanted, *out]) if Folders(workspace, name).run_json.exists()]
