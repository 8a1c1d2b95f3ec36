"""Trivial predictors, whose values stand in every table: read like answers, judged like answers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import polars as pl

from runner.benchmarks.personaconvbench.strict.scoring.kinds import Kind
from runner.benchmarks.personaconvbench.strict.scoring.measures import weight, with_errors
from runner.metrics import regression
from runner.metrics.statistic import estimate

CONSTANT: dict[Kind, str] = {"sign": "majority", "value": "best_constant"}
"""The one floor that depends on the sample; it says so."""
CONSTANT_NOTE = "chosen on the sample"
ALL = "all"
"""The setting of a floor that reads neither history nor thread."""


@dataclass(frozen=True)
class Floor:
    """A column of the instances, read as an answer.

    ``{who}`` in the column stands for whose history the setting shows (``own``, ``donor``): such a floor has
    one value per setting; all others are of setting ``all``.
    """

    name: str
    column: str
    read: Callable[[pl.Expr], pl.Expr] = lambda column: column.cast(pl.String)


def _sign(value: pl.Expr, least: float) -> pl.Expr:
    positive = pl.when(value >= least).then(pl.lit("positive")).otherwise(pl.lit("negative"))
    return pl.when(value.is_not_null()).then(positive)


FLOORS: dict[Kind, tuple[Floor, ...]] = {
    "sign": (
        Floor("prior_sign_rate", "prior_positive_rate", lambda rate: _sign(rate, 0.5)),
        Floor("newest_history", "newest_{who}_score", lambda score: _sign(score, 1)),
    ),
    "value": (
        Floor("domain_median", "domain_median_score"),
        Floor("prior_median", "prior_median_score"),
        Floor("newest_history", "newest_{who}_score"),
    ),
    "text": (
        Floor("copy_parent", "parent_text"),
        Floor("newest_history", "newest_{who}_reply"),
        Floor("most_similar_history", "similar_{who}_reply"),
    ),
}


def floor_answers(own: pl.DataFrame, kind: Kind) -> Iterator[pl.DataFrame]:
    """One frame per floor and setting of the instances in ``own``, in its shape, as if a model had answered."""
    for floor in FLOORS[kind]:
        reads_history = "{who}" in floor.column
        for setting in own["setting"].unique(maintain_order=True) if reads_history else (ALL,):
            who = {"p": "own", "np": "donor"}.get(setting.partition("-")[0])
            if reads_history and who is None:
                continue  # an arm without any history
            rows = own.filter(pl.col("setting") == setting) if reads_history else own
            yield rows.unique("instance_id", keep="first", maintain_order=True).with_columns(
                setting=pl.lit(setting),
                sample=pl.lit(0, own.schema["sample"]),
                status=pl.lit("ok"),
                answer=floor.read(pl.col(floor.column.format(who=who))),
                floor=pl.lit(floor.name),
            )


def constant_items(own: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Items of the best constant on these instances, one for all domains; empty for texts.

    3.1: the majority, which nothing that says one word can beat; 3.2: the weighted median, which minimises
    ``log_mae`` (a signed log keeps the order).
    """
    if kind == "text":
        return own.clear()
    instances = own.unique("instance_id", keep="first", maintain_order=True).with_columns(
        setting=pl.lit(ALL),
        sample=pl.lit(0, own.schema["sample"]),
        floor=pl.lit(CONSTANT[kind]),
        reason=pl.lit(None, pl.String),
    )
    weights = instances.select(weight()).to_series().to_numpy()
    truth = instances["truth"].to_numpy()
    if kind == "sign":
        positive = bool(weights[truth].sum() >= weights.sum() / 2)
        word = "positive" if positive else "negative"
        return instances.with_columns(predicted=pl.lit(word), correct=pl.col("truth") == positive)
    constant = estimate(regression.median(truth), weights)
    return with_errors(instances.with_columns(predicted=pl.lit(constant, pl.Float64)))
