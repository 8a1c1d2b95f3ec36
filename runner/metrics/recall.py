"""Is the answer this person's own reply? Its rank among real replies, and words that can only be remembered.

Reference rank: the share of other real replies to which the answer is less close than to the true one; .5 by
chance. Memorisation: ``WORDS`` or more words of the reference in a row that the answer has and its prompt lacks.
Words are there runs of letters and digits in lower case, the same in all three texts; a script that does not
part words counts a sentence as one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import polars as pl

from runner.metrics import rouge
from runner.metrics.signature import signature

WORDS = 8
_WORD = re.compile(r"\w+")


def reference_rank(frame: pl.DataFrame) -> pl.Series:
    """Per row of ``reference``, ``answer``, ``others`` (list of texts): the share of others that the reference beats.

    Closeness is ROUGE-L; a tie counts half. Null where the answer or the reference is null, and where there are no
    others (an empty list, a null, or nothing but nulls).
    """
    words = rouge.tokenizer()
    ranks: list[float | None] = []
    for reference, answer, others in frame.select("reference", "answer", "others").iter_rows():
        rivals = [other for other in others or () if other is not None]
        if reference is None or answer is None or not rivals:
            ranks.append(None)
            continue
        given = words(answer)
        own = rouge.rouge_l(words(reference), given)
        near = [rouge.rouge_l(words(other), given) for other in rivals]
        ranks.append(sum(1.0 if each < own else 0.5 if each == own else 0.0 for each in near) / len(near))
    return pl.Series("reference_rank", ranks, pl.Float64())


def shared_runs(pairs: pl.DataFrame) -> pl.Series:
    """Per row of ``reference``, ``answer``: the stretches of the answer whose every ``WORDS`` words stand in the
    reference in a row; mostly an empty list. Null where one of the two is null.

    Only for an answer that has some the prompt has to be looked at (``lacks``).
    """
    runs: list[list[str] | None] = []
    last: tuple[str, frozenset[str]] | None = None
    for reference, answer in pairs.select("reference", "answer").iter_rows():
        if reference is None or answer is None:
            runs.append(None)
            continue
        if last is None or last[0] != reference:
            last = (reference, frozenset(_windows(_words(reference))))
        runs.append(_runs(last[1], _words(answer)))
    return pl.Series("shared_runs", runs, pl.List(pl.String))


def lacks(prompt: str, runs: Iterable[str]) -> bool:
    """Whether ``WORDS`` words in a row of one of the runs (see ``shared_runs``) are nowhere in the prompt."""
    text = f" {' '.join(_words(prompt))} "
    return any(f" {window} " not in text for run in runs for window in _windows(run.split(" ")))


def signatures() -> dict[str, str]:
    """What produced each metric: the two ranks differ in who wrote the other replies."""
    facts = {**rouge.facts(), "closeness": "rouge_l", "ties": "half", "averaging": "weighted mean"}
    ranks = {name: signature(name, **facts) for name in ("rank_strangers", "rank_author")}
    tokenizer = r"\w+ in lower case"
    recalled = signature("recalled", "own", words=WORDS, tokenizer=tokenizer, averaging="weighted share", version=1)
    return {**ranks, "recalled": recalled}


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _windows(words: Sequence[str]) -> list[str]:
    """Every ``WORDS`` words in a row."""
    return [" ".join(words[at : at + WORDS]) for at in range(len(words) - WORDS + 1)]


def _runs(known: frozenset[str], words: Sequence[str]) -> list[str]:
    """Maximal stretches of words of which every window is known."""
    places = {at for at, window in enumerate(_windows(words)) if window in known}
    starts = sorted(at for at in places if at - 1 not in places)
    ends = sorted(at + WORDS for at in places if at + 1 not in places)
    return [" ".join(words[start:end]) for start, end in zip(starts, ends, strict=True)]
