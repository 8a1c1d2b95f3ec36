"""Answers, aggregation and floors, against the libraries that the reference calls."""

import math
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.benchmarks.base import Design, Scored
from runner.benchmarks.personaconvbench import paper
from runner.metrics import nltk_bleu


@pytest.mark.parametrize(
    ("text", "answer"),
    [("positive", "positive"), (" Negative\n", "negative"), ("positive.", None), ("It is positive", None), ("", None)],
)
def test_a_sign_is_one_word_and_nothing_else(text: str, answer: str | None) -> None:
    assert paper.parse("sign", text) == answer


@pytest.mark.parametrize(
    ("text", "number"),
    [
        (" 12 ", 12.0),
        ("-3.5", -3.5),
        ("1e3", 1000.0),
        ("between 10 and -25", -25.0),
        ("about 1,234", 234.0),  # the last number, as the reference finds it
        ("-7 points.", -7.0),
        ("none", None),
        ("nan", None),
        ("-inf", None),
        ("", None),
    ],
)
def test_a_value_is_the_whole_text_or_its_last_number(text: str, number: float | None) -> None:
    answer = paper.parse("value", text)
    assert (None if answer is None else float(answer)) == number


@given(st.text())
def test_a_text_is_taken_as_it_is(text: str) -> None:
    assert paper.parse("text", text) == (text if text.strip() else None)


@given(st.text())
def test_a_parsed_number_is_a_finite_one(text: str) -> None:
    answer = paper.parse("value", text)
    assert answer is None or math.isfinite(float(answer))


def answered(kind: paper.Kind, rows: list[dict[str, Any]]) -> pl.DataFrame:
    """A judge's frame, with what a row does not say filled in."""
    filled = []
    for number, row in enumerate(rows):
        base = {"instance_id": f"i{number}", "setting": "p-conv", "sample": 0, "status": "ok", "text": None}
        base |= {"domain": "books", "user": f"u{number}", "example": None, "donor_example": None, "parent": None}
        base |= {"score": None, "time": datetime(2020, 1, 1, tzinfo=UTC)} | row
        base["answer"] = paper.parse(kind, base["text"]) if base["status"] == "ok" and base["text"] else None
        filled.append(base)
    return pl.DataFrame(filled, infer_schema_length=None)


def no_prompts(ids: Collection[str]) -> Mapping[str, str]:
    raise AssertionError("no prompt is needed here")


def judged(kind: paper.Kind, rows: list[dict[str, Any]]) -> pl.DataFrame:
    return paper.judges(kind)[0].judge(answered(kind, rows), no_prompts)


def scored(kind: paper.Kind, rows: list[dict[str, Any]]) -> Scored:
    return paper.score(judged(kind, rows), kind)


def value(scores: Any, metric: str, group: str = "all", setting: str = "p-conv", floor: str | None = None) -> Any:
    (row,) = [
        row for row in scores if (row.metric, row.group, row.setting, row.floor) == (metric, group, setting, floor)
    ]
    return row


def test_signs_are_scored_as_scikit_learn_does_without_the_unusable() -> None:
    from sklearn.metrics import accuracy_score, f1_score, matthews_corrcoef

    rng = np.random.default_rng(1)
    truth = rng.choice(["positive", "negative"], 60, p=[0.7, 0.3])
    said = rng.choice(["positive", "negative", "no idea", "Positive"], 60)
    rows = [
        {"reference": t, "text": s, "domain": f"d{i % 2}"} for i, (t, s) in enumerate(zip(truth, said, strict=True))
    ]
    rows += [{"reference": "positive", "status": "refused"}]
    items = judged("sign", rows).filter(pl.col("floor").is_null())
    assert items["reason"].drop_nulls().unique().sort().to_list() == ["refused", "unparsable"]
    found = scored("sign", rows)
    for group, keep in (("all", slice(None)), ("domain=d1", slice(1, None, 2))):
        used = [(t, s.lower()) for t, s in zip(truth[keep], said[keep], strict=True) if s != "no idea"]
        y, p = [t for t, _ in used], [s for _, s in used]
        expected = {"accuracy": accuracy_score(y, p)}
        if group == "all":
            expected |= {
                "f1_positive": f1_score(y, p, pos_label="positive"),
                "f1_weighted": f1_score(y, p, average="weighted"),
                "mcc": matthews_corrcoef(y, p),
            }
        assert {row.metric for row in found.rows if row.group == group} == set(expected)
        for metric, number in expected.items():
            row = value(found.rows, metric, group)
            assert row.value == pytest.approx(number)
            assert row.n == len(used)
    used = sum(s != "no idea" for s in said)
    assert value(found.rows, "accuracy").coverage == pytest.approx(used / 61)
    assert value(found.rows, "accuracy").low is not None


def test_each_f1_names_the_published_rows_that_it_stands_beside() -> None:
    rows = scored("sign", [{"reference": "positive", "text": "positive"}]).rows
    notes = {row.metric: str(row.note) for row in rows}
    assert "GPT and Claude" in notes["f1_positive"] and "LLaMA and DeepSeek" in notes["f1_weighted"]


def test_an_answer_cut_by_the_token_limit_is_still_read() -> None:
    rows = [{"reference": "5", "score": 5.0, "status": "truncated", "text": "I think 7 or"}]
    row = value(scored("value", rows).rows, "mae")
    assert (row.value, row.coverage) == (2.0, 1.0)


def test_values_lose_the_unusable() -> None:
    rows = [
        {"reference": "5", "score": 5.0, "text": "8"},
        {"reference": "-10", "score": -10.0, "text": "it is -6"},
        {"reference": "900", "score": 900.0, "text": "many"},
    ]
    found = scored("value", rows).rows
    assert value(found, "mae").value == pytest.approx(3.5)
    assert value(found, "rmse").value == pytest.approx(math.sqrt((9 + 16) / 2))
    assert value(found, "rmse").coverage == pytest.approx(2 / 3)
    assert value(found, "rmse").n == 2


def test_texts_are_the_best_of_n_for_each_metric_apart_and_zeros_leave() -> None:
    from rouge_score.rouge_scorer import RougeScorer

    reference = "The quick brown fox jumps over the lazy dogs"
    said = ["dog lazy the over jumping fox brown quick the", "The quick brown fox sleeps", ""]
    rows = [{"instance_id": "a", "reference": reference, "text": text, "sample": i} for i, text in enumerate(said)]
    rows += [{"instance_id": "b", "reference": reference, "text": "nothing alike", "sample": i} for i in range(3)]
    rows += [{"instance_id": "c", "reference": reference, "status": "filtered", "sample": i} for i in range(3)]
    found = scored("text", rows).rows
    scorer = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    each = [scorer.score(reference, text) for text in said[:2]]
    rouge_1, rouge_l = (max(one[name].fmeasure for one in each) for name in ("rouge1", "rougeL"))
    assert each[0]["rouge1"].fmeasure == rouge_1 and each[1]["rougeL"].fmeasure == rouge_l  # different winners
    assert value(found, "rouge_1").value == pytest.approx(rouge_1)
    assert value(found, "rouge_l").value == pytest.approx(rouge_l)
    assert value(found, "rouge_1").n == 1
    assert value(found, "rouge_1").coverage == pytest.approx(5 / 9)
    assert "best of 3" in value(found, "rouge_1").note
    assert [row.metric for row in found if row.group == "all"] == list(paper.METRICS["text"])


def test_a_metric_that_cannot_be_had_has_a_sentence_and_no_value() -> None:
    items = judged("text", [{"reference": "one two", "text": "one two"}]).drop("sbert", strict=False)
    row = value(paper.score(items, "text").rows, "sbert")
    assert row.value is None and str(row.note).startswith("n/a: ")


@given(st.text(), st.text())
def test_bleu_is_between_0_and_1(reference: str, answer: str) -> None:
    pairs = pl.DataFrame({"reference": [reference], "answer": [answer]})
    assert 0 <= nltk_bleu.score_pairs(pairs)["bleu"].item() <= 1 + 1e-12


def test_bleu_is_nltks_with_method_1_on_lower_case() -> None:
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    pairs = pl.DataFrame(
        {
            "reference": ["I can't say, really.", "I can't say, really.", "One two three four five"],
            "answer": ["I CAN'T say.\nReally", None, "one two three four six"],
        }
    )
    found = nltk_bleu.score_pairs(pairs)
    expected = [
        (["i", "ca", "n't", "say", ",", "really", "."], ["i", "ca", "n't", "say", ".", "really"]),
        (["one", "two", "three", "four", "five"], ["one", "two", "three", "four", "six"]),
    ]
    smoothing = SmoothingFunction().method1
    assert found["bleu"].to_list() == [
        pytest.approx(sentence_bleu([reference], answer, smoothing_function=smoothing))
        for reference, answer in expected
    ]
    assert "NLTKWordTokenizer" in scored("text", [{"reference": "a", "text": "a"}]).signatures["bleu"]


def test_floors_of_signs() -> None:
    rows = [
        {"reference": label, "text": "positive", "example": example, "donor_example": other, "setting": setting}
        for setting in paper.SETTINGS
        for label, example, other in (
            ("positive", "positive", "negative"),
            ("positive", "negative", "positive"),
            ("negative", "negative", "positive"),
        )
    ]
    floors = scored("sign", rows).floors
    for setting in paper.SETTINGS:
        assert value(floors, "accuracy", "all", setting, "majority class").value == pytest.approx(2 / 3)
        assert value(floors, "mcc", "all", setting, "majority class").value == 0
    assert value(floors, "accuracy", "all", "p-conv", "copy the example").value == pytest.approx(2 / 3)
    assert value(floors, "accuracy", "all", "np-conv", "copy the example").value == pytest.approx(1 / 3)
    assert not [row for row in floors if row.setting == "p-nonconv" and row.floor == "copy the example"]


def test_floors_of_values_count_each_instance_once() -> None:
    rows = [
        {"instance_id": name, "sample": sample, "reference": str(score), "score": score, "text": "1", "example": "10"}
        for name, score in (("a", 10.0), ("b", 20.0), ("c", 60.0))
        for sample in range(2 if name == "a" else 1)
    ]
    floors = scored("value", rows).floors
    assert value(floors, "mae", floor="mean constant").value == pytest.approx((20 + 10 + 30) / 3)
    assert value(floors, "mae", floor="median constant").value == pytest.approx((10 + 0 + 40) / 3)
    assert value(floors, "mae", floor="copy the example").value == pytest.approx((0 + 10 + 50) / 3)


def test_the_floor_of_texts_copies_the_parent() -> None:
    rows = [
        {"reference": "one two", "text": "x", "parent": "one two"},
        {"reference": "one two", "text": "x", "parent": ""},
    ]
    row = value(scored("text", rows).floors, "rouge_l", floor="copy the parent")
    assert (row.value, row.n) == (1.0, 1)


def test_the_only_effects_are_those_over_the_best_floor_on_what_both_answered() -> None:
    rows = [
        {"reference": label, "text": said, "example": "positive"}
        for label, said in (("positive", "positive"), ("positive", "no idea"), ("negative", "negative"))
    ]
    (found,) = scored("sign", rows).effects
    assert (found.name, found.kind, found.metric) == ("p-conv - majority class", "floor", "accuracy")
    assert (found.n, found.value, found.p) == (2, 0.5, None)
    rows = [
        {"reference": "1", "score": 10.0, "text": "10", "example": "11"},
        {"reference": "1", "score": 20.0, "text": "14", "example": "21"},
    ]
    (found,) = scored("value", rows).effects
    assert found.name == "p-conv - copy the example"
    assert found.value == pytest.approx(1 - math.sqrt(18))  # less error is a gain; here there is more
    rows = [
        {"instance_id": "a", "reference": "a b c d", "text": "a b c d", "parent": "a b"},
        {"instance_id": "a", "reference": "a b c d", "text": "x", "sample": 1, "parent": "a b"},
        {"instance_id": "b", "reference": "a b c d", "text": "x", "parent": "a b c d"},
        {"instance_id": "b", "reference": "a b c d", "text": "x", "sample": 1, "parent": "a b c d"},
    ]
    (found,) = scored("text", rows).effects
    assert (found.name, found.n, found.value) == ("p-conv - copy the parent", 1, pytest.approx(1 - 2 / 3))
    assert found.note.startswith("only prompts where both are not 0")
    floor = value(scored("text", rows).floors, "rouge_l", floor="copy the parent")
    assert floor.n == 2 and "n 2, the model's 1" in floor.note
    (early,) = paper.score(judged("text", rows), "text", tested=False).effects
    assert early.note.startswith("no test: partial; ")


def test_the_best_of_n_is_of_prompts_with_all_n_and_says_where_it_is_not_the_published_one() -> None:
    def answers(name: str, *said: str) -> list[dict[str, Any]]:
        return [{"instance_id": name, "reference": "a b c d", "text": t, "sample": i} for i, t in enumerate(said)]

    rows = [*answers("a", "a b", "a b"), *answers("pending", "a b c d")]
    row = value(scored("text", rows).rows, "rouge_l")
    assert (row.n, row.value) == (1, pytest.approx(2 / 3))
    assert "best of 2" in row.note and "not comparable with the published GPT rows, the best of 10" in row.note
    (found,) = paper.versus(judged("text", rows), judged("text", rows), "a - b", "text", Design())
    assert found.n == 1 and "only prompts where both are not 0" in found.note
    ten = scored("text", answers("a", *["a b"] * 10))
    assert "not comparable" not in value(ten.rows, "rouge_l").note


def test_two_models_are_compared_where_both_can_be_read_and_never_tested() -> None:
    rng = np.random.default_rng(2)
    truth = rng.choice(["positive", "negative"], 60)
    first = [{"reference": t, "text": t} for t in truth]
    second = [{"reference": t, "text": "positive" if i else "hm"} for i, t in enumerate(truth)]
    items = judged("sign", first), judged("sign", second)
    (found,) = paper.versus(*items, "a - b", "sign", Design())
    assert (found.kind, found.group, found.n, found.p) == ("model", "p-conv", 59, None)
    assert found.value == pytest.approx(np.mean(truth[1:] == "negative")) and found.low > 0


def test_the_differences_from_strict_are_said() -> None:
    for kind, words in {
        "sign": ("F1",),
        "value": ("viral",),
        "text": ("method 1", "raw cosine", "best of the answers to it", "0 leaves"),
    }.items():
        said = " ".join(paper.remarks(kind))
        assert all(word in said for word in (*words, "np-nonconv", "weighted", "Selection looks at the outcome"))
        assert set(paper.KNOWN_LEAKS) <= set(paper.remarks(kind))
