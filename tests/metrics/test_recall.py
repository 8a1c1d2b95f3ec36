"""A rank is what its definition says, and what is remembered is found whatever stands around it."""

from __future__ import annotations

import re

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from runner.metrics import recall
from tests.metrics.texts import drawn

SCORER = RougeScorer(["rougeL"], use_stemmer=True)
FEW_WORDS = st.lists(st.sampled_from(["a", "B", "c,", "\nd"]), max_size=24).map(" ".join)


def _frame(reference: str | None, answer: str | None, others: list[str | None] | None) -> pl.DataFrame:
    schema = {"reference": pl.String, "answer": pl.String, "others": pl.List(pl.String)}
    return pl.DataFrame([(reference, answer, others)], schema=schema, orient="row")


@pytest.mark.parametrize(
    ("reference", "answer", "others", "rank"),
    [
        ("i like cats", "i like cats", ["dogs bark", "no way"], 1.0),
        ("i like cats", "dogs bark", ["dogs bark", "dogs bark loud"], 0.0),
        ("i like cats", "birds sing", ["dogs bark", "no way"], 0.5),  # near to none of them: chance
        ("i like cats", "", ["dogs bark"], 0.5),
        ("i like cats", "i like cats", ["i like cats", "no way", "dogs", "x"], 0.875),
        ("i like cats", "i like cats", [None, "no way"], 1.0),
        ("i like cats", "i like cats", [], None),
        ("i like cats", "i like cats", [None], None),
        ("i like cats", "i like cats", None, None),
        ("i like cats", None, ["no way"], None),
        (None, "i like cats", ["no way"], None),
    ],
)
def test_rank_of_small_cases(
    reference: str | None, answer: str | None, others: list[str | None] | None, rank: float | None
) -> None:
    assert recall.reference_rank(_frame(reference, answer, others)).to_list() == [rank]


def test_rank_is_the_share_of_others_that_are_less_close_by_the_librarys_rouge() -> None:
    pairs, texts = drawn(60, seed=1, longest=15), drawn(9, seed=4, longest=15)["answer"].to_list()
    frame = pairs.with_columns(others=pl.lit(pl.Series([texts])).first())
    expected = []
    for reference, answer, others in frame.rows():
        near = [SCORER.score(other, answer)["rougeL"].fmeasure for other in others]
        own = SCORER.score(reference, answer)["rougeL"].fmeasure
        expected.append(sum((own > each) + (own == each) / 2 for each in near) / len(near))
    assert recall.reference_rank(frame).to_list() == expected
    assert len(set(expected)) > 5
    by_part = [recall.reference_rank(frame[at : at + 7]) for at in range(0, 60, 7)]
    assert pl.concat(by_part).to_list() == expected


def _eights(text: str) -> set[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return {tuple(words[at : at + 8]) for at in range(len(words) - 7)}


@given(FEW_WORDS, FEW_WORDS, FEW_WORDS)
def test_recalled_is_eight_words_in_a_row_of_both_that_the_prompt_lacks(
    reference: str, answer: str, prompt: str
) -> None:
    [runs] = recall.shared_runs(pl.DataFrame({"reference": [reference], "answer": [answer]})).to_list()
    shared = _eights(reference) & _eights(answer)
    assert bool(runs) == bool(shared)
    assert recall.lacks(prompt, runs) == bool(shared - _eights(prompt))


def test_case_and_punctuation_do_not_hide_what_is_remembered() -> None:
    reference = "So I said: never again will I eat seven pizzas, honest!"
    pairs = pl.DataFrame(
        {
            "reference": [reference, reference, reference, None],
            "answer": ["he (never again will I eat 7 pizzas)", f"Well.\n{reference.upper()} ok", None, reference],
        }
    )
    runs = recall.shared_runs(pairs).to_list()
    assert runs == [[], ["so i said never again will i eat seven pizzas honest"], None, None]
    assert recall.lacks("nothing of it", runs[1])
    assert not recall.lacks(f"> {reference}\n", runs[1])
    assert recall.lacks(f"> {reference[:-8]}\n", runs[1])  # the last eight words are not in the prompt
    assert not recall.lacks("nothing of it", [])


def test_a_word_that_goes_on_is_another_word() -> None:
    run = ["one two three four five six seven eight"]
    assert recall.lacks("one two three four five six seven eighty", run)
    assert not recall.lacks("one two three four five six seven eight.", run)


def test_signatures_say_what_closeness_is_and_how_many_words_count() -> None:
    found = recall.signatures()
    assert set(found) == {"rank_strangers", "rank_author", "recalled"}
    assert "closeness:rouge_l" in found["rank_author"] and "words:8" in found["recalled"]
