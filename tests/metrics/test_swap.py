"""The swap test: exact where it can be, seeded where it draws, and never surer than the number of draws allows."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from runner.metrics.swap import swap_test


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=7))
def test_thirteen_authors_or_fewer_are_enumerated(sums: list[int]) -> None:
    flips = list(product((1, -1), repeat=len(sums)))
    hits = sum(abs(np.dot(flip, sums)) >= abs(sum(sums)) for flip in flips)
    # A tenth is no binary fraction: ties must be seen in spite of rounding.
    (p,) = swap_test(np.array(sums)[:, None] / 10, seed=0, draws=10)
    assert p == hits / len(flips)


def test_the_exact_p_is_that_of_scipy() -> None:
    sums = np.random.default_rng(1).normal(0.4, 1, size=13)
    theirs = stats.permutation_test(
        (sums, np.zeros(13)), lambda x, y: x.sum() - y.sum(), permutation_type="samples", n_resamples=np.inf
    )
    assert swap_test(sums[:, None], seed=0)[0] == pytest.approx(theirs.pvalue)


def test_drawn_flips_come_near_the_exact_p_and_count_the_observation_itself() -> None:
    thirteen = np.random.default_rng(2).normal(0.3, 1, size=(13, 6))
    exact = swap_test(thirteen, seed=0)
    # A fourteenth author without a difference changes no sum, but makes the test draw.
    drawn = swap_test(np.vstack([thirteen, np.zeros(6)]), seed=0)
    assert drawn == pytest.approx(exact, abs=4 * 0.5 / 9_999**0.5)
    assert drawn * 10_000 == pytest.approx(np.round(drawn * 10_000))
    assert swap_test(np.ones((40, 1)), seed=3) == 1 / 10_000
    assert swap_test(np.ones((40, 1)), seed=3, draws=99) == 1 / 100


def test_no_difference_at_all_has_p_one() -> None:
    assert swap_test(np.zeros((5, 1)), seed=0) == 1
    assert swap_test(np.zeros((50, 1)), seed=0) == 1
    assert swap_test(np.array([[0.1], [0.2], [-0.3]]), seed=0) == 1


@pytest.mark.parametrize("authors", [9, 60])
def test_both_directions_and_all_units_have_one_p(authors: int) -> None:
    sums = np.random.default_rng(4).normal(0.2, 1, size=(authors, 1))
    several = swap_test(np.hstack([sums, -sums, sums * 1e-9, sums * 1e9]), seed=5)
    assert (several == several[0]).all()
    assert several[0] == swap_test(sums, seed=5)[0]


def test_the_seed_decides_and_many_authors_are_worked_off_in_pieces() -> None:
    sums = np.random.default_rng(6).normal(0.012, 1, size=(20_000, 2))
    first = swap_test(sums, seed=7, draws=499)
    assert (first == swap_test(sums, seed=7, draws=499)).all()
    assert (first != swap_test(sums, seed=8, draws=499)).any()
    # With so many authors the test is the normal one.
    normal = 2 * stats.norm.sf(abs(sums.sum(axis=0)) / np.sqrt((sums**2).sum(axis=0)))
    assert first == pytest.approx(normal, abs=0.1)
