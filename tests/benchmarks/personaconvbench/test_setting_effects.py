"""Effects of history and thread: by hand on tiny frames, and what is tested, weighted, grouped and left out."""

from typing import Any

import numpy as np
import polars as pl
import pytest
from scored_frames import NN, NP, PN, SETTINGS, P, answered, effect, judged, scored, signs, texts, values

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict import scoring
from runner.benchmarks.personaconvbench.tasks import TASKS
from runner.metrics.multiplicity import holm

FAMILY = scoring.family("3.1", "sign")


def _said(frame: pl.DataFrame, right: dict[str, list[bool]]) -> pl.DataFrame:
    """Right or wrong signs of each setting."""
    other = {"positive": "negative", "negative": "positive"}
    truth = frame["reference"].to_list()
    return pl.concat(
        answered(frame, [t if good else other[t] for t, good in zip(truth, marks, strict=True)], setting=setting)
        for setting, marks in right.items()
    )


def _crowd(n: int = 480, authors: int = 80, seed: int = 0, **gains: float) -> pl.DataFrame:
    """Answers that are right half of the time, and more often by what each setting gains."""
    random = np.random.default_rng(seed)
    frame = signs(
        random.choice(["positive", "negative"], n, p=[0.7, 0.3]).tolist(),
        user=[f"u{i}" for i in random.integers(0, authors, n)],
        domain=random.choice(["art", "life"], n).tolist(),
        own_visible=random.integers(0, 3, n).tolist(),
    )
    chance = {P: 0.5, PN: 0.5, NP: 0.5, NN: 0.5} | gains
    return _said(frame, {setting: (random.random(n) < at).tolist() for setting, at in chance.items()})


def test_the_three_effects_and_the_simple_ones_are_the_contrasts_of_the_four_values() -> None:
    frame = signs(["positive", "positive", "negative", "negative"])
    right = {P: [1, 1, 1, 1], PN: [1, 1, 1, 0], NP: [1, 0, 1, 0], NN: [0, 0, 1, 0]}
    found = scored(_said(frame, right), "sign").effects
    ba = {P: 1.0, PN: 0.75, NP: 0.5, NN: 0.25}
    expected = {
        "personal": ((ba[P] - ba[NP]) + (ba[PN] - ba[NN])) / 2,
        "conversation": ((ba[P] - ba[PN]) + (ba[NP] - ba[NN])) / 2,
        "interaction": (ba[P] - ba[NP]) - (ba[PN] - ba[NN]),
        "p-conv - np-conv": 0.5,
        "p-nonconv - np-nonconv": 0.5,
        "p-conv - p-nonconv": 0.25,
        "np-conv - np-nonconv": 0.25,
    }
    primary = [e for e in found if (e.metric, e.group) == ("balanced_accuracy", "all") and e.kind != "floor"]
    assert {e.name: e.value for e in primary} == pytest.approx(expected)
    assert [e.kind for e in primary] == ["main"] * 3 + ["simple"] * 4
    assert list(dict.fromkeys(e.metric for e in found)) == list(scoring.METRICS["sign"])
    assert all(e.n == 4 and e.p is None and e.low is None for e in primary)  # four authors


def test_balanced_accuracy_is_the_sum_of_the_scores_of_instances() -> None:
    """Σ w·1[correct]/(2·W_class), weights included, is what the table and the effects say."""
    random = np.random.default_rng(3)
    n = 60
    strata = random.integers(0, 2, n)
    frame = signs(
        random.choice(["positive", "negative"], n).tolist(),
        stratum=[f"s{i}" for i in strata], stratum_size=(30 + 500 * strata).tolist(),
    )  # fmt: skip
    right = {setting: (random.random(n) < 0.6).tolist() for setting in SETTINGS}
    size = np.bincount(strata, minlength=2)
    weights = (30 + 500 * strata) / size[strata]
    truth = frame["reference"].to_numpy()
    by_class = np.array([weights[truth == word].sum() for word in truth])
    found = scored(_said(frame, right), "sign")
    value = {s: float((np.array(right[s]) * weights / (2 * by_class)).sum()) for s in SETTINGS}
    table = {r.setting: r.value for r in found.rows if (r.metric, r.group) == ("balanced_accuracy", "all")}
    assert table == pytest.approx(value)
    personal = effect(found.effects, "personal", "balanced_accuracy").value
    assert personal == pytest.approx((value[P] - value[NP] + value[PN] - value[NN]) / 2)


def test_less_error_is_a_gain() -> None:
    frame = values([10, 20, -10])
    answers = {P: ["10", "20", "-10"], PN: ["10", "20", "-10"], NP: ["5", "20", "-10"], NN: ["4", "20", "-10"]}
    found = scored(pl.concat(answered(frame, said, setting=s) for s, said in answers.items()), "value").effects
    logs = [np.log(11) - np.log(6), np.log(11) - np.log(5)]
    assert effect(found, "personal", "log_mae").value == pytest.approx(sum(logs) / 2 / 3)
    assert effect(found, "personal", "mae").value == pytest.approx((5 + 6) / 2 / 3)
    assert effect(found, "personal", "rmse").value == pytest.approx((np.sqrt(25 / 3) + np.sqrt(36 / 3)) / 2)
    assert effect(found, "p-conv - np-conv", "median_ae").value == 0
    assert effect(found, "personal", "spearman").value == 0


def test_only_complete_quadruples_count_and_they_are_weighted_anew() -> None:
    frame = signs(["positive"] * 3 + ["negative"], stratum=["a", "a", "b", "b"], stratum_size=[4, 4, 8, 8])
    whole = _said(frame, {P: [1, 1, 0, 1], PN: [0] * 4, NP: [0] * 4, NN: [0] * 4})
    missing_one = whole.filter(~((pl.col("instance_id") == "i1") & (pl.col("setting") == NP)))
    found = effect(scored(missing_one, "sign").effects, "p-conv - np-conv", "accuracy")
    assert found.n == 3
    # i0 stands alone for stratum a (4), i2 and i3 for b (4 each): right are i0 and i3.
    assert found.value == pytest.approx(8 / 12)
    # The table of p-conv keeps all four: 2, 2, 4, 4.
    table = [r for r in scored(missing_one, "sign").rows if (r.setting, r.metric) == (P, "accuracy")]
    assert table[0].value == pytest.approx(8 / 12) and table[0].n == 4


def test_samples_of_an_instance_share_its_weight_and_pair_by_number() -> None:
    frame = signs(["positive", "positive"])
    right = {P: [[1, 1], [1, 0]], PN: [[0, 0], [0, 0]], NP: [[0, 0], [0, 0]], NN: [[0, 0], [0, 0]]}
    asked = [
        _said(frame, {setting: marks[sample]}).with_columns(sample=pl.lit(sample, pl.Int32))
        for setting, marks in right.items()
        for sample in (0, 1)
    ]
    # Instance i0 lacks its second sample in one setting: only its first one is compared, at full weight.
    rows = pl.concat(asked).filter(
        ~((pl.col("instance_id") == "i0") & (pl.col("setting") == NN) & (pl.col("sample") == 1))
    )
    found = effect(scored(rows, "sign").effects, "p-conv - np-conv", "accuracy")
    assert (found.n, found.value) == (2, pytest.approx((1 + (1 + 0) / 2) / 2))


def test_settings_that_were_not_asked_leave_their_effects_out() -> None:
    crowd = _crowd()
    two = scored(crowd.filter(pl.col("setting").is_in([P, NP])), "sign").effects
    assert {e.name for e in two if e.kind != "floor"} == {"p-conv - np-conv"}
    one = scored(crowd.filter(pl.col("setting") == P), "sign").effects
    assert {e.kind for e in one} == {"floor"}


def test_the_declared_family_is_tested_and_adjusted_together() -> None:
    crowd = _crowd(**{P: 0.95, PN: 0.95})
    found = scored(crowd, "sign", Design(level=0.975, family=FAMILY), "3.1").effects
    family = [e for e in found if e.family]
    assert [e.family for e in family] == list(FAMILY)
    assert [(e.kind, e.metric, e.group) for e in family] == [("main", "balanced_accuracy", "all")] * 3
    p = [e.p for e in family]
    assert [e.p_holm for e in family] == pytest.approx(holm(p))
    assert family[0].is_shown and family[0].value > 0.3 and not family[2].is_shown
    assert {e.level for e in found if e.kind != "floor"} == {0.975}
    assert all(e.p_holm is None and e.family is None for e in found if e not in family)


def test_nothing_is_confirmed_that_was_not_declared() -> None:
    found = scored(_crowd(), "sign", Design(family=FAMILY[:1]), "3.1").effects
    assert [e.name for e in found if e.family] == ["personal"]
    assert effect(found, "personal", "balanced_accuracy").p_holm == effect(found, "personal", "balanced_accuracy").p
    assert not any(e.family for e in scored(_crowd(), "sign", Design(family=FAMILY), "3.2").effects)


def test_what_cannot_be_tested_has_an_interval_and_no_p() -> None:
    found = scored(_crowd(), "sign", Design(family=FAMILY), "3.1").effects
    for e in found:
        assert e.low is not None
        testable = e.metric in ("balanced_accuracy", "accuracy") and not e.group.startswith("domain=")
        assert (e.p is not None) == (testable and e.kind != "floor"), e
    n = 90
    random = np.random.default_rng(5)
    frame = values((random.integers(4, 90, n) * random.choice([-1, 1], n)).tolist())
    asked = pl.concat(answered(frame, random.integers(-9, 90, n).astype(str).tolist(), setting=s) for s in SETTINGS)
    rmse = effect(scored(asked, "value").effects, "personal", "rmse")
    assert rmse.p is None and rmse.low is not None and "viral" in str(rmse.note)
    assert effect(scored(asked, "value").effects, "personal", "log_mae").p is not None


def test_a_partial_run_has_values_and_intervals_but_no_test() -> None:
    found = scored(_crowd(), "sign", Design(tested=False, family=FAMILY), "3.1").effects
    main = [e for e in found if e.kind == "main" and e.metric == "balanced_accuracy" and e.group == "all"]
    assert all(e.p is None and e.p_holm is None and e.low is not None for e in main)
    assert all(str(e.note).startswith("no test: partial") and not e.is_shown for e in main)
    assert [e.family for e in main] == list(FAMILY), "declared stays declared"
    floors = [e for e in found if e.kind == "floor"]
    assert floors and all(str(e.note).startswith("no test: partial") for e in floors)


def test_few_authors_have_neither_interval_nor_p() -> None:
    found = scored(_crowd(authors=12), "sign", Design(family=FAMILY), "3.1").effects
    assert all(e.low is None and e.p is None and e.p_holm is None and e.authors < 20 for e in found)
    assert "fewer than 20" in str(effect(found, "personal", "balanced_accuracy").note)


def test_groups_show_effects_on_the_primary_and_the_unseen_the_simple_ones_too() -> None:
    crowd = _crowd()
    found = [e for e in scored(crowd, "sign", Design(family=FAMILY), "3.1").effects if e.group != "all"]
    assert {e.group for e in found} == {"no own reply visible", "domain=art", "domain=life"}
    main = {"personal", "conversation", "interaction"}
    simple = {f"{P} - {NP}", f"{PN} - {NN}", f"{P} - {PN}", f"{NP} - {NN}"}
    assert {e.metric for e in found} == {"balanced_accuracy"}
    assert {e.name for e in found if e.group == "no own reply visible"} == main | simple
    assert {e.name for e in found if e.group.startswith("domain=")} == main
    unseen = crowd.filter(pl.col("own_visible") == 0)
    alone = effect(scored(unseen, "sign").effects, "personal", "balanced_accuracy")
    part = effect(tuple(found), "personal", "balanced_accuracy", "no own reply visible")
    assert (part.n, part.value) == (alone.n, pytest.approx(alone.value)) and part.p is not None
    assert all(e.p is None for e in found if e.group.startswith("domain="))


def test_a_group_keeps_the_weights_that_it_has_in_the_whole() -> None:
    frame = signs(["positive"] * 4, stratum=["a", "a", "b", "b"], stratum_size=[2, 2, 8, 8], own_visible=[0, 1, 0, 0])
    right = {P: [1, 1, 0, 0], PN: [0] * 4, NP: [0] * 4, NN: [0] * 4}
    # In the whole: weights 1, 1, 4, 4; of the unseen (i0, i2, i3): 1, 4, 4, although i0 is alone of its stratum.
    said = _said(frame.with_columns(reference=pl.Series(["positive"] * 3 + ["negative"])), right)
    found = effect(scored(said, "sign").effects, "personal", "balanced_accuracy", "no own reply visible")
    assert found.value == pytest.approx(0.5 * (1 / 5) / 2)


def test_arms_without_history_are_compared_on_their_own_instances() -> None:
    frame = signs(["positive", "positive", "positive", "negative"])
    right: dict[str, list[bool]] = {P: [1, 1, 0, 1], PN: [1] * 4, NP: [0, 1, 0, 1], NN: [1] * 4}
    arm = _said(frame[:2], {"none-conv": [False, True]})
    found = scored(pl.concat([_said(frame, right), arm]), "sign").effects
    arms = {e.name: (e.value, e.n) for e in found if e.kind == "arm" and e.metric == "accuracy"}
    assert arms == {"p-conv - none-conv": (0.5, 2), "np-conv - none-conv": (0.0, 2)}
    assert effect(found, "p-conv - np-conv", "accuracy").n == 4


def test_a_rank_is_compared_where_there_is_something_to_rank_among() -> None:
    reference, other = "one two three four", "five six seven eight"
    frame = texts([reference] * 3, stranger_replies=[[other], [other], []])
    said = {P: [reference, reference, "x"], PN: ["x", "x", "x"], NP: [reference, other, "x"], NN: ["x", "x", "x"]}
    found = scored(pl.concat(answered(frame, text, setting=s) for s, text in said.items()), "text").effects
    rank = effect(found, "p-conv - np-conv", "rank_strangers")
    assert (rank.n, rank.value) == (2, pytest.approx(0.5))
    assert effect(found, "p-conv - np-conv", "rouge_l").n == 3
    named = {e.metric for e in found}
    assert named.isdisjoint({"rank_author", "length_ratio", "recalled"})  # nothing to rank among; not better or worse


@pytest.mark.parametrize("task", [task for task in TASKS if task.protocol == "strict"], ids=lambda task: task.name)
def test_what_a_task_declares_is_what_its_effects_are_called(task: Any) -> None:
    assert task.family(SETTINGS) == tuple(
        f"{task.name}: {name} effect on {task.primary}" for name in ("personal", "conversation", "interaction")
    )
    assert task.family(SETTINGS[:3]) == ()
    if task.name == "3.1":
        items = judged(_crowd(), "sign")
        assert {e.family for e in task.score(items, Design(family=task.family(SETTINGS))).effects} == {*FAMILY, None}
