"""Columns of items as metrics: weights of a sample, statistics of rows, and which rows have which metric."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from runner.benchmarks.personaconvbench.strict.scoring.kinds import LESS_IS_BETTER, Kind
from runner.metrics import classification, regression
from runner.metrics.effects import Measured
from runner.metrics.statistic import mean


def weight() -> pl.Expr:
    """N_h / n_h of the instances in a frame (one setting), mean 1 over them: any prefix of a sample is a sample.

    The samples of an instance share its weight, so that every instance counts once.
    """
    taken = pl.col("instance_id").n_unique().over("stratum")
    share = pl.col("stratum_size") / taken / pl.len().over("instance_id")
    return (share / share.sum() * pl.col("instance_id").n_unique()).alias("weight")


def with_errors(rows: pl.DataFrame) -> pl.DataFrame:
    """Adds ``error`` (votes) and ``log_error`` (on the signed log scale): ``predicted`` less ``truth``."""
    logs = {name: regression.signed_log(rows[name].to_numpy()) for name in ("truth", "predicted")}
    return rows.with_columns(
        error=pl.col("predicted") - pl.col("truth"),
        log_error=pl.Series(logs["predicted"] - logs["truth"], dtype=pl.Float64),
    )


def measured(rows: pl.DataFrame, kind: Kind, metrics: Sequence[str]) -> dict[str, Measured]:
    """These metrics of rows that all have them, with the rows' scores where a metric is a mean of scores."""
    if kind == "sign":
        said = (rows["predicted"] == "positive").to_numpy()
        statistics = dict(classification.statistics(rows["truth"].to_numpy(), said))
        right = rows["correct"].cast(pl.Float64).to_numpy()
        scores = {"balanced_accuracy": right, "accuracy": right}
        return {metric: Measured(statistics[metric], scores.get(metric)) for metric in metrics}
    if kind == "value":
        by_name = regression.statistics(rows["truth"].to_numpy(), rows["predicted"].to_numpy())
        scores = {"log_mae": np.abs(rows["log_error"].to_numpy()), "mae": np.abs(rows["error"].to_numpy())}
        return {metric: Measured(by_name[metric], scores.get(metric), sign(metric)) for metric in metrics}
    values = {metric: rows[metric].cast(pl.Float64).to_numpy() for metric in metrics}
    return {metric: Measured(mean(column), column) for metric, column in values.items()}


def sign(metric: str) -> float:
    """-1 where less is better."""
    return -1.0 if metric in LESS_IS_BETTER else 1.0


def missing(items: pl.DataFrame, kind: Kind, metrics: Sequence[str]) -> list[str]:
    """Those of the metrics that no row has."""
    if kind != "text":
        return []
    return [metric for metric in metrics if metric not in items.columns or items[metric].null_count() == items.height]


def by_presence(
    frames: Sequence[pl.DataFrame], kind: Kind, metrics: Sequence[str]
) -> Iterator[tuple[list[str], npt.NDArray[np.bool_]]]:
    """The metrics, together where the same rows have them in all frames (whose rows correspond), and those rows.

    A reference rank, for one, exists only for instances with other replies to rank among.
    """
    groups: dict[bytes, tuple[list[str], npt.NDArray[np.bool_]]] = {}
    for metric in metrics:
        there = np.ones(frames[0].height, dtype=bool)
        if kind == "text":
            there = np.logical_and.reduce([frame[metric].is_not_null().to_numpy() for frame in frames])
        groups.setdefault(there.tobytes(), ([], there))[0].append(metric)
    yield from groups.values()
