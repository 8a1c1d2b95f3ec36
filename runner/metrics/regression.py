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
    order = np.argsort(values, kind="stable")
    ordered = values[order]

    def of(weights: FloatArray) -> FloatArray:
        below = np.cumsum(weights[order], axis=0)
        # Weights are floats: "exactly half" is meant up to rounding.
        half, slack = below[-1] / 2, below[-1] * 1e-12
        lower = (below < half - slack).sum(axis=0)
        upper = np.minimum((below <= half + slack).sum(axis=0), len(values) - 1)
        return np.where(below[-1] > 0, (ordered[lower] + ordered[upper]) / 2, np.nan)

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
    ranks_x, ranks_y = _MidRanks(x), _MidRanks(y)

    def of(weights: FloatArray) -> FloatArray:
        deviation_x, variance_x = ranks_x.centred(weights)
        deviation_y, variance_y = ranks_y.centred(weights)
        covariance = np.einsum(
            "ir,ir,ir->r", weights, deviation_x[ranks_x.place], deviation_y[ranks_y.place], optimize=False
        )
        return np.clip(ratio(covariance, np.sqrt(variance_x * variance_y)), -1, 1)

    return Reweighted(of)


class _MidRanks:
    """The sorting of one variable, done once for all replicates."""

    def __init__(self, values: FloatArray) -> None:
        self.order = np.argsort(values, kind="stable")
        _, self.starts, inverse = np.unique(values[self.order], return_index=True, return_inverse=True)
        self.place = np.empty(len(values), dtype=np.intp)  # which distinct value each row has
        self.place[self.order] = inverse

    def centred(self, weights: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Mid-ranks minus their mean (distinct values, r), and the sum of their weighted squares (r,)."""
        group = np.add.reduceat(weights[self.order], self.starts, axis=0)
        below = np.cumsum(group, axis=0)
        deviation = below - group / 2 - below[-1] / 2
        return deviation, np.einsum("gr,gr,gr->r", group, deviation, deviation)


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
