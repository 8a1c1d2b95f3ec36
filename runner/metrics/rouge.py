"""ROUGE-1 and ROUGE-L: the F measure of shared words, and of the longest common subsequence (Lin 2004); 0–1.

The values are those of ``rouge_score.RougeScorer(["rouge1", "rougeL"], use_stemmer=True)`` to the last bit: its
tokenizer's rules, nltk's Porter stemmer on words over three letters, and its formulas in its order. What makes
it fast: a text is tokenised once, a word is stemmed once, words are numbers, and the longest common subsequence
is rapidfuzz's bit-parallel one. A text without words scores 0.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from runner.metrics.signature import library
from runner.metrics.stems import stem

_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Words:
    """The stemmed words of a text as numbers, in order, and how often each occurs."""

    codes: list[int]
    counts: Counter[int]


def facts() -> dict[str, str]:
    """What the signature of anything built on these says, with the installed versions."""
    return {
        "by": f"own (equal to {library('rouge-score')})+{library('rapidfuzz')}",
        "tokenizer": "rouge-score",
        "stemmer": f"porter of {library('nltk')} (words over 3 letters)",
        "measure": "F1",
    }


def tokenizer() -> Callable[[str], Words]:
    """A function from texts to words; only words of the same tokenizer can be compared (the numbers are its own)."""
    code = _Codes().__getitem__

    @lru_cache(maxsize=2_000)
    def words(text: str) -> Words:
        found = list(map(code, _WORD.findall(text.lower())))
        return Words(found, Counter(found))

    return words


class _Codes(dict[str, int]):
    """Word → number; words with one stem have one number."""

    def __init__(self) -> None:
        super().__init__()
        self.roots: dict[str, int] = {}

    def __missing__(self, word: str) -> int:
        root = stem(word) if len(word) > 3 else word
        code = self[word] = self.roots.setdefault(root, len(self.roots))
        return code


def rouge_1(reference: Words, answer: Words) -> float:
    """F1 of the words that both have, each as often as both have it."""
    fewer, more = sorted((reference.counts, answer.counts), key=len)
    return _f1(sum(min(n, more[word]) for word, n in fewer.items() if word in more), reference, answer)


def rouge_l(reference: Words, answer: Words) -> float:
    """F1 of the longest common subsequence."""
    from rapidfuzz.distance import LCSseq

    return _f1(LCSseq.similarity(reference.codes, answer.codes), reference, answer)


def _f1(common: int, reference: Words, answer: Words) -> float:
    if not common:
        return 0.0
    precision, recall = common / len(answer.codes), common / len(reference.codes)
    # The order of the operations is rouge_score's: another one differs in the last bit.
    return 2 * precision * recall / (precision + recall)
