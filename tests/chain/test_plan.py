"""What a plan promises before anything is bought: cost, intervals, and the command that buys just that."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from runner.cli.commands import submit
from runner.cli.plan import plan
from runner.errors import RunnerError
from tests.place import Place

MODEL = "gpt-4.1-mini"
BASE = ("--model", MODEL, "--task", "3.1", "--emulate")


@pytest.fixture(scope="module")
def planner(tmp_path_factory: pytest.TempPathFactory) -> Place:
    """A folder that knows the corpus; a plan leaves nothing else behind."""
    return Place(tmp_path_factory.mktemp("planner"))


@pytest.fixture
def here(planner: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    return _in(planner, monkeypatch)


@pytest.fixture
def bought(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    """Where something is bought before it is planned."""
    return _in(place, monkeypatch)


def _in(place: Place, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.chdir(place.root)
    monkeypatch.setenv("COLUMNS", "160")
    return place


def planned(*arguments: str) -> Any:
    result = CliRunner().invoke(plan, [*arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def widths(size: Any) -> dict[str, Any]:
    return {width["name"]: width for width in size["widths"]}


def test_a_budget_becomes_whole_instances_and_more_of_it_a_larger_beginning(here: Place, corpus: Path) -> None:
    data = ("--data", str(corpus))
    (small,), (large,) = (planned(*BASE, *data, "--budget", usd)["candidates"] for usd in ("0.03", "0.1"))
    for candidate, usd in ((small, 0.03), (large, 0.1)):
        chosen = candidate["chosen"]
        assert chosen["high_usd"] <= usd < chosen["high_usd"] * (1 + 3 / chosen["instances"])
        assert f"--limit {chosen['instances']} " in candidate["command"]
        assert chosen["low_usd"] < chosen["mid_usd"] < chosen["high_usd"] <= chosen["bound_usd"]
    assert small["chosen"]["instances"] < large["chosen"]["instances"]
    assert small["rests_on"] == "assumptions"
    assert not list(here.root.glob("batches/*/run.json"))  # planning leaves no run behind


def test_models_stand_side_by_side_on_the_same_sample(here: Place, corpus: Path) -> None:
    cheap, dear = planned(*BASE, "--model", "claude-sonnet-5", "--data", str(corpus))["candidates"]
    assert [one["authors"] for one in cheap["sizes"]] == [one["authors"] for one in dear["sizes"]]
    assert cheap["chosen"]["mid_usd"] < dear["chosen"]["mid_usd"]
    assert [one["rests_on"] for one in (cheap, dear)] == ["assumptions"] * 2


def test_a_wanted_half_width_gets_the_fewest_instances_or_the_sentence_that_there_are_not_enough(
    here: Place, corpus: Path
) -> None:
    data = ("--data", str(corpus))
    (found,) = planned(*BASE, *data, "--half-width", "0.05")["candidates"]
    personal = widths(found["chosen"])["personal"]
    assert personal["half_width"] <= 0.05 < personal["half_width"] * 1.05
    assert dict(found["reaching"])["personal"] == found["chosen"]["instances"]
    never = CliRunner().invoke(plan, [*BASE, *data, "--half-width", "0.0001"], catch_exceptions=False).stdout
    assert "the corpus does not hold enough for ±0.0001 on personal" in never
    assert "rehearsal, not a result" in never and "make submit" not in never


def test_the_command_of_a_variant_asks_for_that_variant(here: Place, corpus: Path) -> None:
    given = ("--data", str(corpus), "--min-history", "4", "--label-balance", "off", "--no-temperature", "--looks", "2")
    (found,) = planned(*BASE, *given, "--history-lag", "3", "--match-length")["candidates"]
    program, *words = shlex.split(found["command"])
    assert (program, words[0]) == ("persona-runner", "submit")
    parsed = submit.make_context("submit", words[1:]).params
    wanted = plan.make_context("plan", [*BASE, *given, "--history-lag", "3", "--match-length"]).params
    free = ("models", "half_width")
    assert {name: value for name, value in wanted.items() if parsed.get(name) != value and name not in free} == {}
    assert parsed["limit"] == found["chosen"]["instances"]


def test_looks_that_are_fixed_beforehand_set_the_level(here: Place, corpus: Path) -> None:
    data = ("--data", str(corpus))
    found = [widths(planned(*BASE, *data, *looks)["candidates"][0]["sizes"][-1]) for looks in ((), ("--looks", "5"))]
    assert [round(each["personal"]["level"], 4) for each in found] == [0.975, 0.99]
    assert [each["p-conv"]["level"] for each in found] == [0.95, 0.95]
    assert found[0]["personal"]["half_width"] < found[1]["personal"]["half_width"]


@pytest.mark.slow
def test_what_a_plan_promised_after_a_pilot_is_what_the_larger_sample_costs_and_shows(
    bought: Place, corpus: Path
) -> None:
    data = ("--data", str(corpus), "--task", "3.2")  # here 20 authors suffice: no class is smaller
    bought.call("run", *BASE, *data, "--limit", "60", "--yes")
    before = billed(bought)
    (candidate,) = planned(*BASE, *data, "--budget", str(before * 3))["candidates"]
    chosen = candidate["chosen"]
    assert candidate["rests_on"] == "its own pilot: 60 instances"
    assert chosen["instances"] > 120
    assert chosen["to_buy"] == chosen["instances"] - 60  # the pilot is the beginning of the sample
    bought.call("run", *BASE, *data, "--limit", str(chosen["instances"]), "--yes")
    assert 0.95 * chosen["low_usd"] <= billed(bought) - before <= chosen["bound_usd"]
    (effects,) = (summary["effects"] for name in bought.runs() if (summary := bought.summary(name))["instances"] > 60)
    promises = widths(chosen)
    obtained = {one["name"]: one for one in effects if one["family"]}
    assert len(obtained) == 3
    for name, one in obtained.items():
        assert promises[name]["level"] == pytest.approx(one["level"])
        assert chosen["authors"] == pytest.approx(one["authors"])
    personal = obtained["personal"]
    assert promises["personal"]["low"] <= (personal["high"] - personal["low"]) / 2 <= promises["personal"]["high"]
    (real,) = planned("--model", MODEL, *data, "--budget", "0.1")["candidates"]
    assert real["rests_on"] == "assumptions"  # what was rehearsed tells a real plan nothing, and is not paid for
    assert real["chosen"]["to_buy"] == real["chosen"]["instances"]


def test_a_protocol_without_a_nested_sample_is_refused_before_any_work(here: Place) -> None:
    (here.root / "never-read.json").write_text("this is no corpus")
    with pytest.raises(RunnerError, match="nested sample"):
        CliRunner().invoke(plan, [*BASE, "--data", "never-read.json", "--protocol", "paper"], catch_exceptions=False)


def billed(place: Place) -> float:
    return float(sum(line["usd"] for line in place.bill()["requests"]))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--budget", "1", "--half-width", "0.1"), "Either `BUDGET` or `HALF_WIDTH`"),
        (("--setting", "none-conv"), "leave out none-conv"),
    ],
)
def test_what_cannot_be_planned_is_said(here: Place, corpus: Path, arguments: tuple[str, ...], said: str) -> None:
    with pytest.raises(RunnerError, match=said):
        CliRunner().invoke(plan, [*BASE, "--data", str(corpus), *arguments], catch_exceptions=False)
