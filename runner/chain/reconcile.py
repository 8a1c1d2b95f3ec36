"""The bill against the promise: of one run, of all finished ones, and what that says of the next interval."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, inf
from pathlib import Path

import polars as pl

from runner.chain.outlook import LEVEL
from runner.chain.prices import is_in_batch, price_at
from runner.chain.promises import Promised, promise_of
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.chain.stock import FINAL_WORDS, has_part
from runner.ledger import OPEN, Job, Ledger
from runner.pricing import cost_expr
from runner.reporting.reconcile_view import Compared, PastEstimate, Reconciled, Served
from runner.request import RESPONSE_SCHEMA
from runner.venues import is_rehearsal

FEWEST_RUNS = 5
"""Finished runs from which on their coverage is taken for a lesson."""

_COLUMNS = (
    "request_id", "choice", "status", "input_tokens", "cached_tokens", "output_tokens", "cache_write_tokens",
    "cache_write_long_tokens", "cost_usd", "cost_is_bound", "service_tier",
)  # fmt: skip


def reconcile(workspace: Workspace, ledger: Ledger, run: Run) -> Reconciled | None:
    """What this run's own purchases were billed at, against its promise; None where it has none, or no answers yet."""
    promise = promise_of(workspace, run.name)
    jobs = ledger.jobs(run=run.name)
    parts = [(job, workspace.root / job.part) for job in jobs if job.part and has_part(workspace, job)]
    if promise is None or not parts:
        return None
    bought = pl.concat([_bought(run, job, path) for job, path in parts])
    asked = pl.read_parquet(Folders(workspace, run.name).requests(1), columns=["setting", "request_id"])
    known = all(job.reserved_usd is not None for job in jobs)
    return Reconciled(
        provider=run.asked.provider,
        venue=run.asked.venue,
        settings=tuple(
            _compared(each, bought.join(asked.filter(setting=each.name), on="request_id", how="semi"), known=known)
            for each in promise.settings
        ),
        total=_compared(promise.total, bought, known=known),
        served=_served(bought),
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
            rows.append(PastEstimate(name, venue, *span, spent.billed_usd, promise.widened, spent.is_bound))
    return rows


def stretch(past: Sequence[PastEstimate], venue: str) -> float:
    """By what half-widths must be multiplied so that LEVEL of the past bills would have been inside; at least 1.

    Real runs learn from real runs, rehearsals from rehearsals; from fewer than FEWEST_RUNS nothing is learned.
    """
    alike = [row for row in past if is_rehearsal(row.venue) == is_rehearsal(venue) and not row.is_bound]
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


def _bought(run: Run, job: Job, path: Path) -> pl.DataFrame:
    """A job's rows: ``is_in_batch`` (null where that is not told), and ``extra_usd``, what not being so has cost."""
    columns: dict[str, pl.DataType] = {name: RESPONSE_SCHEMA[name] for name in _COLUMNS}
    rows = pl.scan_parquet(path, schema=columns, extra_columns="ignore", missing_columns="insert").collect()
    price = price_at(run, job.intended_at)
    extra = pl.lit(None, pl.Float64) if price is None else pl.col("cost_usd") - cost_expr(price)
    extra = pl.when("cost_is_bound").then(0.0).otherwise(extra)
    return rows.with_columns(is_in_batch=is_in_batch(rows, run.asked.provider)).with_columns(
        extra_usd=pl.when(~pl.col("is_in_batch")).then(extra).otherwise(0.0)
    )


def _served(bought: pl.DataFrame) -> Served:
    """Of the rows that used anything: as the rows themselves say."""
    first = bought.filter(
        (pl.col("choice") == 0) & ((pl.col("input_tokens") > 0) | pl.col("service_tier").is_not_null())
    )
    outside = first.filter(~pl.col("is_in_batch"))
    return Served(
        answers=first.height,
        untold=first["is_in_batch"].null_count(),
        other_tiers=tuple(outside["service_tier"].unique().sort()),
        extra_usd=None if outside["extra_usd"].null_count() else float(outside["extra_usd"].sum()),
    )


def _is_finished(jobs: Sequence[Job], to_buy: int) -> bool:
    """Whether all that was promised came back, and nothing more is out."""
    return not any(job.state in OPEN for job in jobs) and sum(job.answered or 0 for job in jobs) >= to_buy


def _compared(promised: Promised, rows: pl.DataFrame, *, known: bool) -> Compared:
    first = rows.filter(pl.col("choice") == 0)
    final = first.filter(pl.col("status").is_in(FINAL_WORDS))
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
        billed_usd=float(rows["cost_usd"].sum()) if known and not rows["cost_usd"].null_count() else None,
        unmetered=final.filter("cost_is_bound").height,
        outside=first.filter(~pl.col("is_in_batch")).height,
        is_bound=bool(rows["cost_is_bound"].any()),
    )
