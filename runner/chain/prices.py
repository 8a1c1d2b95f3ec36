"""The price that a run is billed at, where its venue has one."""

from __future__ import annotations

from datetime import UTC, datetime, time

import polars as pl

from runner import models
from runner.chain.runs import Run
from runner.pricing import Price, bound, highest_price, price
from runner.venues import is_rehearsal, rehearsed_day


def price_at(run: Run, at: datetime) -> Price | None:
    """The price where it is the model's own provider (or its rehearsal) that bills; None elsewhere."""
    return price(_model(run), _day(run, at)) if _is_known(run) else None


def bound_price_at(run: Run, at: datetime) -> Price | None:
    """The dearest price that a job made now can be billed at."""
    return highest_price(_model(run), _day(run, at)) if _is_known(run) else None


def _is_known(run: Run) -> bool:
    return run.asked.venue == run.asked.provider or is_rehearsal(run.asked.venue)


def _day(run: Run, at: datetime) -> datetime:
    """The time that counts: a rehearsal of another day has that day's prices."""
    day = rehearsed_day(run.asked.venue)
    return datetime.combine(day, time(12), UTC) if day else at


def _model(run: Run) -> models.Model:
    return models.find_model(f"{run.asked.provider}/{run.asked.model}")


def with_bound(requests: pl.DataFrame, price: Price | None) -> pl.DataFrame:
    """Add ``bound_usd``: what no bill for the request can exceed (null where no price is known)."""
    if price is None:
        return requests.with_columns(bound_usd=pl.lit(None, pl.Float64))
    bounds = [
        bound(price, tokens, output) for tokens, output in requests.select("input_bound", "max_output").iter_rows()
    ]
    return requests.with_columns(bound_usd=pl.Series(bounds, dtype=pl.Float64))
