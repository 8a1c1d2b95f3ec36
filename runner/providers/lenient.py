"""A result line as JSON, read as leniently as what was paid for deserves."""

from __future__ import annotations

import json
import math
from typing import Any

import orjson

LONGEST_INT = 20
"""Digits at which a number fits no column, and at 4,301 Python takes it for none."""


def load_object(line: bytes) -> dict[str, Any]:
    """The JSON object of a line. Raises ValueError, and nothing else, where it is none."""
    entry = _load(line)
    if not isinstance(entry, dict):
        raise ValueError("the line is not a JSON object")
    return entry


def _load(line: bytes) -> object:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        pass
    # An answer that was cut inside an emoji may hold half a surrogate pair or half its bytes; some servers write NaN,
    # raw control characters or a BOM. orjson refuses them, but the line is paid for: it is read with them replaced.
    try:
        lenient = json.loads(
            line.decode("utf-8-sig", "replace"),
            strict=False,
            parse_constant=lambda name: None,
            parse_float=_finite,
            parse_int=lambda digits: int(digits) if len(digits) < LONGEST_INT else None,
        )
        return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None


def _finite(digits: str) -> float | None:
    number = float(digits)
    return number if math.isfinite(number) else None
