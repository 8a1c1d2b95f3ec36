"""What the text of an answer is worth (3.3): closeness to the reference, its rank among real replies, recall."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from runner.benchmarks.base import Prompts
from runner.metrics import meteor, recall, text

_CLOSENESS = ("rouge_l", "rouge_1", "bleu", "length_ratio")
_RANKS = {"rank_strangers": "stranger_replies", "rank_author": "own_elsewhere"}


def judge_texts(rows: pl.DataFrame, prompts: Prompts, kept: Sequence[str]) -> pl.DataFrame:
    """``kept`` and the metrics of each row (``reference``, ``answer``, ``reason``, the other replies, ``request_id``).

    A failure is 0. A rank is null where there is nothing to rank among, METEOR where it cannot be had.
    """
    usable = pl.col("reason").is_null()
    rows = rows.with_columns(answer=pl.when(usable).then("answer"))
    scored = rows.join(
        text.score_pairs(rows.select("reference", "answer")),
        on=["reference", "answer"],
        how="left",
        maintain_order="left",
    )
    for rank, others in _RANKS.items():
        scored = scored.with_columns(_ranked(rows, others).alias(rank))
    scored = scored.with_columns(_recalled(rows, prompts))
    ranked = [
        pl.when(pl.col(others).list.len() > 0).then(pl.when(usable).then(rank).otherwise(0.0)).alias(rank)
        for rank, others in _RANKS.items()
    ]
    price = 0.0 if meteor.missing() is None else None
    return scored.select(
        *kept,
        *(pl.when(usable).then(metric).otherwise(0.0).alias(metric) for metric in _CLOSENESS),
        pl.when(usable).then("meteor").otherwise(pl.lit(price, pl.Float64)).alias("meteor"),
        *ranked,
        "recalled",
    )


def _ranked(rows: pl.DataFrame, others: str) -> pl.Series:
    """The rank of each answer; the same answer to one instance is ranked once for all settings."""
    each = rows.select("instance_id", "reference", "answer", pl.col(others).alias("others"))
    distinct = each.drop_nulls("answer").unique(["instance_id", "answer"], keep="first", maintain_order=True)
    ranks = distinct.select("instance_id", "answer", recall.reference_rank(distinct).cast(pl.Float64).alias("rank"))
    return each.join(ranks, on=["instance_id", "answer"], how="left", maintain_order="left")["rank"]


def _recalled(rows: pl.DataFrame, prompts: Prompts) -> pl.Series:
    """Whether the model's answer holds 8 or more reference words in a row that its prompt lacks."""
    own = pl.col("floor").is_null() & pl.col("answer").is_not_null()
    asked = rows.with_row_index("place").filter(own)
    runs = recall.shared_runs(asked.select("reference", "answer")).to_list()
    # Few answers share so much with the reference: only for those the prompt is read.
    suspects = [
        (place, request, shared)
        for place, request, shared in zip(asked["place"], asked["request_id"], runs, strict=True)
        if shared
    ]
    sent = prompts({request for _, request, _ in suspects}) if suspects else {}
    found: list[bool | None] = [None] * rows.height
    for place in asked["place"]:
        found[place] = False
    for place, request, shared in suspects:
        found[place] = recall.lacks(sent[request], shared)
    return pl.Series("recalled", found, pl.Boolean())
