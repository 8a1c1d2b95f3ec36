"""The table's rows: every instance counted, every value with an interval or the reason why there is none."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from runner.benchmarks.personaconvbench.absent import why_missing
from runner.benchmarks.personaconvbench.strict.limits import ARMS, SETTINGS
from runner.benchmarks.personaconvbench.strict.scoring import floors
from runner.benchmarks.personaconvbench.strict.scoring.kinds import (
    METRICS,
    NO_QUALITY,
    NOTES,
    PRIMARY,
    SEED,
    Kind,
)
from runner.benchmarks.personaconvbench.strict.scoring.measures import by_presence, measured, missing, weight
from runner.metrics.intervals import Interval, intervals
from runner.metrics.score import Score, score_of
from runner.metrics.statistic import Additive, Statistic, estimate, mean

_NOT_RESAMPLED = "no interval: made for the model's own answers only"


def settings_of(items: pl.DataFrame) -> list[str]:
    """The settings that are there, in the order of tables; ``all`` (floors) first."""
    present = set(items["setting"].unique())
    return [setting for setting in (floors.ALL, *SETTINGS, *ARMS) if setting in present]


def model_rows(own: pl.DataFrame, kind: Kind) -> Iterator[Score]:
    """Per setting: all metrics over all instances, the best of n, then the primary metric per domain."""
    for setting in settings_of(own):
        part = own.filter(pl.col("setting") == setting).with_columns(weight())
        yield from _cell(part, kind, METRICS[kind], setting, "all")
        yield from _best_of_n(part, kind, setting)
        yield from _domains(part, kind, setting)


def floor_rows(items: pl.DataFrame, kind: Kind) -> Iterator[Score]:
    """The same of each floor, with the same weights."""
    metrics = [metric for metric in METRICS[kind] if metric != "recalled"]
    for name in items["floor"].unique(maintain_order=True):
        said = items.filter(pl.col("floor") == name)
        note = floors.CONSTANT_NOTE if name == floors.CONSTANT.get(kind) else None
        for setting in settings_of(said):
            part = said.filter(pl.col("setting") == setting).with_columns(weight())
            yield from _cell(part, kind, metrics, setting, "all", name, note)
            yield from _domains(part, kind, setting, name, note)


def _domains(
    part: pl.DataFrame, kind: Kind, setting: str, floor: str | None = None, note: str | None = None
) -> Iterator[Score]:
    for domain in part["domain"].unique().sort():
        inside = part.filter(pl.col("domain") == domain)
        yield from _cell(inside, kind, (PRIMARY[kind],), setting, f"domain={domain}", floor, note)


def _cell(
    rows: pl.DataFrame,
    kind: Kind,
    metrics: Sequence[str],
    setting: str,
    group: str,
    floor: str | None = None,
    note: str | None = None,
) -> Iterator[Score]:
    lost = missing(rows, kind, metrics)
    found: dict[str, Score] = {
        metric: _score(rows, setting, group, metric, Interval(None, None, None, why_missing(metric), 0.0), floor)
        for metric in lost
    }
    for names, there in by_presence([rows], kind, [metric for metric in metrics if metric not in lost]):
        used = rows.filter(there)
        statistics = [one.statistic for one in measured(used, kind, names).values()]
        for metric, interval in zip(names, _intervals(statistics, used, floor), strict=True):
            found[metric] = _score(used, setting, group, metric, interval, floor, note, NOTES.get(metric))
    yield from (found[metric] for metric in metrics)


def _intervals(statistics: Sequence[Statistic], rows: pl.DataFrame, floor: str | None) -> list[Interval]:
    """Floors' medians and ranks are not resampled: seconds each, and nothing is decided by them."""
    weights, authors = rows["weight"].to_numpy(), rows["user"].to_numpy().astype(object)
    resampled = [one for one in statistics if floor is None or isinstance(one, Additive)]
    found = iter(intervals(resampled, weights, authors, SEED))
    return [
        next(found)
        if floor is None or isinstance(one, Additive)
        else Interval(value, None, None, "n/a: undefined on these instances" if value is None else _NOT_RESAMPLED, 0.0)
        for one, value in ((one, None if isinstance(one, Additive) else estimate(one, weights)) for one in statistics)
    ]


def _best_of_n(part: pl.DataFrame, kind: Kind, setting: str) -> Iterator[Score]:
    """The best answer of each instance by the reference, for each metric apart: an oracle, and named as one."""
    samples = pl.len().over("instance_id")
    most = part.select(samples.max()).item()
    # Only where all samples are in: a choice among fewer is another metric.
    complete = part.filter(samples == most)
    if kind != "text" or most == 1 or complete.is_empty():
        return
    names = [metric for metric in METRICS[kind] if metric not in NO_QUALITY]
    names = [metric for metric in names if metric not in missing(complete, kind, names)]
    best = complete.group_by("instance_id", maintain_order=True).agg(
        pl.col("user").first(), pl.col("weight").sum(), pl.col("reason").first(), pl.col(names).max()
    )
    usable = complete["reason"].null_count() / complete.height
    for metric in names:
        used = best.drop_nulls(metric)
        (interval,) = _intervals([mean(used[metric].to_numpy())], used, None)
        name, note = f"{metric}@best_of_{most}", f"oracle best-of-{most}"
        yield _score(used, setting, "all", name, interval, None, note, coverage=usable)


def _score(
    used: pl.DataFrame,
    setting: str,
    group: str,
    metric: str,
    interval: Interval,
    floor: str | None,
    *notes: str | None,
    coverage: float | None = None,
) -> Score:
    usable = used["reason"].null_count() / used.height
    n, covered = used["instance_id"].n_unique(), usable if coverage is None else coverage
    return score_of(interval, setting, group, metric, *notes, n=n, coverage=covered, floor=floor)
