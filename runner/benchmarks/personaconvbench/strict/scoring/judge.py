"""From final answers to items: what an answer, a failure and a trivial predictor are worth, an instance at a time.

What a failed answer (unparsable, refused, filtered, truncated, missing, out of range) is worth:

* sign (3.1): the opposite of the truth.
* value (3.2): −sign(y)·m, where m is the median |score| of the domain's other authors, at least 1: always a wrong sign.
  An answer beyond ±10⁷ fails, too.
* text (3.3): 0 in every metric.

A floor without a value for an instance fails there like an answer.
"""

from __future__ import annotations

import polars as pl

from runner.benchmarks.base import Prompts
from runner.benchmarks.personaconvbench.strict.scoring.floors import floor_answers
from runner.benchmarks.personaconvbench.strict.scoring.kinds import Kind
from runner.benchmarks.personaconvbench.strict.scoring.measures import with_errors
from runner.benchmarks.personaconvbench.strict.scoring.texts import judge_texts
from runner.errors import RunnerError
from runner.metrics import embeddings

LARGEST_ANSWER = 10_000_000

KEYS = ("instance_id", "setting", "sample", "floor")
KEPT = (*KEYS, "domain", "user", "time", "stratum", "stratum_size", "own_visible", "reason")
_NEEDED: dict[Kind, tuple[str, ...]] = {
    "sign": (),
    "value": ("domain_median_abs_score",),
    "text": ("stranger_replies", "own_elsewhere", "request_id"),
}


def judge(frame: pl.DataFrame, prompts: Prompts, *, kind: Kind) -> pl.DataFrame:
    """One row per final answer, and one per floor and setting of each instance (setting ``all`` where it is one).

    Items have ``KEPT`` (``reason``: why an answer could not be used; null when it could) and

    * sign: ``truth`` (positive or not), ``predicted`` (the word that counted), ``correct``;
    * value: ``truth``, ``predicted`` (what counted), ``error``, ``log_error``;
    * text: the metrics (null: not to be had) and ``recalled`` (null: failed, or a floor's).

    Raises RunnerError where a reference is damaged.
    """
    rows = _answers(frame, kind)
    if kind == "sign":
        return _signs(rows)
    if kind == "value":
        return _values(rows)
    return judge_texts(rows, prompts, KEPT)


def judge_embeddings(frame: pl.DataFrame, prompts: Prompts) -> pl.DataFrame:
    """``sbert`` of the same answers and floors: max(0, cosine), 0 for a failure."""
    rows = _answers(frame, "text").with_columns(usable=pl.when(pl.col("reason").is_null()).then("answer"))
    close = embeddings.score_pairs(rows.select("reference", answer="usable")).select("reference", "answer", "sbert")
    found = rows.join(
        close, left_on=["reference", "usable"], right_on=["reference", "answer"], how="left", maintain_order="left"
    )
    price = 0.0 if embeddings.missing() is None else None  # known for sure only now that the model was asked
    return found.select(
        *KEYS, sbert=pl.when(pl.col("reason").is_null()).then("sbert").otherwise(pl.lit(price, pl.Float64))
    )


def _answers(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """The model's answers and the floors' in one frame, with ``reason``."""
    own = frame.with_columns(floor=pl.lit(None, pl.String))
    needed = [*(name for name in KEPT if name != "reason"), "reference", "status", "answer", *_NEEDED[kind]]
    rows = pl.concat([part.select(needed) for part in (own, *floor_answers(own, kind))])
    unusable = {
        "sign": pl.col("answer").is_in(["positive", "negative"]).not_().fill_null(True),
        "value": pl.col("answer").cast(pl.Float64, strict=False).is_null(),
        "text": pl.col("answer").is_null(),
    }[kind]
    return rows.with_columns(
        reason=pl.when(pl.col("status") != "ok").then("status").when(unusable).then(pl.lit("unparsable"))
    )


def _signs(rows: pl.DataFrame) -> pl.DataFrame:
    _check(rows, pl.col("reference").is_in(["positive", "negative"]), "neither positive nor negative")
    opposite = pl.when(pl.col("reference") == "positive").then(pl.lit("negative")).otherwise(pl.lit("positive"))
    predicted = pl.when(pl.col("reason").is_null()).then("answer").otherwise(opposite)
    return rows.select(
        *KEPT,
        truth=pl.col("reference") == "positive",
        predicted=predicted,
        correct=predicted == pl.col("reference"),
    )


def _values(rows: pl.DataFrame) -> pl.DataFrame:
    truth = pl.col("reference").cast(pl.Float64, strict=False)
    _check(rows, truth.is_not_null(), "not a number")
    answer = pl.col("answer").cast(pl.Float64, strict=False)
    # Not "greater": a NaN compares as greater than all, and so fails too.
    beyond = pl.col("reason").is_null() & ~(answer.abs() <= LARGEST_ANSWER)
    rows = rows.with_columns(reason=pl.when(beyond).then(pl.lit("out of range")).otherwise("reason"))
    # A score of 0 (3.2-all) has no sign: its penalty is simply m away.
    # A median of 0 (3.2-all) would make failing an answer of 0: the penalty is at least a vote in the wrong direction.
    size = pl.max_horizontal(pl.col("domain_median_abs_score").cast(pl.Float64), pl.lit(1.0))
    penalty = pl.when(truth > 0).then(-size).otherwise(size)
    predicted = pl.when(pl.col("reason").is_null()).then(answer).otherwise(penalty)
    return with_errors(rows.with_columns(truth=truth, predicted=predicted)).select(
        *KEPT, "truth", "predicted", "error", "log_error"
    )


def _check(rows: pl.DataFrame, good: pl.Expr, what: str) -> None:
    bad = rows.filter(~good.fill_null(False))
    if bad.height:
        raise RunnerError(
            f"The reference of instance {bad['instance_id'][0]} is {what} ({bad['reference'][0]!r}): "
            "the run's instances.parquet is damaged; build the run again."
        )
