"""The price that a run is billed at, where its venue has one."""

from __future__ import annotations

from datetime import UTC, datetime, time

import polars as pl

from runner import models, providers
from runner.chain.runs import Run
from runner.pricing import Price, bound_expr, cost_expr, highest_price, price, standard_price
from runner.venues import is_rehearsal, rehearsed_day


def price_at(run: Run, at: datetime) -> Price | None:
    """The price where it is the model's own provider (or its rehearsal) that bills; None elsewhere."""
    return price(_model(run), _day(run, at)) if _is_known(run) else None


def standard_price_at(run: Run, at: datetime) -> Price | None:
    """What the same costs outside of a batch; None where that or who bills is not known."""
    return standard_price(_model(run), _day(run, at)) if _is_known(run) else None


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


def with_cost(rows: pl.DataFrame, run: Run, at: datetime) -> pl.DataFrame:
    """Add ``cost_usd``: each row's bill at the time ``at``; outside of a batch it is at the standard price.

    Null where the price is not known.
    """
    outside, inside = (
        pl.lit(None, pl.Float64) if each is None else cost_expr(each)
        for each in (standard_price_at(run, at), price_at(run, at))
    )
    is_outside = ~is_in_batch(rows, run.asked.provider)
    return rows.with_columns(cost_usd=pl.when(is_outside).then(pl.coalesce(outside, inside)).otherwise(inside))


def is_in_batch(rows: pl.DataFrame, provider: str) -> pl.Expr:
    """Whether each row says, by its ``service_tier``, that it was served as part of a batch; null where it cannot."""
    words = rows["service_tier"].drop_nulls().unique()
    known = {word: told for word in words if (told := providers.is_batch_tier(provider, word)) is not None}
    return pl.col("service_tier").replace_strict(known, default=None, return_dtype=pl.Boolean)


def with_bound(requests: pl.DataFrame, price: Price | None) -> pl.DataFrame:
    """Add ``bound_usd``: what no bill for the request can exceed (null where no price is known).

    The column ``writes`` says of each whether it may be marked for the cache; without it all may. What is far above
    the expected cost and stays, because it is at risk: a token per byte where there is no exact count (a provider's own
    count "should be considered an estimate", and an average seen is none of the next prompt), and the whole allowance
    for thinking, which the provider may fill and bill up to the limit that was sent.
    """
    if price is None:
        return requests.with_columns(bound_usd=pl.lit(None, pl.Float64))
    writes = pl.col("writes") if "writes" in requests.columns else pl.lit(True)
    return requests.with_columns(
        bound_usd=bound_expr(price, input_bound="input_bound", max_output="max_output", writes=writes)
    )


def bound_of(bounded: pl.DataFrame) -> float | None:
    """The bound on these requests together (``with_bound``); None where the price of one is not known."""
    bounds = bounded["bound_usd"]
    return None if bounds.null_count() else float(bounds.sum())
