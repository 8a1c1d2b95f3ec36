"""JSON of any depth, read and written without recursion: replies nest deeper than orjson and json allow."""

from __future__ import annotations

import io
from typing import Any

import orjson


def loads_deep(text: str | bytes) -> Any:
    """The value of a JSON text of any depth (orjson stops at 1,024 levels).

    Raises ValueError when it is not JSON.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        import ijson

        data = text.encode() if isinstance(text, str) else text
        try:
            return next(ijson.items(io.BytesIO(data), "", use_float=True))
        except (ijson.JSONError, UnicodeDecodeError, StopIteration):
            raise error from None


class _Verbatim(str):
    """A piece of JSON already written."""


def dumps_deep(value: object) -> str:
    """JSON of any depth (orjson stops at 254 levels); beyond 64 bits integers become floats."""
    try:
        return orjson.dumps(value, default=float).decode()
    except TypeError:
        pass
    written: list[str] = []
    todo: list[object] = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, _Verbatim):
            written.append(item)
        elif isinstance(item, dict):
            parts: list[object] = []
            for key, member in item.items():
                parts += [_Verbatim(("," if parts else "{") + orjson.dumps(str(key)).decode() + ":"), member]
            todo += reversed([*parts, _Verbatim("}" if parts else "{}")])
        elif isinstance(item, list):
            parts = []
            for member in item:
                parts += [_Verbatim("," if parts else "["), member]
            todo += reversed([*parts, _Verbatim("]" if parts else "[]")])
        else:
            written.append(_scalar(item))
    return "".join(written)


def _scalar(item: object) -> str:
    try:
        return orjson.dumps(item, default=float).decode()
    except TypeError:
        try:
            return orjson.dumps(float(str(item))).decode()  # an integer beyond 64 bits
        except (ValueError, OverflowError):
            return "null"
