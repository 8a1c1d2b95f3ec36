"""Two classes, as functions of the weighted confusion ``[tp, fp, fn, tn]`` (first axis; any shape behind it).

Definitions follow scikit-learn (``balanced_accuracy_score``, ``f1_score``, ``matthews_corrcoef`` with
``sample_weight``) but for what is undefined: that is NaN here, where scikit-learn returns 0 or leaves the
class out. The one exception is MCC with an empty margin, which is 0 by the convention that both follow.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from runner.metrics.signature import signature
from runner.metrics.statistic import Additive, FloatArray, ratio

BoolArray = npt.NDArray[np.bool_]


def confusion(truth: BoolArray, answer: BoolArray) -> FloatArray:
    """Each row's cell as (n, 4) zeros and ones in the order tp, fp, fn, tn."""
    cells = (truth & answer, ~truth & answer, truth & ~answer, ~truth & ~answer)
    return np.column_stack(cells).astype(np.float64)


def balanced_accuracy(cells: FloatArray) -> FloatArray:
    """Mean of the two recalls; NaN when a class has no instance."""
    tp, fp, fn, tn = cells
    return (ratio(tp, tp + fn) + ratio(tn, tn + fp)) / 2


def accuracy(cells: FloatArray) -> FloatArray:
    """Share of right answers."""
    tp, fp, fn, tn = cells
    return ratio(tp + tn, tp + fp + fn + tn)


def f1_positive(cells: FloatArray) -> FloatArray:
    """F1 of the positive class; NaN when it is neither true nor answered anywhere."""
    tp, fp, fn, _ = cells
    return ratio(2 * tp, 2 * tp + fp + fn)


def f1_negative(cells: FloatArray) -> FloatArray:
    """F1 of the negative class: the positive one with the classes exchanged."""
    return f1_positive(cells[::-1])


def f1_macro(cells: FloatArray) -> FloatArray:
    """Plain mean of the two F1; NaN when one is."""
    return (f1_positive(cells) + f1_negative(cells)) / 2


def f1_weighted(cells: FloatArray) -> FloatArray:
    """Mean of the two F1 in proportion to their true shares; a class that is never true does not enter."""
    tp, fp, fn, tn = cells
    positive = np.where(tp + fn > 0, (tp + fn) * f1_positive(cells), 0.0)
    negative = np.where(tn + fp > 0, (tn + fp) * f1_negative(cells), 0.0)
    return ratio(positive + negative, tp + fp + fn + tn)


def mcc(cells: FloatArray) -> FloatArray:
    """Matthews correlation coefficient; 0 when a margin is empty, NaN without instances."""
    tp, fp, fn, tn = cells
    total = tp + fp + fn + tn
    # Shares, so that the product of four margins can neither overflow nor vanish.
    tp, fp, fn, tn = (ratio(cell, total) for cell in (tp, fp, fn, tn))
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    value = np.divide(tp * tn - fp * fn, np.sqrt(margins), out=np.zeros(np.shape(tp)), where=margins > 0)
    return np.where(total > 0, value, np.nan)


METRICS: dict[str, Callable[[FloatArray], FloatArray]] = {
    "balanced_accuracy": balanced_accuracy,
    "accuracy": accuracy,
    "f1_positive": f1_positive,
    "f1_macro": f1_macro,
    "f1_weighted": f1_weighted,
    "mcc": mcc,
}

OF_CLASSES = frozenset({"balanced_accuracy", "f1_macro", "mcc"})
"""Both classes enter alike, however few of one there are."""

SIGNATURES = {
    name: signature(name, "own", averaging=averaging, version=1)
    for name, averaging in {
        "balanced_accuracy": "mean of two recalls",
        "accuracy": "weighted",
        "f1_positive": "positive class",
        "f1_macro": "plain mean of classes",
        "f1_weighted": "by true share",
        "mcc": "weighted confusion, 0 with an empty margin",
    }.items()
}


def statistics(truth: BoolArray, answer: BoolArray) -> dict[str, Additive]:
    """All metrics of answers against the truth; True is the positive class."""
    cells = confusion(truth, answer)
    return {name: Additive(cells, of, truth if name in OF_CLASSES else None) for name, of in METRICS.items()}
