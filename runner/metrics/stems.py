"""nltk's Porter stemmer, which takes longer for a word than a match does: a process stems a word once."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any


@lru_cache(maxsize=200_000)
def stem(word: str) -> str:
    """What ``nltk.stem.porter.PorterStemmer().stem`` makes of a word."""
    return str(_porter().stem(word))


@cache
def _porter() -> Any:
    from nltk.stem.porter import PorterStemmer

    return PorterStemmer()
