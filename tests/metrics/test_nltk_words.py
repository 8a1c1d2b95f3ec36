"""Words are those of nltk's tokenizer, however they were found."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from nltk.tokenize import NLTKWordTokenizer

from runner.metrics import nltk_words
from tests.metrics.texts import HAND_MADE, drawn

TOKENIZE = NLTKWordTokenizer().tokenize
# What the tokenizer's patterns look at, alone and in the company in which they look at it.
PIECES = [
    *"abxt1 '\".,:;!?()[]{}<>-–—`«»“”‘’„*&%$#@\\/_~|…é\t\u200d\u00a0\u3000\x1c",
    *"'' `` -- ... 's 're n't 'tis 'twas d'ye more'n cannot gonna wanna lemme can not whaddya 1,2 word.".split(),
    *(" ", " ", " ", " ", "  ", " ' ", " '' ", ' " ', ". )", '." ', ".' ", "'. ", " . ", ": ", ", ", "' ", "\n"),
]


def _of_nltk(text: str) -> tuple[str, ...]:
    return tuple(word for line in text.lower().splitlines() for word in TOKENIZE(line))


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join))
def test_any_company_of_what_the_tokenizer_looks_at(text: str) -> None:
    assert nltk_words.words(text) == _of_nltk(text)


def test_thousands_of_texts() -> None:
    draw = random.Random(8)
    odd = ["".join(draw.choices(PIECES, k=draw.randint(1, 14))) for _ in range(4_000)]
    like_language = [text for pair in drawn(300, seed=9).rows() for text in pair]
    for text in [*odd, *like_language, *(text for pair in HAND_MADE for text in pair)]:
        assert nltk_words.words(text) == _of_nltk(text), text
