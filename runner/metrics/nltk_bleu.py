"""Sentence BLEU the way evaluations written with nltk report it: method 1 smoothing, lower case, 4-grams, 0–1."""

from __future__ import annotations

import polars as pl

from runner.metrics import nltk_words
from runner.metrics.signature import library
from runner.metrics.signature import signature as signed

SCHEMA: dict[str, pl.DataType] = {"reference": pl.String(), "answer": pl.String(), "bleu": pl.Float64()}


def score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per distinct (``reference``, ``answer``) without nulls, with ``bleu`` (Papineni et al. 2002)."""
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    words, smoothing = nltk_words.words, SmoothingFunction().method1
    distinct = pairs.select("reference", "answer").drop_nulls().unique(maintain_order=True)
    values = [
        float(sentence_bleu([words(reference)], words(answer), smoothing_function=smoothing))
        for reference, answer in distinct.iter_rows()
    ]
    return distinct.with_columns(pl.Series("bleu", values, pl.Float64()))


def signature() -> str:
    """What produced the value, with the installed version."""
    facts = {**nltk_words.FACTS, "smoothing": "method1", "weights": "4-gram", "averaging": "mean of sentences"}
    return signed("bleu", library("nltk"), **facts)
