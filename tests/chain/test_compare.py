"""Which runs may share a table, which models are tested against each other, and what is said of the rest."""

from __future__ import annotations

import shutil
from pathlib import Path

import polars as pl
import pytest

from runner.chain.compare import check_target, compare, write_comparison
from runner.chain.files import write_frame
from runner.chain.runs import Folders, Workspace, read_run
from runner.chain.score import score
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.metrics.multiplicity import holm
from tests.chain.scored_runs import AUTHORS, EACH, asked, scored
from tests.place import Place


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path)


def test_models_of_one_design_share_a_table_and_are_tested_in_one_family(workspace: Workspace) -> None:
    for model, share in (("good", 0.9), ("middling", 0.87), ("bad", 0.5)):
        scored(workspace, asked(model), share)
    (board,) = compare(workspace).boards
    assert [entry.label for entry in board.entries] == ["good", "middling", "bad"]
    assert [pair.name for pair in board.pairs] == ["good - middling", "good - bad", "middling - bad"]
    assert {(pair.group, pair.family, pair.n) for pair in board.pairs} == {
        ("p-conv", "model pairs on p-conv: balanced_accuracy", AUTHORS * EACH)
    }
    raw = [pair.p for pair in board.pairs if pair.p is not None]
    assert [pair.p_holm for pair in board.pairs] == holm(raw)
    assert [pair.is_shown for pair in board.pairs] == [False, True, True]


def test_a_run_of_few_instances_stands_apart_and_is_not_tested(workspace: Workspace) -> None:
    for model, share, instances in (("good", 0.9, 240), ("bad", 0.5, 240), ("tiny", 1.0, 19), ("enough", 0.8, 20)):
        scored(workspace, asked(model), share, instances=instances)
    counted, apart = compare(workspace).boards
    assert {entry.label for entry in counted.entries} == {"good", "bad", "enough"}
    assert [entry.label for entry in apart.entries] == ["tiny"]
    assert len(counted.pairs) == 3
    assert not apart.pairs
    assert apart.title != counted.title


@pytest.mark.parametrize(
    "other",
    [
        {"protocol": "paper"},
        {"task": "3.2"},
        {"corpus": "other"},
        {"seed": 1},
        {"samples": 3},
        {"version": "strict-0"},
        {"variants": {"label_balance": False}},
        {"venue": "emulator:openai"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_runs_that_differ_in_design_never_share_a_table_nor_its_title(
    workspace: Workspace, other: dict[str, object]
) -> None:
    scored(workspace, asked("a"), 0.9)
    scored(workspace, asked("b", **other), 0.5)
    found = compare(workspace)
    assert [len(board.entries) for board in found.boards] == [1, 1]
    assert len({(board.title, board.is_rehearsal) for board in found.boards}) == 2
    assert not any(board.pairs for board in found.boards)


def test_an_emulator_behind_another_name_is_a_rehearsal_too(workspace: Workspace) -> None:
    scored(workspace, asked("a"), 0.9)
    scored(workspace, asked("b", venue="localhost:9"), 0.9, versions={"model as returned": "gpt-emulator"})
    assert [board.is_rehearsal for board in compare(workspace).boards] == [False, True]


def test_a_partial_run_is_shown_last_and_not_tested(workspace: Workspace) -> None:
    scored(workspace, asked("early"), 0.99, state="partial")
    scored(workspace, asked("good"), 0.9)
    scored(workspace, asked("bad"), 0.5)
    (board,) = compare(workspace).boards
    assert [entry.label for entry in board.entries] == ["good", "bad", "early"]
    assert [pair.name for pair in board.pairs] == ["good - bad"]


def test_samples_of_two_sizes_share_a_table_and_are_tested_on_what_both_have(workspace: Workspace) -> None:
    scored(workspace, asked("a", limit=120), 0.9, instances=120)
    scored(workspace, asked("b"), 0.5)
    (board,) = compare(workspace).boards
    assert [entry.summary.instances for entry in board.entries] == [120, AUTHORS * EACH]
    assert [pair.n for pair in board.pairs] == [120]


def test_of_a_model_with_two_samples_the_larger_is_tested_and_both_are_named_apart(workspace: Workspace) -> None:
    scored(workspace, asked("a", limit=120), 0.95, instances=120)
    scored(workspace, asked("a", limit=240), 0.9)
    scored(workspace, asked("b"), 0.5)
    (board,) = compare(workspace).boards
    assert [entry.label for entry in board.entries] == ["a (first 240)", "b", "a (first 120)"]
    assert [pair.name for pair in board.pairs] == ["a (first 240) - b"]


def test_the_run_that_says_most_of_a_model_is_its_row_and_the_better_value_plays_no_part(workspace: Workspace) -> None:
    scored(workspace, asked("a", limit=120), 0.7, instances=120)
    scored(workspace, asked("a", limit=120, fresh=1), 0.95, instances=120)
    scored(workspace, asked("a"), 0.99, state="partial")
    scored(workspace, asked("b", limit=100), 0.8, instances=100, state="partial")
    scored(workspace, asked("b"), 0.6, state="partial")
    (board,) = compare(workspace).boards
    assert [entry.score("p-conv").value for entry in board.leading] == [0.7, 0.6]  # type: ignore[union-attr]
    assert [entry.summary.state for entry in board.leading] == ["complete", "partial"]
    assert len(board.others) == 3
    assert board.pairs == ()


def test_runs_of_one_model_are_named_by_what_differs(workspace: Workspace) -> None:
    scored(workspace, asked("a", effort="low"), 0.8)
    scored(workspace, asked("a", effort="high"), 0.9)
    scored(workspace, asked("a", effort="high", venue="azure.example"), 0.7)
    (board,) = compare(workspace).boards
    assert [entry.label for entry in board.entries] == [
        "a (openai, effort high)",
        "a (openai, effort low)",
        "a (azure.example, effort high)",
    ]


def test_a_run_that_cannot_be_read_is_named_with_its_cure_and_the_others_go_on(workspace: Workspace) -> None:
    old = scored(workspace, asked("old"), 0.9)
    Folders(workspace, old).summary.write_text('{"run": "from before"}')
    scored(workspace, asked("new"), 0.9)
    found = compare(workspace)
    assert [entry.label for entry in found.boards[0].entries] == ["new"]
    assert len(found.remarks) == 1
    assert f"make score RUN={old}" in found.remarks[0]


@pytest.mark.parametrize("broken", ["missing", "of another version"])
def test_scores_that_cannot_be_used_leave_a_model_untested_and_say_so(workspace: Workspace, broken: str) -> None:
    name = scored(workspace, asked("a"), 0.9)
    scored(workspace, asked("b"), 0.5)
    scores = Folders(workspace, name).scores
    if broken == "missing":
        scores.unlink()
    else:
        write_frame(scores, pl.read_parquet(scores).drop("stratum", "truth"))
    found = compare(workspace)
    assert found.boards[0].pairs == ()
    assert any(f"make score RUN={name}" in remark for remark in found.remarks)


def test_only_the_runs_that_are_named_or_asked_for_by_task_and_protocol_are_compared(workspace: Workspace) -> None:
    first = scored(workspace, asked("a"), 0.9)
    scored(workspace, asked("b"), 0.9)
    scored(workspace, asked("a", task="3.2"), 0.9)
    scored(workspace, asked("a", protocol="paper"), 0.9)

    def shown(names: tuple[str, ...] = (), **which: str) -> list[tuple[str, str]]:
        boards = compare(workspace, names, **which).boards  # type: ignore[arg-type]
        return [(board.title[:3], entry.label) for board in boards for entry in board.entries]

    assert shown((first,)) == [("3.1", "a")]
    assert shown(task="3.2") == [("3.2", "a")]
    assert shown(protocol="paper") == [("3.1", "a")]
    with pytest.raises(RunnerError, match=r"No scored run is of task 3\.3; there are runs of: 3\.1 paper"):
        compare(workspace, task="3.3")


def test_what_is_not_there_is_said_in_a_sentence(workspace: Workspace) -> None:
    with pytest.raises(RunnerError, match="No run was scored in "):
        compare(workspace)
    name = scored(workspace, asked("a"), 0.9)
    with pytest.raises(RunnerError, match=f"There is no run 'b'; scored are: {name}"):
        compare(workspace, ["b"])
    unscored = scored(workspace, asked("c"), 0.9)
    Folders(workspace, unscored).summary.unlink()
    with pytest.raises(RunnerError, match=f"make score RUN={unscored}"):
        compare(workspace, [unscored])


def test_published_numbers_stand_beside_paper_runs_of_their_task_only(workspace: Workspace) -> None:
    scored(workspace, asked("gpt-4.1", protocol="paper"), 0.9)
    scored(workspace, asked("gpt-4.1"), 0.9)
    found = compare(workspace, published=True)
    (beside,) = found.published
    assert beside.board.title.startswith("3.1 score sign · paper")
    assert ("GPT-4.1", "p-conv", "accuracy", 0.9122) in beside.rows
    assert {metric for *_, metric, _ in beside.rows} == {"accuracy", "f1_positive", "f1_weighted", "mcc"}
    assert beside.footnotes
    assert found.remarks == ()


def test_strict_runs_are_never_set_beside_published_numbers(workspace: Workspace) -> None:
    scored(workspace, asked("gpt-4.1"), 0.9)
    found = compare(workspace, published=True)
    assert found.published == ()
    assert "run" in found.remarks[0] and "PROTOCOL=paper" in found.remarks[0]
    assert compare(workspace).remarks == ()


def test_a_target_that_cannot_be_written_is_named(workspace: Workspace, tmp_path: Path) -> None:
    scored(workspace, asked("a"), 0.9)
    found = compare(workspace)
    (tmp_path / "file").write_text("")
    with pytest.raises(RunnerError, match=r"file/table\.md cannot be written"):
        write_comparison(found, tmp_path / "file" / "table.md")
    (tmp_path / "folder.md").mkdir()
    with pytest.raises(RunnerError, match=r"folder\.md is a folder"):
        check_target(tmp_path / "folder.md")


def test_twelve_models_are_sixty_six_pairs_of_one_family(workspace: Workspace) -> None:
    for number in range(12):
        scored(workspace, asked(f"m{number}"), 0.5 + number / 30)
    (board,) = compare(workspace).boards
    assert len(board.pairs) == 66
    assert all(pair.p_holm is not None and pair.p is not None and pair.p_holm >= pair.p for pair in board.pairs)


def test_the_command_prints_and_writes_every_form_of_two_rehearsed_models(
    finished: Place, tmp_path: Path, corpus: Path
) -> None:
    place = Place(shutil.copytree(finished.root, tmp_path / "copy"))
    words = ("--task", "3.1", "--data", str(corpus), "--limit", "20", "--emulate")
    for model in ("gpt-5.4-mini", "gpt-4.1"):
        place.call("submit", "--model", model, *words, "--yes")
    place.call("collect", "--wait")
    here = Workspace(place.root)
    for name in place.runs():
        score(here, Ledger(here.ledger), read_run(here, name))
    names = [f"table.{form}" for form in ("md", "csv", "tex", "json", "parquet", "html")]
    done = place.call("compare", "--published", *(word for name in names for word in ("--to", f"results/{name}")))
    headings = [line for line in done.stdout.splitlines() if "EMULATOR" in line]
    assert len(headings) == 3, "the leaderboard, the pairs, and apart from them the run of 16 instances"
    assert "--protocol paper" in done.stderr
    for name in names:
        assert (place.root / "results" / name).stat().st_size > 500
    place.call("compare", "--width", "column", "--to", "results/table.tex")
    assert r"\begin{table}" in (place.root / "results" / "table.tex").read_text()
    assert place.call("compare", "--width", "wide", check=False).returncode == 2
