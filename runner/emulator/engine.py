"""What answers: a deterministic baseline that sees nothing but the prompt.

A prompt of the strict protocol is read by its tags. The score is the history's usual one, below zero where people
quarrel in the thread; the text is the reply, in the history or by the same author in the thread, whose parent
is most like the message to be answered. Any other prompt that asks for a sign or an integer gets the answer of a
labelled example in it, and the rest get a sentence out of it. Nothing raises.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b

from runner.emulator.thread import comments, is_heated, replies

DEFAULT_SCORE = 10
QUESTION_CHARS = 400
"""Of a prompt without tags, so much of its end is read as the question."""

TAIL_CHARS = 12_000
"""A sentence to answer with is looked for in so much of its end."""

FEW_SCORES = 3
MANY_BELOW = 0.3
"""From so large a share on, somebody is one whose replies end below zero."""

SENTENCE_CHARS = (20, 300)
"""What is shorter is no answer; what is longer is cut."""

TAG = re.compile(r"</?[a-z_]+(?:\s[^<>]*)?>")
WORD = re.compile(r"\w+")
INTEGER = re.compile(r"\b(?:integer|whole number|numeric(?:al)? score|exact score)\b", re.IGNORECASE)
INTEGER_TEXT = re.compile(r"\s*([+-]?\d{1,15})\s*")
SENTENCE = re.compile(r"[^.!?\n]+[.!?]?")
LABEL = r"(?:answer|label|prediction|(?:true|exact|actual) score)(?:\s+(?:is|was))?\W{1,6}?"
LABELLED_SIGN = re.compile(LABEL + r"(positive|negative)\b(?!\W{1,3}or\b)", re.IGNORECASE)
LABELLED_VALUE = re.compile(LABEL + r"([+-]?\d{1,15})\b", re.IGNORECASE)


def answer(prompt: str, *, choice: int = 0, plain: bool = False) -> str:
    """The text for a prompt; ``choice`` numbers the n answers of one request; ``plain`` never varies its form."""
    question = _inside(prompt, "question")
    if question is None:
        question = prompt[-QUESTION_CHARS:]
    luck = int.from_bytes(blake2b(prompt.encode("utf-8", "replace"), digest_size=4).digest(), "big") + choice
    kind = _kind(question)
    history = prompt.partition("<history")[2].rpartition("</history>")[0]
    items = [item.partition("</item>")[0] for item in history.split("<item>")[1:]]
    thread = comments(_inside(prompt, "thread") or "")
    if kind == "sign":
        is_positive = (_usual_score(items) or _labelled_sign(prompt)) >= 0 and not is_heated(thread)
        if choice and luck % 8 == 0:
            is_positive = not is_positive
        return _dress("positive" if is_positive else "negative", luck, plain)
    if kind == "value":
        value = _usual_score(items)
        value = _labelled_value(prompt) if value is None else value
        value = -abs(value) if is_heated(thread) else value
        return _dress(str(value + (choice if choice and luck % 2 else 0)), luck, plain)
    text = _text(prompt, items, replies(thread, _inside(prompt, "post") or ""), choice)
    return text if plain or luck % 32 else f'"{text}"'


def _kind(question: str) -> str:
    """``sign``, ``value`` or ``text``, by the words of the question."""
    low = question.lower()
    if "text of the reply" in low:
        return "text"
    names_both = "positive" in low and "negative" in low
    if names_both and ("one word" in low or "single word" in low):
        return "sign"
    if INTEGER.search(low):
        return "value"
    return "sign" if names_both else "text"


def _usual_score(items: list[str]) -> int | None:
    """The middle size of the history's scores, below zero where many are; of few scores the newest.

    None where the prompt has no history with scores.
    """
    found = (INTEGER_TEXT.fullmatch(_inside(item, "score") or "") for item in items)
    scores = [int(each.group(1)) for each in found if each]
    if len(scores) < FEW_SCORES:
        return scores[-1] if scores else None
    size = sorted(map(abs, scores))[len(scores) // 2]
    return -size if sum(score < 0 for score in scores) >= MANY_BELOW * len(scores) else size


def _labelled_sign(prompt: str) -> int:
    labels = LABELLED_SIGN.findall(prompt)
    return -1 if labels and labels[-1].lower() == "negative" else 1


def _labelled_value(prompt: str) -> int:
    labels = LABELLED_VALUE.findall(prompt)
    return int(labels[-1]) if labels else DEFAULT_SCORE


def _dress(word: str, luck: int, plain: bool) -> str:
    """Now and then the form that a chatty model gives to a bare word."""
    forms = {0: f"{word.capitalize()}.", 1: f"**{word}**", 2: f"The score is {word}", 3: f"{word}\n"}
    return word if plain else forms.get(luck % 32, word)


def _text(prompt: str, items: list[str], said: list[tuple[str, str]], choice: int) -> str:
    """The reply whose parent shares most words with the message (ties: the newest); choice k is the k-th best.

    ``said`` are the author's replies in the thread, which are newer than the history's.
    """
    pairs = [(_inside(item, "parent") or "", (_inside(item, "reply") or "").strip()) for item in items]
    known = [pair for pair in (*pairs, *said) if pair[1]]
    if known:
        wanted = _words(_inside(prompt, "message") or _inside(prompt, "target") or "")
        ranked = sorted(range(len(known)), key=lambda i: (_overlap(_words(known[i][0]), wanted), i), reverse=True)
        return known[ranked[choice % len(ranked)]][1]
    seen = TAG.sub("\n", prompt[-TAIL_CHARS:]).strip()
    shortest, longest = SENTENCE_CHARS
    sentences = [found.group().strip()[:longest] for found in SENTENCE.finditer(seen)]
    sentences = [found for found in sentences if len(found) >= shortest] or [seen[:200] or "I see."]
    return sentences[choice % len(sentences)]


def _inside(text: str, tag: str) -> str | None:
    """What stands in the last pair of these tags; a missing end is the end of the text."""
    start = text.rfind(f"<{tag}>")
    if start < 0:
        return None
    start += len(tag) + 2
    end = text.find(f"</{tag}>", start)
    return text[start : end if end >= 0 else None]


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(WORD.findall(text.lower()))


def _overlap(a: frozenset[str], b: frozenset[str]) -> float:
    """Jaccard's index."""
    return len(a & b) / len(a | b) if a and b else 0.0
