"""The estimate and its comparison with the bill, as a reader sees them."""

from __future__ import annotations

from dataclasses import replace

from runner.reporting.estimate_view import Estimate, EstimateColumn, estimate_table
from runner.reporting.reconcile_view import (
    Compared,
    PastEstimate,
    Reconciled,
    Served,
    history_table,
    reconcile_table,
)
from runner.reporting.table import Table

COLUMN = EstimateColumn(
    name="total",
    requests=480,
    unique=470,
    answered=20,
    to_buy=450,
    input_tokens=1_000_000,
    input_tokens_low=800_000,
    input_tokens_high=1_600_000,
    output_tokens=20_000,
    output_tokens_low=9_000,
    output_tokens_high=45_000,
    cached_tokens=250_000,
    low_usd=0.4,
    mid_usd=0.5,
    high_usd=0.9,
    standard_usd=1.0,
    repeated_usd=0.6,
    uncached_usd=0.7,
)
ESTIMATE = Estimate("3.1", "openai", (), COLUMN, 3.21, batches=2, waves=1)
COMPARED = Compared("total", 450, 449, 1_000_000, 1_100_000, 20_000, 18_000, 0.4, 0.5, 0.9, 0.4, 0, 0)
IN_BATCH = Served(449, 0, (), 0.0)


def cells(table: Table, label: str) -> tuple[str, ...]:
    return next(row[1:] for row in table.rows if row[0] == label)


def test_an_estimate_shows_what_is_expected_between_what_may_be_and_beside_what_others_pay() -> None:
    table = estimate_table(ESTIMATE)
    assert cells(table, "input tokens") == ("1M [800k, 1.6M]",)
    assert cells(table, "output tokens") == ("20k [9k, 45k]",)
    assert cells(table, "expected from cache") == ("25.0 %",)
    assert [cells(table, f"cost, {word}") for word in ("low", "expected", "high")] == [
        ("$0.40",),
        ("$0.50",),
        ("$0.90",),
    ]
    assert [cells(table, f"without {word}")[0] for word in ("batch", "dedupe", "cache")] == ["$1.00", "$0.60", "$0.70"]
    assert [table.rows[place][0] for place in table.strong] == ["to buy", "cost, expected"]


def test_a_count_that_is_as_good_as_exact_has_no_interval() -> None:
    exact = replace(COLUMN, input_tokens_low=995_000, input_tokens_high=1_005_000)
    assert cells(estimate_table(replace(ESTIMATE, total=exact)), "input tokens") == ("1M",)


def test_the_time_is_the_providers_word_and_no_guess() -> None:
    assert "2 batches in 1 wave, up to 24 h; usually less" in estimate_table(ESTIMATE).notes
    several = estimate_table(replace(ESTIMATE, batches=9, waves=5)).notes
    assert "9 batches in 5 waves, one after another, each up to 24 h: up to 120 h in all; usually less" in several
    for nothing in (replace(ESTIMATE, batches=None, waves=None), replace(ESTIMATE, batches=0, waves=0)):
        assert not any("wave" in note for note in estimate_table(nothing).notes)


def test_what_is_not_known_is_never_nothing() -> None:
    unknown = dict.fromkeys(("low_usd", "mid_usd", "high_usd", "standard_usd", "repeated_usd", "uncached_usd"))
    table = estimate_table(replace(ESTIMATE, total=replace(COLUMN, cached_tokens=None, **unknown), bound_usd=None))
    assert cells(table, "cost, expected") == cells(table, "without batch") == ("price unknown",)
    assert cells(table, "expected from cache") == ("n/a",)
    assert table.notes[0] == "no bound: price unknown"


def test_a_bill_stands_beside_what_was_promised_with_the_error_of_the_promise() -> None:
    setting = replace(COMPARED, name="p-conv", billed_usd=0.625)
    table = reconcile_table(Reconciled("openai", "openai", (setting,), COMPARED, IN_BATCH, is_finished=True))
    assert cells(table, "total") == (
        "450 → 449",
        "1M → 1.1M",
        "20k → 18k",
        "$0.50",
        "[$0.40, $0.90]",
        "$0.40",
        "+25.0 %",
    )
    assert cells(table, "p-conv")[-1] == "-20.0 %"
    assert table.notes[1:] == ("every answer says that it was served at the batch tier",)
    assert table.marks == ()


def test_a_comparison_says_what_it_lacks() -> None:
    silent = replace(COMPARED, unmetered=3, billed_usd=None)
    table = reconcile_table(Reconciled("openai", "emulator:openai", (), silent, IN_BATCH, is_finished=False))
    assert table.heading.startswith("EMULATOR — rehearsal, not a result · PARTIAL")
    assert cells(table, "total")[-2:] == ("price unknown", "n/a")
    assert "3 answers came without usage and count at their bound" in table.notes


def tier_notes(served: Served, *outside: int) -> tuple[str, ...]:
    settings = tuple(replace(COMPARED, name=f"s{k}", outside=n) for k, n in enumerate(outside))
    total = replace(COMPARED, outside=sum(outside))
    return reconcile_table(Reconciled("openai", "openai", settings, total, served, is_finished=True)).notes[1:]


def test_it_is_told_how_many_answers_were_not_served_at_the_batch_tier_and_what_that_cost() -> None:
    paid = "at the standard price they cost $0.12 more, which no bound foresees"
    one = Served(449, 0, ("standard",), 0.12)
    said = 'were not served at the batch tier (service tier "standard"; s0 2; s2 1)'
    assert tier_notes(one, 2, 0, 1) == (f"3 answers {said}: {paid}",)
    assert tier_notes(replace(one, extra_usd=None), 2, 0, 1) == (f"3 answers {said}",)
    two = Served(449, 440, ("priority", "scale"), 0.12)
    assert tier_notes(two, 9) == (
        f'9 answers were not served at the batch tier (service tier "priority" or "scale"; s0 9): {paid}',
        "at which tier 440 of 449 answers were served is not told",
    )


def test_what_is_not_told_of_tiers_is_not_said_and_without_answers_nothing_is() -> None:
    assert tier_notes(Served(449, 449, (), 0.0)) == ("at which tier openai served the answers is not told",)
    assert tier_notes(Served(449, 1, (), 0.0)) == ("at which tier 1 of 449 answers were served is not told",)
    assert tier_notes(Served(0, 0, (), 0.0)) == ()


def test_a_history_counts_real_runs_apart_from_rehearsals() -> None:
    inside = PastEstimate("a", "openai", 0.9, 1.0, 1.1, 1.05)
    missed = replace(inside, billed_usd=2.0)
    rehearsed = replace(inside, venue="emulator:openai")
    table = history_table([inside, missed, rehearsed])
    assert [row[-1] for row in table.rows] == ["yes", "NO", "yes"]
    assert table.rows[1][-2] == "-50.0 %"
    assert table.notes == (
        "real runs: 1 of 2 bills inside the interval",
        "rehearsals (not results): 1 of 1 bills inside the interval",
    )
    assert history_table([]).notes == ("no finished run yet",)
