"""Holm's adjustment and the price of looking twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.metrics.multiplicity import holm, look_alpha

PS = st.lists(st.floats(0, 1), min_size=1, max_size=12)


def test_holms_own_steps() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([0.2]) == [0.2]
    assert holm([]) == []


@given(PS)
def test_adjusted_values_reject_exactly_what_stepping_down_rejects(p: list[float]) -> None:
    adjusted = holm(p)
    alive = True
    for step, at in enumerate(sorted(range(len(p)), key=lambda i: p[i])):
        limit = p[at] * (len(p) - step)
        alive = alive and limit <= 0.05
        if abs(limit - 0.05) > 1e-9:  # rounding decides nothing here
            assert (adjusted[at] <= 0.05) == alive
        assert p[at] <= adjusted[at] <= 1


@given(PS)
def test_the_order_of_a_family_does_not_matter(p: list[float]) -> None:
    assert holm(p[::-1]) == pytest.approx(holm(p)[::-1])


@pytest.mark.slow  # its import alone takes seconds
def test_equal_to_statsmodels() -> None:
    from statsmodels.stats.multitest import multipletests

    random = np.random.default_rng(0)
    for size in (1, 2, 3, 7, 40):
        p = [*random.random(size) ** 3, 0.0, 1.0, 0.04, 0.04]
        assert holm(p) == pytest.approx(multipletests(p, method="holm")[1].tolist(), abs=1e-15)


def test_any_number_of_looks_spends_five_percent() -> None:
    assert [look_alpha(k) for k in (1, 2, 3)] == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])
    assert sum(look_alpha(k) or 1 for k in range(1, 5_000)) == pytest.approx(0.05, rel=1e-3)
    assert sum(look_alpha(k) or 1 for k in range(1, 5_000)) < 0.05


def test_planned_looks_share_five_percent_and_nothing_is_left_after_them() -> None:
    assert [look_alpha(k, planned=3) for k in (1, 2, 3, 4)] == [0.05 / 3] * 3 + [None]
    assert look_alpha(1, planned=1) == 0.05
