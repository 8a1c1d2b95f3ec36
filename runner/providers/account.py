"""Whose account at whose venue: keys and base URLs from the environment, and how neither is ever said."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from urllib.parse import SplitResult, urlsplit

from runner.errors import RunnerError

SHORTEST_HINT = 4
"""Fewer characters of a key give nothing away and may be any word."""


def read_key(env: Mapping[str, str], name: str) -> str:
    """The key in the environment variable ``name``. Raises RunnerError when there is none that could be one."""
    key = env.get(name, "").strip()
    if not key:
        raise RunnerError(
            f"{name} is not set: export your key, or rehearse the run without one by EMULATE=1.", code="no_key"
        )
    if not (key.isascii() and key.isprintable() and " " not in key):
        raise RunnerError(f"{name} holds characters that no key has: copy it again.", code="bad_key")
    return key


def read_tier(env: Mapping[str, str], name: str, tiers: Iterable[str], default: str | None) -> str | None:
    """The usage tier in the environment variable ``name``, or the default."""
    known = tuple(tiers)
    tier = env.get(name, "").strip() or default
    if tier is not None and tier not in known:
        raise RunnerError(f"{name} is {tier!r}, but usage tiers are {', '.join(known)}.")
    return tier


def account_of(venue: str, key: str, *more: str) -> str:
    """A hash that tells accounts at venues apart and gives no key away; ``more`` is what else chooses the account."""
    return hashlib.sha256("\x1f".join((venue, key, "|".join(more))).encode()).hexdigest()[:16]


def read_url(url: str, name: str) -> SplitResult:
    """A base URL, taken apart. Raises RunnerError, which names the variable ``name`` and not what it holds."""
    try:
        parts = urlsplit(url)
        is_written = url.isprintable() and " " not in url  # urlsplit leaves out what the SDKs then trip over
        if is_written and parts.scheme in ("http", "https") and parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    # Not shown: it may hold a password.
    raise RunnerError(f"{name} is not a URL such as http://localhost:8000/v1: correct or unset it.")


def host_of(url: SplitResult) -> str:
    """The host[:port] of a URL in lower case, never a bare word: those are our own names of venues."""
    host = (url.hostname or "").lower()
    usual = {"http": 80, "https": 443}[url.scheme]
    if url.port in (None, usual):
        return host if "." in host else f"{host}:{usual}"
    return f"{host}:{url.port}"


def is_at_home(url: SplitResult) -> bool:
    """Whether the URL leads to this machine, where no proxy of the environment can stand between."""
    return url.hostname in ("127.0.0.1", "::1", "localhost")


def hidden(words: str | None, secrets: Iterable[str]) -> str | None:
    """What a server said, also if it repeats a secret, and where its sentence was shortened within one."""
    for secret in secrets:
        words = words and words.replace(secret, "***")
        if words and words.endswith("…"):
            begun = next((n for n in range(len(secret) - 1, 0, -1) if words.endswith(f"{secret[:n]}…")), 0)
            words = words if begun < SHORTEST_HINT else f"{words[: -begun - 1]}***…"
    return words
