"""Words as evaluations written with nltk have them: lower case, ``NLTKWordTokenizer``, line by line.

``nltk.word_tokenize`` first cuts a line into sentences with a model that has to be downloaded (punkt); without
it a full stop inside a line stays with its word. Signatures say so: values differ a little from those with punkt.

The tokenizer's thirty patterns look no farther than the spaces around a piece of text, but at the beginning and the
end of a line. So a piece is tokenised once for all places in which it stands between spaces. And most pieces are
plain words with or without a mark behind, of which no pattern changes more than that mark's place.
"""

from __future__ import annotations

from functools import cache, lru_cache
from itertools import chain
from typing import Any

FACTS = {"tokenizer": "NLTKWordTokenizer by line, no punkt sentences", "case": "lower"}
"""What the signature of anything built on these words says."""

_CLOSING = frozenset("])}>\"'»”’")
"""What may stand between the full stop that ends a line and the end (see the tokenizer's PUNCTUATION)."""
_MARKS = frozenset(",;:?!")
_LAST_MARKS = _MARKS | {"."}


@lru_cache(maxsize=2_000)
def words(text: str) -> tuple[str, ...]:
    """The words of a text, punctuation included; a text that comes again soon is not tokenised again."""
    return tuple(chain.from_iterable(map(_line, text.lower().splitlines())))


def _line(line: str) -> list[str]:
    if not line.isprintable():  # the only white space that is printable is the space
        return _tokenized(line)
    pieces = line.split()
    ending = len(pieces) - 1
    while ending > 0 and _CLOSING.issuperset(pieces[ending]):
        ending -= 1
    if ending < 1:
        return _tokenized(line)
    first = _between(pieces[0]) if line[0] == " " else _leading(pieces[0])
    middle = chain.from_iterable(map(_between, pieces[1:ending]))
    last = " ".join(pieces[ending:]) + " " * (line[-1] == " ")
    return [*first, *middle, *_trailing(last)]


# Each stands beside a word that changes nothing, and that is taken away again.


@lru_cache(maxsize=20_000)
def _leading(piece: str) -> tuple[str, ...]:
    return _plain(piece, _MARKS) or tuple(_tokenized(f"{piece} x")[:-1])


@lru_cache(maxsize=200_000)
def _between(piece: str) -> tuple[str, ...]:
    return _plain(piece, _MARKS) or tuple(_tokenized(f"x {piece} x")[1:-1])


@lru_cache(maxsize=20_000)
def _trailing(pieces: str) -> tuple[str, ...]:
    return _plain(pieces, _LAST_MARKS) or tuple(_tokenized(f"x {pieces}")[1:])


def _plain(piece: str, marks: frozenset[str]) -> tuple[str, ...]:
    """The words of a piece that is ASCII letters and digits, with or without a mark; nothing for any other."""
    is_marked = piece[-1] in marks
    word = piece[:-1] if is_marked else piece
    if not (word.isascii() and word.isalnum()) or any(each.search(f" {word} ") for each in _tokenizer().CONTRACTIONS2):
        return ()
    return (word, piece[-1]) if is_marked else (word,)


def _tokenized(line: str) -> list[str]:
    found: list[str] = _tokenizer().tokenize(line)
    return found


@cache
def _tokenizer() -> Any:
    from nltk.tokenize import NLTKWordTokenizer

    return NLTKWordTokenizer()
