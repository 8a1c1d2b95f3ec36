"""A post and its comments as a flat list: cleaning, times and positional ids as the reference has them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

DELETED = ("[deleted]", "[removed]")
_TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?(Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class Node:
    """The post (index 0) or a comment; ``parent`` and ``top`` are indices (``top``: of its top-level comment)."""

    fields: Mapping[str, Any]
    parent: int
    top: int

    @property
    def author(self) -> str | None:
        """The name as written; None when null, empty or not a string. ``[deleted]`` is an ordinary name."""
        name = self.fields.get("author")
        return name if isinstance(name, str) and name else None

    @property
    def text(self) -> str:
        """The cleaned body of a comment, or content of a post (``body`` where the content is null)."""
        if self.parent >= 0:
            return clean(self.fields.get("body"))
        content = self.fields.get("content")
        return clean(self.fields.get("body") if content is None else content)

    @property
    def time(self) -> datetime | None:
        """The parsed timestamp, UTC."""
        return read_time(self.fields.get("timestamp"))

    @property
    def score(self) -> int | float | None:
        """The score when it is a number. A bool passes, as in the reference; a numeric string does not.

        NaN and infinities, which the reference lets through, are no score here: they have no order.
        """
        value = self.fields.get("score")
        if isinstance(value, (int, float)) and abs(value) != float("inf") and value == value:
            return value
        return None


Thread = list[Node]


def clean(text: object) -> str:
    """Null becomes empty, each line break one space, ends are stripped; nothing else changes."""
    return text.replace("\r", " ").replace("\n", " ").strip() if isinstance(text, str) else ""


def is_deleted(text: str) -> bool:
    """The marker as task 3.3 knows it: cleaned text, compared with its case."""
    return text in DELETED


def is_usable(text: str) -> bool:
    """Non-empty and no marker in any case: what tasks 3.1 and 3.2 ask of a text."""
    return bool(text) and text.lower() not in DELETED


def read_time(text: object) -> datetime | None:
    """An ISO time with blank or T, with fraction, ``Z``, offset or nothing (then UTC); else None.

    A number (an epoch) crashes the reference; here it is a time that cannot be read, so no candidate.
    """
    if not isinstance(text, str) or not _TIME.fullmatch(text.strip()):
        return None
    try:
        time = datetime.fromisoformat(text.strip())
        return time.replace(tzinfo=UTC) if time.tzinfo is None else time.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def members(fields: Mapping[str, Any], key: str) -> list[dict[str, Any]]:
    """The comment objects of a list; whatever is not an object is skipped, no list is an empty one."""
    items = fields.get(key)
    return [item for item in items if isinstance(item, dict)] if isinstance(items, list) else []


def flatten(post: Mapping[str, Any]) -> Thread:
    """All nodes in depth-first preorder, the post first: a comment's index is its number in positional ids."""
    thread = [Node(post, -1, 0)]
    waiting = [(comment, 0) for comment in reversed(members(post, "comments"))]
    while waiting:
        fields, parent = waiting.pop()
        here = len(thread)
        thread.append(Node(fields, parent, thread[parent].top or here))
        waiting.extend((reply, here) for reply in reversed(members(fields, "replies")))
    return thread


def node_id(thread: Thread, index: int, post_id: str) -> str:
    """``u4p4`` for the post, ``u4p4-c1-c5`` for the comment numbered 5 under the one numbered 1."""
    path = []
    while index:
        path.append(f"-c{index}")
        index = thread[index].parent
    return post_id + "".join(reversed(path))


def replies_by_owner(thread: Thread) -> Iterator[int]:
    """Indices of the comments that the post's author wrote, in preorder."""
    owner = thread[0].author
    return (i for i in range(1, len(thread)) if owner is not None and thread[i].author == owner)
