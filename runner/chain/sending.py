"""One job on its way: intend -> upload -> create, once -> record; and after a crash, what became of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import polars as pl

from runner.chain.files import is_whole, write_frame
from runner.chain.journal import Point, reached
from runner.chain.prices import bound_of
from runner.chain.queues import learn, queue_of
from runner.chain.runs import Folders, Run, Workspace, new_name
from runner.chain.standing import REFUSED
from runner.chain.stock import answered, known_ids
from runner.chain.stuck import NOBODY, foreign, is_foreign
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.providers.base import ACCOUNT_TROUBLE, JobStatus, Listing, NotCreated, Provider, Unclear, Unreachable

Say = Callable[[str], None]

ABSENCE = timedelta(seconds=60)
"""Two complete listings at least this far apart by the provider's clock prove that a job was not created."""
LOOK_BACK = timedelta(hours=48)
"""How far before the intent a listing reads: wider than any clock of ours can be wrong."""
EVER = datetime(2020, 1, 1, tzinfo=UTC)
"""Older than every batch API."""
GUESSED = "taken for it by its size; its results will tell"
"""The error of a job that may be a stranger's."""


def new_job(run: Run, account: str, stage: int, batch: int, bounded: pl.DataFrame, at: datetime) -> Job:
    """The ledger's row for a batch of these requests (with their bounds), intended at ``at``."""
    return Job(
        job=new_name(run.name, stage, batch),
        venue=run.asked.venue,
        account=account,
        model=run.asked.model,
        run=run.name,
        scope=run.asked.scope,
        stage=stage,
        batch=batch,
        sha256="",
        n=bounded.height,
        tokens=int(bounded["tokens"].sum()),
        reserved_usd=bound_of(bounded),
        state=State.INTENDED,
        intended_at=at,
    )


def send(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, now: datetime, say: Say) -> Job:
    """Upload and create an intended job. Returns it as created, as unclear, or as intended for a later try.

    Raises RunnerError when the provider refuses it: nothing was bought, and the job is closed, or, where it is the key
    that was refused, waits for another one.
    """
    if job.account != provider.account:  # only intended, so surely created nowhere: this key may send it
        job = ledger.move(job, State.INTENDED, account=provider.account, file_id=None)
    path = Folders(workspace, job.run).batch(job.stage, job.batch)
    if job.file_id is None and not is_whole(path, job.sha256):
        say(f"{path.relative_to(workspace.root)} is not what was written: it is not sent, but packed anew.")
        return _close(ledger, provider, job, "its file was damaged before it was sent")
    try:
        if job.file_id is None:
            job = replace(job, file_id=provider.upload(path, job.job))
            reached(Point.FILE_SENT)
        # From this row on the job may exist: after a crash the provider's list is read before anything else.
        job = ledger.move(job, State.UPLOADED, file_id=job.file_id, absent_at=None)
        reached(Point.UPLOADED)
        provider_job = provider.create(job.model, job.file_id or path, job.job)
        reached(Point.JOB_SENT)
    except Unreachable as error:
        why = f"{job.venue} {'refuses the key' if error.is_refusal else 'cannot be reached'}: {error}"
        job = ledger.move(job, State.INTENDED, error=why)
        if error.is_refusal:  # which no waiting mends
            raise RunnerError(
                f"batch {job.batch} of {job.run} is not sent: {why}. Nothing was bought; `make collect` tries again.",
                code="not_sent",
                exit_code=1,
            ) from None
        say(f"Batch {job.batch} of {job.run} is not sent: {why}. Nothing was bought; the next try sends it.")
        return job
    except NotCreated as refusal:
        return _refused(ledger, provider, job, refusal, now, say)
    except Unclear as doubt:
        say(f"The answer to creating batch {job.batch} was lost ({doubt}); it will be looked for before anything else.")
        return ledger.move(job, State.UNCLEAR, error=str(doubt))
    job = ledger.move(job, State.CREATED, provider_job=provider_job, error=None)
    reached(Point.CREATED)
    return job


def _refused(ledger: Ledger, provider: Provider, job: Job, refusal: NotCreated, now: datetime, say: Say) -> Job:
    """A clear no: for a while, for this size of batch, or for good."""
    if not refusal.retry_later:
        # An account without money takes it when there is some: that needs no new yes.
        lasts = refusal.code not in ACCOUNT_TROUBLE
        _close(ledger, provider, job, (REFUSED if lasts else "") + refusal.sentence, ended_at=now if lasts else None)
        raise RunnerError(
            f"The provider refused batch {job.batch} of {job.run}: {refusal.sentence} Nothing was bought"
            f"{'; `make submit` tries it again' if lasts else ''}.",
            code=refusal.code or "not_created",
            exit_code=1,
        )
    if refusal.learned_queue_tokens is not None:
        learn(ledger, job, refusal.learned_queue_tokens, now, say)
    say(f"The provider takes no new batch just now: {refusal.sentence}")
    if refusal.is_full:
        # Rate limits have been seen on creates that had worked: the list is read before the next one.
        return ledger.move(job, State.UNCLEAR, error=refusal.sentence)
    # Twice the same no may be about the file (expired, lost): the next try sends it again.
    file_id = None if job.error == refusal.sentence else job.file_id
    return ledger.move(job, State.INTENDED, error=refusal.sentence, file_id=file_id)


def resolve(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, now: datetime, say: Say) -> Job:
    """Find out what became of a job whose submission was cut short; create it only when it surely is not there.

    ``intended`` was never created: it is sent. ``uploaded`` and ``unclear`` may have been: the provider's whole
    list is read; absent twice, 60 s apart by its own clock, means not created. A job of a cancelled run is not
    sent any more, but closed.
    """
    withdrawn = ledger.is_withdrawn(job.run)
    if job.state is State.INTENDED:
        if withdrawn or _is_superfluous(workspace, ledger, job):
            return close_unsent(ledger, provider, job)
        if not provider.names_jobs and is_looking(ledger, job.venue, provider.account):
            return job
        return send(workspace, ledger, provider, job, now, say)
    listing = provider.jobs(EVER if job.account == NOBODY else job.intended_at - LOOK_BACK)
    if found := _found(ledger, provider, job, listing):
        return _adopt(workspace, ledger, provider, job, found, say)
    if not provider.names_jobs and _is_held(ledger, job, listing):
        return job
    if job.account == NOBODY and _is_answered(workspace, ledger, job):
        return _close(ledger, provider, job, "answered by other jobs")
    if is_foreign(job, provider):
        raise RunnerError(foreign(job, "begun"))
    if job.absent_at is None:
        say(
            f"The provider's list does not have batch {job.batch} of {job.run}; a second look, 60 s later, decides "
            f"(`make collect`)."
        )
        return ledger.move(job, job.state, absent_at=listing.at)
    if listing.at - job.absent_at < ABSENCE:
        return job
    job = ledger.move(job, State.INTENDED, absent_at=None, remade_at=listing.at)
    if withdrawn or _is_superfluous(workspace, ledger, job):
        return close_unsent(ledger, provider, job)
    limits = provider.limits(job.model)
    most = queue_of(ledger, job.venue, job.account, job.model, limits, now).most_tokens
    if most is not None and job.tokens > most and job.n > 1:
        say(f"Batch {job.batch} of {job.run} is larger than the queue; it is packed anew.")
        return close_unsent(ledger, provider, job)
    say(f"Batch {job.batch} of {job.run} was not created (two complete listings); creating it now.")
    return send(workspace, ledger, provider, job, now, say)


def is_looking(ledger: Ledger, venue: str, account: str) -> bool:
    """Whether some job of the account may or may not have been created: one such at a time is enough."""
    doubtful = ledger.jobs(venue=venue, states=[State.UPLOADED, State.UNCLEAR])
    return any(job.account == account for job in doubtful)


def _is_superfluous(workspace: Workspace, ledger: Ledger, job: Job) -> bool:
    """Whether a job need not be sent: its batch was deleted, or something in it is answered or on its way since."""
    ids = known_ids(workspace, job)
    if ids is None or not Folders(workspace, job.run).batch(job.stage, job.batch).exists():
        return True
    if not answered(workspace, ledger, job.venue, job.model, ids).is_empty():
        return True
    others = [each for each in ledger.jobs(venue=job.venue, model=job.model, states=OPEN) if each.job != job.job]
    flying = [known_ids(workspace, each) for each in others]
    return any(each is None or each.is_in(ids.implode()).any() for each in flying)


def _is_answered(workspace: Workspace, ledger: Ledger, job: Job) -> bool:
    """Whether there is an answer to everything that a job asks: then it matters no more whether it was created."""
    ids = known_ids(workspace, job)
    return ids is not None and answered(workspace, ledger, job.venue, job.model, ids).len() == ids.n_unique()


def close_unsent(ledger: Ledger, provider: Provider, job: Job) -> Job:
    """Give up a job that was surely not created; its requests are free again."""
    return _close(ledger, provider, job, "given up before it was created")


def _close(ledger: Ledger, provider: Provider, job: Job, why: str, **changes: object) -> Job:
    if job.file_id and job.account == provider.account:
        with suppress(Unreachable):  # if that fails, it expires by itself
            provider.discard(job.file_id)
    return ledger.move(job, State.CLOSED, error=why, billed_usd=0.0, **changes)


def ours(ledger: Ledger, job: Job, listing: Listing) -> list[JobStatus]:
    """The jobs of a list that are this one: by our tag, or by the input file that we had uploaded.

    A host may give equal bytes one file id: a job that another row of the ledger holds is that row's.
    """
    taken = {each.provider_job for each in ledger.jobs(venue=job.venue) if each.job != job.job}
    return [
        status
        for status in listing.jobs
        if status.provider_job == job.provider_job
        or (status.tag == job.job and status.provider_job not in taken)
        or (job.file_id is not None and status.file_id == job.file_id and status.provider_job not in taken)
    ]


def _found(ledger: Ledger, provider: Provider, job: Job, listing: Listing) -> list[JobStatus]:
    """The jobs of a list that are, or at a venue without names may be, this one; the likeliest first.

    Where nothing names a job, one with as many requests that no row of the ledger knows is taken for it. The ids
    of its results decide when it has ended (``doubt``); until then nothing is created in its place.
    """
    if provider.names_jobs:
        return sorted(ours(ledger, job, listing), key=lambda status: status.created_at or status.at)
    known = {each.provider_job for each in ledger.jobs(venue=job.venue)} | ledger.refuted(job)
    alike = [each for each in listing.jobs if each.total == job.n and each.provider_job not in known]
    return sorted(alike, key=lambda status: abs((status.created_at or status.at) - job.intended_at))


def _is_held(ledger: Ledger, job: Job, listing: Listing) -> bool:
    """Whether a job as large is taken for another batch, which its results have yet to confirm."""
    held = {each.provider_job for each in ledger.jobs(venue=job.venue, states=OPEN) if each.error == GUESSED}
    alike = {each.provider_job for each in listing.jobs if each.total == job.n}
    return bool((held & alike) - ledger.refuted(job))


def _adopt(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, found: list[JobStatus], say: Say) -> Job:
    first, *others = found
    if provider.names_jobs:
        say(f"Batch {job.batch} of {job.run} had been created ({first.provider_job}); taken up again.")
        for other in others:
            _take_twin(workspace, ledger, job, other, None, say)
    else:
        say(
            f"Batch {job.batch} of {job.run} is taken for {first.provider_job}, which has as many requests and a "
            f"fitting time; its results will tell, and until then it is not created again."
        )
    return ledger.move(
        job,
        State.CREATED,
        provider_job=first.provider_job,
        created_at=first.created_at,
        absent_at=None,
        error=None if provider.names_jobs else GUESSED,
    )


def look_for_twin(
    workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, status: JobStatus, say: Say
) -> Job:
    """Look once more for the first job of a batch that was created twice: a list that lags may have hidden it.

    Until this one has ended, at each look at it. What is found has a row of its own, which holds its money back.
    """
    listing = provider.jobs(job.intended_at - LOOK_BACK)
    found = [each for each in _found(ledger, provider, job, listing) if each.provider_job != job.provider_job]
    if provider.names_jobs:
        for twin in found:
            _take_twin(workspace, ledger, job, twin, None, say)
    elif not any(each.twin_of == job.job for each in ledger.jobs(run=job.run, states=OPEN)):
        earlier = [each for each in found if each.created_at and job.remade_at and each.created_at <= job.remade_at]
        for twin in earlier[:1]:  # one create was lost, so one of them at most is ours
            _take_twin(workspace, ledger, job, twin, GUESSED, say)
    return ledger.move(job, job.state, remade_at=None) if status.state.has_ended else job


def _take_twin(workspace: Workspace, ledger: Ledger, job: Job, twin: JobStatus, doubts: str | None, say: Say) -> None:
    """Enter a double of a job: both may be billed, and what both answer is kept."""
    say(f"The provider also lists {twin.provider_job} for batch {job.batch} of {job.run}: both count until they end.")
    number = ledger.next_batch(job.run, job.stage)
    ids = known_ids(workspace, job)
    if ids is not None:
        write_frame(Folders(workspace, job.run).batch_ids(job.stage, number), ids.to_frame("request_id"))
    ledger.intend(
        replace(
            job,
            job=new_name(job.run, job.stage, number),
            batch=number,
            sha256="",
            state=State.CREATED,
            file_id=None,
            provider_job=twin.provider_job,
            created_at=twin.created_at,
            absent_at=None,
            ended_at=twin.at if twin.state.has_ended else None,
            error=doubts,
            remade_at=None,
            twin_of=job.job,
        )
    )


def is_double(ledger: Ledger, job: Job) -> bool:
    """Whether another job answers the same: a twin is stopped, and so is one whose twin has ended already."""
    return job.twin_of is not None or any(
        each.twin_of == job.job and each.ended_at and each.error != GUESSED for each in ledger.jobs(run=job.run)
    )


def doubt(ledger: Ledger, job: Job, say: Say) -> Job:
    """The job that was taken for this one answered other requests: it goes on being looked for."""
    assert job.provider_job is not None
    say(f"{job.provider_job} answers other requests than batch {job.batch} of {job.run}: it was not that one.")
    ledger.refute(job, job.provider_job)
    if job.twin_of:
        for first in ledger.jobs(job=job.twin_of):
            ledger.refute(first, job.provider_job)
        return ledger.move(job, State.CLOSED, error="it was somebody else's", billed_usd=0.0)
    return ledger.move(
        job, State.UNCLEAR, provider_job=None, created_at=None, ended_at=None, absent_at=None, error=None
    )
