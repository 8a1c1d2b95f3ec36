"""Contents cut where a cache breakpoint stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from runner.request import Mark, Message, Ttl


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of one message's content; with ``ttl`` a breakpoint stands behind it."""

    text: str
    ttl: Ttl | None = None


def marked(messages: Sequence[Message], marks: Sequence[Mark]) -> list[tuple[Piece, ...]]:
    """The pieces of each message; joined they are its content, whatever the marks say.

    A mark that would leave a blank piece is left out: providers refuse empty blocks.
    """
    told: list[tuple[Piece, ...]] = []
    start = 0
    for message in messages:
        end = start + len(message.content)
        inside = [(mark.end - start, mark.ttl) for mark in marks if start < mark.end <= end]
        told.append(_cut(message.content, inside))
        start = end
    return told


def _cut(content: str, inside: Sequence[tuple[int, Ttl]]) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    done = 0
    for end, ttl in inside:
        if content[done:end].strip() and (end == len(content) or content[end:].strip()):
            pieces.append(Piece(content[done:end], ttl))
            done = end
    if done < len(content) or not pieces:
        pieces.append(Piece(content[done:]))
    return tuple(pieces)
