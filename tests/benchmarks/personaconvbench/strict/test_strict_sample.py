"""The nested sample, on the columns it needs and nothing else."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.benchmarks.personaconvbench.strict.sample import effective_n, sample_order, with_weights


def population(sizes):
    rows = [(f"{domain}-{label}-{n}", domain, label) for (domain, label), size in sizes.items() for n in range(size)]
    return pl.DataFrame(rows, schema=["instance_id", "domain", "label"], orient="row")


SIZES = {("art", "positive"): 600, ("art", "negative"): 60, ("life", "positive"): 300, ("life", "negative"): 40}


def counts(frame):
    return {(d, x): n for d, x, n in frame.group_by("domain", "label").len().iter_rows()}


def test_thirty_percent_negatives_shared_out_by_size_in_every_prefix():
    order = sample_order(population(SIZES), balance=True, seed=0)
    for n in (10, 50, 100, 200, 300):
        found = counts(order.head(n))
        negatives = sum(k for (_, label), k in found.items() if label == "negative")
        assert abs(negatives - 0.3 * n) <= 2
        for (domain, label), size in SIZES.items():
            side, share = (100, 0.3) if label == "negative" else (900, 0.7)
            assert abs(found.get((domain, label), 0) - n * share * size / side) <= 1.5


def test_exhausted_strata_are_whole_and_the_rest_goes_on():
    order = sample_order(population(SIZES), balance=True, seed=0)
    found = counts(order.head(600))
    assert found["art", "negative"] + found["life", "negative"] == 100
    assert len(order) == 1000


def test_without_balance_every_stratum_has_its_own_share():
    order = sample_order(population(SIZES), balance=False, seed=0)
    found = counts(order.head(100))
    for key, size in SIZES.items():
        assert abs(found[key] - size / 10) <= 1


def test_texts_are_stratified_by_domain():
    frame = population({("art", None): 300, ("life", None): 100}).with_columns(pl.col("label").cast(pl.String))
    order = sample_order(frame, balance=True, seed=0)
    assert order.head(40)["domain"].value_counts().sort("domain")["count"].to_list() == [30, 10]


def test_the_order_of_the_rows_does_not_matter_but_the_seed_does():
    frame = population(SIZES)
    order = sample_order(frame, balance=True, seed=0)["instance_id"].to_list()
    assert (
        sample_order(frame.sample(fraction=1, shuffle=True, seed=3), balance=True, seed=0)["instance_id"].to_list()
        == order
    )
    assert sample_order(frame, balance=True, seed=1)["instance_id"].to_list() != order


@settings(max_examples=40, deadline=None)
@given(
    sizes=st.dictionaries(
        st.tuples(st.sampled_from(["a", "b", "c"]), st.sampled_from(["positive", "negative", "zero"])),
        st.integers(1, 30),
        min_size=1,
    ),
    share=st.floats(0.05, 1),
    balance=st.booleans(),
)
def test_weights_give_back_the_population(sizes, share, balance):
    order = sample_order(population(sizes), balance=balance, seed=5)
    sample = with_weights(order.head(max(1, round(share * len(order)))))
    assert sample["weight"].mean() == pytest.approx(1)
    totals = sample.group_by("stratum").agg(pl.col("weight").sum(), size=pl.col("stratum_size").first())
    assert (totals["weight"] / totals["size"]).to_list() == pytest.approx(
        [totals["weight"][0] / totals["size"][0]] * len(totals)
    )
    if len(sample) == len(order):
        assert sample["weight"].to_list() == pytest.approx([1.0] * len(sample))
    assert 0 < effective_n(sample["weight"]) <= len(sample) + 1e-9


def test_effective_n_is_kishs():
    assert effective_n(pl.Series([1.0, 1.0, 1.0])) == pytest.approx(3)
    assert effective_n(pl.Series([2.0, 1.0])) == pytest.approx(9 / 5)
    assert effective_n(pl.Series([], dtype=pl.Float64)) == 0
