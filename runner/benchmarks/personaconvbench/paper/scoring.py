"""From items to the reference's numbers: unusable answers leave the mean, 3.3 is the best of n, per metric."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import polars as pl

from runner.benchmarks.base import Judge, Scored
from runner.benchmarks.personaconvbench.absent import why_missing
from runner.benchmarks.personaconvbench.paper.floors import constant_items
from runner.benchmarks.personaconvbench.paper.frame import SETTINGS, Kind
from runner.benchmarks.personaconvbench.paper.judging import USED, judge, judge_embeddings
from runner.benchmarks.personaconvbench.paper.rivals import PRIMARY, SEED, beats
from runner.benchmarks.personaconvbench.paper.usable import best, complete, usable
from runner.metrics import classification, embeddings, intervals, nltk_bleu, regression, text
from runner.metrics.score import Score, score_of
from runner.metrics.statistic import Statistic, mean

METRICS: dict[Kind, tuple[str, ...]] = {
    "sign": ("accuracy", "f1_positive", "f1_weighted", "mcc"),
    "value": ("rmse", "mae"),
    "text": ("rouge_1", "rouge_l", "meteor", "bleu", "sbert"),
}
"""The reference's, in the order of its table."""
_NOTES = {
    "f1_positive": "of the positive class: beside the published GPT and Claude rows",
    "f1_weighted": "weighted over classes: beside the published LLaMA and DeepSeek rows",
}
_PUBLISHED_BEST_OF = 10
"""Answers per prompt behind the published GPT rows of 3.3."""


def judges(kind: Kind) -> tuple[Judge, ...]:
    """The judge of answers, and that of embeddings where they can be had."""
    answers = Judge("answers", partial(judge, kind=kind))
    if kind != "text" or embeddings.missing() is not None:
        return (answers,)
    return (answers, Judge("sbert", judge_embeddings, pooled=False))


def score(items: pl.DataFrame, kind: Kind, *, tested: bool = True) -> Scored:
    """The reference's aggregation for its GPT rows, per setting; ``coverage`` is the share of answers that stayed.

    Over all instances every metric, per domain the primary one. The only effects are those over the best floor;
    without ``tested`` (answers are still to come) they say so. In 3.3 only prompts with all their answers are in.
    """
    own, copies = items.filter(pl.col("floor").is_null()), items.filter(pl.col("floor").is_not_null())
    if kind == "text":
        own = complete(own)
    rows = [row for setting, group, part in _groups(own) for row in _cells(kind, part, setting, group)]
    floors: list[Score] = []
    for setting, group, part in _groups(own):
        for name, said in constant_items(part, kind):
            floors += _cells(kind, said, setting, group, name, "chosen on this sample")
    for name in copies["floor"].unique(maintain_order=True):
        for setting, group, part in _groups(copies.filter(pl.col("floor") == name)):
            floors += _cells(kind, part, setting, group, str(name))
    effects = tuple(
        effect
        for setting, group, part in _groups(own)
        if group == "all"
        for effect in beats(part, copies, setting, kind, tested=tested)
    )
    return Scored(tuple(rows), tuple(_with_n(floors, rows)), effects, signatures(kind))


def _with_n(floors: Sequence[Score], rows: Sequence[Score]) -> Iterator[Score]:
    """A floor on other instances than the model's value says on how many: its own zeros and gaps have left it."""
    models = {(row.setting, row.group, row.metric): row.n for row in rows}
    for floor in floors:
        n = models.get((floor.setting, floor.group, floor.metric), floor.n)
        said = None if floor.n == n or floor.value is None else f"n {floor.n:,}, the model's {n:,}"
        yield replace(floor, note="; ".join(part for part in (floor.note, said) if part) or None)


def _groups(items: pl.DataFrame) -> Iterator[tuple[str, str, pl.DataFrame]]:
    """``(setting, group, rows)``: each setting whole, then by domain."""
    for setting in SETTINGS:
        part = items.filter(pl.col("setting") == setting)
        if part.height:
            yield setting, "all", part
        for domain in part["domain"].unique().sort():
            yield setting, f"domain={domain}", part.filter(pl.col("domain") == domain)


def _cells(
    kind: Kind, items: pl.DataFrame, setting: str, group: str, floor: str | None = None, note: str | None = None
) -> Iterator[Score]:
    """The metrics of one setting and group, with author-clustered intervals."""
    metrics = METRICS[kind] if group == "all" else (PRIMARY[kind],)
    coverage = 1 - items[USED[kind]].null_count() / items.height
    parts = _best_of_n(metrics, items) if kind == "text" else _all_at_once(kind, metrics, items)
    for names, statistics, used, remark in parts:
        weights, authors = np.ones(used.height), used["user"].to_numpy().astype(object)
        found = intervals.intervals(statistics, weights, authors, SEED) if statistics else _UNKNOWN
        for metric, interval in zip(names, found, strict=True):
            notes = (note, _NOTES.get(metric), remark)
            n = used["instance_id"].n_unique()
            yield score_of(interval, setting, group, metric, *notes, n=n, coverage=coverage, floor=floor)


_UNKNOWN = (intervals.Interval(None, None, None, None, 0.0),)
_Part = tuple[Sequence[str], Sequence[Statistic], pl.DataFrame, str | None]


def _all_at_once(kind: Kind, metrics: Sequence[str], items: pl.DataFrame) -> Iterator[_Part]:
    """3.1, 3.2: every metric over the same usable answers."""
    used = usable(items, kind)
    if kind == "sign":
        truth, said = (used[name].to_numpy().astype(bool) for name in ("positive", "said_positive"))
        by_name: Mapping[str, Statistic] = classification.statistics(truth, said)
    else:
        by_name = regression.statistics(used["score"].to_numpy(), used["prediction"].to_numpy())
    yield metrics, [by_name[metric] for metric in metrics], used, None


def _best_of_n(metrics: Sequence[str], items: pl.DataFrame) -> Iterator[_Part]:
    """3.3: the best answer of each prompt, chosen by the reference text for each metric apart; 0 leaves the mean."""
    most = items.select(pl.len().over("instance_id").max()).item()
    remark = "zeros left out" if most == 1 else f"best of {most} by the reference text, zeros left out"
    if most != _PUBLISHED_BEST_OF and items["floor"].null_count():
        remark += f"; not comparable with the published GPT rows, the best of {_PUBLISHED_BEST_OF}"
    for metric in metrics:
        lost = metric not in items.columns or (items[metric].is_null() & items["rouge_1"].is_not_null()).any()
        if lost:
            yield [metric], [], items, why_missing(metric)
            continue
        used = best(items, metric)
        yield [metric], [mean(used[metric].to_numpy())], used, remark


def signatures(kind: Kind) -> dict[str, str]:
    """What produced each metric, and how it was brought together."""
    if kind == "text":
        each = {**text.signatures(), "bleu": nltk_bleu.signature()}
        if raw := embeddings.signatures().get("sbert_raw"):
            each["sbert"] = raw
        aggregation = "paper:best answer per prompt and metric, zeros and unusable left out"
    else:
        each = classification.SIGNATURES if kind == "sign" else regression.SIGNATURES
        aggregation = "paper:unusable left out"
    named = {metric: f"{each[metric]}|{aggregation}" for metric in METRICS[kind] if metric in each}
    return named | {"interval": f"{intervals.SIGNATURE}|seed:{SEED}"}
