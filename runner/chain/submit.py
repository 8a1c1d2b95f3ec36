"""batches and jobs: what to buy now, packed, its money held back, and sent. All of it under the workspace lock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

import polars as pl

from runner.caching import PREFIX_ORDER, Rules, plan
from runner.chain.batching import items_of, texts_of
from runner.chain.experience import rules_as_seen
from runner.chain.files import write_frame, written
from runner.chain.journal import Point, reached
from runner.chain.prices import bound_price_at, price_at, with_bound
from runner.chain.queues import queue_of
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.sending import is_looking, new_job, send
from runner.chain.standing import approved
from runner.chain.stock import cut_short, to_buy
from runner.ledger import OPEN, Job, Ledger, State
from runner.packing import FIRST_BATCH, pack
from runner.providers.base import Gone, Provider, Unreachable
from runner.reporting.words import usd
from runner.request import Body, RequestId

Say = Callable[[str], None]


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
    if approval.is_withdrawn:
        return Bought(0, wanted.height, "cancelled: `make submit` shows what the rest costs and asks")
    if not provider.names_jobs and is_looking(ledger, run.asked.venue, provider.account):
        return Bought(0, wanted.height, "a batch whose creation is unclear must be found first", passes=True)
    limits = provider.limits(run.asked.model)
    is_pilot, hold = (False, False) if limits.is_own else _pilot(ledger, run)
    if hold:
        return Bought(0, wanted.height, "the first small batch must come back before the rest is bought", passes=True)
    affordable, held = approved(ledger, run, approval, wanted)
    if affordable.is_empty():
        return Bought(0, wanted.height, held)
    queue = queue_of(ledger, run.asked.venue, provider.account, run.asked.model, limits, now)
    if queue.most_tokens is not None:
        huge = affordable.filter(pl.col("tokens") > queue.most_tokens)
        if not huge.is_empty():
            holds = f"the batch queue of {run.asked.model} ({queue.most_tokens:,} tokens)"
            said = f"{huge.height:,} requests are larger than {holds}"
            say(f"{said} and are not sent; a higher `TIER` may hold them.")
            affordable = affordable.filter(pl.col("tokens") <= queue.most_tokens)
            if affordable.is_empty():
                return Bought(0, wanted.height, said)
    candidates = queue.fitting(affordable)
    if candidates.is_empty():
        return Bought(0, wanted.height, f"the provider's queue for {run.asked.model} is full ({queue})", passes=True)
    rules = rules_as_seen(workspace, ledger, run, now)
    items = items_of(Folders(workspace, run.name), stage, candidates, rules)
    pieces = replace(limits, max_requests=_piece(workspace, ledger, run, candidates, limits.max_requests))
    packed = pack(items, pieces, queue_tokens=queue.most_tokens, first_batch_max=FIRST_BATCH if is_pilot else None)
    for index, reason in packed.too_large:
        say(f"Request {candidates['request_id'][index]} fits no batch and was not sent: {reason}.")
    blocks = packed.batches[:1] if is_pilot else packed.batches[: queue.free_jobs]
    sent = 0
    for block in blocks:
        chosen = candidates[list(block)]
        job = _write_and_intend(workspace, ledger, provider, run, stage, chosen, rules, now, say)
        job = send(workspace, ledger, provider, job, now, say)
        if job.state is not State.CREATED:
            return Bought(sent, wanted.height - sent, _why_not(job), passes=True)
        sent += chosen.height
        spent = "" if job.reserved_usd is None else f", at most {usd(job.reserved_usd)}"
        say(
            f"Submitted batch {job.batch}: {job.n:,} requests, {job.tokens:,} input tokens{spent} ({job.provider_job})."
        )
        if limits.is_own:
            _tell_what_it_waits_for(provider, job, say)
    waiting = wanted.height - sent
    why = None
    if waiting:
        why = "the first small batch goes ahead" if is_pilot else "the queue is full"
        why = why if sent < affordable.height else held
    return Bought(sent, waiting, why, passes=sent > 0)


def _why_not(job: Job) -> str:
    if job.state is State.UNCLEAR:
        return f"the answer to creating batch {job.batch} was lost; the provider's list decides (`make collect`)"
    return f"not sent: {job.error or 'the provider could not take a batch just now'}"


def _tell_what_it_waits_for(provider: Provider, job: Job, say: Say) -> None:
    """Where no engine runs, the user is to start one: said at once, not when the job is first asked about."""
    with suppress(Gone, Unreachable):
        waits_for = provider.status(job.provider_job or "").error
        if waits_for:
            say(f"Batch {job.batch} of {job.run}: {waits_for}")


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


def _piece(workspace: Workspace, ledger: Ledger, run: Run, candidates: pl.DataFrame, most: int) -> int:
    """Requests of a batch: half of the smallest job that ended before it came to one of these."""
    cut = cut_short(workspace, ledger, run.asked.venue, run.asked.model, candidates["request_id"])
    return max(1, min([most, *(-(-job.n // 2) for job in cut)]))


def _write_and_intend(
    workspace: Workspace,
    ledger: Ledger,
    provider: Provider,
    run: Run,
    stage: int,
    chosen: pl.DataFrame,
    rules: Rules | None,
    now: datetime,
    say: Say,
) -> Job:
    """Write the batch as it will be sent, in prefix order, with what it tells of caching, and the one row of it."""
    folders = Folders(workspace, run.name)
    number = ledger.next_batch(run.name, stage)
    path = folders.batch(stage, number)
    digest = hashlib.sha256()
    # Prompts that begin alike stand together: providers cache what neighbours share.
    in_prefix_order = (
        texts_of(folders, stage, chosen)
        .collect()
        .join(chosen.select("request_id", "tokens", "writes"), on="request_id")
        .sort("request_id")
        .sort(PREFIX_ORDER, maintain_order=True)
    )
    bodies, tokens = in_prefix_order["body"].to_list(), in_prefix_order["tokens"].to_list()
    caching = plan(bodies, tokens, price_at(run, now), rules)
    # A request whose bound holds no price for writing is never told to write.
    told = rules is not None and rules.is_told
    hints = [
        hint if may or not told else None for hint, may in zip(caching.hints, in_prefix_order["writes"], strict=True)
    ]
    expected = caching.expected["cached_tokens"] / (rules.scale if rules else 1.0)
    in_prefix_order = in_prefix_order.select("request_id", expected_cached=expected)
    if caching.saved_usd > 0 or caching.avoided_usd > 0:
        say(f"Batch {number}: {caching.sentence}.")
    with written(path) as temporary, temporary.open("wb") as file:
        for request_id, body, hint in zip(in_prefix_order["request_id"], bodies, hints, strict=True):
            line = provider.encode(RequestId(request_id), run.asked.model, Body.from_json(body), hint) + b"\n"
            digest.update(line)
            file.write(line)
    write_frame(folders.batch_ids(stage, number), in_prefix_order)
    reached(Point.PACKED)
    made = new_job(run, provider.account, stage, number, chosen, now)
    job = replace(made, sha256=digest.hexdigest())
    ledger.intend(job)
    reached(Point.INTENDED)
    return job
