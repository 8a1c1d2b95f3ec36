"""A result line as JSON, read as leniently as what was paid for deserves."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

from runner.providers.lines import LONGEST_LINE, Overlong

DEEPEST = 200
"""Levels of nesting; an answer has ten."""
MOST_VALUES = 1_000_000
"""Values of one line: more would take up many times its size in memory."""
LONGEST_ODD_LINE = 16_000_000
"""Bytes up to which a line is read that orjson refuses: that takes several times as much memory."""
LONGEST_INT = 20
"""Digits at which a number fits no column, and at 4,301 Python takes it for none."""


def load_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line. Raises ValueError, and nothing else, where it is none or too much to be read."""
    if isinstance(line, Overlong):
        raise ValueError(f"it is longer than {LONGEST_LINE // 1_000_000} MB")
    if line.count(b"[") + line.count(b"{") > DEEPEST or line.count(b",") > MOST_VALUES:
        _look_into(line)
    entry = _load(line)
    if not isinstance(entry, dict):
        raise ValueError("the line is not a JSON object")
    return entry


def object_in(value: object) -> dict[str, Any]:
    """``value`` if it is a JSON object or the text of one (llama-stack writes a reply's body so), else an empty one."""
    if isinstance(value, str):
        try:
            return load_object(value.encode("utf-8", "surrogatepass"))
        except ValueError:
            return {}
    return value if isinstance(value, dict) else {}


def _load(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        if len(line) > LONGEST_ODD_LINE:
            raise
    # An answer that was cut inside an emoji may hold half a surrogate pair or half its bytes; some servers write NaN,
    # raw control characters or a BOM. orjson refuses them, but the line is paid for: it is read with them replaced.
    lenient = json.loads(
        line.decode("utf-8-sig", "replace"),
        strict=False,
        parse_constant=lambda name: None,
        parse_float=_finite,
        parse_int=lambda digits: int(digits) if len(digits) < LONGEST_INT else None,
    )
    return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))


_BARE = bytes(set(range(256)) - set(b'"[]{},'))
"""What says nothing of a line's structure."""


def _look_into(line: bytes) -> None:
    """Count levels and values outside of strings, before a parser makes objects of them all."""
    bare = line.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, delete=_BARE)
    depth = values = 0
    is_text = False
    for byte in bare:
        if byte == 0x22:  # a quotation mark
            is_text = not is_text
        elif is_text:
            continue
        elif byte in b"[{":
            depth, values = depth + 1, values + 1
        elif byte == 0x2C:  # a comma
            values += 1
        else:
            depth -= 1
        if depth > DEEPEST:
            raise ValueError(f"it is nested more than {DEEPEST} levels deep")
        if values > MOST_VALUES:
            raise ValueError(f"it holds more than {MOST_VALUES:,} values")


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
