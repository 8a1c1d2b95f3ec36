"""What one does before the whole is bought: a pilot, a rehearsal; and asking all anew, on purpose."""

from __future__ import annotations

import json
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from runner.ledger import Ledger
from tests.place import Place, asked


def test_a_pilot_buys_the_first_instances_says_what_the_rest_costs_and_is_no_look(place: Place, corpus: Path) -> None:
    done = place.call("run", *asked(corpus), "--pilot", "6")
    assert "A pilot is no result" in done.stderr
    first = place.times_billed()
    assert first.total() == 6 * 4
    shown = json.loads(place.call("estimate", *asked(corpus), "--json").stdout)
    assert (shown["total"]["answered"], shown["total"]["to_buy"]) == (24, 40)
    assert any("as in 24 earlier answers" in note for note in shown["notes"])
    assert place.summary()["look"] is None
    again = place.call("collect")
    assert "only a pilot is approved" in again.stdout
    place.call("run", *asked(corpus), "--pilot", "6")
    assert place.times_billed() == first, "the same pilot again is paid for"
    place.call("run", *asked(corpus))
    assert place.summary()["state"] == "complete"
    assert place.times_billed() == dict.fromkeys(place.asked(), 1)


def test_fresh_answers_are_bought_once_for_each_number_and_are_a_further_look(scored: Place, corpus: Path) -> None:
    before = scored.times_billed()
    for _ in range(2):
        scored.call("run", *asked(corpus), "--fresh", "1")
    (old,) = {name for name in scored.runs() if scored.asked(name) == set(before)}
    (new,) = set(scored.runs()) - {old}
    assert scored.times_billed() == before + Counter(scored.asked(new))
    assert not scored.asked(new) & set(before)
    assert [scored.summary(name)["look"]["number"] for name in (old, new)] == [1, 2]
    assert "the same numbers, made again" in scored.call("verify", "--run", new).stdout


def rehearsed(place: Place, corpus: Path, *options: str, limit: int = 16) -> dict:
    shown: dict = json.loads(place.call("rehearse", *asked(corpus, limit=limit), "--json", *options).stdout)
    return shown


def test_a_rehearsal_tells_the_bill_and_what_an_expired_batch_changes(place: Place, corpus: Path) -> None:
    shown = rehearsed(place, corpus)
    calm, troubled = shown["calm"], shown["troubled"]
    assert calm["requests"] == calm["answered"] == troubled["answered"] == 64
    assert (calm["expired"], calm["bought_again"], calm["batches"], calm["waves"]) == (0, 0, 2, 2)
    assert troubled["expired"] == 1
    assert 0 < troubled["bought_again"] < 64
    assert troubled["clock_s"] > 24 * 3600 > calm["clock_s"] > 0
    for play in (calm, troubled):
        assert shown["low_usd"] <= play["billed_usd"] <= shown["bound_usd"]
        assert play["counted_usd"] == pytest.approx(play["billed_usd"], abs=1e-9)
    assert not place.emulator.exists()
    assert not list((place.root / "batches").glob("rehearsal-*"))
    assert not place.has_results()
    estimate = json.loads(place.call("estimate", *asked(corpus), "--json").stdout)
    assert estimate["total"]["to_buy"] == 64, "nothing was bought"


def test_what_is_paid_for_is_not_rehearsed_and_the_tier_makes_the_waves(scored: Place, corpus: Path) -> None:
    lowest, highest = (rehearsed(scored, corpus, "--tier", tier, limit=60)["calm"] for tier in ("1", "5"))
    assert lowest["requests"] == highest["requests"] == (60 - 16) * 4
    assert highest["waves"] == 1, "no small batch goes ahead of a model that has answered"
    done = scored.call("rehearse", *asked(corpus))
    assert "Nothing to rehearse" in done.stderr


def test_a_pilots_word_is_the_latest_one_and_binds_what_comes_back_unanswered(place: Place, corpus: Path) -> None:
    """Also where nothing new is to be bought: a yes to the whole is narrowed, and a budget holds from now on."""
    place.misbehave(clock="driven")
    place.call("submit", *asked(corpus))
    place.call("submit", *asked(corpus), "--pilot", "5", "--budget", "0.5")
    with closing(Ledger(place.root / "batches" / "ledger.sqlite")) as ledger:
        approval = ledger.approval(place.runs()[0])
    assert approval is not None
    assert (approval.instances, approval.budget_usd) == (5, 0.5)
    place.misbehave(clock="auto")
    place.call("collect", "--wait")
    assert place.times_billed().total() == 48, "the first small batch was out already, the rest is not bought"
    assert place.call("status", "--exit-code", check=False).returncode == 1


@pytest.mark.parametrize("nonsense", ["nan", "inf", "-1", "0", "much"])
def test_a_budget_that_is_no_amount_is_refused(place: Place, corpus: Path, nonsense: str) -> None:
    done = place.call("submit", *asked(corpus), "--budget", nonsense, check=False)
    assert (done.returncode, place.runs()) == (2, [])
    assert "Invalid value for '--budget'" in done.stderr


def test_a_model_that_is_not_listed_needs_its_provider_and_its_bound_says_what_is_assumed(
    place: Place, corpus: Path
) -> None:
    rest = ["--task", "3.1", "--data", str(corpus), "--limit", "3", "--emulate", "--json"]
    refused = place.call("estimate", "--model", "gpt-5.4-mini-typo", *rest, check=False)
    assert refused.returncode == 2
    assert "gpt-5.4-mini" in refused.stderr.partition("did you mean")[2]
    assert place.runs() == []
    of_base = json.loads(place.call("estimate", "--model", "ft:gpt-5.4-mini-2026-03-17:acme::x1", *rest).stdout)
    base = json.loads(place.call("estimate", "--model", "gpt-5.4-mini", *rest).stdout)
    assert of_base["bound_usd"] == pytest.approx(4 * base["bound_usd"])
    assert "4 times the price of gpt-5.4-mini" in of_base["bound_assumes"]
    assert base["bound_assumes"] is None
    unknown = json.loads(place.call("estimate", "--model", "openai/gpt-7-nova", *rest).stdout)
    assert unknown["bound_usd"] is None, "no price is invented"
