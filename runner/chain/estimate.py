"""What a run would cost, before any money moves: counts, tokens, low / middle / high, and a bound."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import polars as pl

from runner.chain.prices import bound_price_at, price_at, with_bound
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import answers, request_ids, to_buy
from runner.ledger import Ledger
from runner.models import find_model
from runner.pricing import Price, cost
from runner.reporting.estimate_view import Estimate, EstimateColumn
from runner.venues import is_rehearsal, rehearsed_day

SOON_DAYS = 60
"""From so many days before its end on a model's shut-down is spoken of."""
LOW, MIDDLE, HIGH = 0.05, 0.25, 1.0
"""Shares of the output limit that answers take when this model has not answered this task yet: an assumption."""


def estimate(workspace: Workspace, ledger: Ledger, run: Run, now: datetime) -> Estimate:
    """Per setting and in total. Tokens and dollars are of what is still to be bought."""
    folders = Folders(workspace, run.name)
    wanted = with_bound(to_buy(workspace, ledger, run, 1), bound_price_at(run, now))
    asked = pl.read_parquet(folders.requests(1))
    ids = request_ids(folders)
    have = answers(workspace, ledger, run.asked.venue, run.asked.model, ids)
    shares = _output_shares(have, folders)
    current = price_at(run, now)
    columns = [
        _column(setting, asked.filter(pl.col("setting") == setting), wanted, have, shares, current)
        for setting in run.asked.settings
    ]
    known = wanted["bound_usd"].null_count() == 0
    return Estimate(
        title=f"{run.asked.task} · {run.asked.model} at {run.asked.venue} · {run.asked.protocol}, "
        f"{run.instances:,} instances",
        venue=run.asked.venue,
        settings=tuple(columns),
        total=_column("total", asked, wanted, have, shares, current),
        bound_usd=float(wanted["bound_usd"].sum()) if known and current is not None else None,
        notes=tuple(_notes(run, current, have.height > 0, now)),
        caution=run.caution,
    )


def _column(
    name: str,
    asked: pl.DataFrame,
    wanted: pl.DataFrame,
    have: pl.DataFrame,
    shares: tuple[float, float, float],
    current: Price | None,
) -> EstimateColumn:
    ids = asked.select("request_id").unique()
    mine = wanted.join(ids, on="request_id", how="semi")
    outputs = [mine["max_output"] * share for share in shares]
    usd = [_cost(current, mine, output) for output in outputs]
    return EstimateColumn(
        name=name,
        requests=asked.height,
        unique=ids.height,
        answered=have.select("request_id").unique().join(ids, on="request_id", how="semi").height,
        to_buy=mine.height,
        input_tokens=int(mine["tokens"].sum()),
        output_tokens_low=round(outputs[0].sum()),
        output_tokens_high=round(outputs[2].sum()),
        low_usd=usd[0],
        mid_usd=usd[1],
        high_usd=usd[2],
    )


def _cost(current: Price | None, mine: pl.DataFrame, output: pl.Series) -> float | None:
    """Per request, never on the sum: long prompts have a price of their own."""
    if current is None:
        return None
    return sum(cost(current, tokens, 0, round(out)) for tokens, out in zip(mine["tokens"], output, strict=True))


def _output_shares(have: pl.DataFrame, folders: Folders) -> tuple[float, float, float]:
    """Low, middle and high share of the output limit: from this run's answers when there are some."""
    ok = have.filter((pl.col("status") == "ok") & (pl.col("choice") == 0)).select("request_id", "output_tokens")
    if ok.height < 20:
        return LOW, MIDDLE, HIGH
    limits = pl.read_parquet(folders.bodies(1), columns=["request_id", "max_output"])
    share = ok.join(limits, on="request_id")
    seen = (share["output_tokens"] / share["max_output"]).drop_nulls()
    mean = float(seen.mean() or MIDDLE)  # type: ignore[arg-type]
    return mean * 0.8, mean, min(1.0, mean * 1.25)


def _notes(run: Run, current: Price | None, has_answers: bool, now: datetime) -> Sequence[str]:
    notes = []
    if not run.tokens_exact:
        notes.append(f"input tokens: {run.token_counter}")
    else:
        notes.append(f"input tokens counted by {run.token_counter}")
    if current is None:
        notes.append(
            f"price unknown: none is recorded for {run.asked.model} at {run.asked.venue}; no bound can be given, and "
            f"BUDGET cannot hold"
        )
    else:
        notes.append(f"price: {current}")
        if current.assumed:
            notes.append(f"assumed: {current.assumed}")
    if not has_answers:
        notes.append(
            f"output is an assumption until answers are in: {LOW:.0%} / {MIDDLE:.0%} / {HIGH:.0%} of the limit"
        )
    notes.extend(_farewell(run, now))
    notes.extend(f"assumed: {assumption}" for assumption in run.assumptions)
    return notes


def _farewell(run: Run, now: datetime) -> Sequence[str]:
    """A word about a model that is shut down soon: what is not answered by then can be bought no more."""
    if is_rehearsal(run.asked.venue) and rehearsed_day(run.asked.venue):
        return ()
    model = find_model(f"{run.asked.provider}/{run.asked.model}")
    left = None if model.retires is None else (model.retires - now.date()).days
    if left is None or left > SOON_DAYS:
        return ()
    instead = f" (its successor: {model.successor})" if model.successor else ""
    return (
        f"{model.id} is shut down on {model.retires}, in {left} days: what is not answered by then cannot be bought"
        f"{instead}",
    )
