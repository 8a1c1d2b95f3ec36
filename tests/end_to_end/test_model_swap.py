"""Answers that name another model than was asked for: said wherever their numbers are, and in summary.json by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.place import Place

OTHER = "another-model-1"
PROTOCOLS = {"openai": "gpt-5.4-mini", "anthropic": "claude-haiku-4-5", "google": "gemini-3.8-flash"}


@pytest.mark.parametrize(
    "provider", [pytest.param(name, marks=() if name == "google" else pytest.mark.slow) for name in PROTOCOLS]
)
def test_a_swapped_model_is_said_by_collect_score_report_and_table(place: Place, corpus: Path, provider: str) -> None:
    place.misbehave("other_model:0.25")
    asked = ["--model", PROTOCOLS[provider], "--task", "3.1", "--data", str(corpus), "--limit", "4", "--emulate"]
    place.call("submit", *asked)
    collected = place.call("collect", "--wait")
    scored = place.call("score", check=False)
    summary = place.summary()
    assert summary["other_models"] == {OTHER: 4}
    place.call("report")
    table = place.call("compare", "--to", "table.md", "--to", "table.json")
    (run,) = place.runs()
    folder = place.root / "results" / run
    said = (
        collected.stderr,
        scored.stdout,
        (folder / "report.md").read_text(),
        (folder / "report.html").read_text(),
        table.stdout,
        (place.root / "table.md").read_text(),
        json.loads((place.root / "table.json").read_text())["cautions"][run],
    )
    assert [OTHER in text for text in said] == [True] * len(said)
    assert place.times_billed() == dict.fromkeys(place.asked(), 1), "what was bought is kept"
