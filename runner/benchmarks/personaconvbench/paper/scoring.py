"""From answers to the reference's numbers: unusable answers leave the mean, 3.3 is the best of n, per metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from runner.benchmarks.base import Scored
from runner.benchmarks.personaconvbench.paper.answers import parse
from runner.benchmarks.personaconvbench.paper.frame import Kind
from runner.metrics import classification, intervals, nltk_bleu, regression, text
from runner.metrics.score import Score
from runner.metrics.statistic import Statistic, mean

METRICS: dict[Kind, tuple[str, ...]] = {
    "sign": ("accuracy", "f1_positive", "f1_weighted", "mcc"),
    "value": ("rmse", "mae"),
    # METEOR and SBERT, which the reference also reports, need data and models that cannot be had offline.
    "text": ("rouge_1", "rouge_l", "bleu"),
}
"""The reference's, in the order of its tables; f1_weighted is what its Llama and DeepSeek rows mean by F1."""

_SEED = 0
_KEPT = ("instance_id", "setting", "sample", "status", "domain", "user", "weight")
_KEPT_STATUS = ("ok", "truncated")
"""The reference reads an answer that the token limit cut like any other."""


def score(frame: pl.DataFrame, kind: Kind) -> Scored:
    """The reference's aggregation for its GPT rows, per setting, over all instances and per domain.

    Answers that cannot be used leave every metric; ``coverage`` is the share of final ones that stayed.
    """
    items = judged(readable(frame, kind), kind)
    rows = [row for setting, group, part in groups(items) for row in cells(kind, part, setting, group)]
    return Scored(items, tuple(rows), signatures(kind))


def readable(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """Final rows, with the answer also of texts that were cut, and ``reason`` where there is none."""
    final = frame.filter(pl.col("status").is_not_null())
    answers = [
        parse(kind, said) if status in _KEPT_STATUS and said is not None else None
        for status, said in final.select("status", "text").iter_rows()
    ]
    final = final.with_columns(pl.Series("answer", answers, pl.String()))
    failed = pl.when(pl.col("status").is_in(_KEPT_STATUS)).then(pl.lit("unparsable")).otherwise(pl.col("status"))
    return final.with_columns(reason=pl.when(pl.col("answer").is_null()).then(failed))


def judged(frame: pl.DataFrame, kind: Kind) -> pl.DataFrame:
    """One row per answer with what each metric needs of it; null where the answer cannot be used."""
    keep = [column for column in (*_KEPT, "reason") if column in frame.columns]
    if kind == "sign":
        said, truth = pl.col("answer") == "positive", pl.col("reference") == "positive"
        return frame.select(*keep, positive=truth, said_positive=said, correct=said == truth)
    if kind == "value":
        said = pl.col("answer").cast(pl.Float64)
        return frame.select(*keep, "score", prediction=said, error=said - pl.col("score"))
    pairs = frame.select("reference", "answer")
    rouge = text.score_pairs(pairs).select("reference", "answer", "rouge_1", "rouge_l")
    with_all = frame.join(rouge, on=["reference", "answer"], how="left", maintain_order="left")
    with_all = with_all.join(
        nltk_bleu.score_pairs(pairs), on=["reference", "answer"], how="left", maintain_order="left"
    )
    return with_all.select(*keep, *METRICS["text"])


def groups(items: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """``(setting, group, rows)``: each setting whole, then by domain."""
    for (setting,), part in items.group_by("setting", maintain_order=True):
        yield str(setting), "all", part
        for domain in part["domain"].unique().sort():
            yield str(setting), f"domain={domain}", part.filter(pl.col("domain") == domain)


def cells(
    kind: Kind, items: pl.DataFrame, setting: str, group: str, floor: str | None = None, note: str | None = None
) -> list[Score]:
    """The metrics of one setting and group, with author-clustered intervals."""
    parts = (_best if kind == "text" else _all_at_once)(kind, items)
    coverage = 1 - items[_USED[kind]].null_count() / max(items.height, 1)
    rows = []
    for metrics, statistics, used, remark in parts:
        weights, authors = np.ones(used.height), used["user"].to_numpy().astype(object)
        found = intervals.intervals(statistics, weights, authors, _SEED)
        for metric, interval in zip(metrics, found, strict=True):
            notes = [part for part in (note, remark, interval.note) if part]
            rows.append(
                Score(
                    setting=setting,
                    group=group,
                    metric=metric,
                    value=interval.value,
                    low=interval.low,
                    high=interval.high,
                    n=used["instance_id"].n_unique(),
                    coverage=coverage,
                    floor=floor,
                    note="; ".join(notes) or None,
                )
            )
    return rows


_USED: dict[Kind, str] = {"sign": "said_positive", "value": "prediction", "text": "rouge_1"}
"""Null in this column: the answer could not be used."""

_Part = tuple[Sequence[str], Sequence[Statistic], pl.DataFrame, str | None]


def _all_at_once(kind: Kind, items: pl.DataFrame) -> list[_Part]:
    """3.1, 3.2: every metric over the same usable answers."""
    used = items.filter(pl.col(_USED[kind]).is_not_null())
    if kind == "sign":
        truth, said = used["positive"].to_numpy(), used["said_positive"].to_numpy()
        by_name: Mapping[str, Statistic] = classification.statistics(truth.astype(bool), said.astype(bool))
    else:
        by_name = regression.statistics(used["score"].to_numpy(), used["prediction"].to_numpy())
    return [(METRICS[kind], [by_name[metric] for metric in METRICS[kind]], used, None)]


def _best(kind: Kind, items: pl.DataFrame) -> list[_Part]:
    """3.3: the best answer of each prompt, chosen by the reference text for each metric apart; 0 leaves the mean."""
    best = items.group_by("instance_id", maintain_order=True).agg(
        pl.col("user").first(), pl.col(METRICS[kind]).max(), pl.len().alias("answers")
    )
    most = max(best["answers"].to_list())
    remark = "zeros left out" if most == 1 else f"best of {most} by the reference text, zeros left out"
    parts: list[_Part] = []
    for metric in METRICS[kind]:
        used = best.filter(pl.col(metric) > 0)
        parts.append(([metric], [mean(used[metric].to_numpy())], used, remark))
    return parts


def signatures(kind: Kind) -> dict[str, str]:
    """What produced each metric, and how it was brought together."""
    if kind == "text":
        each = {**text.signatures(), "bleu": nltk_bleu.signature()}
        aggregation = "paper:best answer per prompt and metric, zeros and unusable left out"
    else:
        each = classification.SIGNATURES if kind == "sign" else regression.SIGNATURES
        aggregation = "paper:unusable left out"
    return {metric: f"{each[metric]}|{aggregation}" for metric in METRICS[kind]} | {"interval": intervals.SIGNATURE}
