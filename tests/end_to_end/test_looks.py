"""Who looks at a growing sample again tests more strictly; who only scores again does not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.place import Place, asked


def _run(place: Place, corpus: Path, limit: int, *more: str) -> dict[str, Any]:
    place.call("run", *asked(corpus, limit=limit), *more)
    newest = max((place.root / "results").glob("*/summary.json"), key=lambda path: path.stat().st_mtime_ns)
    return place.summary(newest.parent.name)


def test_each_larger_sample_is_one_more_look_and_tests_at_less(scored: Place, corpus: Path) -> None:
    looks = [scored.summary()["look"], *(_run(scored, corpus, limit)["look"] for limit in (20, 24))]
    assert [look["number"] for look in looks] == [1, 2, 3]
    assert [look["alpha"] for look in looks] == pytest.approx([0.05 / 2, 0.05 / 6, 0.05 / 12])


def test_the_same_answers_scored_again_are_the_same_look_with_the_same_intervals(scored: Place, corpus: Path) -> None:
    first = scored.summary()
    scored.call("score")
    again = _run(scored, corpus, 16)
    assert again["look"] == first["look"]
    assert again["effects"] == first["effects"]
    levels = {effect["level"] for effect in first["effects"] if effect["family"]}
    assert sorted(levels) == pytest.approx([0.975])


@pytest.mark.slow
def test_looks_that_were_planned_share_the_five_percent_and_none_is_left_beyond_them(
    place: Place, corpus: Path
) -> None:
    looks = [_run(place, corpus, limit, "--looks", "2") for limit in (6, 10, 14)]
    assert [summary["look"]["alpha"] for summary in looks] == [pytest.approx(0.025), pytest.approx(0.025), None]
    assert not any(effect["family"] for effect in looks[2]["effects"]), "beyond the plan all is exploratory"


@pytest.mark.slow
def test_looks_that_were_planned_differently_fall_back_on_the_rule_for_any_number(place: Place, corpus: Path) -> None:
    _run(place, corpus, 6)
    second = _run(place, corpus, 10, "--looks", "1")
    assert second["look"]["alpha"] == pytest.approx(0.05 / 6)


def test_a_partial_run_is_no_look_and_has_no_test(place: Place, corpus: Path) -> None:
    summary = _run(place, corpus, 10, "--budget", "0.0004")
    assert summary["state"] == "partial"
    assert summary["look"] is None
    assert all(effect["p"] is None and effect["p_holm"] is None for effect in summary["effects"])
