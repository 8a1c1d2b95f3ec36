"""The strict protocol's table, by hand: failures at their price, nothing left out, floors on the same terms."""

import pickle

import numpy as np
import polars as pl
import pytest
from scored_frames import SETTINGS, answered, judged, own, row, scored, signs, texts, values

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict import scoring
from runner.benchmarks.personaconvbench.tasks import TASKS
from runner.errors import RunnerError
from runner.metrics import embeddings, regression
from runner.metrics.statistic import estimate


def test_a_failed_sign_counts_as_the_opposite() -> None:
    truth = ["positive", "positive", "negative", "negative", "positive"]
    answers = ["positive", None, "negative", "negative", "positive"]
    frame = answered(signs(truth), answers, ["ok", "ok", "ok", "refused", "truncated"])
    items = own(frame, "sign")
    assert items["predicted"].to_list() == ["positive", "negative", "negative", "positive", "negative"]
    assert items["truth"].to_list() == [True, True, False, False, True]
    assert items["correct"].to_list() == [True, False, True, False, False]
    assert items["reason"].to_list() == [None, "unparsable", None, "refused", "truncated"]
    rows = scored(frame, "sign").rows
    primary = row(rows, "balanced_accuracy")
    assert primary.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (primary.n, primary.coverage) == (5, pytest.approx(2 / 5))
    assert "fewer than 20" in str(primary.note) and primary.low is None
    assert row(rows, "accuracy").value == pytest.approx(2 / 5)


def test_always_positive_is_worth_a_half_whatever_the_class_sizes() -> None:
    truth = ["positive"] * 11 + ["negative"]
    rows = scored(answered(signs(truth), ["positive"] * 12), "sign").rows
    assert row(rows, "accuracy").value == pytest.approx(11 / 12)
    assert row(rows, "balanced_accuracy").value == 0.5
    assert row(rows, "mcc").value == 0


def test_a_failed_value_gets_the_wrong_sign_and_so_does_an_absurd_one() -> None:
    answers = ["7", None, "-10000001", "10000000", "1" + "0" * 305, "-4", "nan"]
    status = ["ok", "missing", "ok", "ok", "ok", "ok", "ok"]
    frame = answered(values([8, 8, -8, 9, 12, -4, 5]), answers, status)
    items = own(frame, "value")
    assert items["predicted"].to_list() == [7, -10, 10, 1e7, -10, -4, -10]
    assert items["reason"].to_list() == [None, "missing", "out of range", None, "out of range", None, "out of range"]
    rows = scored(frame[:6], "value").rows
    logs = [abs(np.log(9) - np.log(8)), np.log(9) + np.log(11), np.log(11) + np.log(9)]
    logs += [np.log(1e7 + 1) - np.log(10), np.log(13) + np.log(11), 0]
    assert row(rows, "log_mae").value == pytest.approx(np.mean(logs))
    assert row(rows, "median_ae").value == pytest.approx((18 + 18) / 2)
    assert "viral" in str(row(rows, "rmse").note)


def test_a_failure_is_never_better_than_the_truth_also_for_a_score_of_zero() -> None:
    items = own(answered(values([0, 5, -5]), [None, None, None], "refused"), "value")
    assert items["error"].to_list() == [10, -15, 15]


def test_weights_are_those_of_the_instances_that_are_there_and_samples_share_them() -> None:
    # 6 and 2 in the population, one of each answered: 3 to 1.
    frame = signs(["positive", "negative"], stratum=["a", "b"], stratum_size=[6, 2])
    first = answered(frame, ["positive", "positive"], sample=0)
    second = answered(frame, [None, "negative"], sample=1)
    assert row(scored(first, "sign").rows, "accuracy").value == 0.75
    assert row(scored(pl.concat([first, second]), "sign").rows, "accuracy").value == pytest.approx((1.5 + 0.5) / 4)
    # A third instance of the first stratum, in another setting only, changes nothing here.
    more = signs(["positive"] * 3, stratum=["a", "b", "a"], stratum_size=[6, 2, 6])
    rows = scored(pl.concat([first, answered(more, ["positive"] * 3, setting="np-conv")]), "sign").rows
    assert row(rows, "accuracy").value == 0.75


def test_every_setting_has_all_metrics_and_every_domain_the_primary_one() -> None:
    frame = signs(["positive", "negative"] * 30, domain=["life", "art", "art"] * 20)
    rows = scored(pl.concat([answered(frame, ["positive"] * 60, setting=s) for s in reversed(SETTINGS)]), "sign").rows
    keys = list(dict.fromkeys((row.setting, row.group) for row in rows))
    assert keys == [(s, g) for s in SETTINGS for g in ("all", "domain=art", "domain=life")]
    assert [r.metric for r in rows[:8]] == [*scoring.METRICS["sign"], *["balanced_accuracy"] * 2]
    whole, part = row(rows, "accuracy"), row(rows, "balanced_accuracy", group="domain=life")
    assert (
        (whole.n, part.n) == (60, 20)
        and whole.note is None
        and "10.0 effective authors of the smaller" in str(part.note)
    )
    assert whole.low is not None and whole.high is not None and 0.3 < whole.low < 0.5 < whole.high < 0.7


def test_every_failure_has_its_reason() -> None:
    frame = signs(["positive"] * 4)
    both = pl.concat(
        [
            answered(frame, [None, "positive", None, None], ["ok", "ok", "refused", "refused"]),
            answered(frame[1:], ["positive"] * 3, ["ok", "ok", "truncated"], setting="np-conv"),
        ]
    )
    failed = own(both, "sign").drop_nulls("reason")
    counted = failed.group_by("setting", "reason", maintain_order=True).len()
    assert counted.rows() == [("p-conv", "unparsable", 1), ("p-conv", "refused", 2), ("np-conv", "truncated", 1)]


def test_sign_floors_read_what_they_say() -> None:
    frame = signs(["positive"] * 3 + ["negative"], prior_positive_rate=[0.9, 0.5, 0.4, 0.1])
    asked = (*SETTINGS, "none-conv")
    floors = scored(pl.concat([answered(frame, ["positive"] * 4, setting=s) for s in asked]), "sign").floors
    majority = row(floors, "accuracy", floor="majority", setting="all")
    assert majority.value == 0.75 and "chosen on the sample" in str(majority.note)
    assert row(floors, "accuracy", floor="prior_sign_rate", setting="all").value == 0.75
    newest = {r.setting: r.value for r in floors if (r.floor, r.metric) == ("newest_history", "accuracy")}
    assert newest == {"p-conv": 0.75, "p-nonconv": 0.75, "np-conv": 0.25, "np-nonconv": 0.25}


def test_value_floors_read_what_they_say() -> None:
    frame = values([4, 8, -20], stratum=["a", "a", "b"], stratum_size=[2, 2, 5])
    floors = scored(answered(frame, ["1"] * 3), "value").floors
    value = {row.floor: row.value for row in floors if (row.metric, row.group) == ("mae", "all")}
    assert value["best_constant"] == pytest.approx((24 + 28) / 7)  # -20, the weighted median
    assert value["domain_median"] == pytest.approx((4 + 0 + 5 * 28) / 7)
    assert value["prior_median"] == pytest.approx((2.5 + 1.5 + 5 * 26.5) / 7)
    assert value["newest_history"] == 0
    constant = row(floors, "spearman", floor="best_constant", setting="all")
    assert constant.value is None and "n/a" in str(constant.note)


def test_no_constant_beats_the_best_constant() -> None:
    truth = np.random.default_rng(1).integers(-60, 200, 80)
    sizes = np.random.default_rng(2).integers(1, 30, 80)
    frame = values(truth.tolist(), stratum=[f"s{i}" for i in range(80)], stratum_size=sizes.tolist())
    floors = scored(answered(frame, ["0"] * 80), "value").floors
    best = row(floors, "log_mae", floor="best_constant", setting="all")
    for constant in range(-60, 201, 3):
        other = regression.statistics(truth.astype(float), np.full(80, float(constant)))["log_mae"]
        assert best.value <= estimate(other, sizes.astype(float)) + 1e-12


def test_a_floor_has_the_interval_that_the_same_answers_have() -> None:
    random = np.random.default_rng(4)
    truth = random.choice([-30, -5, 5, 9, 40], 90).tolist()
    newest = random.choice([-5, 5, 7], 90).tolist()
    users = [f"u{i}" for i in random.integers(0, 60, 90)]
    strata = random.integers(0, 3, 90)
    frame = values(
        truth, newest_own_score=newest, user=users, stratum=[f"s{i}" for i in strata],
        stratum_size=(40 + 200 * strata).tolist(),
    )  # fmt: skip
    found = scored(answered(frame, [str(score) for score in newest]), "value")
    for metric in scoring.METRICS["value"]:
        a, b = row(found.rows, metric), row(found.floors, metric, floor="newest_history")
        assert (a.value, a.n) == (b.value, b.n) and a.low is not None
        if metric in ("median_ae", "spearman"):
            assert b.low is None and "no interval" in str(b.note)
        else:
            assert (a.low, a.high, a.note) == (b.low, b.high, b.note)


def test_floors_are_on_the_instances_that_are_answered() -> None:
    floors = scored(answered(signs(["positive", "negative"]), ["positive"] * 2, ["ok", "refused"]), "sign").floors
    assert {row.n for row in floors} == {2}


def test_a_floor_without_a_value_fails_like_an_answer() -> None:
    frame = signs(["positive", "positive"], newest_own_score=[None, 4])
    newest = row(scored(answered(frame, ["positive"] * 2), "sign").floors, "accuracy", floor="newest_history")
    assert (newest.value, newest.coverage) == (0.5, 0.5)


@pytest.mark.parametrize("kind", scoring.METRICS)
def test_every_metric_says_what_produced_it(kind: scoring.Kind) -> None:
    named = scoring.signatures(kind)
    optional = {"sbert"} if embeddings.missing() else set()
    assert {*scoring.METRICS[kind], "interval", "p"} - optional == set(named)
    assert all("failed:" in signature for metric, signature in named.items() if metric not in ("interval", "p"))
    assert "seed:" in named["interval"]


@pytest.mark.parametrize("kind", scoring.METRICS)
def test_judging_by_parts_is_judging_the_whole(kind: scoring.Kind) -> None:
    words = [f"w{i} w{i + 1} w{i + 2} w4 w5" for i in range(12)]
    make = {
        "sign": lambda: (signs(["positive", "negative"] * 6), ["positive"] * 11 + [None]),
        "value": lambda: (values(list(range(4, 16))), [str(i) for i in range(11)] + [None]),
        "text": lambda: (texts(words), [f"w{i} w5 w{i + 2}" for i in range(11)] + [None]),
    }
    frame, answers = make[kind]()
    both = pl.concat([answered(frame, answers, setting=s) for s in ("p-conv", "np-conv")]).sort("instance_id")
    parts = [judged(both[i : i + 6], kind) for i in range(0, 24, 6)]
    keys = ["floor", "instance_id", "setting", "sample"]
    assert pl.concat(parts).sort(keys).equals(judged(both, kind).sort(keys))
    assert len({tuple(part.schema.items()) for part in parts}) == 1


@pytest.mark.parametrize(
    ("kind", "frame"), [("sign", signs(["neutral"])), ("value", values([1]).with_columns(reference=pl.lit("x")))]
)
def test_a_damaged_reference_is_a_sentence(kind: scoring.Kind, frame: pl.DataFrame) -> None:
    with pytest.raises(RunnerError, match="i0"):
        judged(answered(frame, ["positive"]), kind)


def test_judges_can_be_sent_to_other_processes() -> None:
    for task in TASKS:
        for judge in task.judges:
            assert pickle.loads(pickle.dumps(judge)).name == judge.name


def test_items_hold_no_texts() -> None:
    secret = "something that somebody wrote in private"
    items = judged(answered(texts([secret]), [secret]), "text")
    assert secret not in items.write_csv()


def test_a_run_without_a_final_answer_has_no_table() -> None:
    empty = judged(answered(signs(["positive"]), ["positive"]), "sign").clear()
    nothing = scoring.score(empty, "sign", Design(), "3.1")
    assert (nothing.rows, nothing.floors, nothing.effects) == ((), (), ())
