"""The overlap rule of 3.3: how much of a reference can be read in the prompts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import NDArray

from runner.benchmarks.personaconvbench.clean import normalise
from runner.benchmarks.personaconvbench.strict.limits import SHINGLE_SHARE, SHINGLE_WORDS, WHOLE_CHARS
from runner.benchmarks.personaconvbench.strict.threads import Bools, Ints, Threads

_CHUNK = 50_000
_QUOTE = re.compile(r"\s*(?:>|&gt;)(?!!)")
Hashes = NDArray[np.uint64]


def without_quotes(text: str) -> str:
    """The text without its quote lines (``> …``): what the author wrote himself. The reference of 3.3.

    A line that begins with a spoiler (``>!…!<``) is his own.
    """
    return "\n".join(line for line in text.split("\n") if not _QUOTE.match(line)).strip()


def overlaps(reference: str, texts: Iterable[str]) -> bool:
    """Whether half or more of the reference's 8-word shingles, or all its 40 or more characters, stand in the texts.

    All compared normalised; a shingle or a reference that runs over the end of a text does not count.
    """
    words = normalise(reference).split()
    whole = " ".join(words)
    shingles = {" ".join(words[i : i + SHINGLE_WORDS]) for i in range(len(words) - SHINGLE_WORDS + 1)}
    if not shingles and len(whole) < WHOLE_CHARS:
        return False
    seen = "\n".join(_normalised(text) for text in texts)
    if len(whole) >= WHOLE_CHARS and f" {whole} " in seen:
        return True
    missing_allowed = (1 - SHINGLE_SHARE) * len(shingles)
    for shingle in shingles:
        if f" {shingle} " not in seen:
            missing_allowed -= 1
            if missing_allowed < 0:
                return False
    return bool(shingles)


def _normalised(text: str) -> str:
    """`` normalise(text) ``, with a space at either end, from its lines: the same ones stand in many prompts."""
    return f" {' '.join(filter(None, map(_line, text.split(chr(10)))))} "


@lru_cache(maxsize=1 << 16)
def _line(line: str) -> str:
    # A line of nothing but punctuation is nothing inside a text; alone, normalise would keep it.
    return normalise(f"a {line}")[2:]


def may_overlap(threads: Threads, rows: Ints) -> Bools:
    """For each reply, whether ``overlaps`` could hold for any prompt at all: an upper bound from the whole corpus.

    Looks up the references' shingles in every other text at once, so that only the few suspicious replies need
    their prompts looked through. References too short for a shingle are suspicious when they have 40 characters.
    """
    references = [normalise(without_quotes(text)) for text in threads.comments.text.gather(rows)]
    short = np.array([len(text) >= WHOLE_CHARS and text.count(" ") < SHINGLE_WORDS - 1 for text in references], bool)
    owner, hashes = _shingles(references)
    known, first_seen = np.unique(hashes, return_inverse=True)
    lowest = np.full(len(known), np.iinfo(np.int64).max)
    highest = np.full(len(known), -1)
    for texts, ids in _all_texts(threads):
        text, found = _shingles([normalise(text) for text in texts])
        at = np.searchsorted(known, found)
        hit = (at < len(known)) & (known[np.minimum(at, len(known) - 1)] == found) if len(known) else at < 0
        np.minimum.at(lowest, at[hit], ids[text[hit]])
        np.maximum.at(highest, at[hit], ids[text[hit]])
    own = rows[owner]
    elsewhere = (lowest[first_seen] != own) | (highest[first_seen] != own)
    pairs = pl.DataFrame({"owner": owner, "shingle": hashes, "elsewhere": elsewhere}).unique(["owner", "shingle"])
    shares = pairs.group_by("owner").agg(pl.col("elsewhere").mean())
    suspicious = short.copy()
    suspicious[shares.filter(pl.col("elsewhere") >= SHINGLE_SHARE)["owner"].to_numpy()] = True
    return suspicious


def _all_texts(threads: Threads) -> Iterator[tuple[list[str], Ints]]:
    """Every text a prompt may show, in chunks, with an id: the comment's row, or one past all rows for a post's."""
    n = len(threads)
    for low in range(0, n, _CHUNK):
        chunk = threads.comments.text[low : low + _CHUNK].to_list()
        yield chunk, np.arange(low, low + len(chunk))
    for series in (threads.posts.title, threads.posts.body):
        yield series.to_list(), np.full(len(series), n)


def _shingles(texts: list[str]) -> tuple[Ints, Hashes]:
    """``(index of the text, hash)`` of every run of 8 words of normalised texts."""
    words = pl.DataFrame({"text": np.arange(len(texts)), "word": pl.Series(texts, dtype=pl.String).str.split(" ")})
    words = words.explode("word").select("text", pl.col("word").hash(seed=8))
    text, word = words["text"].to_numpy(), words["word"].to_numpy()
    n = max(0, len(text) - SHINGLE_WORDS + 1)
    hashes = np.zeros(n, dtype=np.uint64)
    for offset in range(SHINGLE_WORDS):
        hashes = hashes * np.uint64(0x9E3779B97F4A7C15) + word[offset : offset + n]
        hashes ^= hashes >> np.uint64(29)
    inside = text[:n] == text[SHINGLE_WORDS - 1 :]
    return text[:n][inside], hashes[inside]
