"""Two-class metrics are scikit-learn's, weights included, and say n/a where scikit-learn says 0."""

import warnings
from itertools import product

import numpy as np
import pytest
from sklearn import metrics as sk

from runner.metrics import classification
from runner.metrics.statistic import estimate

LABELS = [True, False]
THEIRS = {
    "balanced_accuracy": sk.balanced_accuracy_score,
    "accuracy": sk.accuracy_score,
    "f1_positive": lambda t, a, sample_weight: sk.f1_score(t, a, sample_weight=sample_weight),
    "f1_macro": lambda t, a, sample_weight: sk.f1_score(t, a, average="macro", sample_weight=sample_weight),
    "f1_weighted": lambda t, a, sample_weight: sk.f1_score(t, a, average="weighted", sample_weight=sample_weight),
    "mcc": sk.matthews_corrcoef,
}


@pytest.mark.parametrize("name", classification.METRICS)
def test_equal_to_scikit_learn_on_generated_cases(name: str) -> None:
    random = np.random.default_rng(11)
    for case in range(150):
        n = int(random.integers(2, 60))
        truth, answer = random.random(n) < random.choice([0.1, 0.5, 0.9]), random.random(n) < random.random()
        truth[:2] = LABELS  # a class without instances is the other test's
        weights = np.ones(n) if case % 3 == 0 else random.uniform(0.01, 9, n)
        ours = estimate(classification.statistics(truth, answer)[name], weights)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            theirs = THEIRS[name](truth, answer, sample_weight=weights)
        assert ours == pytest.approx(theirs, abs=1e-12)


def test_undefined_is_not_zero() -> None:
    weights = np.ones(3)
    only_positive = np.array([True, True, True])
    never_negative = classification.statistics(only_positive, only_positive)
    assert estimate(never_negative["balanced_accuracy"], weights) is None
    assert estimate(never_negative["f1_macro"], weights) is None
    assert estimate(never_negative["f1_weighted"], weights) == 1
    assert estimate(never_negative["mcc"], weights) == 0
    assert estimate(classification.statistics(~only_positive, ~only_positive)["f1_positive"], weights) is None
    none = np.array([], dtype=bool)
    assert all(estimate(s, np.array([])) is None for s in classification.statistics(none, none).values())


def test_mcc_is_zero_exactly_when_a_margin_is_empty() -> None:
    for cells in product((0.0, 1.0, 3.0), repeat=4):
        tp, fp, fn, tn = cells
        value = classification.mcc(np.array(cells)[:, None])[0]
        if sum(cells) == 0:
            assert np.isnan(value)
        elif 0 in (tp + fp, tp + fn, tn + fp, tn + fn):
            assert value == 0
        else:
            assert np.sign(value) == np.sign(tp * tn - fp * fn)


def test_many_confusions_at_once_are_each_alone() -> None:
    cells = np.random.default_rng(3).uniform(0, 5, (4, 200))
    for of in classification.METRICS.values():
        assert of(cells) == pytest.approx([of(cells[:, [column]])[0] for column in range(200)], abs=1e-12)
