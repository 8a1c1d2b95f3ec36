"""Which answers the reference's means are over."""

from __future__ import annotations

import polars as pl

from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.benchmarks.personaconvbench.paper.judging import USED


def usable(items: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """The answers that could be read; the others leave every metric."""
    return items.filter(pl.col(USED[kind]).is_not_null())


def complete(items: pl.DataFrame) -> pl.DataFrame:
    """The prompts with as many answers as any of their setting has: the best of fewer is another metric."""
    counted = items.with_columns(n=pl.len().over("setting", "instance_id"))
    return counted.filter(pl.col("n") == pl.col("n").max().over("setting")).drop("n")


def best(items: pl.DataFrame, metric: str) -> pl.DataFrame:
    """The best value of each prompt (``instance_id``, ``user``, the metric) where it is not 0."""
    found = items.group_by("instance_id", maintain_order=True).agg(pl.col("user").first(), pl.col(metric).max())
    return found.filter(pl.col(metric) != 0)
