"""Answer texts with the characters that break careless readers."""

from __future__ import annotations

from typing import Any

import orjson

HUGE_BYTES = 10_000_000
LEVELS = 20_000
MARKER = "\ufdd0"
"""A noncharacter in the text that becomes the escape of half a pair: no JSON writer would write that."""


def with_separators(text: str) -> str:
    """The text with the three characters that look like line ends but are none: for spaces, or at its end."""
    head, *rest = text.split(" ", 3)
    ends = ("\u2028", "\u2029", "\x85")
    return head + "".join(end + word for end, word in zip(ends, rest, strict=False)) + "".join(ends[len(rest) :])


def with_surrogate(text: str) -> str:
    """The text and one half of a surrogate pair, once it has been through ``garbled``."""
    return text + MARKER


def huge(text: str) -> str:
    """The text, then so much more that it fills 10 MB."""
    return text + " and so on" * ((HUGE_BYTES - len(text)) // 10)


def deep(line: bytes) -> bytes:
    """The JSON object of a line with one more member, of 20,000 levels."""
    return line[:-1] + b',"more":' + b"[" * LEVELS + b"]" * LEVELS + b"}"


def garbled(result: dict[str, Any]) -> bytes:
    """The JSON of a result line."""
    return orjson.dumps(result).replace(MARKER.encode(), b"\\ud83d")
