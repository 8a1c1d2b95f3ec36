"""METEOR: words matched exactly, by stem, or as synonyms, less for every break in their order; 0–1.

The value is that of ``nltk.translate.meteor_score`` with its default parameters (Lavie and Agarwal 2007), because
it is computed by it; so it also looks up synonyms of stems, not of words, and finds fewer than it could. It is given
a stemmer and a WordNet that remember, and of a word's synonyms only those that the reference has: the others cannot
match. WordNet is data that has to be fetched once; nltk itself says nothing when it is absent and every word happens
to match exactly, so it is looked for before anything is scored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import Any

from runner.metrics import nltk_words
from runner.metrics.signature import library
from runner.metrics.signature import signature as signed
from runner.metrics.stems import stem

VERSION = "3.0"
_HELP = "make wordnet"


def missing() -> str | None:
    """None when METEOR can be computed; otherwise why not, and how to mend it."""
    from nltk.corpus.reader import WordNetError

    try:
        found = _wordnet().get_version()
    except LookupError:
        return f"METEOR needs WordNet: {_HELP}"
    except (OSError, ValueError, AssertionError, WordNetError):
        return f"METEOR needs WordNet, and the one that is there cannot be read: {_HELP}"
    return None if found == VERSION else f"METEOR needs WordNet {VERSION}, and version {found} is there: {_HELP}"


def score(reference: str, answer: str) -> float:
    """METEOR of an answer; 0 when nothing matches. Raises LookupError without WordNet (see ``missing``)."""
    from nltk.translate.meteor_score import meteor_score

    expected = nltk_words.words(reference)
    # nltk compares synonyms with the stems that are left of the reference.
    can_match = frozenset((*expected, *map(stem, expected)))
    return float(meteor_score([expected], nltk_words.words(answer), stemmer=_Stemmer(), wordnet=_Synonyms(can_match)))


def signature() -> str:
    """What produced the value, with the installed version and that of the data."""
    return signed(
        "meteor",
        library("nltk"),
        **nltk_words.FACTS,
        stemmer="porter",
        synonyms=f"WordNet {VERSION}",
        alpha=0.9,
        beta=3.0,
        gamma=0.5,
        averaging="weighted mean of sentences",
    )


@lru_cache(maxsize=200_000)
def _names(word: str) -> frozenset[str]:
    """All one-word names of what a word can mean."""
    names = (lemma.name() for synset in _wordnet().synsets(word) for lemma in synset.lemmas())
    return frozenset(name for name in names if "_" not in name)


def _wordnet() -> Any:
    """WordNet from nltk's data folders. Raises LookupError when it is in none of them."""
    import nltk.data

    return _read(tuple(nltk.data.path))


@cache
def _read(folders: tuple[str, ...]) -> Any:
    from nltk.corpus.reader import WordNetCorpusReader
    from nltk.corpus.util import LazyCorpusLoader

    class English(WordNetCorpusReader):  # type: ignore[misc]
        """Without the map to other languages' WordNets, which takes four times as long as the rest, and in memory
        (25 MB): that is twice as fast, and processes forked from this one do not move each other's place in a file.
        """

        def map_wn(self, version: str = "wordnet") -> None:
            """No map."""

        def open(self, file: str) -> Any:
            """A file of the database; in an archive nltk's way."""
            path = Path(str(self.abspath(file)))
            return TextIOWrapper(BytesIO(path.read_bytes()), "utf-8") if path.is_file() else super().open(file)

    other_languages = object()  # never asked; None would make nltk warn
    loader = LazyCorpusLoader("wordnet", English, other_languages)
    loader.get_version()  # reads it, from the first of nltk's folders that has it
    return loader


class _Stemmer:
    """What nltk asks of a stemmer."""

    stem = staticmethod(stem)


@dataclass(frozen=True, slots=True)
class _Synonyms:
    """What nltk asks of WordNet: the synsets of a word, here one with the names that can match."""

    can_match: frozenset[str]

    def synsets(self, word: str) -> tuple[_Synset, ...]:
        return (_Synset(self.can_match & _names(word)),)


@dataclass(frozen=True, slots=True)
class _Synset:
    names: Iterable[str]

    def lemmas(self) -> list[_Lemma]:
        return [_Lemma(name) for name in self.names]


class _Lemma(str):
    """A name that can be asked for itself."""

    __slots__ = ()

    def name(self) -> str:
        return str(self)
