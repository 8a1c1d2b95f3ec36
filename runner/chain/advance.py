"""The one composer: salvage what ended -> submit what became possible. Idempotent; called again after any crash.

``submit`` is approve, then advance once; ``collect`` is advance; waiting is advance, repeated.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

from runner.chain import collect, received, sending, stock, submit
from runner.chain.deleted import unknown_jobs
from runner.chain.journal import Point, reached
from runner.chain.losses import Gap, is_due, is_patient
from runner.chain.queues import learn
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.chain.standing import LOST, WITHHELD, Standing, halted, standing
from runner.chain.stuck import foreign, give_up_words, is_foreign, name_of, overdue, stopping_since
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.providers.base import Gone, JobState, JobStatus, Provider, Unreachable
from runner.reporting.words import duration
from runner.venues import provider_of

Say = Callable[[str], None]
Connect = Callable[[str, str], Provider]
"""(provider, venue) -> the venue, opened. Raises RunnerError when there is no key or another base URL is set."""


@dataclass(frozen=True)
class Orders:
    """What the user wants done with jobs. One older than ``deadline`` is cancelled at the provider, what it has
    answered is kept, and the rest is sent again in smaller pieces. ``keep_files`` leaves uploaded inputs there.
    """

    deadline: timedelta | None = None
    keep_files: bool = False


def advance(
    workspace: Workspace,
    ledger: Ledger,
    names: Sequence[str],
    connect: Connect,
    now: datetime,
    say: Say,
    orders: Orders = Orders(),
) -> list[Standing]:
    """Do for the named runs whatever can be done now, and tell where each stands.

    Holds the workspace lock while it works and never while it waits, nor while result files arrive. Jobs of other
    runs at the same venue and model are collected too: their answers may be ours.
    """
    runs = [read_run(workspace, name) for name in names if Folders(workspace, name).run_json.exists()]
    visits: list[tuple[list[Run], _Visit | str]] = []
    with workspace.locked(say):
        asked = {(run.asked.provider, run.asked.venue, run.asked.model) for run in runs}
        blind = [job for job in unknown_jobs(workspace, ledger) if job.run in names]
        asked |= {(provider_of(job.venue), job.venue, job.model) for job in blind}
        for provider, venue, model in sorted(asked):
            together = [run for run in runs if (run.asked.venue, run.asked.model) == (venue, model)]
            try:
                visit = _Visit(
                    workspace, ledger, connect(provider, venue), venue, model, now, say, orders, frozenset(names)
                )
            except RunnerError as error:  # the others go on
                if not together:
                    say(error.sentence)
                visits.append((together, error.sentence))
                continue
            visit.settle()
            visits.append((together, visit))
    for _, each in visits:
        if isinstance(each, _Visit):
            each.download()
    standings = []
    with workspace.locked(say):
        for together, each in visits:
            if isinstance(each, _Visit):
                each.take_home()
                standings += [each.go_on(run) for run in together]
            else:
                standings += [standing(workspace, ledger, run, problem=each) for run in together]
    return standings


@dataclass
class _Visit:
    """One look at a model's jobs at a venue: what was learned on the way is told to its runs."""

    workspace: Workspace
    ledger: Ledger
    provider: Provider
    venue: str
    model: str
    now: datetime
    say: Say
    orders: Orders
    names: frozenset[str]
    problems: dict[str, str] = field(default_factory=dict)
    statuses: dict[str, JobStatus] = field(default_factory=dict)
    ended: list[tuple[Job, JobStatus]] = field(default_factory=list)
    found: dict[str, list[Path] | Exception] = field(default_factory=dict)

    def settle(self) -> None:
        """Take every job as far as it will go; trouble with one stops neither the others nor other runs."""
        for job in stock.lost_parts(self.workspace, self.ledger, self.venue, self.model):
            self._guarded(job, self._restore)
        seen: set[str] = set()
        while new := [job for job in self._unfinished() if job.job not in seen]:  # twins that are found on the way too
            for job in new:
                seen.add(job.job)
                self._guarded(job, self._step)
        for job in self.ledger.jobs(venue=self.venue, model=self.model):
            if job.unread:
                self._guarded(job, self._read_again)

    def _unfinished(self) -> list[Job]:
        return self.ledger.jobs(venue=self.venue, model=self.model, states=[*OPEN, State.COLLECTED])

    def download(self) -> None:
        """Fetch what ended: outside of the lock, for a download may take as long as it likes."""
        for job, _ in self.ended:
            try:
                self.found[job.job] = received.download(self.workspace, self.provider, job)
            except (Gone, Unreachable, RunnerError, OSError) as trouble:  # said when the lock is held again
                self.found[job.job] = trouble

    def take_home(self) -> None:
        """Keep what was fetched, unless another process has done so meanwhile."""
        for job, status in self.ended:
            [job] = self.ledger.jobs(job=job.job)
            if job.state is State.ENDED and job.provider_job == status.provider_job:
                self._guarded(job, partial(self._salvage, status=status))
            received.sweep(self.workspace, job, str(os.getpid()))

    def _guarded(self, job: Job, work: Callable[[Job], None]) -> None:
        try:
            work(job)
        except (RunnerError, OSError) as trouble:
            self.problems[job.run] = _sentence(trouble)
            if job.run not in self.names or not Folders(self.workspace, job.run).run_json.exists():
                self.say(_sentence(trouble))
        except Unreachable as trouble:
            if trouble.is_refusal:
                self.problems[job.run] = f"{self.venue} refuses the key: {trouble}"
            self.say(f"Batch {job.batch} of {job.run}: the provider could not be asked just now: {trouble}")

    def _restore(self, job: Job) -> None:
        """Answers that were deleted from the disk were paid for: read or fetch them again, never buy them again."""
        self.say(f"{job.part} is gone or damaged; reading it again from what was fetched, or fetching it again.")
        if not collect.restore(self.workspace, self.ledger, self.provider, job, self.say):
            self.ledger.move(job, State.CREATED, part=None)  # and so it is asked about like any other

    def _read_again(self, job: Job) -> None:
        collect.read_again(self.workspace, self.ledger, self.provider, job, self.say)

    def _step(self, job: Job) -> None:
        if job.state in (State.INTENDED, State.UPLOADED, State.UNCLEAR):
            job = sending.resolve(self.workspace, self.ledger, self.provider, job, self.now, self.say)
        if job.state is State.COLLECTED:
            self._close(job)
        elif job.state in (State.CREATED, State.ENDED) and job.provider_job:
            self._ask(job, job.provider_job)

    def _close(self, job: Job) -> None:
        collect.close(self.ledger, self.provider, job, keep_files=self.orders.keep_files)

    def _ask(self, job: Job, provider_job: str) -> None:
        try:
            status = self.provider.status(provider_job)
        except Gone:
            self._search(job)
            return
        self.statuses[job.job] = status
        if job.absent_at is not None or job.created_at is None:
            made = job.created_at or status.created_at or status.at
            job = self.ledger.move(job, job.state, absent_at=None, created_at=made)
        if job.remade_at is not None:
            job = sending.look_for_twin(self.workspace, self.ledger, self.provider, job, status, self.say)
        if not status.state.has_ended:
            if status.error:
                self.say(f"Batch {job.batch} of {job.run}: {status.error}")
            self._watch(job, status)
            return
        if status.learned_queue_tokens is not None:
            learn(self.ledger, job, status.learned_queue_tokens, self.now, self.say)
        if job.state is State.CREATED:
            job = self.ledger.move(
                job,
                State.ENDED,
                created_at=status.created_at or job.created_at,
                ended_at=status.at,
                retain_until=status.retain_until,
            )
            reached(Point.ENDED)
        if is_due(job, status.at):
            self.ended.append((job, status))

    def _watch(self, job: Job, status: JobStatus) -> None:
        """A running job: cancel it where that is wanted, and say it where no end is to be expected of it."""
        if status.is_cancelling:
            job = stopping_since(self.ledger, job, status.at)
        was_asked = job.cancelling_at is not None
        is_stopping = self._cut(job, status)
        if (why := overdue(job, status)) and (was_asked or not is_stopping):
            stop = "" if was_asked else "`make collect DEADLINE=20h` cancels it and keeps what it has answered, "
            self.problems[job.run] = f"{name_of(job)} {why}: {stop}{give_up_words(job)}."

    def _cut(self, job: Job, status: JobStatus) -> bool:
        """Cancel a running job of a cancelled run, or one past the deadline; its end is salvaged like any other.

        Tells whether it was asked to stop just now.
        """
        age = status.at - (status.created_at or job.created_at or job.intended_at)
        is_late = self.orders.deadline is not None and age > self.orders.deadline and job.run in self.names
        is_double = sending.is_double(self.ledger, job)
        if status.is_cancelling or not (is_late or is_double or self.ledger.is_withdrawn(job.run)):
            return False
        if job.error == sending.GUESSED:
            self.say(f"{status.provider_job} may be a stranger's: it is not cancelled before its results tell.")
            return False
        self.provider.cancel(status.provider_job)
        stopping_since(self.ledger, job, status.at)
        why = f"it is {duration(age.total_seconds())} old" if is_late else "its run is cancelled"
        why = "another job asks the same" if is_double else why
        self.say(f"Cancelling batch {job.batch} of {job.run} ({why}); what it has answered is kept.")
        return True

    def _salvage(self, job: Job, status: JobStatus) -> None:
        patient = is_patient(job, status.at)
        found = self.found[job.job]
        try:
            if isinstance(found, Exception):
                raise found
            job = collect.salvage(
                self.workspace, self.ledger, self.provider, job, status, found, self.say, patient=patient
            )
        except collect.Short as gap:
            self.ledger.move(job, job.state, looked_at=status.at)
            reached(Point.LOOKED)
            self.say(f"Batch {job.batch} of {job.run}: {gap}; it is looked at again 1, 5 and 15 minutes after its end.")
            return
        except collect.Withheld as none:
            self._withhold(job, status, none.gap)
            return
        except Gone as gone:
            self._lose(job, f"the provider gives no results any more ({gone})")
            return
        except collect.NotOurs:
            sending.doubt(self.ledger, job, self.say)
            return
        received.sweep(self.workspace, job)
        self._close(job)
        trouble = collect.account_trouble(self.workspace, job)
        if trouble:
            self.problems[job.run] = f"Nothing in batch {job.batch} was answered: {trouble}"
        if status.state is JobState.FAILED and status.learned_queue_tokens is None and job.part is None:
            self.problems[job.run] = f"The provider failed batch {job.batch}: {status.error or 'no reason given'}"

    def _withhold(self, job: Job, status: JobStatus, gap: Gap) -> None:
        """Keep an ended job, its requests and its money, until its answers come or the user gives them up."""
        why = f"{WITHHELD}it counts {gap.promised:,} answers and gives none of them"
        self.ledger.move(job, job.state, error=why, promised=gap.promised, looked_at=status.at)
        reached(Point.WITHHELD)

    def _search(self, job: Job) -> None:
        """A job that the provider does not know: too new to be seen, another account's, or lost."""
        if is_foreign(job, self.provider):
            raise RunnerError(foreign(job, "created"))
        listing = self.provider.jobs(job.intended_at - sending.LOOK_BACK)
        if sending.ours(self.ledger, job, listing):
            return
        if job.absent_at is None:
            self.say(f"The provider does not know {job.provider_job} just now; a second look, 60 s later, decides.")
            self.ledger.move(job, job.state, absent_at=listing.at)
        elif listing.at - job.absent_at >= sending.ABSENCE:
            self._lose(job, f"{self.venue} does not know {job.provider_job} any more")

    def _lose(self, job: Job, why: str) -> None:
        """Close a job whose answers can be had no more. It counts as paid, for it may have been."""
        self.ledger.move(
            job,
            State.CLOSED,
            error=LOST + why,
            billed_usd=job.reserved_usd,
            at_bound_usd=job.reserved_usd,
            ended_at=self.now,
        )
        self.say(f"Batch {job.batch} of {job.run} is {LOST}{why}.")

    def go_on(self, run: Run) -> Standing:
        """Buy what became possible, unless something stops the run."""
        problem = self.problems.get(run.name) or halted(self.workspace, self.ledger, run)
        bought = submit.Bought(0, 0)
        if problem is None:
            try:
                bought = submit.buy(self.workspace, self.ledger, self.provider, run, 1, self.now, self.say)
            except (RunnerError, OSError) as trouble:
                problem = _sentence(trouble)
        if problem is None and self.problems and not bought.sent:
            problem = self._trouble_elsewhere(run)
        responses = stock.write_responses(self.workspace, self.ledger, run)
        return standing(
            self.workspace,
            self.ledger,
            run,
            self.statuses,
            bought.reason,
            problem,
            passes=bought.passes,
            responses=responses,
        )

    def _trouble_elsewhere(self, run: Run) -> str | None:
        """What stops another run whose open jobs hold all that this one still waits for."""
        out = self.ledger.jobs(venue=self.venue, model=self.model, states=OPEN)
        mine = stock.request_ids(Folders(self.workspace, run.name)).implode()
        asked = [(job, stock.known_ids(self.workspace, job)) for job in out]
        holders = [job for job, ids in asked if ids is not None and ids.is_in(mine).any()]
        stuck = [job.run for job in holders if job.run in self.problems]
        return self.problems[stuck[0]] if stuck and len(stuck) == len(holders) else None


def _sentence(trouble: RunnerError | OSError) -> str:
    if isinstance(trouble, RunnerError):
        return trouble.sentence
    where = f" ({trouble.filename})" if trouble.filename else ""
    return f"The system said: {trouble.strerror or trouble}{where}. Nothing that was bought is lost; run it again."
