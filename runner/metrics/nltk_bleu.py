"""Sentence BLEU the way evaluations written with nltk report it: method 1 smoothing, lower case, 4-grams, 0–1.

Tokens are those of nltk's ``NLTKWordTokenizer``, line by line. ``nltk.word_tokenize`` first cuts a line into
sentences with a model that has to be downloaded (punkt); without it a full stop inside a line stays with its
word. The signature says so: the values differ a little from those with punkt.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import polars as pl

from runner.metrics.signature import library
from runner.metrics.signature import signature as signed

SCHEMA: dict[str, pl.DataType] = {"reference": pl.String(), "answer": pl.String(), "bleu": pl.Float64()}


def score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per distinct (``reference``, ``answer``) without nulls, with ``bleu`` (Papineni et al. 2002)."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    tokens, smoothing = _tokenizer(), SmoothingFunction().method1
    distinct = pairs.select("reference", "answer").drop_nulls().unique(maintain_order=True)
    values = [
        float(sentence_bleu([tokens(reference)], tokens(answer), smoothing_function=smoothing))
        for reference, answer in distinct.iter_rows()
    ]
    return distinct.with_columns(pl.Series("bleu", values, pl.Float64()))


def signature() -> str:
    """What produced the value, with the installed version."""
    return signed(
        "bleu",
        library("nltk"),
        tokenizer="NLTKWordTokenizer by line, no punkt sentences",
        case="lower",
        smoothing="method1",
        weights="4-gram",
        averaging="mean of sentences",
    )


def _tokenizer() -> Callable[[str], list[str]]:
    from nltk.tokenize import NLTKWordTokenizer

    tokenize = NLTKWordTokenizer().tokenize
    return lru_cache(maxsize=1000)(
        lambda text: [token for line in text.lower().splitlines() for token in tokenize(line)]
    )
