"""As its user would: budgets, wrong input, Ctrl-C, a corpus with nothing in it, the notebook."""

from __future__ import annotations

import json
import signal
import time
from pathlib import Path

import polars as pl
import pytest

import runner
from tests.place import Place, asked


def test_a_budget_stops_at_whole_instances_and_a_higher_one_buys_the_rest(place: Place, corpus: Path) -> None:
    estimate = json.loads(place.call("estimate", *asked(corpus), "--json").stdout)
    half = estimate["total"]["mid_usd"] / 2
    first = place.call("run", *asked(corpus), "--budget", f"{half:.6f}")
    assert place.summary()["state"] == "partial"
    assert "PARTIAL" in first.stdout
    spent = sum(line["usd"] for line in place.bill()["requests"])
    assert 0 < spent <= half
    sets = pl.read_parquet(place.root / "results" / place.runs()[0] / "scores.parquet").group_by("instance_id").len()
    assert sets["len"].unique().to_list() == [4], "an instance is bought in all its settings or not at all"
    place.call("run", *asked(corpus), "--budget", f"{estimate['bound_usd'] * 2:.6f}")
    assert place.summary()["state"] == "complete"
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_a_second_run_buys_nothing_and_says_so(scored: Place, corpus: Path) -> None:
    again = scored.call("run", *asked(corpus))
    assert "Nothing to buy" in again.stderr
    assert scored.times_billed() == dict.fromkeys(scored.asked(), 1)


def test_every_table_and_page_of_a_rehearsal_says_so(place: Place, corpus: Path) -> None:
    done = place.call("run", *asked(corpus))
    headings = [line for line in done.stdout.splitlines() if "EMULATOR" in line]
    assert len(headings) == 4, "estimate, results, effects, and the sentence that sums them up"
    results = place.root / "results" / place.runs()[0]
    assert "emulator" in place.runs()[0]
    for name in ("report.md", "report.html"):
        assert "EMULATOR — rehearsal, not a result" in (results / name).read_text()
    assert place.summary()["venue"] == "emulator:openai"


@pytest.mark.parametrize("deleted", ["*.parquet", "*.*"])
def test_answers_deleted_from_the_disk_are_had_again_not_bought(scored: Place, corpus: Path, deleted: str) -> None:
    """From the raw files while they are there, else from the provider."""
    for path in (scored.root / "results").rglob(deleted):
        if path.is_file():
            path.unlink()
    again = scored.call("run", *asked(corpus))
    assert "is gone or damaged" in again.stderr
    assert "Nothing to buy" in again.stderr
    assert scored.summary()["state"] == "complete"
    assert scored.times_billed() == dict.fromkeys(scored.asked(), 1)


def test_ctrl_c_while_waiting_loses_nothing(place: Place, corpus: Path) -> None:
    process = place.start("run", *asked(corpus), "--poll", "5")
    deadline = time.monotonic() + 60
    while not list((place.root / "batches").glob("*/stage-1/batch-0001.jsonl")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert "nothing is lost" in errors
    assert "nothing was sent anywhere" in errors and "at the provider" not in errors
    place.call("run", *asked(corpus))
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_a_corpus_without_an_instance_is_an_explained_end(place: Place) -> None:
    post = {"title": "Hello", "author": "a", "timestamp": "2020-01-01 00:00:00", "score": 1, "comments": []}
    (place.root / "small.json").write_text(json.dumps([post]))
    asked = ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", "small.json", "--emulate"]
    for command in (["build"], ["estimate"], ["submit"], ["rehearse"], ["plan", "--budget", "1"], ["run"], ["score"]):
        done = place.call(*command, *(asked if command != ["score"] else []), check=False)
        assert done.returncode == 1, command
        assert "nothing to predict" in done.stderr
    assert place.summary()["explanation"]
    assert place.summary()["rows"] == []
    alone = place.call("compare", check=False)
    assert (alone.returncode, alone.stdout) == (1, ""), "no row in the table"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--task", "3.1", "--data", "sample", "--emulate"], "--model …"),
        (["--model", "gpt-5.4-mini", "--task", "9", "--data", "sample", "--emulate"], "3.1, 3.2"),
        (["--model", "gpt-5.4-minni", "--task", "3.1", "--data", "sample", "--emulate"], "did you mean gpt-5.4-mini"),
        (["--model", "o4-mini", "--task", "3.1", "--data", "sample", "--emulate"], "2026-10-23"),
        (["--model", "gpt-5.4-mini", "--task", "3.1", "--data", "no.json", "--emulate"], "no.json"),
        (["--model", "gpt-5.4-mini", "--task", "3.1", "--data", "data", "--emulate"], "folder"),
        (["--model", "gpt-5.4-mini", "--task", "3.1", "--emulate"], "--data sample"),
        (["--model", "gpt-5.4-mini", "--task", "3.1", "--data", "bad.json", "--emulate"], "bad.json"),
        (["--run", "nobody"], "nobody"),
        (
            ["--model", "gpt-5.4-mini", "--task", "3.1", "--setting", "q-conv", "--emulate", "--data", "sample"],
            "p-conv",
        ),
        (["--no-such-option"], "--no-such-option"),
    ],
)
def test_wrong_use_is_one_sentence_and_exit_code_2(place: Place, arguments: list[str], said: str) -> None:
    (place.root / "bad.json").write_text('{"this": "is no corpus"}')
    (place.root / "data").mkdir()
    (place.root / "data" / "sample.jsonl").write_text("")
    done = place.call("submit", *arguments, check=False)
    assert done.returncode == 2, done.stderr
    assert said in done.stderr
    assert not list((place.root / "batches").glob("*/stage-1/*.jsonl"))


def test_in_a_notebook(finished: Place) -> None:
    requests = runner.requests(workspace=finished.root)
    responses = runner.responses(finished.runs()[0], workspace=finished.root)
    scores = runner.scores(workspace=finished.root)
    assert set(requests["request_id"]) == set(responses["request_id"])
    assert requests["body"].null_count() == 0
    assert scores.height == requests.height


def test_choices_of_one_prompt_are_rows_of_their_own(place: Place, corpus: Path) -> None:
    place.call("run", *asked(corpus, "3.3", 4), "--samples", "3")
    responses = place.responses()
    assert responses.group_by("request_id").len()["len"].unique().to_list() == [3]
    scores = runner.scores(workspace=place.root)
    assert sorted(scores["sample"].unique()) == [0, 1, 2]
    assert {row["metric"] for row in place.summary()["rows"]} >= {"rouge_l", "rouge_l@best_of_3"}


@pytest.mark.parametrize(
    "task", [pytest.param("3.1", marks=pytest.mark.slow), "3.2", pytest.param("3.3", marks=pytest.mark.slow)]
)
def test_the_paper_protocol_runs_and_says_what_it_is(place: Place, corpus: Path, task: str) -> None:
    done = place.call("run", *asked(corpus, task, 8), "--protocol", "paper")
    assert "known leaks" in done.stdout
    assert place.summary()["state"] == "complete"
    assert {row["setting"] for row in place.summary()["rows"]} == {"p-conv", "p-nonconv", "np-conv"}
