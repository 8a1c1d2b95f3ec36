"""The twelve models that PersonaConvBench names, by its names, each through the chain with its provider's protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.place import Place

NAMED = {
    "GPT-4.1": "openai",
    "GPT-4.1-mini": "openai",
    "GPT-4o": "openai",
    "GPT-4o-mini": "openai",
    "o3": "openai",
    "o4-mini": "openai",
    "Claude 3.5 Sonnet": "anthropic",
    "Gemini 2.5 Pro": "google",
    "LLaMA-3.3-70B": "nebius",
    "DeepSeek-R1": "deepinfra",
    "DeepSeek-V3": "deepinfra",
    "Mistral": "mistral",
}
DAY, BEFORE = "2026-11-20", "2025-09-01"
"""Fixed days, the second for those that are gone: tests must not fail because a provider retires a model."""
GONE = ("o4-mini", "Claude 3.5 Sonnet")
SLICE = ("Claude 3.5 Sonnet", "Gemini 2.5 Pro")


def _names() -> list[object]:
    return [pytest.param(name, marks=() if name in SLICE else pytest.mark.slow) for name in NAMED]


def _asked(corpus: Path, name: str) -> list[str]:
    return ["--model", name, "--task", "3.1", "--data", str(corpus), "--limit", "3", "--emulate"]


@pytest.mark.parametrize("name", _names())
def test_each_answers_and_its_bill_is_what_we_say(place: Place, corpus: Path, name: str) -> None:
    day = BEFORE if name in GONE else DAY
    place.call("run", *_asked(corpus, name), "--as-of", day, "--yes")
    summary = place.summary()
    assert summary["state"] == "complete"
    assert summary["venue"] == f"emulator:{NAMED[name]}@{day}"
    assert set(place.responses()["status"]) == {"ok"}
    assert summary["other_models"] == {}, "a dated or short name of it is no other model"
    bill = place.bill(day)
    assert {line["custom_id"] for line in bill["requests"]} == place.asked()
    assert summary["cost"]["billed_usd"] == pytest.approx(bill["totals"]["usd"])
    assert place.responses()["cost_usd"].sum() == pytest.approx(bill["totals"]["usd"])


@pytest.mark.parametrize("name", GONE)
def test_a_retired_one_is_said_with_day_and_successor_and_becomes_no_other(
    place: Place, corpus: Path, name: str
) -> None:
    done = place.call("build", *_asked(corpus, name), check=False)
    assert done.returncode == 2
    assert "was shut down by its provider on 202" in done.stderr
    assert "use " in done.stderr
    assert place.runs() == []
