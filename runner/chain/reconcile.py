"""The bill against the promise: of one run, of all finished ones, and what that says of the next interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf

import polars as pl

from runner.chain.outlook import LEVEL
from runner.chain.promises import Promised, promise_of
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.chain.stock import FINAL_WORDS
from runner.ledger import OPEN, Job, Ledger
from runner.reporting.reconcile_view import Compared, PastEstimate, Reconciled
from runner.venues import is_rehearsal

FEWEST_RUNS = 5
"""Finished runs from which on their coverage is taken for a lesson."""


def reconcile(workspace: Workspace, ledger: Ledger, run: Run) -> Reconciled | None:
    """What this run's own purchases were billed at, against its promise; None where it has none, or no answers yet."""
    promise = promise_of(workspace, run.name)
    jobs = ledger.jobs(run=run.name)
    paths = [workspace.root / job.part for job in jobs if job.part and (workspace.root / job.part).exists()]
    if promise is None or not paths:
        return None
    names = ["request_id", "choice", "status", "input_tokens", "output_tokens", "cost_usd"]
    bought = pl.scan_parquet(paths, extra_columns="ignore").select(names).collect()
    asked = pl.read_parquet(Folders(workspace, run.name).requests(1), columns=["setting", "request_id"])
    known = all(job.reserved_usd is not None for job in jobs)
    return Reconciled(
        venue=run.asked.venue,
        settings=tuple(
            _compared(each, bought.join(asked.filter(setting=each.name), on="request_id", how="semi"), known=known)
            for each in promise.settings
        ),
        total=_compared(promise.total, bought, known=known),
        is_finished=_is_finished(jobs, promise.total.to_buy),
    )


def history(workspace: Workspace, ledger: Ledger) -> list[PastEstimate]:
    """One row per run that bought all that was promised, oldest approval first. Reads no answers."""
    rows = []
    for name in ledger.approved_runs():
        promise = promise_of(workspace, name)
        jobs = ledger.jobs(run=name)
        spent = ledger.spent(run=name)
        if promise is None or not Folders(workspace, name).run_json.exists():
            continue
        total = promise.total
        if total.low_usd is None or total.mid_usd is None or total.high_usd is None or not spent.is_known:
            continue
        if _is_finished(jobs, total.to_buy):
            span = (total.low_usd, total.mid_usd, total.high_usd)
            venue = read_run(workspace, name).asked.venue
            rows.append(PastEstimate(name, venue, *span, spent.billed_usd, promise.widened))
    return rows


def stretch(past: Sequence[PastEstimate], venue: str) -> float:
    """By what half-widths must be multiplied so that LEVEL of the past bills would have been inside; at least 1.

    Real runs learn from real runs, rehearsals from rehearsals; from fewer than FEWEST_RUNS nothing is learned.
    """
    alike = [row for row in past if is_rehearsal(row.venue) == is_rehearsal(venue)]
    if len(alike) < FEWEST_RUNS:
        return 1.0
    needed = sorted(map(_needed, alike))
    factor = needed[ceil(LEVEL * len(needed)) - 1]
    return max(1.0, factor) if factor < inf else max([1.0, *(each for each in needed if each < inf)])


def _needed(row: PastEstimate) -> float:
    """The bill's distance from what was expected in half-widths of its side, before any stretching."""
    off = row.billed_usd - row.mid_usd
    half = (row.high_usd - row.mid_usd if off > 0 else row.mid_usd - row.low_usd) / row.widened
    return abs(off) / half if half > 0 else 0.0 if abs(off) < 1e-4 else inf


def _is_finished(jobs: Sequence[Job], to_buy: int) -> bool:
    """Whether all that was promised came back, and nothing more is out."""
    return not any(job.state in OPEN for job in jobs) and sum(job.answered or 0 for job in jobs) >= to_buy


def _compared(promised: Promised, rows: pl.DataFrame, *, known: bool) -> Compared:
    first = rows.filter(pl.col("choice") == 0)
    final = first.filter(pl.col("status").is_in(FINAL_WORDS))
    is_silent = (pl.col("status") != "rejected") & (pl.col("input_tokens").fill_null(0) == 0)
    return Compared(
        name=promised.name,
        promised=promised.to_buy,
        answers=final.height,
        promised_input=promised.input_tokens,
        input_tokens=int(first["input_tokens"].sum()),
        promised_output=promised.output_tokens,
        output_tokens=int(first["output_tokens"].sum()),
        low_usd=promised.low_usd,
        mid_usd=promised.mid_usd,
        high_usd=promised.high_usd,
        billed_usd=float(rows["cost_usd"].sum()) if known else None,
        unmetered=final.filter(is_silent).height,
    )
