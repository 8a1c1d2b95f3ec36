"""The model against its best floor, and against another model: the same instances, the same weights."""

import numpy as np
import polars as pl
import pytest
from scored_frames import NP, SETTINGS, P, answered, judged, own, row, scored, signs, texts, values

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict import scoring
from runner.metrics.score import Effect


def _beaten(effects: tuple[Effect, ...]) -> dict[str, Effect]:
    return {e.name.partition(" - ")[0]: e for e in effects if e.kind == "floor"}


def test_the_best_floor_is_that_of_the_best_value_in_the_setting() -> None:
    frame = signs(["positive"] * 3 + ["negative"], newest_own_score=[5, 5, -5, -5], newest_donor_score=[-5, -5, 5, 5])
    said = ["positive", "positive", "negative", "positive"]
    effects = scored(pl.concat(answered(frame, said, setting=s) for s in (P, NP, "none-conv")), "sign").effects
    found = _beaten(effects)
    assert {e.name for e in found.values()} == {
        "p-conv - newest_history", "np-conv - majority", "none-conv - majority",
    }  # fmt: skip
    value = 1 / 3  # recalls of 2/3 and 0
    assert found[P].value == pytest.approx(value - (2 / 3 + 1) / 2)
    assert found[NP].value == pytest.approx(value - 1 / 2)
    assert {e.metric for e in found.values()} == {"balanced_accuracy"}
    assert all(e.p is None and e.level == 0.95 and e.group == "all" for e in found.values())


def test_less_error_than_the_best_floor_is_a_gain() -> None:
    frame = values([4, 8, 20], newest_own_score=[5, 8, 20])
    found = _beaten(scored(answered(frame, ["4", "8", "20"]), "value").effects)[P]
    assert found.name == "p-conv - newest_history"
    assert found.value == pytest.approx((np.log(6) - np.log(5)) / 3)


def test_a_text_floor_is_paired_with_every_sample() -> None:
    frame = texts(["a b c d", "e f g h"], parent_text=["a b c d", "x"], newest_own_reply=["x", "x"],
                  similar_own_reply=["x", "x"])  # fmt: skip
    both = pl.concat([answered(frame, ["a b c d", "e f g h"]), answered(frame, ["x", "e f g h"], sample=1)])
    found = _beaten(scored(both, "text").effects)[P]
    assert (found.name, found.n, found.value) == ("p-conv - copy_parent", 2, pytest.approx((1 + 2) / 4 - 1 / 2))


def test_the_interval_is_paired() -> None:
    """A model that copies a floor but for one author differs from it by little, however wide both intervals are."""
    random = np.random.default_rng(1)
    truth = random.choice(["positive", "negative"], 200).tolist()
    newest = random.choice([-5, 5], 200).tolist()
    frame = signs(truth, newest_own_score=newest, user=[f"u{i % 50}" for i in range(200)])
    said = ["positive" if score > 0 else "negative" for score in newest]
    other = next(i for i, (one, right) in enumerate(zip(said, truth, strict=True)) if one != right)
    said[other] = truth[other]
    result = scored(answered(frame, said), "sign")
    gap = _beaten(result.effects)[P]
    wide = row(result.rows, "balanced_accuracy")
    assert gap.high - gap.low < (wide.high - wide.low) / 3


def _two_models(n: int = 200) -> tuple[pl.DataFrame, pl.DataFrame]:
    random = np.random.default_rng(7)
    truth = random.choice(["positive", "negative"], n)
    frame = signs(truth.tolist(), user=[f"u{i % 40}" for i in range(n)])

    def items(skill: float) -> pl.DataFrame:
        right = random.random(n) < skill
        said = np.where(right == (truth == "positive"), "positive", "negative").tolist()
        return judged(pl.concat(answered(frame, said, setting=s) for s in SETTINGS), "sign")

    return items(0.9), items(0.6)


def test_two_models_are_compared_on_the_answers_that_both_have() -> None:
    first, second = _two_models()
    gone = second.filter(~((pl.col("instance_id") == "i3") & (pl.col("setting") == P)))
    effects = tuple(scoring.versus(first, gone, "a - b", "sign", Design(level=0.975)))
    assert [(e.name, e.kind, e.group, e.metric) for e in effects] == [
        ("a - b", "model", setting, "balanced_accuracy") for setting in SETTINGS
    ]
    assert [e.n for e in effects] == [199, 200, 200, 200]
    assert [e.p is not None for e in effects] == [True, False, False, False]
    assert effects[0].value > 0.2 and effects[0].low > 0 and effects[0].p < 0.01 and effects[0].level == 0.975
    (back, *_) = scoring.versus(gone, first, "b - a", "sign", Design(level=0.975))
    assert back.value == pytest.approx(-effects[0].value) and back.p == effects[0].p


def test_models_without_a_common_setting_are_not_compared() -> None:
    first, second = _two_models()
    none = second.filter(pl.col("setting") == NP)
    found = tuple(scoring.versus(first.filter(pl.col("setting") == P), none, "a - b", "sign", Design()))
    assert found == ()
    assert all(e.p is None for e in scoring.versus(first, second, "a - b", "sign", Design(tested=False)))


def test_models_are_weighted_by_what_is_left_of_each_stratum() -> None:
    frame = signs(["positive"] * 3 + ["negative"], stratum=["a", "a", "b", "b"], stratum_size=[4, 4, 8, 8])
    first = own(answered(frame, ["positive", "positive", "positive", "negative"]), "sign")
    second = own(answered(frame[1:], ["negative", "positive", "negative"]), "sign")
    (found,) = scoring.versus(first, second, "a - b", "sign", Design())
    # Common: i1 alone for a (4), i2 for b (4), i3 (4): the second model misses i1 of two positives.
    assert (found.n, found.value) == (3, pytest.approx(0.25))
