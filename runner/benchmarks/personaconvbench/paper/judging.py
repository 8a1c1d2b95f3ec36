"""From answers to the reference's raw numbers, an instance at a time; what cannot be used stays null."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from runner.benchmarks.base import Prompts
from runner.benchmarks.personaconvbench.paper.answers import parse
from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.metrics import embeddings, nltk_bleu, text

KEYS = ("instance_id", "setting", "sample", "floor")
KEPT = (*KEYS, "domain", "user", "time", "reason")
USED: dict[Kind, str] = {"sign": "said_positive", "value": "prediction", "text": "rouge_1"}
"""Null in this column: the answer could not be used."""

_READ = ("ok", "truncated")
"""The reference reads an answer that the token limit cut like any other."""
_COPIES: dict[Kind, dict[str, str]] = {
    "sign": {"p-conv": "example", "np-conv": "donor_example"},
    "value": {"p-conv": "example", "np-conv": "donor_example"},
    "text": {"p-conv": "parent", "p-nonconv": "parent", "np-conv": "parent"},
}
"""What a floor that looks at the prompt would copy, by setting."""
COPY: dict[Kind, str] = {"sign": "copy the example", "value": "copy the example", "text": "copy the parent"}


def judge(frame: pl.DataFrame, prompts: Prompts, *, kind: Kind) -> pl.DataFrame:
    """One row per final answer, and one per instance and setting whose prompt shows something to copy (a floor).

    Items have ``KEPT`` (``reason``: why an answer could not be used) and

    * sign: ``positive`` (the truth), ``said_positive``, ``correct``;
    * value: ``score`` (the truth), ``prediction``, ``error``;
    * text: the metrics but the one of ``judge_embeddings``.
    """
    rows = _answers(frame, kind)
    if kind == "sign":
        said, truth = pl.col("answer") == "positive", pl.col("reference") == "positive"
        return rows.select(*KEPT, positive=truth, said_positive=said, correct=said == truth)
    if kind == "value":
        said = pl.col("answer").cast(pl.Float64)
        return rows.select(*KEPT, score=pl.col("score").cast(pl.Float64), prediction=said, error=said - pl.col("score"))
    pairs = rows.select("reference", "answer")
    close = text.score_pairs(pairs).select("reference", "answer", "rouge_1", "rouge_l", "meteor")
    for scored in (close, nltk_bleu.score_pairs(pairs)):
        rows = rows.join(scored, on=["reference", "answer"], how="left", maintain_order="left")
    return rows.select(*KEPT, "rouge_1", "rouge_l", "meteor", "bleu")


def judge_embeddings(frame: pl.DataFrame, prompts: Prompts) -> pl.DataFrame:
    """``sbert``: the cosine as it is, also below 0."""
    rows = _answers(frame, "text")
    close = embeddings.score_pairs(rows.select("reference", "answer")).select("reference", "answer", sbert="sbert_raw")
    return rows.join(close, on=["reference", "answer"], how="left", maintain_order="left").select(*KEYS, "sbert")


def _answers(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """The model's answers, also of texts that were cut, and the floors'; ``reason`` where there is none."""
    own = frame.with_columns(floor=pl.lit(None, pl.String))
    answers = [
        parse(kind, said) if status in _READ and said is not None else None
        for status, said in own.select("status", "text").iter_rows()
    ]
    own = own.with_columns(pl.Series("answer", answers, pl.String()))
    columns = ["instance_id", "setting", "sample", "floor", "domain", "user", "time", "reference", "status", "answer"]
    if kind == "value":
        columns.append("score")
    rows = pl.concat([part.select(columns) for part in (own, *_copied(own, kind))])
    failed = pl.when(pl.col("status").is_in(_READ)).then(pl.lit("unparsable")).otherwise("status")
    return rows.with_columns(reason=pl.when(pl.col("answer").is_null()).then(failed))


def _copied(own: pl.DataFrame, kind: Kind) -> Iterator[pl.DataFrame]:
    for setting, column in _COPIES[kind].items():
        instances = own.filter(pl.col("setting") == setting).unique("instance_id", keep="first", maintain_order=True)
        yield instances.with_columns(
            sample=pl.lit(0, own.schema["sample"]),
            status=pl.lit("ok"),
            answer=pl.col(column).cast(pl.String),
            floor=pl.lit(COPY[kind]),
        )
