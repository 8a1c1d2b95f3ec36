"""Judged answers in one form, whichever protocol judged them; aggregated early, since there may be a million."""

from __future__ import annotations

import polars as pl

_POSITIVE = "positive"


def own_answers(items: pl.DataFrame) -> pl.DataFrame:
    """The model's own rows (floors are judged too) with ``weight``: what an answer counts in the tables.

    Strata are weighed per setting by their size over the instances that are there; samples share their instance's
    weight.
    """
    if "floor" in items.columns:
        items = items.filter(pl.col("floor").is_null())
    if "weight" in items.columns:
        instance = pl.col("weight").cast(pl.Float64)
    elif {"stratum", "stratum_size"} <= set(items.columns):
        present = pl.col("instance_id").n_unique().over("setting", "stratum")
        instance = pl.col("stratum_size").cast(pl.Float64) / present
    else:
        instance = pl.lit(1.0)
    return items.with_columns(weight=instance / pl.len().over("setting", "instance_id"))


def sign_answers(items: pl.DataFrame) -> pl.DataFrame | None:
    """``setting``, ``truth`` (bool), ``said`` (bool; null: failed), ``weight``; None for another task's items."""
    columns = set(items.columns)
    if "correct" not in columns or not {"predicted", "said_positive"} & columns:
        return None
    own = own_answers(items)
    if "said_positive" in columns:
        truth, said = pl.col("positive"), pl.col("said_positive")
    else:
        said = _is_positive(own, "predicted")
        truth = said == pl.col("correct")
        if "reason" in columns:  # a failed answer was judged as the opposite of the truth
            said = pl.when(pl.col("reason").is_null()).then(said)
    return own.select("setting", "weight", truth=truth, said=said).filter(pl.col("truth").is_not_null())


def value_answers(items: pl.DataFrame) -> pl.DataFrame | None:
    """``setting``, ``truth``, ``predicted`` (votes), ``failed`` (bool); None for another task's items.

    Under the paper's protocol failed answers have no value and are not there.
    """
    name = next((name for name in ("predicted", "prediction") if name in items.columns), None)
    if "error" not in items.columns or name is None:
        return None
    own = own_answers(items)
    failed = pl.col("reason").is_not_null() if "reason" in items.columns else pl.lit(False)
    predicted = pl.col(name).cast(pl.Float64)
    truth = predicted - pl.col("error").cast(pl.Float64)
    found = own.select("setting", truth=truth, predicted=predicted, failed=failed)
    return found.filter(pl.col("truth").is_finite() & pl.col("predicted").is_finite())


def _is_positive(frame: pl.DataFrame, column: str) -> pl.Expr:
    if frame.schema[column] == pl.Boolean():
        return pl.col(column)
    return pl.col(column).cast(pl.String) == _POSITIVE
