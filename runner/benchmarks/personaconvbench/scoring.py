"""The strict protocol's numbers: every instance counted, every failure at its price, every value with an interval.

What a failed answer (unparsable, refused, filtered, truncated, missing, out of range) is worth:

* sign (3.1): the opposite of the truth.
* value (3.2): −sign(y)·m, where m is the median |score| of the domain's other authors: always a wrong sign. An
  answer beyond ±10⁷ fails, too.
* text (3.3): 0 in every metric.

Several samples of an instance share its weight ("mean-of-n"); the best of n by the reference is shown as such.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

import polars as pl

from runner.benchmarks.base import Scored
from runner.errors import RunnerError
from runner.metrics import classification, regression, text
from runner.metrics.intervals import SIGNATURE, intervals
from runner.metrics.score import Score
from runner.metrics.statistic import Statistic, estimate, mean

Kind = Literal["sign", "value", "text"]

METRICS: dict[Kind, tuple[str, ...]] = {
    "sign": ("balanced_accuracy", "accuracy", "f1_positive", "f1_macro", "f1_weighted", "mcc"),
    "value": ("log_mae", "mae", "median_ae", "rmse", "spearman"),
    "text": ("rouge_l", "rouge_1", "bleu", "length_ratio"),
}
"""In the order of tables."""

PRIMARY: dict[Kind, str] = {kind: names[0] for kind, names in METRICS.items()}
LARGEST_ANSWER = 10_000_000
SEED = 0

_NOTES = {"rmse": "no test: one viral reply decides it"}
_FAILED = {"sign": "opposite of the truth", "value": "-sign(y)*median|score| of the domain", "text": "0"}
_KEPT = (
    "instance_id", "setting", "sample", "domain", "user", "time", "weight", "reference", "status", "answer",
    "reason",
)  # fmt: skip


def score(frame: pl.DataFrame, kind: Kind) -> Scored:
    """Judge the final rows of ``frame`` (see ``Task.score``): per setting, over all instances and per domain.

    ``items`` gets ``reason`` (why an answer could not be used; null when it could) and per kind: ``predicted``
    (what counted) with ``correct``, or with ``error`` and ``log_error``, or the four text metrics.
    """
    items = judge(frame, kind)
    rows = tuple(
        row
        for (setting,), part in items.group_by("setting", maintain_order=True)
        for row in table(part, kind, str(setting))
    )
    return Scored(items, rows, signatures(kind))


def signatures(kind: Kind) -> dict[str, str]:
    """What produced each metric and its interval."""
    each = {"sign": classification.SIGNATURES, "value": regression.SIGNATURES, "text": text.signatures()}[kind]
    rule = f"failed:{_FAILED[kind]}|protocol:strict"
    return {metric: f"{each[metric]}|{rule}" for metric in METRICS[kind]} | {"interval": f"{SIGNATURE}|seed:{SEED}"}


def judge(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """One row per final answer with its ``reason`` and what the metrics need of it. Works on any partition."""
    final = frame.filter(pl.col("status").is_not_null())
    unusable = {
        "sign": pl.col("answer").is_in(["positive", "negative"]).not_().fill_null(True),
        "value": pl.col("answer").cast(pl.Float64, strict=False).is_null(),
        "text": pl.col("answer").is_null(),
    }[kind]
    failed = final.with_columns(
        reason=pl.when(pl.col("status") != "ok").then("status").when(unusable).then(pl.lit("unparsable"))
    )
    return {"sign": _judge_sign, "value": _judge_value, "text": _judge_text}[kind](failed)


def _judge_sign(frame: pl.DataFrame) -> pl.DataFrame:
    _check(frame, pl.col("reference").is_in(["positive", "negative"]), "neither positive nor negative")
    opposite = pl.when(pl.col("reference") == "positive").then(pl.lit("negative")).otherwise(pl.lit("positive"))
    predicted = pl.when(pl.col("reason").is_null()).then("answer").otherwise(opposite)
    return frame.select(*_KEPT, predicted=predicted, correct=predicted == pl.col("reference"))


def _judge_value(frame: pl.DataFrame) -> pl.DataFrame:
    truth = pl.col("reference").cast(pl.Float64, strict=False)
    _check(frame, truth.is_not_null(), "not a number")
    answer = pl.col("answer").cast(pl.Float64, strict=False)
    beyond = pl.col("reason").is_null() & (answer.abs() > LARGEST_ANSWER)
    frame = frame.with_columns(reason=pl.when(beyond).then(pl.lit("out of range")).otherwise("reason"))
    # A score of 0 (3.2-all) has no sign: its penalty is simply m away.
    # A median of 0 (3.2-all) would make failing an answer of 0: the penalty is at least a vote in the wrong direction.
    size = pl.max_horizontal(pl.col("domain_median_abs_score").cast(pl.Float64), pl.lit(1.0))
    penalty = pl.when(truth > 0).then(-size).otherwise(size)
    predicted = pl.when(pl.col("reason").is_null()).then(answer).otherwise(penalty)
    frame = frame.with_columns(truth=truth, predicted=predicted)
    logs = {name: regression.signed_log(frame[name].to_numpy()) for name in ("truth", "predicted")}
    return frame.select(
        *_KEPT,
        "predicted",
        error=pl.col("predicted") - pl.col("truth"),
        log_error=pl.Series(logs["predicted"] - logs["truth"], dtype=pl.Float64),
    )


def _judge_text(frame: pl.DataFrame) -> pl.DataFrame:
    usable = pl.when(pl.col("reason").is_null()).then("answer")
    frame = frame.with_columns(usable=usable)
    pairs = text.score_pairs(frame.select("reference", answer="usable"))
    found = frame.join(
        pairs, left_on=["reference", "usable"], right_on=["reference", "answer"], how="left", maintain_order="left"
    )
    worth = [
        pl.when(pl.col("reason").is_null()).then(metric).otherwise(0.0).alias(metric) for metric in METRICS["text"]
    ]
    return found.select(*_KEPT, *worth)


def _check(frame: pl.DataFrame, good: pl.Expr, what: str) -> None:
    bad = frame.filter(~good.fill_null(False))
    if bad.height:
        raise RunnerError(
            f"The reference of instance {bad['instance_id'][0]} is {what} ({bad['reference'][0]!r}): "
            "the run's instances.parquet is damaged; build the run again."
        )


def table(
    items: pl.DataFrame, kind: Kind, setting: str, floor: str | None = None, note: str | None = None
) -> Iterator[Score]:
    """The table's rows for the judged answers of one setting: all instances, then each domain."""
    # Samples share their instance's weight, so that every instance counts once.
    items = items.with_columns(samples=pl.len().over("instance_id"), usable=pl.col("reason").is_null())
    items = items.with_columns(share=pl.col("weight") / pl.col("samples"), most=pl.col("samples").max())
    yield from _cell(items, kind, setting, "all", floor, note)
    for domain in items["domain"].unique().sort():
        part = items.filter(pl.col("domain") == domain)
        yield from _cell(part, kind, setting, f"domain={domain}", floor, note)


def _cell(
    items: pl.DataFrame, kind: Kind, setting: str, group: str, floor: str | None, note: str | None
) -> Iterator[Score]:
    for statistics, notes, used in _measured(items, kind):
        authors = used["user"].to_numpy().astype(object)
        found = intervals(list(statistics.values()), used["share"].to_numpy(), authors, SEED)
        for metric, interval in zip(statistics, found, strict=True):
            said = [part for part in (note, notes.get(metric), interval.note) if part]
            yield Score(
                setting=setting,
                group=group,
                metric=metric,
                value=interval.value,
                low=interval.low,
                high=interval.high,
                n=used["instance_id"].n_unique(),
                coverage=used.select(pl.col("usable").mean()).item(),
                floor=floor,
                note="; ".join(said) or None,
            )


_Measured = tuple[Mapping[str, Statistic], Mapping[str, str], pl.DataFrame]


def _measured(items: pl.DataFrame, kind: Kind) -> list[_Measured]:
    """Statistics by metric, notes by metric, and the rows that both are about."""
    if kind == "sign":
        truth, said = ((items[column] == "positive").to_numpy() for column in ("reference", "predicted"))
        return [(classification.statistics(truth, said), {}, items)]
    if kind == "value":
        said = items["predicted"].to_numpy()
        return [(regression.statistics(said - items["error"].to_numpy(), said), _NOTES, items)]
    means = {metric: mean(items[metric].to_numpy()) for metric in METRICS["text"]}
    measured: list[_Measured] = [(means, {}, items)]
    most = items["most"][0]
    # Only where all samples are in: a choice among fewer is another metric.
    complete = items.filter(pl.col("samples") == most)
    if most > 1 and complete.height:
        best = complete.group_by("instance_id", maintain_order=True).agg(
            pl.col("user").first(), pl.col("share").sum(), pl.col("usable").mean(), pl.col(text.QUALITY).max()
        )
        oracle = {f"{metric}@best_of_{most}": mean(best[metric].to_numpy()) for metric in text.QUALITY}
        measured.append((oracle, dict.fromkeys(oracle, f"oracle best-of-{most}"), best))
    return measured


# ---------------------------------------------------------------- floors


@dataclass(frozen=True)
class Floor:
    """A trivial predictor: a column of the instances, read as an answer.

    ``{who}`` in the column stands for whose history the setting shows (``own``, ``donor``): such a floor has
    one value per setting; all others are of setting ``all``.
    """

    name: str
    column: str
    read: Callable[[pl.Expr], pl.Expr] = lambda column: column.cast(pl.String)
    note: str | None = None


def _sign(value: pl.Expr, least: float) -> pl.Expr:
    positive = pl.when(value >= least).then(pl.lit("positive")).otherwise(pl.lit("negative"))
    return pl.when(value.is_not_null()).then(positive)


_ON_SAMPLE = "chosen on the sample"

FLOORS: dict[Kind, tuple[Floor, ...]] = {
    "sign": (
        Floor("majority", "best_constant", note=_ON_SAMPLE),
        Floor("prior_sign_rate", "prior_positive_rate", lambda rate: _sign(rate, 0.5)),
        Floor("newest_history", "newest_{who}_score", lambda score: _sign(score, 1)),
    ),
    "value": (
        Floor("best_constant", "best_constant", note=_ON_SAMPLE),
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


def floors(frame: pl.DataFrame, kind: Kind) -> tuple[Score, ...]:
    """The floors' rows on the instances that have a final answer, with the same weights and failure rules.

    The best constant (majority; for values the weighted median, which minimises ``log_mae``) is one for all
    domains. A floor without a value for an instance fails there like an answer.
    """
    final = frame.filter(pl.col("status").is_not_null())
    said = list(_floor_answers(final, kind))
    if not said:
        return ()
    notes = {floor.name: floor.note for floor in FLOORS[kind]}
    # Judged together, so that a text that stands in two settings is scored once.
    items = judge(pl.concat(said), kind).with_columns(pl.concat([part.select("floor") for part in said]))
    return tuple(
        row
        for (name, setting), part in items.group_by("floor", "setting", maintain_order=True)
        for row in table(part, kind, str(setting), str(name), notes[str(name)])
    )


def _floor_answers(final: pl.DataFrame, kind: Kind) -> Iterator[pl.DataFrame]:
    """One frame per floor and setting, in the shape that ``judge`` reads, with ``floor``."""
    instances = final.unique("instance_id", keep="first", maintain_order=True)
    if instances.is_empty():
        return
    constant = _best_constant(instances, kind)
    penalty = ("domain_median_abs_score",) if kind == "value" else ()
    needed = [column for column in (*_KEPT, "floor", *penalty) if column != "reason"]
    for floor in FLOORS[kind]:
        for setting in final["setting"].unique(maintain_order=True) if "{who}" in floor.column else ("all",):
            who = {"p": "own", "np": "donor"}.get(setting.partition("-")[0])
            if who is None and setting != "all":
                continue  # an arm without any history
            rows = instances if setting == "all" else final.filter(pl.col("setting") == setting)
            yield (
                rows.unique("instance_id", keep="first", maintain_order=True)
                .with_columns(best_constant=pl.lit(constant))
                .with_columns(
                    setting=pl.lit(setting),
                    sample=pl.lit(0, pl.Int64),
                    status=pl.lit("ok"),
                    answer=floor.read(pl.col(floor.column.format(who=who))),
                    floor=pl.lit(floor.name),
                )
                .select(*needed)
            )


def _best_constant(instances: pl.DataFrame, kind: Kind) -> str | None:
    if kind == "text":
        return None
    weights = instances["weight"].to_numpy()
    if kind == "sign":
        positive = (instances["reference"] == "positive").to_numpy()
        return "positive" if weights[positive].sum() >= weights.sum() / 2 else "negative"
    truth = instances["reference"].cast(pl.Float64).to_numpy()
    return str(estimate(regression.median(truth), weights))
