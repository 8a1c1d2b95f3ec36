"""What neighbours in prefix order share, and the groups that this makes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import orjson
import polars as pl

from runner.request import Body

_MESSAGES = '"messages":'

PREFIX_ORDER = pl.col("body").str.slice(pl.col("body").str.find(_MESSAGES, literal=True))
"""Sort by it and bodies (``Body.to_json``) that begin alike stand together, whatever their other parameters.

In JSON a content stands before its role, and escaping keeps beginnings: texts that share one share its escaped form."""


def beginning(body: Body, chars: int) -> int | None:
    """A number for the first so many characters of a prompt's messages; None where it has no more than that.

    Only prompts that have it in common with another can begin with as much as that other one.
    """
    text = "".join(f"\x1e{message.role}\x1f{message.content}" for message in body.messages)
    if len(text) <= chars:
        return None
    digest = blake2b(text[:chars].encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


@dataclass(frozen=True, slots=True)
class Shared:
    """Of one prompt in prefix order: the characters of its contents, and how many the prompt before it begins with.

    ``with_last`` ends behind a message, a line or a word, so that no tokenizer joins what is shared to what is not.
    """

    chars: int
    with_last: int


@dataclass(frozen=True, slots=True)
class Group:
    """The prompts ``start`` to ``stop - 1``, as many as there are, that share their first ``end`` characters."""

    start: int
    stop: int
    end: int


def shared_beginnings(bodies: Iterable[str]) -> list[Shared]:
    """Of each body, in order, what it shares with the one before. Two prompts at a time are in memory."""
    found: list[Shared] = []
    last = ""
    for body in bodies:
        contents: list[str] = []
        flat: list[str] = []
        for message in orjson.loads(body)["messages"]:
            contents.append(message["content"])
            flat.append(f"\x1e{message['role']}\x1f{message['content']}")
        text = "".join((*flat, "\x1e"))
        common = _common(last, text) if found else 0
        found.append(Shared(sum(map(len, contents)), _whole(contents, flat, common)))
        last = text
    return found


def groups(shared: Sequence[Shared]) -> list[Group]:
    """The tree of beginnings: every largest group of at least two, an outer one before those within it."""
    found: list[Group] = []
    open_groups: list[tuple[int, int]] = []  # start and end, each within the one before
    for place, end in enumerate([*(each.with_last for each in shared[1:]), 0], 1):
        start = place - 1
        while open_groups and open_groups[-1][1] > end:
            start, inner = open_groups.pop()
            found.append(Group(start, place, inner))
        if end and (not open_groups or open_groups[-1][1] < end):
            open_groups.append((start, end))
    return sorted(found, key=lambda group: (group.start, -group.stop))


def _common(a: str, b: str) -> int:
    """Characters that two texts begin with alike, by comparing halves: no character is looked at in Python."""
    low, high = 0, min(len(a), len(b))
    if a[:high] == b[:high]:
        return high
    while high - low > 1:
        middle = (low + high) // 2
        if a[low:middle] == b[low:middle]:
            low = middle
        else:
            high = middle
    return low


def _whole(contents: Sequence[str], flat: Sequence[str], common: int) -> int:
    """The shared characters of the contents, cut back to the end of a message, a line or a word."""
    done = 0
    for content, framed in zip(contents, flat, strict=True):
        if common > len(framed):  # with the separator behind it
            done, common = done + len(content), common - len(framed)
            continue
        begun = content[: max(0, common - (len(framed) - len(content)))]
        return done + ((begun.rfind("\n") + 1) or max(0, begun.rfind(" ")))
    return done
