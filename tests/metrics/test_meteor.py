"""METEOR is nltk's own number, and says when it cannot be had."""

from __future__ import annotations

import shutil
from pathlib import Path

import nltk.data
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer
from nltk.translate.meteor_score import meteor_score

from runner.metrics import meteor, text
from tests.metrics.texts import HAND_MADE, drawn

TOKENIZE = NLTKWordTokenizer().tokenize


def _words(given: str) -> list[str]:
    return [token for line in given.lower().splitlines() for token in TOKENIZE(line)]


def _of_nltk(reference: str, answer: str) -> float:
    return float(meteor_score([_words(reference)], _words(answer)))


class _NoSynonyms:
    def synsets(self, word: str) -> list[object]:
        return []


@pytest.mark.parametrize("pair", HAND_MADE, ids=range(len(HAND_MADE)))
def test_hand_made_pairs_have_nltks_value(pair: tuple[str, str]) -> None:
    assert meteor.score(*pair) == _of_nltk(*pair)


@settings(max_examples=30, deadline=None)
@given(st.text(max_size=40), st.text(max_size=40))
def test_any_texts_have_nltks_value(reference: str, answer: str) -> None:
    assert meteor.score(reference, answer) == _of_nltk(reference, answer)


def test_a_thousand_pairs_have_nltks_value_and_synonyms_count_in_many() -> None:
    pairs = drawn(1_000, seed=7, longest=20).rows()
    ours = [meteor.score(*pair) for pair in pairs]
    assert ours == [_of_nltk(*pair) for pair in pairs]
    some = list(zip(pairs, ours, strict=True))[:200]
    without = [meteor_score([_words(first)], _words(second), wordnet=_NoSynonyms()) for (first, second), _ in some]
    assert sum(value > plain for (_, value), plain in zip(some, without, strict=True)) > 20


def test_the_example_in_nltks_documentation() -> None:
    answer = "It is a guide to action which ensures that the military always obeys the commands of the party"
    reference = "It is a guide to action that ensures that the military will forever heed Party commands"
    assert round(meteor.score(reference, answer), 4) == 0.6944


def test_synonyms_come_from_wordnet_3_0() -> None:
    from nltk.corpus import wordnet  # not above: pytest asks a module's names for attributes, and would load all of it

    assert meteor.missing() is None and wordnet.get_version() == "3.0"
    assert meteor.score("we saw the kid", "we saw the child") > meteor.score("we saw the kid", "we saw the dog")


def test_without_wordnet_it_says_so_and_no_value_is_made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert meteor.missing() == "METEOR needs WordNet: make wordnet"
    # nltk itself would give a number here, because no synonym has to be looked up.
    scored = text.score_pairs(pl.DataFrame({"reference": ["same words"], "answer": ["same words"]}))
    assert scored["meteor"].to_list() == [None] and scored["rouge_l"].to_list() == [1.0]
    assert "meteor" not in text.signatures() and "rouge_l" in text.signatures()


def test_another_version_and_a_damaged_one_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copy = tmp_path / "corpora" / "wordnet"
    shutil.copytree(str(nltk.data.find("corpora/wordnet")), copy)
    for large in ("index.noun", "index.adj", "index.verb", "index.adv"):  # their licence is enough to be read
        (copy / large).write_bytes(b"".join((copy / large).read_bytes().splitlines(keepends=True)[:40]))
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    adjectives = (copy / "data.adj").read_bytes()
    (copy / "data.adj").write_bytes(adjectives.replace(b"WordNet 3.0 Copyright", b"WordNet 3.1 Copyright"))
    assert meteor.missing() == "METEOR needs WordNet 3.0, and version 3.1 is there: make wordnet"
    (copy / "lexnames").write_text("no such thing\n")
    monkeypatch.setattr(nltk.data, "path", [f"{tmp_path}/"])
    assert "cannot be read: make wordnet" in (meteor.missing() or "")
