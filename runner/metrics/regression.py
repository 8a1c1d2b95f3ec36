"""How far numbers are off. Weighted throughout; a weight of 2 is the same as the row standing there twice."""

from __future__ import annotations

import numpy as np

from runner.metrics.signature import signature
from runner.metrics.statistic import Additive, FloatArray, Reweighted, Statistic, mean, ratio

SIGNATURES = {
    "log_mae": signature("log_mae", "own", scale="sign(x)*ln(1+|x|)", averaging="weighted mean", version=1),
    "mae": signature("mae", "own", averaging="weighted mean", version=1),
    "median_ae": signature("median_ae", "own", averaging="weighted median, halfway at a tie", version=1),
    "rmse": signature("rmse", "own", averaging="root of the weighted mean", version=1),
    "spearman": signature("spearman", "own", ties="weighted mid-ranks", averaging="Pearson", version=1),
}


def signed_log(x: FloatArray) -> FloatArray:
    """s(x) = sign(x)·ln(1 + |x|): a scale on which one viral reply does not decide the mean."""
    return np.sign(x) * np.log1p(np.abs(x))


def median(values: FloatArray) -> Reweighted:
    """Weighted median: where half of the weight lies below; the middle of two values when between them.

    Equals ``numpy.median`` of the rows repeated by their weights.
    """
    distinct = _Distinct(values)

    def of(weights: FloatArray) -> FloatArray:
        below = np.cumsum(distinct.sums(weights), axis=0)
        # Weights are floats: "exactly half" is meant up to rounding.
        half, slack = below[-1] / 2, below[-1] * 1e-12
        lower = (below < half - slack).sum(axis=0)
        upper = np.minimum((below <= half + slack).sum(axis=0), len(distinct.values) - 1)
        return np.where(below[-1] > 0, (distinct.values[lower] + distinct.values[upper]) / 2, np.nan)

    return Reweighted(of)


def rmse(errors: FloatArray) -> Additive:
    """Root of the weighted mean square."""
    squares = np.column_stack((errors**2, np.ones_like(errors)))
    return Additive(squares, lambda sums: np.sqrt(ratio(sums[0], sums[1])))


def spearman(x: FloatArray, y: FloatArray) -> Reweighted:
    """Weighted Spearman: the weighted Pearson correlation of weighted mid-ranks; NaN when x or y is constant.

    The mid-rank of a value is the weight of all smaller values plus half the weight of its ties. Equals
    ``scipy.stats.spearmanr`` of the rows repeated by their weights. The weighted mean of mid-ranks is always
    half of the total weight, so one pass per variable over its distinct values gives the variance.
    """
    distinct_x, distinct_y = _Distinct(x), _Distinct(y)

    def of(weights: FloatArray) -> FloatArray:
        deviation_x, variance_x = _mid_ranks(distinct_x.sums(weights))
        deviation_y, variance_y = _mid_ranks(distinct_y.sums(weights))
        products = distinct_x.sums(weights * deviation_y[distinct_y.place])
        covariance = np.einsum("gr,gr->r", deviation_x, products)
        return np.clip(ratio(covariance, np.sqrt(variance_x * variance_y)), -1, 1)

    return Reweighted(of)


def _mid_ranks(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """From the weights of distinct values, mid-ranks minus their mean, and the weighted sum of their squares (r,)."""
    below = np.cumsum(sums, axis=0)
    deviation = below - sums / 2 - below[-1] / 2
    return deviation, np.einsum("gr,gr,gr->r", sums, deviation, deviation)


class _Distinct:
    """The distinct ``values`` of one variable in order, found once for all replicates; ``place`` is each row's."""

    def __init__(self, values: FloatArray) -> None:
        from scipy.sparse import csr_array

        self.values, self.place = np.unique(values, return_inverse=True)
        ends = np.concatenate(([0], np.cumsum(np.bincount(self.place))))
        members = np.argsort(self.place, kind="stable")
        # A sparse product, since indexing and then np.add.reduceat takes ten times as long.
        self._rows = csr_array((np.ones(len(values)), members, ends), shape=(len(self.values), len(values)))

    def sums(self, rows: FloatArray) -> FloatArray:
        """Sums (distinct values, r) of the rows (n, r) that share a value."""
        total: FloatArray = self._rows @ rows
        return total


def statistics(truth: FloatArray, answer: FloatArray) -> dict[str, Statistic]:
    """All metrics of answers against the truth."""
    errors = answer - truth
    return {
        "log_mae": mean(np.abs(signed_log(answer) - signed_log(truth))),
        "mae": mean(np.abs(errors)),
        "median_ae": median(np.abs(errors)),
        "rmse": rmse(errors),
        "spearman": spearman(answer, truth),
    }
