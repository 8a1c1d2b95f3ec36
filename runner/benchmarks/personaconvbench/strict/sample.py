"""The nested stratified sample: one order, of which every prefix is a valid sample, and the weights of a prefix."""

from __future__ import annotations

import polars as pl

from runner.benchmarks.personaconvbench.strict.limits import NEGATIVE_SHARE, draw


def sample_order(population: pl.DataFrame, *, balance: bool, seed: int) -> pl.DataFrame:
    """The population (``instance_id``, ``domain``, ``label`` or null) in sample order, with its strata.

    Strata are domain x (negative or not), planned at 30 % negatives shared out in proportion to size; without
    labels or ``balance``, domains (and with labels still domain x label) in proportion to size. Inside a stratum
    by hash; overall by (rank - 1/2) / planned share. A stratum that ends leaves the rest in their order.
    Adds ``stratum`` and ``stratum_size``.
    """
    negative = (pl.col("label") == "negative").fill_null(False)
    side = pl.when(pl.col("label").is_null()).then(pl.lit("")).when(negative).then(pl.lit("/negative"))
    frame = population.with_columns(
        pl.col("instance_id").map_elements(lambda i: draw(seed, "sample", i), pl.UInt64).alias("_hash"),
        stratum=pl.col("domain") + side.otherwise(pl.lit("/other")),
    ).with_columns(stratum_size=pl.len().over("stratum"))
    share: pl.Expr = pl.col("stratum_size").cast(pl.Float64)
    if balance:
        n_negative = frame.select(negative.sum()).item()
        if 0 < n_negative < len(frame):
            in_side = pl.when(negative).then(NEGATIVE_SHARE / n_negative)
            share = share * in_side.otherwise((1 - NEGATIVE_SHARE) / (len(frame) - n_negative))
    rank = pl.col("_hash").rank("ordinal").over("stratum")
    frame = frame.with_columns(_at=(rank - 0.5) / share)
    return frame.sort("_at", "_hash", "instance_id").drop("_at", "_hash")


def with_weights(sample: pl.DataFrame) -> pl.DataFrame:
    """``weight`` = N_h / n_h, scaled to mean 1; a shorter prefix has other weights, from the same two columns."""
    raw = pl.col("stratum_size") / pl.len().over("stratum")
    return sample.with_columns(weight=(raw / raw.mean()).cast(pl.Float64))


def effective_n(weights: pl.Series) -> float:
    """Kish: (sum w)^2 / sum w^2."""
    squares = float((weights.cast(pl.Float64) ** 2).sum())
    return float(weights.cast(pl.Float64).sum()) ** 2 / squares if squares else 0.0
