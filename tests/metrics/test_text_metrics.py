"""Text metrics are the libraries' own numbers, to the last bit."""

import random
import warnings

import polars as pl
import pytest
import sacrebleu
from hypothesis import given
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from runner.metrics import text

SCORER = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
LONG = " ".join(f"word{i % 97}ing" for i in range(4_000))
HAND_MADE = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("running runners ran", "a runner runs"),
    ("apples are red", "quick brown foxes"),
    ("one", "one"),
    ("one", ""),
    ("", "one"),
    ("", ""),
    ("...", "!?"),
    ("Ünïcödé 日本語 text", "unicode 日本語 TEXT"),
    ("a\u2028b\tc\nd", "a b c d"),
    ("1,234 & 5.6 don't", "1234 &amp; 5.6 do n't"),
    ("I I I I", "I"),
    ("emoji 👍🏽 ok", "ok 👍🏽"),
    (LONG[:9_000], LONG[3_000:15_000]),
    (LONG, " ".join(LONG.split()[::3])),
]
WORDS = st.sampled_from(["the", "cats", "cat", "running", "nationally", "don't", "it,", "a", "Ab", "é", "42", "\n"])
TEXTS = st.one_of(st.text(max_size=60), st.lists(WORDS, max_size=25).map(" ".join))


def _assert_as_libraries(reference: str, answer: str) -> None:
    row = text.score_pairs(pl.DataFrame({"reference": [reference], "answer": [answer]})).row(0, named=True)
    rouge = SCORER.score(reference, answer)
    assert (row["rouge_1"], row["rouge_l"]) == (rouge["rouge1"].fmeasure, rouge["rougeL"].fmeasure)
    assert row["bleu"] == sacrebleu.sentence_bleu(answer, [reference]).score / 100
    words = len(reference.split())
    assert row["length_ratio"] == (len(answer.split()) / words if words else None)


@pytest.mark.parametrize("pair", HAND_MADE[:-1], ids=range(len(HAND_MADE) - 1))
def test_hand_made_pairs(pair: tuple[str, str]) -> None:
    _assert_as_libraries(*pair)


def test_four_thousand_tokens() -> None:
    # The library's own subsequence table has 5 million cells here: once is enough.
    _assert_as_libraries(*HAND_MADE[-1])


@given(TEXTS, TEXTS)
def test_generated_pairs(reference: str, answer: str) -> None:
    _assert_as_libraries(reference, answer)


def test_a_table_of_pairs_is_scored_once_each_and_without_nulls() -> None:
    draw = random.Random(2)
    words = [draw.choice("abcdefg") * draw.randint(1, 6) for _ in range(30)]
    texts = [" ".join(draw.choices(words, k=12)) for _ in range(20)]
    pairs = pl.DataFrame({"reference": draw.choices(texts, k=300), "answer": draw.choices([*texts, None], k=300)})
    scored = text.score_pairs(pairs)
    assert scored.schema == pl.Schema(text.SCHEMA)
    assert set(scored.select("reference", "answer").rows()) == set(pairs.drop_nulls().rows())
    assert scored.height == pairs.drop_nulls().n_unique()
    by_part = pl.concat([text.score_pairs(part) for part in pairs.partition_by("reference")])
    assert by_part.sort("reference", "answer").equals(scored.sort("reference", "answer"))
    assert text.score_pairs(pairs.clear()).schema == pl.Schema(text.SCHEMA)


def test_signatures_name_versions_tokenizer_stemmer_smoothing_and_scale() -> None:
    found = text.signatures()
    assert set(found) == {"rouge_l", "rouge_1", "bleu", "length_ratio"}
    assert "porter" in found["rouge_l"] and "rouge-score 0" in found["rouge_1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = sacrebleu.BLEU(effective_order=True)
    metric.sentence_score("x", ["x"])
    assert str(metric.get_signature()) in found["bleu"] and "scale:0-1" in found["bleu"]
