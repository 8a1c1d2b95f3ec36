"""A result line as JSON, read as leniently as what was paid for deserves."""

from __future__ import annotations

import json
from typing import Any

import orjson


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
    # An answer that was cut inside an emoji may hold half a surrogate pair, and some servers write NaN. orjson
    # refuses both, but the line is paid for: it is read with them replaced.
    try:
        lenient = json.loads(line.decode(), parse_constant=lambda name: None)
        return orjson.loads(json.dumps(lenient, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("the line is nested too deeply") from None
