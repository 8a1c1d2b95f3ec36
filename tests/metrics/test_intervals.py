"""Author-clustered intervals: the protocol's formula, honest about few authors, and right 95 times in 100."""

import numpy as np
import pytest
from scipy import stats

from runner.metrics import classification, regression
from runner.metrics.intervals import intervals
from runner.metrics.statistic import Reweighted, estimate, evaluate, mean


def _sample(seed: int, authors: int, each: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(authors), random.integers(1, each + 1, authors))
    values = random.normal(size=authors)[who] + random.normal(size=len(who))
    return values, random.uniform(0.5, 1.5, len(who)), np.array([f"u{i}" for i in who], dtype=object)


def test_equal_to_resampling_author_by_author() -> None:
    values, weights, authors = _sample(1, 60, 4)
    names = np.unique(authors)
    mass = np.array([weights[authors == name].sum() for name in names])
    random, drawn = np.random.default_rng(9), []
    for _ in range(4_000):
        rows = np.concatenate([np.flatnonzero(authors == name) for name in random.choice(names, len(names))])
        drawn.append(np.average(values[rows], weights=weights[rows]))
    center, g_eff = np.average(values, weights=weights), mass.sum() ** 2 / (mass**2).sum()
    wider = stats.t.ppf(0.975, g_eff - 1) / stats.norm.ppf(0.975) * np.sqrt(60 / 59)
    low, high = center + wider * (np.quantile(drawn, [0.025, 0.975]) - center)
    (found,) = intervals([mean(values)], weights, authors, seed=0)
    assert (found.value, found.g_eff) == (pytest.approx(center), pytest.approx(g_eff))
    # Two independent bootstraps of 4,000 differ by a few percent of the width.
    assert [found.low, found.high] == pytest.approx([low, high], abs=0.06 * (high - low))


def test_bounds_are_the_percentiles_widened_about_the_estimate() -> None:
    values = np.random.default_rng(7).exponential(size=22)
    names = np.array([f"u{i:02}" for i in range(22)], dtype=object)
    means = values[np.random.default_rng(5).integers(0, 22, (4_000, 22))].mean(axis=1)
    low, high = values.mean() + stats.t.ppf(0.975, 21) / stats.norm.ppf(0.975) * np.sqrt(22 / 21) * (
        np.quantile(means, [0.025, 0.975]) - values.mean()
    )
    (found,) = intervals([mean(values)], np.ones(22), names, seed=5)
    assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_another_level_has_its_own_percentiles_and_its_own_t() -> None:
    values = np.random.default_rng(7).exponential(size=22)
    names = np.array([f"u{i:02}" for i in range(22)], dtype=object)
    means = values[np.random.default_rng(5).integers(0, 22, (4_000, 22))].mean(axis=1)
    for level in (0.9, 1 - 0.05 / 6):
        upper = (1 + level) / 2
        low, high = values.mean() + stats.t.ppf(upper, 21) / stats.norm.ppf(upper) * np.sqrt(22 / 21) * (
            np.quantile(means, [1 - upper, upper]) - values.mean()
        )
        (found,) = intervals([mean(values)], np.ones(22), names, seed=5, level=level)
        assert (found.low, found.high) == (pytest.approx(low), pytest.approx(high))


def test_both_kinds_of_statistic_see_the_same_resamples() -> None:
    # Large enough that the two are worked off in chunks of different width.
    values, weights, authors = _sample(2, 400, 5)
    as_sums = mean(values)
    as_weights = Reweighted(lambda w: evaluate(as_sums, w))
    one, other = intervals([as_sums, as_weights], weights, authors, seed=4)
    (alone,) = intervals([as_sums], weights, authors, seed=4)
    assert (one.low, one.high) == pytest.approx((other.low, other.high))
    assert (one.low, one.high) == pytest.approx((alone.low, alone.high))


def test_seeded_and_blind_to_the_order_of_rows() -> None:
    values, weights, authors = _sample(3, 70, 3)
    order = np.random.default_rng(0).permutation(len(values))
    (one,) = intervals([mean(values)], weights, authors, seed=1)
    (shuffled,) = intervals([mean(values[order])], weights[order], authors[order], seed=1)
    (other,) = intervals([mean(values)], weights, authors, seed=2)
    assert (one.low, one.high) == pytest.approx((shuffled.low, shuffled.high))
    assert (one.low, one.high) != (other.low, other.high)


def test_replies_of_one_author_do_not_count_as_independent() -> None:
    values, weights, authors = _sample(4, 100, 1)
    (once,) = intervals([mean(values)], weights, authors, seed=0)
    (copied,) = intervals([mean(np.tile(values, 9))], np.tile(weights, 9), np.tile(authors, 9), seed=0)
    assert (copied.low, copied.high) == pytest.approx((once.low, once.high))


@pytest.mark.parametrize(
    ("authors", "note"),
    [(1, "no interval"), (19, "no interval"), (20, "few authors"), (50, "few authors"), (51, None)],
)
def test_few_authors_are_marked_and_too_few_get_no_interval(authors: int, note: str | None) -> None:
    values = np.random.default_rng(0).normal(size=authors)
    names = np.array([str(i) for i in range(authors)], dtype=object)
    (found,) = intervals([mean(values)], np.ones(authors), names, seed=0)
    assert found.value == pytest.approx(values.mean())
    assert (found.note or "None").startswith(str(note))
    assert (found.low is None) == (authors < 20)


def test_unequal_authors_are_worth_fewer() -> None:
    names = np.array([str(i) for i in range(40)], dtype=object)
    weights = np.where(np.arange(40) < 2, 100.0, 1.0)
    (found,) = intervals([mean(np.arange(40.0))], weights, names, seed=0)
    assert found.g_eff == pytest.approx(238**2 / (2 * 100**2 + 38))
    assert found.low is None and "effective authors" in str(found.note)


def test_undefined_values_and_resamples_are_said() -> None:
    names = np.array([str(i) for i in range(60)], dtype=object)
    rare = np.arange(60) == 0  # in 36 % of the resamples there is no positive at all
    both = classification.statistics(rare, rare)
    found = dict(zip(both, intervals(list(both.values()), np.ones(60), names, seed=0), strict=True))
    assert found["f1_positive"].value == 1 and found["f1_positive"].low is None
    assert "of resamples" in str(found["f1_positive"].note)
    assert found["accuracy"].low is None and found["accuracy"].note == "no interval: the same in every resample"
    constant, other = intervals(
        [regression.spearman(np.ones(60), np.arange(60.0)), mean(np.arange(60.0))], np.ones(60), names, seed=0
    )
    assert constant.value is None and str(constant.note).startswith("n/a")
    assert other.low is not None and other.low < 29.5 < (other.high or 0)
    (nothing,) = intervals([mean(np.array([]))], np.array([]), np.array([], dtype=object), seed=0)
    assert (nothing.value, nothing.low, nothing.g_eff) == (None, None, 0)


def test_a_value_of_two_classes_is_as_sure_as_the_smaller_one() -> None:
    names = np.array([str(i) for i in range(300)], dtype=object)
    said = np.random.default_rng(0).random(300) < 0.8
    for negatives, few in ((10, True), (60, False)):
        truth = np.arange(300) >= negatives
        both = classification.statistics(truth, said)
        found = dict(zip(both, intervals(list(both.values()), np.ones(300), names, seed=0), strict=True))
        assert (found["balanced_accuracy"].low is None) is few
        assert found["balanced_accuracy"].g_eff == pytest.approx(negatives)
        assert found["accuracy"].low is not None and found["accuracy"].g_eff == pytest.approx(300)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["mean", "median", "spearman"])
def test_coverage_at_100_authors(metric: str) -> None:
    """The truth lies inside in 93.5 to 96.5 % of 2,000 samples of 100 authors whose replies resemble each other."""
    random, inside = np.random.default_rng(0), 0
    who = np.repeat(np.arange(100), 3)
    names = np.array([f"u{i:03}" for i in who], dtype=object)
    truth = {"mean": 0.0, "median": 0.0, "spearman": 6 / np.pi * np.arcsin(0.5 / 2)}[metric]
    for _ in range(2_000):
        shared, own = random.normal(size=(2, 100))[:, who], random.normal(size=(2, 300))
        x, y = shared + own
        y = 0.5 * x + np.sqrt(0.75) * y
        statistic = {
            "mean": mean(x), "median": regression.median(x), "spearman": regression.spearman(x, y)
        }[metric]  # fmt: skip
        (found,) = intervals([statistic], np.ones(300), names, seed=int(random.integers(1 << 30)), replicates=600)
        inside += (found.low or 0) <= truth <= (found.high or 0)
        assert estimate(statistic, np.ones(300)) == found.value
    assert 0.935 <= inside / 2_000 <= 0.965
