"""How near one text is to another: ROUGE-1, ROUGE-L, sentence BLEU, length ratio; all on 0–1 but the last.

The ROUGE values are those of ``rouge_score.RougeScorer(use_stemmer=True)`` to the last bit (its own tokenizer
and formulas; F measure), but stems are remembered and the longest common subsequence is rapidfuzz's: twenty
times faster. BLEU is sacrebleu's ``sentence_bleu`` (13a tokens, exponential smoothing, effective order) over
100. Length ratio is whitespace words of the answer over those of the reference, null where that has none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import lru_cache

import polars as pl

from runner.metrics.signature import library, signature

QUALITY = ("rouge_l", "rouge_1", "bleu")
"""Those of which more is better; the length ratio is best at 1."""

SCHEMA: dict[str, pl.DataType] = {
    "reference": pl.String(),
    "answer": pl.String(),
    "rouge_l": pl.Float64(),
    "rouge_1": pl.Float64(),
    "bleu": pl.Float64(),
    "length_ratio": pl.Float64(),
}


def score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per distinct (``reference``, ``answer``) with the four metrics (see ``SCHEMA``).

    Pairs with a null are left out. Needs nothing but its rows, so a partition of a table can be given to any
    process; pairs with the same reference are cheapest in one partition.
    """
    tokens, bleu = _tokenizer(), _bleu()
    columns: list[tuple[str, str, float, float, float, float | None]] = []
    by_reference = (
        pairs.select("reference", "answer")
        .drop_nulls()
        .unique(maintain_order=True)
        .group_by("reference", maintain_order=True)
        .agg("answer")
    )
    for reference, answers in by_reference.iter_rows():
        expected, words = tokens(reference), len(reference.split())
        for answer in answers:
            rouge_l, rouge_1 = _rouge(expected, tokens(answer))
            length = len(answer.split()) / words if words else None
            columns.append((reference, answer, rouge_l, rouge_1, bleu(answer, reference), length))
    return pl.DataFrame(columns, schema=SCHEMA, orient="row")


def signatures() -> dict[str, str]:
    """What produced each metric, with the installed versions."""
    rouge = {
        "by": library("rouge-score", "nltk", "rapidfuzz"),
        "tokenizer": "rouge-score",
        "stemmer": "porter (words over 3 letters)",
        "measure": "F1",
        "averaging": "weighted mean",
    }
    return {
        "rouge_l": signature("rouge_l", **rouge),
        "rouge_1": signature("rouge_1", **rouge),
        "bleu": signature("bleu", library("sacrebleu"), scale="0-1", averaging="weighted mean of sentences")
        + f"|sacrebleu:[{_sacrebleu_signature()}]",
        "length_ratio": signature(
            "length_ratio", "own", tokenizer="whitespace", averaging="weighted mean of ratios", version=1
        ),
    }


def _rouge(expected: list[str], given: list[str]) -> tuple[float, float]:
    """ROUGE-L and ROUGE-1 F1 of two token lists (Lin 2004)."""
    from rapidfuzz.distance import LCSseq

    if not expected or not given:
        return 0.0, 0.0
    common = (Counter(expected) & Counter(given)).total()
    return _f1(LCSseq.similarity(expected, given), expected, given), _f1(common, expected, given)


def _f1(common: int, expected: list[str], given: list[str]) -> float:
    precision, recall = common / len(given), common / len(expected)
    # The order of the operations is rouge_score's: another one differs in the last bit.
    return 2 * precision * recall / (precision + recall) if precision + recall > 0 else 0.0


def _tokenizer() -> Callable[[str], list[str]]:
    from rouge_score.tokenize import tokenize

    stemmer = _RememberingStemmer()
    return lambda text: tokenize(text, stemmer)


class _RememberingStemmer:
    """What rouge_score asks of a stemmer; a word is stemmed once."""

    def __init__(self) -> None:
        from nltk.stem.porter import PorterStemmer

        self.stem = lru_cache(maxsize=200_000)(PorterStemmer().stem)


def _bleu() -> Callable[[str, str], float]:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    return lambda answer, reference: float(metric.sentence_score(answer, [reference]).score) / 100


def _sacrebleu_signature() -> str:
    from sacrebleu.metrics.bleu import BLEU

    metric = BLEU(effective_order=True)
    metric.sentence_score("a", ["a"])  # the signature knows the number of references only after a score
    return str(metric.get_signature())
