"""3.3: failures at 0, ranks among real replies, recall against the prompt, oracles by name, metrics that are absent."""

from collections.abc import Collection, Mapping

import nltk.data
import polars as pl
import pytest
from scored_frames import P, answered, judged, own, row, scored, texts

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict import scoring
from runner.metrics import embeddings, meteor

NINE = "one two three four five six seven eight nine"
FIVE = "one two three four five"


def test_texts_are_scored_against_their_reference_and_failures_are_zero() -> None:
    references = ["the cat sat on the mat", "one two three four", "five six seven eight"]
    answers = ["the cat sat on the mat", "one two", "five six seven eight"]
    frame = answered(texts(references), answers, ["ok", "ok", "filtered"])
    items = own(frame, "text")
    assert items["rouge_l"].to_list() == [1, pytest.approx(2 / 3), 0]
    assert items["length_ratio"].to_list() == [1, 0.5, 0]
    assert items["reason"].to_list() == [None, None, "filtered"]
    rows = scored(frame, "text").rows
    assert row(rows, "rouge_l").value == pytest.approx(5 / 9)
    assert row(rows, "bleu").value < 1
    assert not any("best_of" in row.metric for row in rows)
    assert [r.metric for r in rows if r.group == "all"] == list(scoring.METRICS["text"])


def test_a_rank_is_a_failures_zero_and_null_where_there_is_nothing_to_rank_among() -> None:
    frame = texts(
        [FIVE] * 4,
        stranger_replies=[["ten eleven"], ["ten eleven", FIVE], ["ten eleven"], []],
        own_elsewhere=[["ten eleven"], ["ten", "eleven"], [FIVE], ["ten"]],
    )
    items = own(answered(frame, [FIVE, "ten eleven", None, FIVE], ["ok", "ok", "refused", "ok"]), "text")
    assert items["rank_strangers"].to_list() == [1.0, 0.25, 0.0, None]
    assert items["rank_author"].to_list() == [1.0, 0.0, 0.0, 1.0]
    rows = scored(answered(frame, [FIVE, "ten eleven", None, FIVE], ["ok", "ok", "refused", "ok"]), "text").rows
    strangers, author = row(rows, "rank_strangers"), row(rows, "rank_author")
    assert (strangers.n, strangers.value) == (3, pytest.approx(1.25 / 3))
    assert (author.n, author.value) == (4, pytest.approx(0.5))


def test_words_that_the_prompt_lacks_are_recalled_and_prompts_are_read_only_for_suspects() -> None:
    frame = texts([NINE] * 4)
    said = [NINE, f"Well, {NINE.title()}!", "one two three", None]
    asked: list[str] = []

    def prompts(ids: Collection[str]) -> Mapping[str, str]:
        asked.extend(sorted(ids))
        return {name: f"Somebody wrote: {NINE}." if name.endswith("i0") else "Nothing like it." for name in ids}

    (judge, *_) = scoring.judges("text")
    items = judge.judge(answered(frame, said, ["ok", "ok", "ok", "refused"]), prompts)
    assert asked == ["p-conv/0/i0", "p-conv/0/i1"]
    mine = items.filter(pl.col("floor").is_null())
    assert mine["recalled"].to_list() == [False, True, False, None]
    assert items.filter(pl.col("floor").is_not_null())["recalled"].null_count() == items.height - 4
    rows = scoring.score(items, "text", Design(), "3.3")
    assert row(rows.rows, "recalled").value == 0.25  # the failed one recalls nothing
    assert not any(floor.metric == "recalled" for floor in rows.floors)


def test_samples_are_averaged_first_and_the_oracle_is_named() -> None:
    frame = texts(["a b c d", "e f g h"])
    three = [
        answered(frame, ["a b c d", "e f g h"], sample=0),
        answered(frame, ["x", "y"], sample=1),
        answered(frame[:1], ["x"], sample=2),
    ]
    rows = scored(pl.concat(three), "text").rows
    mean, oracle = row(rows, "rouge_l"), row(rows, "rouge_l@best_of_3")
    assert (mean.value, mean.n) == (pytest.approx((1 / 3 + 1 / 2) / 2), 2)
    assert (oracle.value, oracle.n) == (1, 1)  # the other instance still waits for a sample
    assert str(oracle.note).startswith("oracle best-of-3")
    names = [row.metric for row in rows]
    assert names.index("rouge_l") < names.index("rouge_l@best_of_3")
    assert not {"length_ratio@best_of_3", "recalled@best_of_3"} & set(names)


def test_text_floors_read_what_they_say() -> None:
    frame = texts(
        ["a b c d"],
        parent_text=["a b"],
        newest_own_reply=["a b c d"],
        newest_donor_reply=["x"],
        similar_own_reply=["c d"],
        similar_donor_reply=[None],
    )
    floors = scored(pl.concat([answered(frame, ["a"], setting=s) for s in (P, "np-conv")]), "text").floors
    found = {(r.floor, r.setting): (r.value, r.coverage) for r in floors if (r.metric, r.group) == ("rouge_l", "all")}
    third = pytest.approx(2 / 3)
    assert found == {
        ("copy_parent", "all"): (third, 1),
        ("newest_history", "p-conv"): (1, 1),
        ("newest_history", "np-conv"): (0, 1),
        ("most_similar_history", "p-conv"): (third, 1),
        ("most_similar_history", "np-conv"): (0, 0),
    }
    metrics = {r.metric for r in floors if r.floor == "copy_parent" and r.group == "all"}
    assert metrics == set(scoring.METRICS["text"]) - {"recalled"}


def test_a_metric_that_cannot_be_had_says_so_and_is_never_zero() -> None:
    items = judged(answered(texts([FIVE] * 2), [FIVE, None], ["ok", "refused"]), "text")
    without = items.drop("sbert", strict=False).with_columns(meteor=pl.lit(None, pl.Float64))
    result = scoring.score(without, "text", Design(), "3.3")
    for metric, sentence in (("sbert", embeddings.missing()), ("meteor", meteor.missing())):
        cell = row(result.rows, metric)
        assert (cell.value, cell.low, cell.n) == (None, None, 2)
        assert str(cell.note).startswith("n/a: ") and (sentence or "score the run again") in str(cell.note)
        assert metric not in {e.metric for e in result.effects}


def test_without_wordnet_a_failure_has_no_meteor_either(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [])
    assert own(answered(texts([FIVE] * 2), [FIVE, None]), "text")["meteor"].to_list() == [None, None]


def test_meteor_is_there_with_wordnet_and_a_failure_is_zero() -> None:
    assert meteor.missing() is None
    items = own(answered(texts([FIVE] * 2), [FIVE, None]), "text")
    assert items["meteor"].to_list() == [pytest.approx(1, abs=0.01), 0]
