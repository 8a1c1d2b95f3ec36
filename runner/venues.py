"""Venues, who really answers: a provider's own name, the host of a custom base URL, or a rehearsal of a provider.

``emulator:openai`` is a rehearsal on the embedded emulator, ``emulator:openai@2025-06-01`` one with the catalogue
and prices of that day. Answers, jobs and prices never pass from one venue to another.
"""

from __future__ import annotations

from datetime import date

EMULATOR = "emulator"


def rehearsal(provider: str, day: date | None = None) -> str:
    """The venue of a provider's rehearsal (with the catalogue of a day)."""
    return f"{EMULATOR}:{provider}" + (f"@{day}" if day else "")


def provider_of(venue: str) -> str:
    """The provider whose protocol is spoken at a venue; a bare host speaks OpenAI's."""
    if is_rehearsal(venue):
        return venue.partition(":")[2].partition("@")[0]
    name, _, host = venue.partition("@")
    return "openai" if not host and ("." in name or ":" in name) else name


def is_rehearsal(venue: str) -> bool:
    """Whether the embedded emulator answers there."""
    return venue.partition(":")[0] == EMULATOR and not venue.rpartition(":")[2].isdecimal()


def rehearsed_day(venue: str) -> date | None:
    """The day whose catalogue is rehearsed, where it is not today's."""
    day = venue.partition("@")[2]
    return date.fromisoformat(day) if day and is_rehearsal(venue) else None
