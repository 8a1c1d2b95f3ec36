"""Sentence BLEU (Papineni et al. 2002) as sacrebleu computes it: 13a tokens, exponential smoothing, effective order."""

from __future__ import annotations

from functools import cache
from typing import Any

from runner.metrics.signature import library
from runner.metrics.signature import signature as signed


def score(reference: str, answer: str) -> float:
    """``sacrebleu.sentence_bleu`` over 100: 0–1."""
    return float(_metric().sentence_score(answer, [reference]).score) / 100


def signature() -> str:
    """What produced the value, with the installed version and sacrebleu's own signature."""
    _metric().sentence_score("a", ["a"])  # its signature knows the number of references only after a score
    ours = signed("bleu", library("sacrebleu"), scale="0-1", averaging="weighted mean of sentences")
    return f"{ours}|sacrebleu:[{_metric().get_signature()}]"


@cache
def _metric() -> Any:
    from sacrebleu.metrics.bleu import BLEU

    return BLEU(effective_order=True)
