"""batches and jobs: what to buy, packed, its money held back, and sent in an order that survives any crash.

intend (one ledger row) -> upload -> create, once -> record. All of it under the workspace lock.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import polars as pl

from runner.chain.files import write_frame, written
from runner.chain.journal import Point, reached
from runner.chain.prices import bound_price_at, with_bound
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import room_usd, to_buy
from runner.errors import RunnerError
from runner.ledger import OPEN, Job, Ledger, State
from runner.packing import FIRST_BATCH, SAFE_SHARE, Items, pack
from runner.providers.base import JobStatus, Limits, Listing, NotCreated, Provider, Unclear, Unreachable
from runner.reporting.words import usd
from runner.request import Body, RequestId

Say = Callable[[str], None]

TAKEN = timedelta(minutes=5)
"""How long to leave a queue alone that other work has filled: every refused batch is an upload for nothing."""
ABSENCE = timedelta(seconds=60)
"""Two complete listings at least this far apart by the provider's clock prove that a job was not created."""
LOOK_BACK = timedelta(hours=48)
"""How far before the intent a listing reads: wider than any clock of ours can be wrong."""


@dataclass(frozen=True)
class Bought:
    """What one call sent, what still waits, why it waits, and whether time alone helps."""

    sent: int
    waiting: int
    reason: str | None = None
    passes: bool = False


def buy(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    run: Run,
    stage: int,
    now: datetime,
    say: Say,
) -> Bought:
    """Send as much of the run as its approval, its pilot and the model's queue allow now."""
    wanted = with_bound(to_buy(workspace, ledger, run, stage), bound_price_at(run, now))
    if wanted.is_empty():
        return Bought(0, 0)
    approval = ledger.approval(run.name)
    if approval is None:
        return Bought(0, wanted.height, "not approved yet: `make submit` shows the cost and asks")
    is_pilot, hold = _pilot(ledger, run)
    if hold:
        return Bought(0, wanted.height, "the first small batch must come back before the rest is bought", passes=True)
    affordable = _affordable(wanted, room_usd(ledger, run, approval))
    if affordable.is_empty():
        return Bought(0, wanted.height, "the approved bound is reached: `make submit` (or a higher BUDGET) buys more")
    limits = provider.limits(run.asked.model)
    queue = queue_limit(ledger, run, limits)
    candidates = _fitting(affordable, queue, _queued(ledger, run))
    if candidates.is_empty() or _taken_by_others(ledger, run, now):
        full = f"the provider's queue for {run.asked.model} ({queue or 0:,} tokens) is full"
        return Bought(0, wanted.height, full, passes=True)
    sizes = _encoded_sizes(workspace, provider, run, stage, candidates)
    columns = candidates.select("tokens", pl.col("instance").cast(pl.String))
    items = Items(sizes, columns["tokens"].to_list(), columns["instance"].to_list())
    packed = pack(items, limits, queue_tokens=queue, first_batch_max=FIRST_BATCH if is_pilot else None)
    for index, reason in packed.too_large:
        say(f"Request {candidates['request_id'][index]} fits no batch and was not sent: {reason}.")
    blocks = packed.batches[:1] if is_pilot else packed.batches
    sent = 0
    for block in blocks:
        chosen = candidates[list(block)]
        job = _write_and_intend(workspace, ledger, provider, run, stage, chosen, now)
        job = send(workspace, ledger, provider, job, say)
        if job.state is not State.CREATED:
            return Bought(sent, wanted.height - sent, _why_not(job), passes=True)
        sent += chosen.height
        spent = "" if job.reserved_usd is None else f", at most {usd(job.reserved_usd)}"
        say(
            f"Submitted batch {job.batch}: {job.n:,} requests, {job.tokens:,} input tokens{spent} ({job.provider_job})."
        )
    waiting = wanted.height - sent
    why = None
    if waiting:
        why = "the first small batch goes ahead" if is_pilot else "the queue or the approved bound is full"
    return Bought(sent, waiting, why, passes=sent > 0)


def _why_not(job: Job) -> str:
    if job.state is State.UNCLEAR:
        return f"the answer to creating batch {job.batch} was lost; the provider's list decides (`make collect`)"
    return job.error or "the provider could not take a batch just now"


def _pilot(ledger: Ledger, run: Run) -> tuple[bool, bool]:
    """Whether this model has never answered this task here, and whether its first batch is still out."""
    others = [
        job
        for job in ledger.jobs(venue=run.asked.venue, model=run.asked.model)
        if job.run.split("__", 1)[0] == run.asked.task
    ]
    if any(job.answered for job in others):
        return False, False
    return True, any(job.state in OPEN for job in others)


def _affordable(wanted: pl.DataFrame, room: float | None) -> pl.DataFrame:
    """The longest prefix of whole instances whose bound stays in what is left."""
    if room is None:
        return wanted
    return _whole_instances(wanted, wanted["bound_usd"].fill_null(0.0).cum_sum() <= room + 1e-9)


def _fitting(wanted: pl.DataFrame, queue: int | None, queued: int) -> pl.DataFrame:
    """The longest prefix of whole instances that the queue has room for; an empty queue takes part of one."""
    if queue is None:
        return wanted
    # A margin where others are queued: the provider's own count differs from ours by chat overhead.
    fits = wanted["tokens"].cum_sum() <= (int(queue * SAFE_SHARE) - queued if queued else queue)
    whole = _whole_instances(wanted, fits)
    return wanted.filter(fits) if whole.is_empty() and not queued else whole


def _taken_by_others(ledger: Ledger, run: Run, now: datetime) -> bool:
    since = ledger.learned_at(run.asked.venue, run.asked.model, "queue_taken")
    return since is not None and now - since < TAKEN


def _whole_instances(wanted: pl.DataFrame, fits: pl.Series) -> pl.DataFrame:
    if fits.all():
        return wanted
    first_out = wanted.filter(~fits)["instance"][0]
    return wanted.filter(fits & (wanted["instance"] != first_out))


def queue_limit(ledger: Ledger, run: Run, limits: Limits) -> int | None:
    """The model's queue in tokens: what the provider itself told, else the registry's figure."""
    learned = ledger.learned(run.asked.venue, run.asked.model, "queue_tokens")
    return limits.queue_tokens if learned is None else learned


def _queued(ledger: Ledger, run: Run) -> int:
    open_jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model, states=OPEN)
    return sum(job.tokens for job in open_jobs)


def _bodies(workspace: Workspace, run: Run, stage: int, chosen: pl.DataFrame) -> pl.DataFrame:
    path = Folders(workspace, run.name).bodies(stage)
    ids = chosen.select("request_id").lazy()
    return pl.scan_parquet(path).select("request_id", "body").join(ids, on="request_id", how="semi").collect()


def _encoded_sizes(
    workspace: Workspace, provider: Provider, run: Run, stage: int, candidates: pl.DataFrame
) -> list[int]:
    """Bytes of each request's line as it will be sent, without its newline; a slice of texts at a time."""
    sizes: dict[str, int] = {}
    for part in candidates.iter_slices(5_000):
        for request_id, body in _bodies(workspace, run, stage, part).iter_rows():
            sizes[request_id] = len(provider.encode(request_id, run.asked.model, Body.from_json(body)))
    return [sizes[request_id] for request_id in candidates["request_id"]]


def _write_and_intend(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    run: Run,
    stage: int,
    chosen: pl.DataFrame,
    now: datetime,
) -> Job:
    """Write the batch as it will be sent, in prefix order, and the one row that says so."""
    folders = Folders(workspace, run.name)
    number = ledger.next_batch(run.name, stage)
    path = folders.batch(stage, number)
    digest = hashlib.sha256()
    # Prompts that begin alike stand together: providers cache what neighbours share.
    in_prefix_order = _bodies(workspace, run, stage, chosen).sort("body")
    with written(path) as temporary, temporary.open("wb") as file:
        for request_id, body in in_prefix_order.iter_rows():
            line = provider.encode(RequestId(request_id), run.asked.model, Body.from_json(body)) + b"\n"
            digest.update(line)
            file.write(line)
    write_frame(folders.batch_ids(stage, number), in_prefix_order.select("request_id"))
    reached(Point.PACKED)
    priced = chosen["bound_usd"].null_count() == 0
    job = Job(
        job=f"{run.name.rsplit('__', 1)[1]}-{stage}-{number:04d}-{secrets.token_hex(4)}",
        venue=run.asked.venue,
        account=provider.account,
        model=run.asked.model,
        run=run.name,
        scope=run.asked.scope,
        stage=stage,
        batch=number,
        sha256=digest.hexdigest(),
        n=chosen.height,
        tokens=int(chosen["tokens"].sum()),
        reserved_usd=float(chosen["bound_usd"].sum()) if priced else None,
        state=State.INTENDED,
        intended_at=now,
    )
    ledger.intend(job)
    reached(Point.INTENDED)
    return job


def send(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, say: Say) -> Job:
    """Upload and create an intended job. Returns it as created, as unclear, or as intended for a later try.

    Raises RunnerError when the provider refuses it: nothing was bought, the job is closed.
    """
    if job.account != provider.account:
        raise RunnerError(
            f"Batch {job.batch} of {job.run} was begun with another key; creating it again needs that key, "
            f"or it could be bought twice."
        )
    path = Folders(workspace, job.run).batch(job.stage, job.batch)
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
        say(f"Batch {job.batch} could not be sent ({error}); nothing was bought, and the next try sends it.")
        return ledger.move(job, State.INTENDED, error=f"{job.venue} cannot be reached: {error}")
    except NotCreated as refusal:
        if refusal.retry_later:
            say(f"The provider takes no new batch just now: {refusal.sentence}")
            # Twice the same no may be about the file (expired, lost): the next try sends it again.
            file_id = None if job.error == refusal.sentence else job.file_id
            return ledger.move(job, State.INTENDED, error=refusal.sentence, file_id=file_id)
        ledger.move(job, State.CLOSED, error=refusal.sentence, billed_usd=0.0)
        raise RunnerError(
            f"The provider refused batch {job.batch} of {job.run}: {refusal.sentence} Nothing was bought.",
            code=refusal.code or "not_created",
            exit_code=1,
        ) from None
    except Unclear as doubt:
        say(f"The answer to creating batch {job.batch} was lost ({doubt}); it will be looked for before anything else.")
        return ledger.move(job, State.UNCLEAR, error=str(doubt))
    job = ledger.move(job, State.CREATED, provider_job=provider_job, created_at=datetime.now(UTC), error=None)
    reached(Point.CREATED)
    return job


def resolve(workspace: Workspace, ledger: Ledger, provider: Provider, job: Job, say: Say) -> Job:
    """Find out what became of a job whose submission was cut short; create it only when it surely is not there.

    ``intended`` was never created: it is sent. ``uploaded`` and ``unclear`` may have been: the provider's whole
    list is read; absent twice, 60 s apart by its own clock, means not created.
    """
    if job.state is State.INTENDED:
        return send(workspace, ledger, provider, job, say)
    listing = provider.jobs(job.intended_at - LOOK_BACK)
    if found := ours(job, listing):
        return _adopt(ledger, job, found, say)
    if job.account != provider.account:
        raise RunnerError(
            f"Batch {job.batch} of {job.run} was begun with another key (or project), and only its list can tell "
            f"whether it was created; set that one."
        )
    if job.absent_at is None:
        say(
            f"Batch {job.batch} of {job.run} was cut short; the provider's list does not have it. "
            f"A second look, 60 s later, decides (`make collect`)."
        )
        return ledger.move(job, job.state, absent_at=listing.at)
    if listing.at - job.absent_at < ABSENCE:
        return job
    say(f"Batch {job.batch} of {job.run} was not created (two complete listings); creating it now.")
    return send(workspace, ledger, provider, ledger.move(job, State.INTENDED, absent_at=None), say)


def ours(job: Job, listing: Listing) -> list[JobStatus]:
    """The jobs of a list that are this one, by our tag or by the input file that we had uploaded."""
    return [
        status
        for status in listing.jobs
        if status.tag == job.job or (job.file_id is not None and status.file_id == job.file_id)
    ]


def _adopt(ledger: Ledger, job: Job, found: Iterable[JobStatus], say: Say) -> Job:
    first, *others = sorted(found, key=lambda status: status.created_at or status.at)
    say(f"Batch {job.batch} of {job.run} had been created ({first.provider_job}); taken up again.")
    for other in others:
        say(f"The provider also lists {other.provider_job} for it: a double; cancel it there.")
    return ledger.move(job, State.CREATED, provider_job=first.provider_job, created_at=first.created_at, error=None)
