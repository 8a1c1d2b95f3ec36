"""A half-width that is promised is the one that the interval will have."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics import classification
from runner.metrics.effects import BALANCED
from runner.metrics.intervals import intervals
from runner.metrics.planning import PRIOR_ICC, Design, Spread, design, expected, smallest, spread
from runner.metrics.statistic import Statistic, mean

Floats = npt.NDArray[np.float64]
Names = npt.NDArray[np.object_]
LEVEL = 0.975


def world(seed: int, authors: int, icc: float, largest: int = 8) -> tuple[Floats, Floats, Names, Names]:
    """Scores with the variance 1 in one class and 4 in the other, correlated inside authors; weights 1 and 0.4."""
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(authors), random.integers(1, largest + 1, authors))
    is_rare = random.random(len(who)) < 0.3
    shared = random.normal(size=authors)[who]
    scores = (np.sqrt(icc) * shared + np.sqrt(1 - icc) * random.normal(size=len(who))) * np.where(is_rare, 2.0, 1.0)
    order = random.permutation(len(who))
    users = np.array([f"u{name}" for name in who], dtype=object)
    classes = np.where(is_rare, "rare", "common").astype(object)
    return scores[order], np.where(is_rare, 0.4, 1.0)[order], users[order], classes[order]


def printed(statistic: Statistic, weights: Floats, users: Names) -> float:
    (interval,) = intervals([statistic], weights, users, 0, 2_000, LEVEL)
    assert interval.low is not None and interval.high is not None
    return (interval.high - interval.low) / 2


def promised(planned: Design, known: Spread | None) -> float:
    assert known is not None
    found = expected(planned, known, LEVEL)
    assert found is not None
    return found.half_width


@pytest.mark.parametrize("icc", [0.0, 0.4])
def test_the_half_width_of_a_mean_is_what_the_interval_prints_when_the_spread_is_known(icc: float) -> None:
    ratios = []
    for seed in range(12):
        scores, weights, users, classes = world(seed, 150, icc)
        plain = np.full(len(classes), "all", dtype=object)
        known = Spread({"all": 1.0}, {"all": 0.0}, icc, 0.0)
        scores = np.where(classes == "rare", scores / 2, scores)
        ratios.append(promised(design(weights, users, plain), known) / printed(mean(scores), weights, users))
    assert 0.95 < float(np.mean(ratios)) < 1.06


def test_the_half_width_of_balanced_accuracy_is_what_the_interval_prints_from_a_pilot_of_the_same_rows() -> None:
    random = np.random.default_rng(3)
    _, weights, users, classes = world(5, 150, 0.0)
    right = random.random(len(classes)) < np.where(classes == "rare", 0.6, 0.9)
    truth = classes == "common"
    statistic = classification.statistics(truth, truth == right)[BALANCED]
    known = spread(right.astype(np.float64), weights, users, classes)
    assert promised(design(weights, users, classes), known) == pytest.approx(
        printed(statistic, weights, users), rel=0.1
    )


def test_a_large_pilot_finds_variances_and_correlation() -> None:
    scores, weights, users, classes = world(1, 3_000, 0.3)
    found = spread(scores, weights, users, classes)
    assert found is not None
    assert found.variances == pytest.approx({"common": 1.0, "rare": 4.0}, rel=0.06)
    assert found.icc == pytest.approx(0.3, abs=0.03)


def test_the_range_after_a_small_pilot_holds_the_interval_that_is_printed() -> None:
    held = 0
    for seed in range(60):
        scores, weights, users, classes = world(seed, 120, 0.1)
        plain = np.full(len(classes), "all", dtype=object)
        known = spread(scores[:60], weights[:60], users[:60], plain[:60])
        assert known is not None
        found = expected(design(weights, users, plain), known, LEVEL)
        assert found is not None
        held += found.low <= printed(mean(scores), weights, users) <= found.high
    assert held >= 48  # nine of ten are promised; 80 % or less would be chance once in a hundred times


def test_without_two_replies_of_one_author_the_correlation_is_the_stated_one() -> None:
    scores = np.arange(30.0)
    one_each = np.array([f"u{place}" for place in range(30)], dtype=object)
    found = spread(scores, np.ones(30), one_each, np.full(30, "all", dtype=object))
    assert found is not None and found.icc == PRIOR_ICC


def test_a_pilot_without_variation_tells_nothing() -> None:
    users = np.array([f"u{place}" for place in range(30)], dtype=object)
    assert spread(np.ones(30), np.ones(30), users, np.full(30, "all", dtype=object)) is None


def test_under_twenty_effective_authors_no_half_width_is_promised() -> None:
    known = Spread({"all": 1.0}, {"all": 0.1}, 0.0, 0.0)
    users = np.array([f"u{place % 19}" for place in range(1_000)], dtype=object)
    assert expected(design(np.ones(1_000), users, np.full(1_000, "all", dtype=object)), known, 0.95) is None


def test_a_class_that_the_pilot_never_saw_is_not_made_up() -> None:
    users = np.array([f"u{place}" for place in range(40)], dtype=object)
    planned = design(np.ones(40), users, np.array(["a", "b"] * 20, dtype=object))
    assert expected(planned, Spread({"a": 1.0}, {"a": 0.1}, 0.0, 0.0), 0.95) is None


sizes = st.lists(st.integers(1, 6), min_size=25, max_size=60)
iccs = st.floats(0, 1)


def clustered(of: list[int]) -> Design:
    users = np.array([f"u{author}" for author, n in enumerate(of) for _ in range(n)], dtype=object)
    return design(np.ones(len(users)), users, np.full(len(users), "all", dtype=object))


@given(sizes, iccs)
def test_more_authors_like_those_there_are_never_widen(of: list[int], icc: float) -> None:
    known = Spread({"all": 1.0}, {"all": 0.2}, icc, 0.05)
    few, many = expected(clustered(of), known, 0.95), expected(clustered(of * 2), known, 0.95)
    assert many is not None
    assert few is None or many.half_width < few.half_width


@given(sizes, iccs, iccs)
def test_more_clustering_never_narrows(of: list[int], one: float, other: float) -> None:
    planned = clustered(of)
    widths = [expected(planned, Spread({"all": 1.0}, {"all": 0.2}, icc, 0.05), 0.95) for icc in sorted((one, other))]
    if widths[0] is not None and widths[1] is not None:
        assert widths[0].half_width <= widths[1].half_width * (1 + 1e-12)


@given(sizes, iccs)
def test_a_stricter_level_is_wider_and_the_range_holds_its_middle(of: list[int], icc: float) -> None:
    known = Spread({"all": 1.0}, {"all": 0.3}, icc, 0.1, 50)
    one, stricter = (expected(clustered(of), known, level) for level in (0.95, 0.975))
    if one is not None and stricter is not None:
        assert one.low < one.half_width < one.high
        assert one.half_width < stricter.half_width


@given(st.integers(1, 5_000), st.floats(0.01, 2))
def test_the_smallest_size_reaches_what_is_wanted_and_one_less_does_not(largest: int, wanted: float) -> None:
    def width(n: int) -> float | None:
        return None if n < 20 else 1.96 / n**0.5

    found = smallest(largest, width, wanted)
    if found is None:
        last = width(largest)
        assert last is None or last > wanted
    else:
        reached, before = width(found), width(found - 1)
        assert reached is not None and reached <= wanted
        assert before is None or before > wanted
