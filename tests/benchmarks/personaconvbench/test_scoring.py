"""The strict protocol's numbers, by hand: failures at their price, nothing left out, floors on the same terms."""

from datetime import UTC, datetime

import numpy as np
import polars as pl
import pytest

from runner.benchmarks.personaconvbench import scoring
from runner.errors import RunnerError
from runner.metrics import regression
from runner.metrics.score import Score
from runner.metrics.statistic import estimate

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")


def _instances(references: list[str], **columns: list) -> pl.DataFrame:
    n = len(references)
    common = {
        "instance_id": [f"i{i}" for i in range(n)],
        "reference": references,
        "domain": ["art"] * n,
        "user": [f"u{i}" for i in range(n)],
        "time": [datetime(2020, 1, 1, tzinfo=UTC)] * n,
        "weight": [1.0] * n,
    }
    return pl.DataFrame(common | columns)


def _signs(references: list[str], **columns: list) -> pl.DataFrame:
    n = len(references)
    history = {"prior_positive_rate": [0.5] * n, "newest_own_score": [5] * n, "newest_donor_score": [-5] * n}
    return _instances(references, **(history | columns))


def _values(references: list[int], **columns: list) -> pl.DataFrame:
    n = len(references)
    history = {
        "score": references, "domain_median_abs_score": [10.0] * n, "domain_median_score": [8.0] * n,
        "prior_median_score": [6.5] * n, "newest_own_score": references, "newest_donor_score": [-4] * n,
    }  # fmt: skip
    return _instances([str(value) for value in references], **(history | columns))


def _texts(references: list[str], **columns: list) -> pl.DataFrame:
    history = dict.fromkeys(
        ("parent_text", "newest_own_reply", "newest_donor_reply", "similar_own_reply", "similar_donor_reply"),
        references,
    )
    return _instances(references, **(history | columns))


def _answered(
    instances: pl.DataFrame, answers: list[str | None], status: list[str | None] | str = "ok", setting: str = "p-conv",
    sample: int = 0,
) -> pl.DataFrame:  # fmt: skip
    status = [status] * len(answers) if isinstance(status, str) else status
    return instances.with_columns(
        setting=pl.lit(setting),
        sample=pl.lit(sample, pl.Int32),
        status=pl.Series(status, dtype=pl.String),
        text=pl.Series(answers, dtype=pl.String),
        answer=pl.Series(answers, dtype=pl.String),
    )


def _row(rows: tuple[Score, ...], metric: str, **where: str | None) -> Score:
    where = {"setting": "p-conv", "group": "all"} | where
    (found,) = [r for r in rows if r.metric == metric and all(getattr(r, k) == v for k, v in where.items())]
    return found


def test_a_failed_sign_counts_as_the_opposite_and_a_pending_one_not_at_all() -> None:
    truth = ["positive", "positive", "negative", "negative", "positive", "negative"]
    answers = ["positive", None, "negative", "negative", "positive", "positive"]
    status = ["ok", "ok", "ok", "refused", "truncated", None]
    scored = scoring.score(_answered(_signs(truth), answers, status), "sign")
    assert scored.items["predicted"].to_list() == ["positive", "negative", "negative", "positive", "negative"]
    assert scored.items["reason"].to_list() == [None, "unparsable", None, "refused", "truncated"]
    primary = _row(scored.rows, scoring.PRIMARY["sign"])
    assert primary.value == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert (primary.n, primary.coverage) == (5, pytest.approx(2 / 5))
    assert "fewer than 20" in str(primary.note) and primary.low is None
    assert _row(scored.rows, "accuracy").value == pytest.approx(2 / 5)


def test_always_positive_is_worth_a_half_whatever_the_class_sizes() -> None:
    truth = ["positive"] * 11 + ["negative"]
    scored = scoring.score(_answered(_signs(truth), ["positive"] * 12), "sign")
    assert _row(scored.rows, "accuracy").value == pytest.approx(11 / 12)
    assert _row(scored.rows, "balanced_accuracy").value == 0.5
    assert _row(scored.rows, "mcc").value == 0


def test_a_failed_value_gets_the_wrong_sign_and_so_does_an_absurd_one() -> None:
    answers = ["7", None, "-10000001", "10000000", "1" + "0" * 305, "-4"]
    frame = _answered(_values([8, 8, -8, 9, 12, -4]), answers, ["ok", "missing", "ok", "ok", "ok", "ok"])
    scored = scoring.score(frame, "value")
    assert scored.items["predicted"].to_list() == [7, -10, 10, 1e7, -10, -4]
    assert scored.items["reason"].to_list() == [None, "missing", "out of range", None, "out of range", None]
    logs = [abs(np.log(9) - np.log(8)), np.log(9) + np.log(11), np.log(11) + np.log(9)]
    logs += [np.log(1e7 + 1) - np.log(10), np.log(13) + np.log(11), 0]
    assert _row(scored.rows, "log_mae").value == pytest.approx(np.mean(logs))
    assert _row(scored.rows, "median_ae").value == pytest.approx((18 + 18) / 2)
    assert "viral" in str(_row(scored.rows, "rmse").note)


def test_a_failure_is_never_better_than_the_truth_also_for_a_score_of_zero() -> None:
    scored = scoring.score(_answered(_values([0, 5, -5]), [None, None, None], "refused"), "value")
    assert scored.items["error"].to_list() == [10, -15, 15]


def test_texts_are_scored_against_their_reference_and_failures_are_zero() -> None:
    references = ["the cat sat on the mat", "one two three four", "five six seven eight"]
    answers = ["the cat sat on the mat", "one two", "five six seven eight"]
    scored = scoring.score(_answered(_texts(references), answers, ["ok", "ok", "filtered"]), "text")
    assert scored.items["rouge_l"].to_list() == [1, pytest.approx(2 / 3), 0]
    assert scored.items["length_ratio"].to_list() == [1, 0.5, 0]
    assert _row(scored.rows, "rouge_l").value == pytest.approx(5 / 9)
    assert _row(scored.rows, "bleu").value < 1
    assert not any("best_of" in row.metric for row in scored.rows)


def test_samples_are_averaged_first_and_the_oracle_is_named() -> None:
    instances = _texts(["a b c d", "e f g h"])
    frame = pl.concat(
        [
            _answered(instances, ["a b c d", "e f g h"], sample=0),
            _answered(instances, ["x", "y"], sample=1),
            _answered(instances, ["x", "y"], ["ok", None], sample=2),
        ]
    )
    rows = scoring.score(frame, "text").rows
    mean, oracle = _row(rows, "rouge_l"), _row(rows, "rouge_l@best_of_3")
    assert (mean.value, mean.n) == (pytest.approx((1 / 3 + 1 / 2) / 2), 2)
    assert (oracle.value, oracle.n) == (1, 1)  # the other instance still waits for a sample
    assert str(oracle.note).startswith("oracle best-of-3")
    assert [row.metric for row in rows].index("rouge_l") < [row.metric for row in rows].index("rouge_l@best_of_3")


def test_weights_decide_and_samples_share_them() -> None:
    instances = _signs(["positive", "negative"], weight=[3.0, 1.0])
    both = [
        _answered(instances, ["positive", "positive"], sample=0),
        _answered(instances, [None, "negative"], sample=1),
    ]
    assert _row(scoring.score(both[0], "sign").rows, "accuracy").value == 0.75
    assert _row(scoring.score(pl.concat(both), "sign").rows, "accuracy").value == pytest.approx((1.5 + 0.5) / 4)


def test_every_setting_and_domain_has_its_rows_in_order() -> None:
    instances = _signs(["positive", "negative"] * 30, domain=["life", "art", "art"] * 20)
    frame = pl.concat([_answered(instances, ["positive"] * 60, setting=setting) for setting in SETTINGS])
    rows = scoring.score(frame, "sign").rows
    keys = list(dict.fromkeys((row.setting, row.group) for row in rows))
    assert keys == [(s, g) for s in SETTINGS for g in ("all", "domain=art", "domain=life")]
    assert [r.metric for r in rows[:6]] == list(scoring.METRICS["sign"])
    whole, part = _row(rows, "accuracy"), _row(rows, "accuracy", group="domain=life")
    assert (whole.n, part.n) == (60, 20) and whole.note is None and "few authors" in str(part.note)
    assert whole.low is not None and whole.high is not None and 0.3 < whole.low < 0.5 < whole.high < 0.7


def test_every_failure_has_its_reason() -> None:
    instances = _signs(["positive"] * 4)
    frame = pl.concat(
        [
            _answered(instances, [None, "positive", None, None], ["ok", "ok", "refused", "refused"]),
            _answered(instances, ["positive"] * 4, ["ok", None, "ok", "truncated"], setting="np-conv"),
        ]
    )
    failed = scoring.score(frame, "sign").items.filter(pl.col("reason").is_not_null())
    counted = failed.group_by("setting", "reason", maintain_order=True).len()
    assert counted.rows() == [("p-conv", "unparsable", 1), ("p-conv", "refused", 2), ("np-conv", "truncated", 1)]


def test_sign_floors_read_what_they_say() -> None:
    instances = _signs(["positive"] * 3 + ["negative"], prior_positive_rate=[0.9, 0.5, 0.4, 0.1])
    frame = pl.concat([_answered(instances, ["positive"] * 4, setting=setting) for setting in (*SETTINGS, "none-conv")])
    rows = scoring.floors(frame, "sign")
    majority = _row(rows, "accuracy", floor="majority", setting="all")
    assert majority.value == 0.75 and "chosen on the sample" in str(majority.note)
    assert _row(rows, "accuracy", floor="prior_sign_rate", setting="all").value == 0.75
    newest = {r.setting: r.value for r in rows if (r.floor, r.metric, r.group) == ("newest_history", "accuracy", "all")}
    assert newest == {"p-conv": 0.75, "p-nonconv": 0.75, "np-conv": 0.25, "np-nonconv": 0.25}


def test_value_floors_read_what_they_say() -> None:
    rows = scoring.floors(_answered(_values([4, 8, -20], weight=[1.0, 1.0, 5.0]), ["1"] * 3), "value")
    value = {row.floor: row.value for row in rows if (row.metric, row.group) == ("mae", "all")}
    assert value["best_constant"] == pytest.approx((24 + 28) / 7)  # -20, the weighted median
    assert value["domain_median"] == pytest.approx((4 + 0 + 5 * 28) / 7)
    assert value["prior_median"] == pytest.approx((2.5 + 1.5 + 5 * 26.5) / 7)
    assert value["newest_history"] == 0
    constant = _row(rows, "spearman", floor="best_constant", setting="all")
    assert constant.value is None and "n/a" in str(constant.note)


def test_no_constant_beats_the_best_constant() -> None:
    truth = np.random.default_rng(1).integers(-60, 200, 80)
    weights = np.random.default_rng(2).uniform(0.2, 3, 80)
    instances = _values(truth.tolist(), weight=weights.tolist())
    best = _row(
        scoring.floors(_answered(instances, ["0"] * 80), "value"), "log_mae", floor="best_constant", setting="all"
    )
    for constant in range(-60, 201, 3):
        other = regression.statistics(truth.astype(float), np.full(80, float(constant)))["log_mae"]
        assert best.value <= estimate(other, weights) + 1e-12


def test_text_floors_read_what_they_say() -> None:
    instances = _texts(
        ["a b c d"],
        parent_text=["a b"],
        newest_own_reply=["a b c d"],
        newest_donor_reply=["x"],
        similar_own_reply=["c d"],
        similar_donor_reply=[None],
    )
    frame = pl.concat([_answered(instances, ["a"], setting=setting) for setting in ("p-conv", "np-conv")])
    rows = [row for row in scoring.floors(frame, "text") if (row.metric, row.group) == ("rouge_l", "all")]
    found = {(row.floor, row.setting): (row.value, row.coverage) for row in rows}
    third = pytest.approx(2 / 3)
    assert found == {
        ("copy_parent", "all"): (third, 1),
        ("newest_history", "p-conv"): (1, 1),
        ("newest_history", "np-conv"): (0, 1),
        ("most_similar_history", "p-conv"): (third, 1),
        ("most_similar_history", "np-conv"): (0, 0),
    }


def test_floors_are_on_the_instances_that_are_answered() -> None:
    instances = _signs(["positive", "negative", "negative"])
    frame = _answered(instances, ["positive"] * 3, ["ok", "refused", None])
    rows = scoring.floors(frame, "sign")
    assert {row.n for row in rows} == {2}
    assert scoring.floors(_answered(instances, [None] * 3, [None] * 3), "sign") == ()


def test_a_floor_has_the_interval_that_the_same_answers_have() -> None:
    random = np.random.default_rng(4)
    truth = random.choice(["positive", "negative"], 90).tolist()
    newest = random.choice([-5, 5], 90).tolist()
    users = [f"u{i}" for i in random.integers(0, 60, 90)]
    instances = _signs(truth, newest_own_score=newest, user=users, weight=random.uniform(0.5, 2, 90).tolist())
    same = ["positive" if score > 0 else "negative" for score in newest]
    frame = _answered(instances, same)
    model, floor = scoring.score(frame, "sign").rows, scoring.floors(frame, "sign")
    for metric in scoring.METRICS["sign"]:
        a, b = _row(model, metric), _row(floor, metric, floor="newest_history")
        assert (a.value, a.low, a.high, a.n, a.note) == (b.value, b.low, b.high, b.n, b.note)
        assert a.low is not None


@pytest.mark.parametrize("kind", scoring.METRICS)
def test_every_metric_says_what_produced_it(kind: scoring.Kind) -> None:
    named = scoring.signatures(kind)
    assert set(named) == {*scoring.METRICS[kind], "interval"}
    assert all("failed:" in named[metric] for metric in scoring.METRICS[kind])
    assert "seed:" in named["interval"]


def test_judging_by_parts_is_judging_the_whole() -> None:
    references = [f"w{i} w{i + 1} w{i + 2} w4 w5" for i in range(12)]
    frame = _answered(_texts(references), [f"w{i} w5 w{i + 2}" for i in range(11)] + [None])
    parts = pl.concat([scoring.judge(frame[i : i + 5], "text") for i in range(0, 12, 5)])
    assert parts.equals(scoring.judge(frame, "text"))


@pytest.mark.parametrize(
    ("kind", "make"), [("sign", _signs), ("value", lambda r: _values([1]).with_columns(reference=pl.lit("x")))]
)
def test_a_damaged_reference_is_a_sentence(kind: scoring.Kind, make) -> None:
    with pytest.raises(RunnerError, match="i0"):
        scoring.score(_answered(make(["neutral"]), ["positive"]), kind)
