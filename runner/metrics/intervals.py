"""Intervals that know that one author's replies resemble each other.

Authors are resampled with replacement together with all their rows, the statistic is recomputed, and the
percentile bounds are widened about the estimate by t(.975, G_eff - 1)/z(.975) · √(G/(G - 1)), since percentile
intervals are too narrow for few clusters (Hesterberg 2015, "What teachers should know about the bootstrap",
expanded percentile interval). G is the number of authors, G_eff = (ΣW_g)²/ΣW_g² what they are worth when
their summed weights W_g differ (Kish 1965).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from runner.metrics.signature import signature
from runner.metrics.statistic import Additive, FloatArray, Statistic, weighted_sums

REPLICATES = 4_000
FEWEST_AUTHORS = 20
FEW_AUTHORS = 50

_MOST_UNDEFINED = 0.05
_CELLS = 1_000_000  # floats per array of a chunk: 8 MB, and a statistic makes up to eight of them
_UNDEFINED = "n/a: undefined on these instances"

SIGNATURE = signature(
    "interval",
    "own",
    resampled="authors",
    replicates=REPLICATES,
    level=0.95,
    bounds="percentile, widened by t(.975,G_eff-1)/z(.975)*sqrt(G/(G-1))",
    version=2,
)


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its bounds, or with a note that says why there are none (or few authors)."""

    value: float | None
    low: float | None
    high: float | None
    note: str | None
    g_eff: float


def intervals(
    statistics: Sequence[Statistic],
    weights: FloatArray,
    authors: npt.NDArray[np.object_],
    seed: int,
    replicates: int = REPLICATES,
    level: float = 0.95,
) -> tuple[Interval, ...]:
    """One interval of ``level`` per statistic; all are computed on the same resamples of the same rows.

    ``weights`` (positive) and ``authors`` are (n,) and belong to the rows of every statistic. The resamples
    depend on the seed and the number of authors only, so statistics of two settings with the same authors are
    paired. Replicates in which a statistic is undefined are left out; more than 5 % of them: no interval.
    """
    values = _estimates(statistics, weights)
    _, member = np.unique(authors, return_inverse=True)
    worth = _Worth(member, weights)
    known = [worth.of(statistic) for statistic in statistics]
    sure = [value is not None and g >= FEWEST_AUTHORS for value, g in zip(values, known, strict=True)]
    wanted = [statistic for statistic, is_sure in zip(statistics, sure, strict=True) if is_sure]
    resampled = iter(_resampled(wanted, weights, member, seed, replicates) if wanted else ())
    found = []
    for value, g_eff, statistic in zip(values, known, statistics, strict=True):
        if value is None:
            found.append(Interval(None, None, None, _UNDEFINED, g_eff))
        elif g_eff < FEWEST_AUTHORS:
            of = " of the smaller class" if _classes(statistic) is not None else ""
            few = f"no interval: {g_eff:.1f} effective authors{of}, fewer than {FEWEST_AUTHORS}"
            found.append(Interval(value, None, None, few, g_eff))
        else:
            widening = _widening(int(member.max()) + 1, g_eff, level)
            found.append(_bounded(value, next(resampled), widening, g_eff, level))
    return tuple(found)


class _Worth:
    """What the authors are worth to a statistic: G_eff, where classes enter alike that of the smaller one."""

    def __init__(self, member: npt.NDArray[np.intp], weights: FloatArray) -> None:
        self._member, self._weights = member, weights
        self._known: dict[int, float] = {}

    def of(self, statistic: Statistic) -> float:
        classes = _classes(statistic)
        if id(classes) not in self._known:
            parts = [np.ones(len(self._weights), bool)] if classes is None else [classes, ~classes]
            self._known[id(classes)] = min(self._of_rows(rows) for rows in parts)
        return self._known[id(classes)]

    def _of_rows(self, rows: npt.NDArray[np.bool_]) -> float:
        mass = np.bincount(self._member[rows], self._weights[rows])
        squares = float((mass**2).sum())
        return float(mass.sum()) ** 2 / squares if squares else 0.0


def _classes(statistic: Statistic) -> npt.NDArray[np.bool_] | None:
    return statistic.classes if isinstance(statistic, Additive) else None


def _estimates(statistics: Sequence[Statistic], weights: FloatArray) -> list[float | None]:
    """``estimate`` of each; those made from the same parts share the sums."""
    if len(weights) == 0:
        return [None] * len(statistics)
    column = weights[:, None]
    parts = {id(s.parts): s.parts for s in statistics if isinstance(s, Additive)}
    sums = {key: weighted_sums(columns, column) for key, columns in parts.items()}
    values = [float((s.of(sums[id(s.parts)]) if isinstance(s, Additive) else s.of(column))[0]) for s in statistics]
    return [value if np.isfinite(value) else None for value in values]


def _bounded(value: float, resampled: FloatArray, widening: float, g_eff: float, level: float) -> Interval:
    finite = resampled[np.isfinite(resampled)]
    undefined = 1 - len(finite) / len(resampled)
    if undefined > _MOST_UNDEFINED:
        return Interval(value, None, None, f"no interval: undefined in {undefined:.0%} of resamples", g_eff)
    low, high = (
        value + widening * float(bound - value) for bound in np.quantile(finite, ((1 - level) / 2, (1 + level) / 2))
    )
    if finite.min() == finite.max():  # no error among few is not proof of none
        return Interval(value, None, None, "no interval: the same in every resample", g_eff)
    note = f"few authors: {g_eff:.1f} effective" if g_eff <= FEW_AUTHORS else None
    return Interval(value, low, high, note, g_eff)


def _widening(authors: int, g_eff: float, level: float) -> float:
    from scipy.special import ndtri, stdtrit

    upper = (1 + level) / 2
    return float(stdtrit(g_eff - 1, upper) / ndtri(upper) * np.sqrt(authors / (authors - 1)))


def _resampled(
    statistics: Sequence[Statistic],
    weights: FloatArray,
    member: npt.NDArray[np.intp],
    seed: int,
    replicates: int,
) -> list[FloatArray]:
    """Values (replicates,) of each statistic. ``member`` numbers each row's author from 0."""
    authors = int(member.max()) + 1
    # Statistics made from the same parts (all metrics of one confusion) share the work.
    parts = {id(s.parts): s.parts for s in statistics if isinstance(s, Additive)}
    by_author: dict[int, FloatArray] = {
        key: np.column_stack([np.bincount(member, weights * part, authors) for part in columns.T])
        for key, columns in parts.items()
    }
    by_row = not all(isinstance(statistic, Additive) for statistic in statistics)
    of_rows = _expansion(weights, member) if by_row else None
    width = max(1, _CELLS // (len(weights) if by_row else authors))
    values: list[list[FloatArray]] = [[] for _ in statistics]
    for counts in _counts(authors, replicates, width, seed):
        rows = counts if of_rows is None else of_rows @ counts
        sums = {key: weighted_sums(columns, counts) for key, columns in by_author.items()}
        for out, statistic in zip(values, statistics, strict=True):
            out.append(statistic.of(sums[id(statistic.parts)] if isinstance(statistic, Additive) else rows))
    return [np.concatenate(out) for out in values]


def _expansion(weights: FloatArray, member: npt.NDArray[np.intp]) -> Any:
    """What turns counts of authors into weights of rows, by ``@``: dear, so only where a statistic needs it."""
    from scipy.sparse import csr_array

    # One entry a row: a sparse product gathers and multiplies in one pass over memory.
    return csr_array((weights, member, np.arange(len(weights) + 1)))


def _counts(authors: int, replicates: int, width: int, seed: int) -> Iterator[FloatArray]:
    """How often each author was drawn: (authors, ``width`` or the rest) until all replicates are there."""
    random = np.random.default_rng(seed)
    for start in range(0, replicates, width):
        r = min(width, replicates - start)
        drawn = random.integers(0, authors, size=(r, authors))
        places = drawn * r + np.arange(r)[:, None]
        yield np.bincount(places.ravel(), minlength=authors * r).reshape(authors, r).astype(np.float64)
