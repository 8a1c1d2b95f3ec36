"""The thread of a prompt, read without understanding it: who says what to whom, and in what mood."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

COMMENT = re.compile(r"^#(\d{1,9}) \(to #(\d{1,9})\) ([^:\n]{1,40}): ", re.MULTILINE)
AUTHOR = "OP"
"""The name by which a prompt calls the author whose reply is asked for."""

HARSH = frozenset(
    "clearly bad dumb fails falls hate idiotic ignorant lazy liar lies nonsense pathetic pretending ridiculous rude "
    "stop stupid terrible tired useless waste worst wrong".split()
)
KIND = frozenset(
    "agree appreciate awesome beautiful congratulations glad good great happy helped helpful helps kind love lovely "
    "nice thank thanks welcome wonderful".split()
)
WORD = re.compile(r"\w+")
HEATED = 0.1
"""A quarrel: so many harsh words more than kind ones per comment."""

FEWEST = 3
"""A shorter thread has no mood."""


@dataclass(frozen=True)
class Comment:
    """One comment: its number, that of what it answers (0: the post), and its text."""

    number: int
    answered: int
    name: str
    text: str


def comments(thread: str) -> list[Comment]:
    """The comments of a thread block, in its order; empty for a text that is none."""
    found = list(COMMENT.finditer(thread))
    ends = [*(each.start() for each in found), len(thread)][1:]
    return [
        Comment(int(each[1]), int(each[2]), each[3], thread[each.end() : end].strip())
        for each, end in zip(found, ends, strict=False)
    ]


def is_heated(thread: Sequence[Comment]) -> bool:
    """Whether people quarrel there: harsh words outnumber the kind ones."""
    if len(thread) < FEWEST:
        return False
    words = [word for comment in thread for word in WORD.findall(comment.text.lower())]
    harsh, kind = sum(word in HARSH for word in words), sum(word in KIND for word in words)
    return harsh - kind > HEATED * len(thread)


def replies(thread: Sequence[Comment], post: str) -> list[tuple[str, str]]:
    """What the author has replied in it so far, each behind what it answers."""
    texts = {0: post, **{comment.number: comment.text for comment in thread}}
    return [(texts.get(each.answered, ""), each.text) for each in thread if each.name == AUTHOR and each.text]
