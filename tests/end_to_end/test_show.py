"""`show`: the prompts before anything is bought, without a key, and what differs between the settings."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from runner.reporting.prompt_view import DIFFERENT, Prompt, marked
from runner.request import Body, Message
from tests.place import Place

BASE = ("--model", "gpt-5.4-mini", "--task", "3.1")
SETTINGS = ["p-conv", "p-nonconv", "np-conv", "np-nonconv"]


def test_what_is_shown_is_what_would_be_sent(place: Place, corpus: Path) -> None:
    """At a real venue without a key; nothing is left behind, and a run that is built shows the same."""
    given = (*BASE, "--data", str(corpus), "--limit", "9")
    shown = json.loads(place.call("show", *given, "--n", "2", "--json").stdout)
    assert place.runs() == []
    assert len(shown["instances"]) == 2
    place.call("build", *given)
    (run,) = place.runs()
    assert shown["run"] == run
    assert json.loads(place.call("show", "--run", run, "--n", "2", "--json").stdout) == shown
    stage = place.root / "batches" / run / "stage-1"
    requests = pl.read_parquet(stage / "requests.parquet").head(8)
    bodies = dict(pl.read_parquet(stage / "bodies.parquet").select("request_id", "body").iter_rows())
    prompts = [prompt for instance in shown["instances"] for prompt in instance["prompts"]]
    assert [prompt["setting"] for prompt in prompts] == SETTINGS * 2
    assert [prompt["request_id"] for prompt in prompts] == requests["request_id"].to_list()
    for prompt in prompts:
        sent = json.loads(bodies[prompt["request_id"]])
        assert prompt["messages"] == sent.pop("messages")
        assert prompt["parameters"] == sent


def test_lines_that_not_all_settings_have_carry_the_sign(place: Place, corpus: Path) -> None:
    given = (*BASE, "--data", str(corpus), "--emulate")
    for settings, tag, differs in (("p-conv,p-nonconv", "</thread>", True), ("p-conv,np-conv", "</thread>", False)):
        lines = place.call("show", *given, "--setting", settings).stdout.splitlines()
        margins = {line.startswith(DIFFERENT) for line in lines if tag in line and "thread (" not in line}
        assert margins == {differs}, settings
    alone = place.call("show", *given, "--setting", "p-conv").stdout
    assert DIFFERENT not in alone
    refused = place.call("show", *given, "--setting", "q-conv", check=False)
    assert (refused.returncode, refused.stdout) == (2, "")


@pytest.mark.parametrize(
    ("texts", "differing"),
    [
        (["a\nb\nc", "a\nx\nc"], [["b"], ["x"]]),
        (["a\nb", "a\nb", "a"], [["b"], ["b"], []]),
        (["a\nb", "b\na"], [["a"], ["b"]]),
        (["same", "same"], [[], []]),
        (["alone"], [[]]),
    ],
)
def test_a_line_differs_where_not_all_have_it_in_the_same_order(texts: list[str], differing: list[list[str]]) -> None:
    prompts = [Prompt(str(n), "", 1, Body((Message("user", text),), 9)) for n, text in enumerate(texts)]
    found = [[line.text for line in lines if line.differs] for lines in marked(prompts)]
    assert [len(lines) for lines in found] == [len(lines) for lines in differing]
    if texts != ["a\nb", "b\na"]:  # either of them may be the one that is taken for moved
        assert found == differing
