"""How would it go? What a run is still to buy is bought from the emulator, in a folder that is thrown away."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from time import perf_counter

import polars as pl

from runner.chain.advance import Connect, advance
from runner.chain.files import write_frame
from runner.chain.prices import bound_of, bound_price_at, with_bound
from runner.chain.runs import Folders, Run, Workspace, write_run
from runner.chain.stock import batch_ids, to_buy
from runner.ledger import Job, Ledger, State
from runner.reporting.rehearsal_view import Course
from runner.venues import rehearsal, rehearsed_day

Say = Callable[[str], None]

EXPIRING = 0.02
"""The share of batches that expire in the play with trouble: the second, which is the first full one where a small one
goes ahead, and every 50th from there; of one that holds everything, that one."""


def prepare(
    workspace: Workspace, ledger: Ledger, run: Run, stage: Workspace, ledger_there: Ledger, now: datetime
) -> Run:
    """Write what the run is still to buy into the workspace ``stage``, approved up to its bound, and return it there.

    The requests are the real ones: their ids, bodies and counts are copied, not made again.
    """
    wanted = with_bound(to_buy(workspace, ledger, run, 1), bound_price_at(run, now))
    venue = rehearsal(run.asked.provider, rehearsed_day(run.asked.venue))
    there = replace(run, asked=replace(run.asked, venue=venue))
    mine, theirs = Folders(workspace, run.name), Folders(stage, there.name)
    ids = wanted.select("request_id").lazy()
    bodies = pl.scan_parquet(mine.bodies(1)).join(ids, on="request_id", how="semi", maintain_order="left")
    requests = pl.scan_parquet(mine.requests(1)).join(ids, on="request_id", how="semi", maintain_order="left")
    write_frame(theirs.bodies(1), bodies.collect())
    write_frame(theirs.requests(1), requests.collect())
    write_run(stage, there)
    ledger_there.approve(there.name, bound_of(wanted), now)
    jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model)
    earlier = next((job for job in jobs if job.answered and job.run.split("__", 1)[0] == run.asked.task), None)
    if earlier is not None:  # no small batch goes ahead then
        name = f"{run.asked.task}__earlier"
        ledger_there.intend(replace(earlier, venue=venue, run=name, state=State.CLOSED, part=None))
    return there


def play(
    stage: Workspace,
    ledger: Ledger,
    run: Run,
    connect: Connect,
    strike: Callable[[str], None] | None,
    bill: Callable[[], float],
    tell: Callable[[int], None],
) -> Course:
    """Advance until all is answered or nothing moves any more.

    ``strike`` lets a job of the emulator expire (None: none is struck), ``bill`` is its bill in USD, ``tell`` is told
    after every step how many more are answered.
    """
    began = perf_counter()
    seen: set[str] = set()
    struck: set[str] = set()
    waves = done = first = 0
    while True:
        [standing] = advance(stage, ledger, [run.name], connect, datetime.now(UTC), _silent)
        new = [job for job in ledger.jobs(run=run.name) if job.provider_job and job.job not in seen]
        waves += bool(new)
        for job in new:
            first = first if seen else int(job.n < standing.total)
            is_struck = len(seen) % round(1 / EXPIRING) == first
            if strike is not None and is_struck and job.provider_job:
                strike(job.provider_job)
                struck.add(job.job)
            seen.add(job.job)
        tell(standing.final - done)
        done = standing.final
        if not standing.is_moving:
            break
    spent = ledger.spent(run=run.name)
    sent = [job for job in ledger.jobs(run=run.name) if job.provider_job]
    ids = [batch_ids(stage, job) for job in sent]
    every = pl.concat(ids) if ids else pl.Series("request_id", [], pl.String())
    return Course(
        requests=standing.total,
        answered=standing.final,
        batches=len(sent),
        waves=waves,
        expired=len(struck),
        bought_again=every.len() - every.n_unique(),
        clock_s=_clock_s(sent),
        work_s=perf_counter() - began,
        billed_usd=bill(),
        counted_usd=spent.billed_usd if spent.is_known else None,
        stopped=None if standing.is_complete else standing.next,
    )


def _clock_s(jobs: list[Job]) -> float:
    starts = [job.created_at for job in jobs if job.created_at]
    ends = [job.ended_at for job in jobs if job.ended_at]
    return (max(ends) - min(starts)).total_seconds() if starts and ends else 0.0


def _silent(_: str) -> None:
    """What is said of each batch is in the table, in sum."""
