"""Pairs of texts to score: hand-made ones with every oddity, and drawn ones that share words, stems and synonyms."""

from __future__ import annotations

import random

import polars as pl

LONG = " ".join(f"word{i % 97}ing" for i in range(4_000))
HAND_MADE = [
    ("the cat sat on the mat", "the cat sat on the mat"),
    ("running runners ran", "a runner runs"),
    ("apples are red", "quick brown foxes"),
    ("one", "one"),
    ("one", ""),
    ("", "one"),
    ("", ""),
    ("...", "!?"),
    ("Ünïcödé 日本語 text", "unicode 日本語 TEXT"),
    ("a\u2028b\tc\nd", "a b c d"),
    ("1,234 & 5.6 don't", "1234 &amp; 5.6 do n't"),
    ("I I I I", "I"),
    ("emoji 👍🏽 ok", "ok 👍🏽"),
    ("İstanbul ﬁne Kelvin ſtreet", "istanbul fine kelvin street"),
    (LONG[:9_000], LONG[3_000:15_000]),
    (LONG, " ".join(LONG.split()[::3])),
]
_WORDS = (
    "the a of and I you it is was to not can't wanna don't so that this with , . ... \" ' ( ) ; -- ? 12 3.5 "
    "big large great little small car auto automobile movie film pictures buy purchased bought begin started starting "
    "begun happy glad felicitous smart clever bright doctor physician doc house home dwelling quickly fast speedily "
    "talk talks talking speak spoke job work working worker occupations kid child children tike answer reply replied "
    "wrong incorrect mistaken fix repair mended mending street road intelligent money cash nationally nations flies"
).split()


def drawn(n: int, seed: int, longest: int = 60) -> pl.DataFrame:
    """n pairs of up to ``longest`` words; answers are other texts, or the reference mended here and there."""
    draw = random.Random(seed)

    def words() -> list[str]:
        return draw.choices(_WORDS, k=draw.randint(0, longest))

    def changed(old: list[str]) -> list[str]:
        return [draw.choice(_WORDS) if draw.random() < 0.4 else word for word in old if draw.random() < 0.9]

    rows = []
    for _ in range(n):
        reference = words()
        answer = changed(reference) if draw.random() < 0.5 else words()
        rows.append((" ".join(reference), " ".join(answer).replace(" . ", draw.choice((". ", " .\n", " . ")))))
    return pl.DataFrame(rows, schema=["reference", "answer"], orient="row")
