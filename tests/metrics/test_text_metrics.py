"""Text metrics are the libraries' own numbers, to the last bit."""

import warnings

import polars as pl
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from runner.metrics import meteor, rouge, text
from tests.metrics.texts import HAND_MADE, drawn

SCORER = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
WORDS = st.sampled_from(["the", "cats", "cat", "running", "nationally", "don't", "it,", "a", "Ab", "é", "42", "\n"])
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join))


def _rouge(reference: str, answer: str) -> tuple[float, float]:
    words = rouge.tokenizer()
    pair = words(reference), words(answer)
    return rouge.rouge_1(*pair), rouge.rouge_l(*pair)


def _of_library(reference: str, answer: str) -> tuple[float, float]:
    scores = SCORER.score(reference, answer)
    return scores["rouge1"].fmeasure, scores["rougeL"].fmeasure


@pytest.mark.parametrize("pair", HAND_MADE, ids=range(len(HAND_MADE)))
def test_rouge_of_hand_made_pairs_is_the_librarys(pair: tuple[str, str]) -> None:
    # The last has 4,000 tokens: the library's own table of subsequences has 5 million cells there.
    assert _rouge(*pair) == _of_library(*pair)


@given(TEXTS, TEXTS)
def test_rouge_of_any_texts_is_the_librarys(reference: str, answer: str) -> None:
    assert _rouge(reference, answer) == _of_library(reference, answer)


def test_thousands_of_pairs_in_one_table_have_the_libraries_values() -> None:
    pairs = drawn(2_000, seed=3, longest=25)
    for row in text.score_pairs(pairs).iter_rows(named=True):
        reference, answer = row["reference"], row["answer"]
        assert (row["rouge_1"], row["rouge_l"]) == _of_library(reference, answer)
        assert row["bleu"] == sacrebleu.sentence_bleu(answer, [reference]).score / 100
        words = len(reference.split())
        assert row["length_ratio"] == (len(answer.split()) / words if words else None)


def test_a_table_of_pairs_is_scored_once_each_and_without_nulls() -> None:
    some = drawn(300, seed=2, longest=3)
    pairs = pl.concat([some, some.head(50), some.head(9).with_columns(answer=pl.lit(None, pl.String))])
    scored = text.score_pairs(pairs)
    assert scored.schema == pl.Schema(text.SCHEMA)
    assert set(scored.select("reference", "answer").rows()) == set(pairs.drop_nulls().rows())
    assert scored.height == pairs.drop_nulls().n_unique() < 300
    by_part = pl.concat([text.score_pairs(part) for part in pairs.partition_by("reference")])
    assert by_part.sort("reference", "answer").equals(scored.sort("reference", "answer"))
    assert text.score_pairs(pairs.clear()).schema == pl.Schema(text.SCHEMA)


def test_meteor_stands_beside_the_others_as_it_is_computed_alone() -> None:
    scored = text.score_pairs(drawn(30, seed=5))
    alone = [meteor.score(reference, answer) for reference, answer in scored.select("reference", "answer").rows()]
    assert scored["meteor"].to_list() == alone
    assert set(text.QUALITY) < set(text.SCHEMA)


def test_signatures_name_versions_tokenizer_stemmer_smoothing_and_scale() -> None:
    found = text.signatures()
    assert set(found) == set(text.SCHEMA) - {"reference", "answer"}
    assert "porter" in found["rouge_l"] and "WordNet 3.0" in found["meteor"]
    assert "by:own (equal to rouge-score 0" in found["rouge_1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = sacrebleu.BLEU(effective_order=True)
    metric.sentence_score("x", ["x"])
    assert str(metric.get_signature()) in found["bleu"] and "scale:0-1" in found["bleu"]
