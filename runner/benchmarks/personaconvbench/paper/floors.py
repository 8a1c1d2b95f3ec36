"""What needs no model: the majority, a constant, the example's own answer, the parent's text."""

from __future__ import annotations

import polars as pl

from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.benchmarks.personaconvbench.paper.scoring import cells, groups, judged
from runner.metrics.score import Score

_ON_THIS_SAMPLE = "chosen on this sample"
_EXAMPLE = {"p-conv": "example", "np-conv": "donor_example"}
_CONSTANTS = {
    "sign": {"majority class": pl.col("reference").mode().sort().last()},
    "value": {
        "mean constant": pl.col("score").mean().cast(pl.String),
        "median constant": pl.col("score").median().cast(pl.String),
    },
}


def floors(frame: pl.DataFrame, kind: Kind) -> tuple[Score, ...]:
    """Values of trivial predictors on the instances and settings that have final answers."""
    final = frame.filter(pl.col("status").is_not_null()).unique(
        ["instance_id", "setting"], keep="first", maintain_order=True
    )
    final = final.with_columns(sample=pl.lit(0), status=pl.lit("ok"))
    if kind == "text":
        copied = judged(final.with_columns(answer=pl.col("parent")), kind)
        return tuple(
            row
            for setting, group, part in groups(copied)
            for row in cells(kind, part, setting, group, "copy the parent")
        )
    rows: list[Score] = []
    for setting, group, part in groups(final):
        for name, constant in _CONSTANTS[kind].items():
            guessed = judged(part.with_columns(answer=constant), kind)
            rows += cells(kind, guessed, setting, group, name, _ON_THIS_SAMPLE)
        if setting in _EXAMPLE:
            copied = judged(part.with_columns(answer=pl.col(_EXAMPLE[setting])), kind)
            rows += cells(kind, copied, setting, group, "copy the example")
    return tuple(rows)
