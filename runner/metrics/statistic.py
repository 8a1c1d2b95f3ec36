"""A metric as a value: what has to be known of each row, and how weights turn that into one number.

Every metric is written once, for many weightings at a time, so that the estimate and all its bootstrap
replicates come from the same code. Undefined is NaN inside this room and None outside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Additive:
    """A function of weighted sums over rows.

    ``parts`` is (n, k): each row's contribution to k sums at weight 1. ``of`` maps sums (k, r) to values
    (r,). Rows of one author can be summed beforehand, so a replicate costs nothing but k sums. ``classes`` (n,)
    are set where means inside two classes enter alike: the value is then as sure as its smaller class.
    """

    parts: FloatArray
    of: Callable[[FloatArray], FloatArray]
    classes: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Anything else: ``of`` maps weights (n, r), one column per replicate, to values (r,).

    It owns its columns, sorted once when it was made; weights come in the caller's row order.
    """

    of: Callable[[FloatArray], FloatArray]


Statistic = Additive | Reweighted


def mean(values: FloatArray) -> Additive:
    """The weighted mean."""
    return Additive(np.column_stack((values, np.ones_like(values))), lambda sums: ratio(sums[0], sums[1]))


def evaluate(statistic: Statistic, weights: FloatArray) -> FloatArray:
    """Values (r,) under weights (n, r)."""
    if isinstance(statistic, Additive):
        return statistic.of(weighted_sums(statistic.parts, weights))
    return statistic.of(weights)


def weighted_sums(parts: FloatArray, weights: FloatArray) -> FloatArray:
    """Sums (k, r) of parts (n, k) under weights (n, r).

    Not ``parts.T @ weights``: on so flat a product BLAS is slower, and its threads fight with a busy process pool.
    """
    sums: FloatArray = np.einsum("nk,nr->kr", parts, weights)
    return sums


def estimate(statistic: Statistic, weights: FloatArray) -> float | None:
    """The value under one weighting (n,), or None where it is undefined (also without any row)."""
    if len(weights) == 0:
        return None
    value = float(evaluate(statistic, weights[:, None])[0])
    return value if np.isfinite(value) else None


def ratio(over: FloatArray, under: FloatArray) -> FloatArray:
    """Quotient, NaN where the divisor is 0."""
    result: FloatArray = np.divide(over, under, out=np.full(np.shape(over), np.nan), where=under != 0)
    return result
