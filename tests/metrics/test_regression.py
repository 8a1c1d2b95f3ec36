"""Errors and rank correlation: equal to numpy and scipy, where a weight of k means k equal rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.metrics import regression
from runner.metrics.statistic import estimate, evaluate

ROWS = st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 4)), min_size=1, max_size=40).map(
    lambda rows: tuple(np.array(column, dtype=np.float64) for column in zip(*rows, strict=True))
)


@given(ROWS)
def test_a_weight_of_k_is_k_equal_rows(rows: tuple[np.ndarray, ...]) -> None:
    truth, answer, weights = rows
    often = weights.astype(int)
    t, a = np.repeat(truth, often), np.repeat(answer, often)
    logs = np.sign(a) * np.log(1 + abs(a)) - np.sign(t) * np.log(1 + abs(t))
    ours = {name: estimate(s, weights) for name, s in regression.statistics(truth, answer).items()}
    assert ours["log_mae"] == pytest.approx(np.mean(abs(logs)), abs=1e-12)
    assert ours["mae"] == pytest.approx(np.mean(abs(a - t)), abs=1e-12)
    assert ours["median_ae"] == np.median(abs(a - t))
    assert ours["rmse"] == pytest.approx(np.sqrt(np.mean((a - t) ** 2)), abs=1e-12)
    if len(set(t)) == 1 or len(set(a)) == 1:
        assert ours["spearman"] is None
    else:
        assert ours["spearman"] == pytest.approx(stats.spearmanr(t, a).statistic, abs=1e-12)


@given(ROWS, st.floats(0.01, 100))
def test_only_proportions_of_weights_matter(rows: tuple[np.ndarray, ...], factor: float) -> None:
    truth, answer, weights = rows
    for statistic in regression.statistics(truth, answer).values():
        assert estimate(statistic, weights * factor) == pytest.approx(estimate(statistic, weights), abs=1e-9)


def test_unweighted_spearman_is_scipys_with_and_without_ties() -> None:
    random = np.random.default_rng(5)
    for _ in range(500):
        n = int(random.integers(3, 300))
        x, y = random.normal(size=(2, n)).round(int(random.integers(0, 4)))
        theirs = stats.spearmanr(x, y).statistic if len(set(x)) > 1 and len(set(y)) > 1 else None
        assert estimate(regression.spearman(x, y), np.ones(n)) == pytest.approx(theirs, abs=1e-12)


def test_rows_of_weight_zero_are_not_there() -> None:
    random = np.random.default_rng(6)
    truth, answer = random.integers(-9, 9, (2, 50)).astype(float)
    kept = random.random(50) < 0.5
    for name, statistic in regression.statistics(truth, answer).items():
        without = estimate(regression.statistics(truth[kept], answer[kept])[name], np.ones(kept.sum()))
        assert estimate(statistic, kept.astype(float)) == pytest.approx(without, abs=1e-12)


def test_many_weightings_at_once_are_each_alone() -> None:
    random = np.random.default_rng(7)
    truth, answer = random.integers(-9, 9, (2, 60)).astype(float)
    weights = random.integers(0, 3, (60, 40)).astype(float)
    for statistic in regression.statistics(truth, answer).values():
        alone = [estimate(statistic, weights[:, column]) for column in range(40)]
        assert evaluate(statistic, weights) == pytest.approx(alone, abs=1e-12)


def test_the_log_scale_keeps_the_sign_and_tames_the_viral_reply() -> None:
    assert regression.signed_log(np.array([0.0])) == [0.0]
    assert regression.signed_log(np.array([-7.0])) == [-np.log(8)]
    assert regression.signed_log(np.array([1e6]))[0] < 14
