"""The leaderboard: order, marks, money and floors, and the sentences that keep a reader from a wrong conclusion."""

from __future__ import annotations

import io
import re
from dataclasses import replace
from importlib.resources import files

import pytest

from runner.benchmarks.personaconvbench import paper
from runner.reporting.comparison import Board, Comparison, Entry, best_first
from runner.reporting.effects import domain_effects_table, effects_table, effects_tables, other_effects_table
from runner.reporting.leaderboard import (
    brief_tables,
    first_tables,
    leaderboard_table,
    other_tables,
    others_table,
    pairs_table,
    reading_table,
    usd_per_point,
)
from runner.reporting.published import is_same_model, published_table
from runner.reporting.summary import REHEARSAL, Look
from runner.reporting.table import Table, print_table
from tests.reporting.boards_to_show import beside, board, effect, floors, pair, partial, run, two_models
from tests.reporting.runs_to_show import SETTINGS, score, summary


def _column(table: Table, name: str) -> dict[str, str]:
    """The first column's words to the named one's."""
    place = table.columns.index(name)
    return {row[0]: row[place] for row in table.rows}


def test_better_models_come_first_and_partial_ones_last_however_good_they_look() -> None:
    table = leaderboard_table(board(run("low", 0.6), partial("early", 0.95), run("high", 0.7)))
    names = [row[0].removesuffix(" ≈") for row in table.rows]
    assert names == ["high", "low", "early", "best floor"]
    assert _column(table, "state")["early"] == "PARTIAL 12 of 40"
    assert any(note.startswith("PARTIAL: ") for note in table.notes)


def test_where_less_is_better_the_smaller_value_comes_first() -> None:
    rows = {name: [score("p-conv", "log_mae", value)] for name, value in (("far", 1.4), ("near", 0.9), ("none", None))}
    entries = [Entry(name, summary(rows=own, floors=(), primary="log_mae")) for name, own in rows.items()]
    ordered = best_first(entries, "p-conv")
    assert [entry.label for entry in ordered] == ["near", "far", "none"]
    table = leaderboard_table(board(primary="log_mae", entries=ordered))
    assert "↓ lower is better" in table.title


def test_a_model_that_is_not_shown_to_be_behind_the_best_is_marked_and_one_that_is_shown_is_not() -> None:
    pairs = (
        pair("a", "b", 0.02, -0.01, 0.05, 0.2, 0.2),
        pair("a", "c", 0.2, 0.15, 0.25, 0.0001, 0.0003),
        pair("b", "c", 0.18, 0.13, 0.23, 0.0001, 0.0003),
    )
    table = leaderboard_table(board(run("a", 0.8), run("b", 0.78), run("c", 0.6), pairs=pairs))
    assert [row[0] for row in table.rows[:3]] == ["a", "b ≈", "c"]
    assert any("≈ not shown to differ from the best (a) on p-conv" in note for note in table.notes)
    assert table.strong == (), "no number is set off as if it had won"


def test_an_interval_without_zero_is_no_difference_where_holm_does_not_agree() -> None:
    pairs = (pair("a", "b", 0.02, 0.001, 0.039, 0.04, 0.12),)
    tested = board(run("a", 0.8), run("b", 0.78), pairs=pairs)
    assert leaderboard_table(tested).rows[1][0] == "b ≈"
    assert _column(pairs_table(tested), "reading") == {"a - b": "no difference shown"}


def test_of_models_that_could_not_be_tested_nothing_is_said() -> None:
    assert leaderboard_table(board(run("a", 0.8), run("b", 0.1))).rows[1][0] == "b"


def test_a_smaller_sample_of_a_model_is_shown_below_and_neither_tested_nor_best() -> None:
    small = Entry("a (first 100)", run("a", 0.95, instances=100), is_superseded=True)
    entries = best_first([small, Entry("a (first 480)", run("a", 0.8)), Entry("b", run("b", 0.7))], "p-conv")
    made = board(entries=entries)
    table = leaderboard_table(made)
    assert [row[0] for row in table.rows] == ["a (first 480)", "b", "best floor"]
    assert not any("samples of" in note for note in table.notes)
    assert _column(others_table(made), "state") == {"a (first 100)": "complete"}
    assert other_tables(made) == (others_table(made),)


def test_models_on_samples_of_different_size_are_said_to_be() -> None:
    table = leaderboard_table(board(run("a", 0.8, instances=100), run("b", 0.7)))
    assert any("samples of 100 and 480 instances" in note for note in table.notes)


def test_coverage_is_the_lowest_of_the_settings() -> None:
    assert _column(leaderboard_table(board(run("a", 0.8))), "coverage")["a"] == "97.0 %"


def test_a_point_costs_the_run_divided_by_hundredths_above_the_best_floor() -> None:
    entry = Entry("a", run("a", 0.7, over=0.1, dollars=2.0))
    assert usd_per_point(entry, "p-conv") == pytest.approx(0.2)
    assert _column(leaderboard_table(board(entry.summary)), "$ per 0.01")["a"] == "$0.20"


@pytest.mark.parametrize(
    ("over", "dollars", "cost"), [(0.02, 2.0, "$2.00"), (-0.1, 2.0, "$2.00"), (0.1, None, "price unknown")]
)
def test_a_point_has_no_price_where_the_floor_is_not_beaten_or_nothing_is_known_of_money(
    over: float, dollars: float | None, cost: str
) -> None:
    table = leaderboard_table(board(run("a", 0.7, over=over, dollars=dollars), run("b", 0.6)))
    assert _column(table, "$ per 0.01")["a"] == "—"
    assert _column(table, "cost")["a"] == cost


def test_answers_that_an_earlier_run_paid_for_are_in_the_cost() -> None:
    made = run("a", 0.7)
    made = replace(made, cost=replace(made.cost, reused_usd=3.0))
    assert Entry("a", made).cost_usd == pytest.approx(5.0)
    assert Entry("a", replace(made, cost=replace(made.cost, reused_usd=None))).cost_usd is None


def test_the_best_floor_of_each_setting_closes_the_table() -> None:
    made = run("a", 0.8)
    better = replace(made, floors=floors(("p-conv", "newest item", 0.55), ("all", "constant", 0.52)))
    table = leaderboard_table(board(better))
    assert table.rows[-1][:5] == ("best floor", "0.550", "0.520", "0.520", "0.520")
    assert any("newest item (p-conv); constant (p-nonconv, np-conv, np-nonconv)" in note for note in table.notes)


def test_a_personal_effect_at_another_level_says_so() -> None:
    looked = run("a", 0.8, effects=(effect("personal", 0.031, 0.012, 0.05, level=0.975),))
    table = leaderboard_table(board(looked))
    assert _column(table, "personal effect")["a"] == "+0.031 [0.012, 0.050]"
    assert "personal effect: 97.5 % intervals" in table.notes
    mixed = leaderboard_table(board(looked, run("b", 0.7)))
    assert _column(mixed, "personal effect")["a"] == "+0.031 [0.012, 0.050] (97.5 %)"
    assert not any("97.5" in note for note in mixed.notes)


def test_every_table_of_a_rehearsal_says_so_and_no_other_does() -> None:
    made = two_models()
    tables = [table for board in made.boards for table in (leaderboard_table(board), *other_tables(board))]
    assert [table.marks for table in tables] == [(), (), (REHEARSAL,)]
    assert [table.marks for table in first_tables(made)] == [(), (REHEARSAL,)]


def test_a_run_without_an_answer_is_a_row_of_dashes() -> None:
    empty = summary(rows=(), floors=())
    assert leaderboard_table(board(empty)).rows == (("gpt-9", "—", "—", "—", "—", "price unknown"),)


def test_a_note_is_said_once_of_a_row_where_it_holds_for_all_its_settings() -> None:
    few = "few authors: 23.1 effective"
    made = run("a", 0.8)
    whole = replace(made, rows=tuple(replace(row, note=few) for row in made.rows))
    part = replace(made, rows=(replace(made.rows[0], note=few), *made.rows[1:]))
    assert f"a: {few}" in leaderboard_table(board(whole)).notes
    assert f"a p-conv: {few}" in leaderboard_table(board(part)).notes


def test_published_numbers_stand_beside_ours_with_every_footnote_and_the_same_model_next_to_it() -> None:
    table = published_table(beside(run("tiny-1", 0.6), run("gpt-9-2025-04-14", 0.5)))
    assert table.columns[1:] == (
        "tiny-1 (ours)",
        "gpt-9-2025-04-14 (ours)",
        "GPT-9 (published)",
        "Other-2 (published)",
    )
    assert table.rows == (
        ("accuracy · p-conv", "0.900 [0.85, 0.94]", "0.900 [0.85, 0.94]", "0.9122", "0.6875"),
        ("accuracy · p-nonconv", "—", "—", "0.7862", "—"),
    )
    assert "F1 is of two kinds" in table.notes
    assert any("a table of 2025" in note for note in table.notes)


def test_beside_published_numbers_the_cells_notes_and_their_own_n_are_said() -> None:
    made = run("tiny-1", 0.6)
    few = score("p-conv", "accuracy", 0.9, n=401, coverage=0.9, note="best of 3")
    more = score("p-nonconv", "accuracy", 0.8, n=412, note="best of 2")
    notes = published_table(beside(replace(made, rows=(*made.rows[:-1], few, more)))).notes
    assert "tiny-1, accuracy · p-conv: best of 3" in notes and "tiny-1, accuracy · p-nonconv: best of 2" in notes
    assert any("tiny-1 n 401–412, coverage at least 90.0 %;" in note for note in notes)
    alone = replace(made, rows=(few, replace(more, note="best of 3")))
    assert "tiny-1: best of 3" in published_table(beside(alone)).notes


def test_a_published_number_keeps_the_zeros_at_its_end() -> None:
    given = beside(run("tiny-1", 0.6))
    zero = replace(given, rows=(*given.rows[:-1], ("Other-2", "p-conv", "accuracy", 0.687)))
    assert published_table(zero).rows[0][-1] == "0.6870"
    text = files(paper).joinpath("published.toml").read_text(encoding="utf-8")
    shown: list[str] = []
    for asked in ("3.1", "3.2", "3.3"):
        rows = tuple((model, *others) for model, task, *others in paper.published().rows if task == asked)
        table = published_table(replace(given, rows=rows))
        shown += [cell for row in table.rows for cell in row[2:] if cell != "—"]
    assert sorted(shown) == sorted(re.findall(r'(?<!\.)"(\d+\.\d+)"', text)), "digit for digit"


def test_a_rehearsal_beside_published_numbers_is_called_one_in_its_column_and_its_heading() -> None:
    table = published_table(beside(run("gpt-9", 0.7), is_rehearsal=True))
    assert table.marks == (REHEARSAL,)
    assert table.columns[1] == "gpt-9 (ours, a rehearsal)"


@pytest.mark.parametrize(
    ("ours", "published", "same"),
    [
        ("gpt-4.1", "GPT-4.1", True),
        ("openai/gpt-4.1-2025-04-14", "GPT-4.1", True),
        ("gpt-4.1-mini", "GPT-4.1", False),
        ("claude-3-5-haiku-20241022", "Claude-3.5", False),
    ],
)
def test_kin_is_not_the_same_model(ours: str, published: str, same: bool) -> None:
    assert is_same_model(ours, published) is same


_EFFECTS = (
    effect("p-conv - majority", 0.1, 0.05, 0.15, kind="floor"),
    effect("np-conv - majority", 0.01, -0.05, 0.06, kind="floor"),
    effect("p-conv - np-conv", 0.04, 0.01, 0.07, kind="simple", p=0.01, level=0.975),
    effect("personal", 0.031, 0.012, 0.05, p=0.00001, p_holm=0.00003, family="f", level=0.975),
    effect("conversation", 0.004, -0.011, 0.018, p=0.5, p_holm=0.5, family="f", level=0.975),
    effect("personal", None, None, None, group="no own reply visible", note="no interval: 3 authors", level=0.975),
    effect("personal", 0.2, 0.1, 0.3, group="domain=gaming", level=0.975),
    effect("personal", 0.05, 0.01, 0.09, metric="accuracy", level=0.975),
)


def test_effects_come_declared_first_and_floors_last_each_with_what_it_allows_to_say() -> None:
    table = effects_table(summary(effects=_EFFECTS, look=Look(2, 0.025)))
    assert [(row[0], row[1], row[-1]) for row in table.rows] == [
        ("personal", "main effect, declared", "shown"),
        ("conversation", "main effect, declared", "no difference shown"),
        ("personal, no own reply visible", "main effect, exploratory", "n/a"),
        ("p-conv - np-conv", "simple effect, exploratory", "shown (exploratory)"),
        ("p-conv - majority", "against best floor", "beats"),
        ("np-conv - majority", "against best floor", "not shown to beat"),
    ]
    assert "difference [97.5 % interval]" in table.columns
    assert table.rows[0][2:5] == ("+0.031 [0.012, 0.050]", "<0.0001", "<0.0001")
    assert table.rows[-2][2] == "+0.100 [0.05, 0.15] (95 %)"
    assert any(note.startswith("look 2 at this sample: tests at 0.025") for note in table.notes)
    assert any("no interval: 3 authors" in note for note in table.notes)


def test_a_shown_difference_to_the_worse_is_called_worse() -> None:
    worse = (
        effect("personal", -0.031, -0.05, -0.012, p=0.001, p_holm=0.003, family="f"),
        effect("p-conv - majority", -0.1, -0.15, -0.05, kind="floor"),
    )
    assert [row[-1] for row in effects_table(summary(effects=worse)).rows] == ["shown: worse", "worse than the floor"]


def test_of_a_partial_run_nothing_is_concluded_and_its_family_stays_declared() -> None:
    note = "no test: partial"
    early = (
        effect("personal", 0.031, 0.012, 0.05, family="f", note=note),
        effect("p-conv - majority", 0.1, 0.05, 0.15, kind="floor", note=f"{note}; few authors"),
    )
    table = effects_table(summary(effects=early, state="partial"))
    assert [row[-1] for row in table.rows] == ["not tested: partial"] * 2
    assert table.rows[0][1] == "main effect, declared"
    assert not any("p:" in line or "Holm" in line for line in table.notes)
    assert any("; p: two-sided" in line for line in effects_table(summary(effects=_EFFECTS)).notes)


def test_in_brief_only_main_effects_are_kept_and_say_what_they_are() -> None:
    table = effects_table(summary(effects=_EFFECTS), brief=True)
    assert [row[0].partition(": ")[0] for row in table.rows] == ["personal", "conversation"]
    assert table.rows[0][0].endswith("own history rather than a comparable stranger's")


def test_domains_and_other_metrics_have_tables_of_their_own_that_are_called_exploratory() -> None:
    made = summary(effects=_EFFECTS)
    assert domain_effects_table(made).rows == (("gaming", "+0.200 [0.10, 0.30]", "480"),)
    assert other_effects_table(made).rows == (("accuracy", "+0.050 [0.01, 0.09]", "480"),)
    assert all("exploratory" in table.title for table in effects_tables(made)[1:])


def test_without_effects_there_is_no_table_of_them() -> None:
    assert effects_tables(summary()) == ()


def test_nothing_to_compare_has_no_tables() -> None:
    assert first_tables(Comparison(())) == ()


def _many(models: int, runs: int) -> Board:
    """A board of ``models`` with a leading run each and smaller ones up to ``runs``."""
    made = [
        Entry(f"m{n % models} (first {480 - n})", run(f"m{n % models}", 0.8 - n / 100), n >= models)
        for n in range(runs)
    ]
    pairs = tuple(pair("a", str(n), 0.1, 0.05, 0.2, 0.01, 0.01) for n in range(models * (models - 1) // 2))
    return board(entries=best_first(made, "p-conv"), pairs=pairs)


def test_twenty_runs_are_a_row_for_each_model_and_fit_two_screens_of_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "140")
    made = Comparison((_many(7, 7), _many(7, 8), _many(3, 5)))
    assert [len(leaderboard_table(board).rows) for board in made.boards] == [8, 8, 4]
    assert [len(others_table(board).rows) for board in made.boards if board.others] == [1, 2]
    shown = io.StringIO()
    for table in brief_tables(made):
        print_table(table, shown)
    assert len(shown.getvalue().splitlines()) <= 2 * 50
    assert "45 tested pairs of models and 3 other runs" in shown.getvalue()
    assert "m0 - " not in shown.getvalue()


def test_columns_of_a_leaderboard_that_say_nothing_go_and_settings_stay() -> None:
    whole = leaderboard_table(board(run("a", 0.8, over=-0.1)))
    assert whole.columns == ("model", *SETTINGS, "coverage", "n", "cost", "personal effect")
    assert leaderboard_table(board(run("a", 0.8), partial("b", 0.5))).columns[-2:] == ("personal effect", "state")
    assert any("one row for each model" in note for note in reading_table(Comparison(())).notes)
