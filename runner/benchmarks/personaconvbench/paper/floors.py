"""Constants chosen on the sample: the majority class, the mean and the median score."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from runner.benchmarks.personaconvbench.paper.frame import Kind


def constant_items(part: pl.DataFrame, kind: Kind) -> Iterator[tuple[str, pl.DataFrame]]:
    """``(name, items)``: each constant as if it had answered the instances of ``part`` (one setting and group)."""
    instances = part.unique("instance_id", keep="first", maintain_order=True).with_columns(
        reason=pl.lit(None, pl.String)
    )
    if kind == "sign":
        most = pl.col("positive").mean() >= 0.5
        yield (
            "majority class",
            instances.with_columns(said_positive=most).with_columns(
                correct=pl.col("said_positive") == pl.col("positive")
            ),
        )
    if kind == "value":
        for name, constant in (("mean", pl.col("score").mean()), ("median", pl.col("score").median())):
            yield (
                f"{name} constant",
                instances.with_columns(prediction=constant, error=constant - pl.col("score")),
            )
