"""Task 3.3 shows conversations as JSON: cutting trees and writing them, at any depth, without recursion."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

import orjson

from runner.benchmarks.personaconvbench.paper.thread import Thread, node_id

_EARLIEST = datetime.min.replace(tzinfo=UTC)


def subtrees(thread: Thread, roots: Iterable[int]) -> set[int]:
    """These nodes and all below them."""
    inside = set(roots)
    for i in range(1, len(thread)):
        if thread[i].parent in inside:
            inside.add(i)
    return inside


def before_reply(thread: Thread, reply: int) -> list[int] | None:
    """The reply's top-level tree with everything from it onward dropped *among its siblings*, in preorder.

    Siblings are ordered by time, those of unreadable time first. Other branches stay complete, whatever they
    hold and however late they are: this is where the reference shows the text to be predicted. None when the
    reply is itself the top-level comment, so that nothing is left of the tree.
    """
    parent, top = thread[reply].parent, thread[reply].top
    if parent == 0:
        return None
    siblings = by_time(thread, (i for i in range(1, len(thread)) if thread[i].parent == parent))
    gone = subtrees(thread, siblings[siblings.index(reply) :])
    return [i for i in range(1, len(thread)) if thread[i].top == top and i not in gone]


def by_time(thread: Thread, nodes: Iterable[int]) -> list[int]:
    """Oldest first; unreadable times count as the oldest, ties keep their order."""
    return sorted(nodes, key=lambda i: thread[i].time or _EARLIEST)


def as_object(thread: Thread, kept: list[int], post_id: str, *, time_order: bool = False) -> dict[str, Any]:
    """The kept nodes (preorder, the first is the root) nested again, each with ``id``, ``type``, ``parent_id``."""
    children: dict[int, list[int]] = {i: [] for i in kept}
    for i in kept[1:]:
        children[thread[i].parent].append(i)
    built: dict[int, dict[str, Any]] = {}
    for i in reversed(kept):
        below = by_time(thread, children[i]) if time_order else children[i]
        built[i] = {
            **thread[i].fields,
            "comments" if i == 0 else "replies": [built.pop(child) for child in below],
            "id": node_id(thread, i, post_id),
            "type": "comment" if i else "post",
            "parent_id": node_id(thread, thread[i].parent, post_id) if i else None,
        }
    return built[kept[0]]


def pretty(value: object) -> str:
    """What ``json.dumps(value, indent=2, ensure_ascii=False)`` writes, for any depth of nesting."""
    try:
        return orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:  # deeper than 254 levels
        pass
    pieces: list[str] = []
    open_: list[tuple[Iterator[tuple[str, object]], str]] = []
    _write(value, pieces, open_)
    while open_:
        items, closer = open_[-1]
        item = next(items, None)
        if item is None:
            open_.pop()
            pieces.append("\n" + "  " * len(open_) + closer)
            continue
        key, inner = item
        pieces.append(("" if pieces[-1] in ("{", "[") else ",") + "\n" + "  " * len(open_) + key)
        _write(inner, pieces, open_)
    return "".join(pieces)


def _write(value: object, pieces: list[str], open_: list[tuple[Iterator[tuple[str, object]], str]]) -> None:
    """Write a scalar or an empty container; open any other container."""
    if isinstance(value, dict) and value:
        pieces.append("{")
        open_.append((((_scalar(key) + ": ", inner) for key, inner in value.items()), "}"))
    elif isinstance(value, list) and value:
        pieces.append("[")
        open_.append(((("", inner) for inner in value), "]"))
    else:
        pieces.append(_scalar(value))


def _scalar(value: object) -> str:
    return orjson.dumps(value).decode()
