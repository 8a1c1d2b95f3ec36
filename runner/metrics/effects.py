"""Differences between settings on the same instances: contrasts of four values, intervals, swap tests by author."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from runner.metrics.intervals import FEWEST_AUTHORS, REPLICATES, intervals
from runner.metrics.score import Effect, EffectKind
from runner.metrics.statistic import Additive, FloatArray, Reweighted, Statistic, evaluate
from runner.metrics.swap import DRAWS, swap_test

_ROUNDING = 1e-12

BALANCED = "balanced_accuracy"
"""The metric that is a mean of means inside classes."""


@dataclass(frozen=True, slots=True)
class Contrast:
    """Σ coefficient · value of setting."""

    name: str
    kind: EffectKind
    coefficients: Mapping[str, float]


@dataclass(frozen=True, eq=False)
class Measured:
    """One metric in one setting, over the rows that all settings share.

    Where the metric is a weighted mean of scores of the rows (or the plain mean of such means inside classes:
    balanced accuracy), ``scores`` (n,) are they: the metric can then be tested. ``sign`` is -1 where less is better.
    """

    statistic: Statistic
    scores: FloatArray | None = None
    sign: float = 1.0


def effects(
    contrasts: Sequence[Contrast],
    measured: Mapping[str, Mapping[str, Measured]],
    weights: FloatArray,
    authors: npt.NDArray[np.object_],
    *,
    instances: int,
    classes: npt.NDArray[np.object_] | None = None,
    group: str = "all",
    level: float = 0.95,
    seed: int = 0,
    tested: bool = True,
    replicates: int = REPLICATES,
    draws: int = DRAWS,
) -> tuple[Effect, ...]:
    """Every contrast of every metric (``measured[setting][metric]``), in the order contrast, then metric.

    Rows are complete: each has all settings of the contrasts, and a metric is shown where all these settings have
    it. ``classes`` (n,) are those of the metrics whose name is ``balanced_accuracy``. Without ``tested`` no p is
    computed; nor is it where scores are missing, the value is undefined, or fewer than 20 effective authors remain.

    Raises ValueError where scores do not add up to the value that they are said to make.
    """
    cells = [(contrast, metric) for contrast in contrasts for metric in _shared_metrics(contrast, measured)]
    together = _Together(measured)
    statistics = [together.contrast(contrast, metric) for contrast, metric in cells]
    found = intervals(statistics, weights, authors, seed, replicates, level)
    shares = [
        _shares(contrast, metric, measured, weights, classes, interval.value)
        if tested and interval.value is not None and interval.g_eff >= FEWEST_AUTHORS
        else None
        for (contrast, metric), interval in zip(cells, found, strict=True)
    ]
    p = iter(_tests([share for share in shares if share is not None], authors, seed, draws))
    return tuple(
        Effect(
            name=contrast.name,
            kind=contrast.kind,
            metric=metric,
            group=group,
            value=interval.value,
            low=interval.low,
            high=interval.high,
            level=level,
            n=instances,
            authors=interval.g_eff,
            p=None if share is None else next(p),
            note=f"{interval.note}; no test" if tested and interval.g_eff < FEWEST_AUTHORS else interval.note,
        )
        for (contrast, metric), interval, share in zip(cells, found, shares, strict=True)
    )


def _shared_metrics(contrast: Contrast, measured: Mapping[str, Mapping[str, Measured]]) -> list[str]:
    """The metrics that all settings of a contrast have, in the order of its first one."""
    first, *others = (measured[setting] for setting in contrast.coefficients)
    return [metric for metric in first if all(metric in other for other in others)]


class _Together:
    """The statistics of all settings as one, so that every contrast reads from the same work per resample.

    Additive ones get one common array of parts; of the others, the values of a setting are kept from one contrast
    to the next.
    """

    def __init__(self, measured: Mapping[str, Mapping[str, Measured]]) -> None:
        self.measured = measured
        of_all = [one.statistic for metrics in measured.values() for one in metrics.values()]
        distinct = {id(one.parts): one.parts for one in of_all if isinstance(one, Additive)}
        ends = np.cumsum([parts.shape[1] for parts in distinct.values()]).tolist()
        self.columns = {
            key: slice(end - parts.shape[1], end) for (key, parts), end in zip(distinct.items(), ends, strict=True)
        }
        self.parts = np.hstack(list(distinct.values())) if distinct else None
        self.kept = {id(one): _Kept(one) for one in of_all}

    def contrast(self, contrast: Contrast, metric: str) -> Statistic:
        """Σ coefficient · sign · value: additive where all of its settings are."""
        terms = [
            (factor * self.measured[setting][metric].sign, self.measured[setting][metric].statistic)
            for setting, factor in contrast.coefficients.items()
        ]
        sums = [(factor, self.columns[id(s.parts)], s.of) for factor, s in terms if isinstance(s, Additive)]
        if self.parts is not None and len(sums) == len(terms):
            classes = next((s.classes for _, s in terms if isinstance(s, Additive)), None)
            return Additive(self.parts, lambda all_sums: _total([f * of(all_sums[c]) for f, c, of in sums]), classes)
        values = [(factor, self.kept[id(statistic)]) for factor, statistic in terms]
        return Reweighted(lambda weights: _total([factor * value(weights) for factor, value in values]))


class _Kept:
    """A statistic that remembers the last weights it saw: all contrasts of a chunk ask for the same."""

    def __init__(self, statistic: Statistic) -> None:
        self.statistic = statistic
        self.weights: FloatArray | None = None
        self.values: FloatArray = np.zeros(0)

    def __call__(self, weights: FloatArray) -> FloatArray:
        if weights is not self.weights:
            self.weights, self.values = weights, evaluate(self.statistic, weights)
        return self.values


def _total(terms: Sequence[FloatArray]) -> FloatArray:
    total: FloatArray = np.sum(terms, axis=0)
    return total


def _shares(
    contrast: Contrast,
    metric: str,
    measured: Mapping[str, Mapping[str, Measured]],
    weights: FloatArray,
    classes: npt.NDArray[np.object_] | None,
    value: float,
) -> FloatArray | None:
    """What each row adds to the contrast's ``value`` (n,), or None where a setting has no scores."""
    terms = []
    for setting, factor in contrast.coefficients.items():
        one = measured[setting][metric]
        if one.scores is None:
            return None
        terms.append(factor * one.sign * one.scores)
    mass: FloatArray = weights.sum(keepdims=True)
    groups = 1
    if metric == BALANCED and classes is not None:
        _, member = np.unique(classes, return_inverse=True)
        of_class = np.bincount(member, weights).astype(np.float64)
        mass, groups = of_class[member], len(of_class)
    difference, size = _total(terms), np.abs(terms).sum(axis=0)
    difference[np.abs(difference) < _ROUNDING * size] = 0.0  # of equal scores rounding leaves a sign that means nothing
    shares: FloatArray = difference * weights / (mass * groups)
    # A p of other scores than those behind the value would look like any p. Large scores that cancel leave rounding.
    largest = (np.abs(terms).max(axis=0) * weights / (mass * groups)).sum()
    if not np.isclose(shares.sum(), value, rtol=1e-6, atol=1e-9 * max(1.0, largest)):
        raise ValueError(f"scores of {metric} add up to {shares.sum()} in {contrast.name}; its value is {value}")
    return shares


def _tests(shares: Sequence[FloatArray], authors: npt.NDArray[np.object_], seed: int, draws: int) -> Sequence[float]:
    """The p of each, all on the same swaps."""
    if not shares:
        return ()
    _, member = np.unique(authors, return_inverse=True)
    sums = np.column_stack([np.bincount(member, share).astype(np.float64) for share in shares])
    return [float(p) for p in swap_test(sums, seed, draws)]
