from dataclasses import replace

import pytest
from runs_to_show import FEW, SETTINGS, effect, full_summary, job, majority_floors, score, scored_rows, summary

from runner.reporting.estimate_view import Estimate, EstimateColumn, estimate_table
from runner.reporting.jobs import status_table
from runner.reporting.summary import Cost
from runner.reporting.table import Table, without_empty_columns
from runner.reporting.tables import (
    cost_table,
    domain_table,
    first_tables,
    funnel_table,
    metrics_table,
    other_tables,
    provenance_table,
    requests_table,
    result_table,
)

ALL_TABLES = [result_table, metrics_table, domain_table, funnel_table, cost_table, requests_table, provenance_table]


def row(table: Table, label: str) -> tuple[str, ...]:
    (found,) = [row[1:] for row in table.rows if row[0] == label]
    return found


@pytest.mark.parametrize("make", ALL_TABLES)
def test_every_table_of_a_run_says_what_it_is_worth(make) -> None:
    rehearsal = make(summary(venue="emulator:openai", state="partial", caution="Beware."))
    assert rehearsal.heading.startswith("EMULATOR — rehearsal, not a result · PARTIAL 1,610 of 1,920 · ")
    assert rehearsal.caution == "Beware."
    real = make(summary())
    assert "EMULATOR" not in real.heading
    assert "PARTIAL" not in real.heading
    assert "gpt-9 at openai" in real.heading


def test_primary_comes_first_with_its_floor_n_and_coverage() -> None:
    table = metrics_table(summary())
    assert table.columns[1:] == SETTINGS
    assert [row[0] for row in table.rows] == [
        "balanced_accuracy (primary)",
        "floor: majority (chosen on the sample)",
        "accuracy",
        "mae ↓",
        "n",
        "coverage",
    ]
    assert table.rows[0][1] == "0.612 [0.55, 0.67]"
    assert row(table, "n") == ("480",) * 4
    assert row(table, "coverage") == ("100 %",) * 4
    assert "↓ lower is better" in table.notes


def test_the_result_is_the_primary_metric_over_the_best_floor_of_each_setting() -> None:
    floors = [*majority_floors(), score("p-conv", "balanced_accuracy", 0.57, floor="newest"), score("all", "mae", 9.0)]
    table = result_table(summary(floors=floors))
    assert table.columns == ("metric", *SETTINGS)
    assert [row[0] for row in table.rows] == ["balanced_accuracy (primary)", "best floor"]
    assert table.rows[1][1:] == ("0.570", "0.500ᵃ", "0.500ᵃ", "0.500ᵃ")
    assert "n 480; coverage 100 %" in table.notes
    assert any("newest (p-conv), majority (p-nonconv, np-conv, np-nonconv)" in note for note in table.notes)
    assert result_table(summary()).rows[1][0] == "best floor: majority"


def test_settings_with_other_n_or_coverage_are_named_with_theirs() -> None:
    rows = [score("p-conv", "balanced_accuracy", 0.6), score("np-conv", "balanced_accuracy", 0.5, coverage=0.9)]
    assert "n 480; coverage 100 % (p-conv), 90.0 % (np-conv)" in result_table(summary(rows, [])).notes


def test_the_result_says_where_the_floor_is_beaten() -> None:
    tested = (
        effect("p-conv - majority", 0.1, kind="floor"),
        effect("np-conv - majority", 0.0, kind="floor"),
        effect("p-conv - zero", -0.9, kind="floor"),
    )
    notes = result_table(summary(effects=tested)).notes
    assert "against its best floor: beats (p-conv), not shown to beat (np-conv)" in notes


def test_at_the_top_stand_the_primary_metric_its_floor_and_the_three_effects_alone() -> None:
    tables = first_tables(full_summary("sign"))
    assert [[row[0].split(":")[0].split()[0] for row in table.rows] for table in tables] == [
        ["balanced_accuracy", "best"],
        ["personal", "conversation", "interaction"],
    ]
    assert tables[1].columns[-5:] == ("p", "Holm p", "n", "authors", "reading")
    below = {row[0] for table in other_tables(full_summary("sign")) for row in table.rows}
    assert {"p-conv - np-conv", "floor: majority (chosen on the sample)", "gaming"} <= below


def test_columns_that_say_nothing_go_and_their_neighbours_keep_their_kind() -> None:
    table = Table("t", ("a", "b", "c", "d"), (("x", "", "1", "y"), ("z", "—", "—", "y")), text_columns=(0, 3))
    bare = without_empty_columns(table)
    assert (bare.columns, bare.rows) == (("a", "c", "d"), (("x", "1", "y"), ("z", "—", "y")))
    assert bare.text_columns == (0, 2)
    assert without_empty_columns(table, keep=2).columns == table.columns
    untested = tuple(replace(one, p=None, p_holm=None) for one in full_summary("sign").effects)
    (_, effects) = first_tables(full_summary("sign", effects=untested))
    assert not {"p", "Holm p", "kind"} & set(effects.columns)
    assert effects.rows[0][effects.columns.index("authors")] == "118"
    assert requests_table(summary(failures=())).columns == ("", "all settings")


@pytest.mark.parametrize("metric", ["log_mae", "mae", "median_ae", "rmse"])
def test_errors_say_that_lower_is_better(metric: str) -> None:
    table = metrics_table(summary([score("p-conv", metric, 1.0)], [], primary=metric))
    assert table.rows[0][0] == f"{metric} ↓ (primary)"
    assert any("lower is better" in note for note in table.notes)


def test_settings_stand_in_the_order_given() -> None:
    order = ("np-conv", "p-conv", "none-conv")
    table = metrics_table(summary([score(name, "balanced_accuracy", 0.5) for name in order], []))
    assert table.columns[1:] == order


def test_undefined_is_not_absent_and_neither_is_zero() -> None:
    rows = [score("p-conv", "balanced_accuracy", None), score("np-conv", "balanced_accuracy", 0.0)]
    floors = [score("p-conv", "balanced_accuracy", 0.5, floor="newest")]
    table = metrics_table(summary(rows, floors))
    assert table.rows[0][1:] == ("n/a", "0")
    assert row(table, "floor: newest") == ("0.500", "—")


def test_a_note_of_the_whole_table_stands_once_and_others_carry_a_letter() -> None:
    everywhere = [score(name, "balanced_accuracy", 0.5, note=FEW) for name in SETTINGS]
    table = metrics_table(summary(everywhere, []))
    assert table.rows[0][1] == "0.500"
    assert table.notes == (FEW,)

    mixed = [score("a", "balanced_accuracy", 0.5, note="first"), score("b", "balanced_accuracy", 0.5, note="second")]
    table = metrics_table(summary(mixed, []))
    assert table.rows[0][1:] == ("0.500ᵃ", "0.500ᵇ")
    assert table.notes == ("ᵃ first", "ᵇ second")


def test_many_notes_keep_different_letters() -> None:
    rows = [score(f"s{i}", "balanced_accuracy", 0.5, note=f"note {i}") for i in range(60)]
    cells = metrics_table(summary(rows, [])).rows[0][1:]
    assert len(set(cells)) == 60


def test_a_floor_keeps_the_notes_of_its_interval() -> None:
    rows = [score(name, "balanced_accuracy", 0.6, note=FEW) for name in SETTINGS]
    floors = [score(name, "balanced_accuracy", 0.5, floor="majority", note=FEW) for name in SETTINGS]
    table = metrics_table(summary(rows, floors))
    assert table.rows[1][0] == "floor: majority"
    assert table.notes == (FEW,)


def test_a_metric_on_fewer_instances_says_so() -> None:
    rows = [score("p-conv", "balanced_accuracy", 0.6), score("p-conv", "mae", 3.0, n=77, coverage=0.9996)]
    (note,) = [note for note in metrics_table(summary(rows, [])).notes if note.startswith("mae")]
    assert "n 77" in note
    assert "99.9 %" in note


def test_nothing_to_show_is_explained() -> None:
    table = result_table(summary([], [], explanation="No reply has a score of 4 or more."))
    assert table.rows == ()
    assert "No reply has a score of 4 or more." in table.notes


def test_domains_show_the_primary_metric_with_n_coverage_and_floors() -> None:
    rows = [*scored_rows(), score("np-conv", "balanced_accuracy", 0.4, group="domain=law", n=39, coverage=0.5)]
    rows.append(score("p-conv", "accuracy", 0.99, group="domain=gaming"))
    floors = [*majority_floors(), score("p-conv", "balanced_accuracy", 0.5, group="domain=gaming", floor="majority")]
    table = domain_table(summary(rows, floors))
    assert table.columns == ("domain", *SETTINGS, "n", "coverage")
    assert [row[0] for row in table.rows] == ["gaming", "floor: majority", "law"]
    assert row(table, "gaming")[-2:] == ("40", "100 %")
    assert row(table, "law") == ("—", "—", "0.400", "—", "39", "50.0 %")
    assert not any("0.99" in cell for line in table.rows for cell in line)


def test_money_is_shown_or_said_to_be_unknown() -> None:
    table = cost_table(summary(cost=Cost(0.0042, None, 0.0, 1234.5, 0.00001, None)))
    assert [cell for _, cell in table.rows] == [
        "$0.0042",
        "price unknown",
        "$0.00",
        "$1,234.50",
        "$0.000010",
        "price unknown",
    ]


def test_failures_are_counted_by_reason_and_setting() -> None:
    table = requests_table(summary())
    assert row(table, "total")[0] == "1,920"
    assert row(table, "refused")[0] == "12"
    assert row(table, "failure: unparsable") == ("7", "4", "0", "3", "0")


def test_the_funnel_keeps_its_order_and_notes() -> None:
    table = funnel_table(summary())
    assert table.rows == (("replies", "120,345"), ("usable", "98,000"))
    assert table.notes == ("negatives: 144", "donor level: 0.810")


def test_a_report_leaves_out_what_is_empty_but_never_the_result() -> None:
    bare = summary([], [], funnel=(), funnel_notes={}, failures=())
    titles = [table.title.split(" · ")[0] for table in (*first_tables(bare), *other_tables(bare))]
    assert titles == ["Results", "Cost", "Requests", "Made by"]


def column(name: str, **changes: object) -> EstimateColumn:
    fields: dict[str, object] = {"requests": 480, "unique": 470, "answered": 20, "to_buy": 450}
    fields |= {"input_tokens": 1_234_567, "output_tokens_low": 9_000, "output_tokens_high": 45_000}
    return EstimateColumn(name, **(fields | {"low_usd": 0.004, "mid_usd": 0.5, "high_usd": None} | changes))  # type: ignore[arg-type]


def test_an_estimate_says_that_it_is_one() -> None:
    given = Estimate(
        "3.1",
        "emulator:openai",
        (column("p-conv"),),
        column("total", unique=900),
        3.21,
        ("token counts are estimates",),
    )
    table = estimate_table(given)
    assert table.heading.startswith("EMULATOR — rehearsal, not a result · Estimate")
    assert row(table, "unique") == ("470", "900")
    assert row(table, "input tokens")[0] == "1.23M"
    assert row(table, "output tokens")[0] == "9k – 45k"
    assert row(table, "cost, low")[0] == "$0.0040"
    assert row(table, "cost, high")[0] == "price unknown"
    assert table.notes == ("bound: no more than $3.21", "token counts are estimates")


def test_status_sums_what_is_known_and_marks_what_is_not() -> None:
    table = status_table([job(), job("batch-0002", usd=None, state="closed", done=990)])
    label, _, done, failed, in_flight, total, _, cost, _ = table.rows[-1]
    assert (label, done, failed, in_flight, total) == ("all", "1,802", "6", "185", "2,000")
    assert cost == "≥$0.42"
    assert table.rows[1][4] == "0"
    assert "created → wait" in table.rows[0]


def test_status_tells_rehearsals_from_runs() -> None:
    rehearsal = job(run="3.1__gpt-9__strict__emulator__ab12")
    assert status_table([rehearsal]).heading.startswith("EMULATOR")
    mixed = status_table([rehearsal, job()])
    assert "EMULATOR" not in mixed.heading
    assert any("rehearsal, not a result" in note for note in mixed.notes)
    assert status_table([]).rows == ()


def test_a_short_status_keeps_the_unfinished_and_counts_the_rest() -> None:
    table = status_table([job("a", state="closed"), job("b"), job("c", state="collected"), job("d")], most=2)
    assert [row[0] for row in table.rows] == ["b", "d", "all"]
    assert table.rows[-1][5] == "4,000"
    assert "and 2 more" in table.notes
