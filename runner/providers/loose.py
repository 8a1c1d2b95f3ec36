"""JSON that others wrote: a field of the wrong kind counts as absent, so that one odd reply stops nothing."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

LONGEST_SENTENCE = 500


def as_object(value: object) -> dict[str, Any]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def says_anything(entry: dict[str, Any], but: Collection[str]) -> bool:
    """Whether an object holds more than these fields and empty ones: a reply in a form that nobody knows."""
    return any(value not in (None, "", [], {}) for name, value in entry.items() if name not in but)


def as_list(value: object) -> list[Any]:
    """``value`` if it is a JSON array, else an empty one."""
    return value if isinstance(value, list) else []


def as_text(value: object) -> str | None:
    """``value`` if it is a string, else None."""
    return value if isinstance(value, str) else None


def as_count(value: object) -> int | None:
    """``value`` if it is a number that can count something and fits a column, else None."""
    return value if type(value) is int and 0 <= value < 2**63 else None


def as_code(value: object) -> str | None:
    """An error code, which some servers give as a number."""
    return str(value) if isinstance(value, str | int) and value != "" else None


def as_moment(value: object) -> datetime | None:
    """Unix seconds, or a date and time in ISO 8601, as UTC, else None."""
    seconds = as_count(value)
    try:
        if isinstance(value, str):
            moment = datetime.fromisoformat(value)
            return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)
        return datetime.fromtimestamp(seconds, UTC) if seconds else None
    except (ValueError, OverflowError, OSError):
        return None


def clock(date: str | None) -> datetime:
    """A reply's Date header as UTC; ValueError where there is none that can be read."""
    if date is None:
        raise ValueError("a reply without a Date")
    moment = parsedate_to_datetime(date)
    return moment.astimezone(UTC) if moment.tzinfo else moment.replace(tzinfo=UTC)


def shorten(text: str | None) -> str | None:
    """A provider's sentence in a length that a table can hold."""
    if text is None or len(text) <= LONGEST_SENTENCE:
        return text
    return f"{text[: LONGEST_SENTENCE - 1]}…"
