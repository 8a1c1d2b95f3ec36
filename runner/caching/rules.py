"""What is known of each provider's prompt cache: ``rules.toml``, which says what its keys mean."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from runner.request import Ttl


@dataclass(frozen=True, slots=True)
class Lifetime:
    """For how long a marked beginning is kept, and the expected share of its readers that find it."""

    ttl: Ttl
    hits: float


@dataclass(frozen=True, slots=True)
class Rules:
    """One model's cache. Counts are tokens, ``hits`` a share from 0 to 1; ``lifetimes`` from the longest on.

    ``scale`` is by what the hits of the lifetimes differ from those of ``rules.toml``: 1 until some were seen.
    """

    from_tokens: int
    source: str
    checked: date
    step_tokens: int = 1
    unasked: bool = False
    hits: float = 0.0
    writes_whole: bool = False
    takes_key: bool = False
    lifetimes: tuple[Lifetime, ...] = ()
    scale: float = 1.0

    def as_seen(self, scale: float) -> Rules:
        """With so many times the hits at marks: what earlier batches read over what had been assumed for them.

        Never above MOST_HITS, and never nothing: what cannot pay at that share is not marked any more.
        """
        most = max((each.hits for each in self.lifetimes), default=0.0)
        if self.unasked or not most:
            return self
        scale = min(max(scale, _LEAST_SCALE), MOST_HITS / most)
        lifetimes = tuple(replace(each, hits=each.hits * scale) for each in self.lifetimes)
        return replace(self, lifetimes=lifetimes, scale=self.scale * scale)

    @property
    def basis(self) -> str:
        """What every expectation rests on, in words."""
        if self.unasked:
            return f"assumed: {self.hits:.0%} hits"
        hits = ", ".join(f"{each.hits:.0%} hits within {_SPOKEN[each.ttl]}" for each in self.lifetimes)
        return f"assumed: {hits}" if self.scale == 1 else f"as in earlier batches: {hits}"

    @property
    def is_told(self) -> bool:
        """Whether only what a request marks is written to the cache, so that without marks nothing is paid for it."""
        return bool(self.lifetimes) and not self.writes_whole

    @property
    def most_hint_bytes(self) -> int:
        """What a line can grow by when it is told of caching."""
        return _MARKS_BYTES * bool(self.lifetimes) + _SETTINGS_BYTES * (self.takes_key or self.writes_whole)


MOST_HITS = 0.98
"""The upper end of what Anthropic's batch page says of hits, "30% to 98%"."""
_LEAST_SCALE = 0.01
_SPOKEN = {"5m": "5 minutes", "30m": "30 minutes", "1h": "an hour"}
_MARKS_BYTES = 480
"""Four marks of at most 100 bytes and the last block's frame."""
_SETTINGS_BYTES = 100
"""A key and the mode."""


def rules_of(provider: str, model: str) -> Rules | None:
    """The rules of a model (its id, without its provider's name); None where no cache in batches is known."""
    row: dict[str, Any] | None = _table().get(provider)
    if row is None:
        return None
    own: dict[str, Any] = next((each for each in row.get("models", ()) if re.match(each["names"], model)), {})
    fields = {key: value for key, value in (row | own).items() if key not in ("models", "names")}
    fields["lifetimes"] = tuple(Lifetime(**each) for each in fields.get("lifetimes", ()))
    return Rules(**fields)


@cache
def _table() -> dict[str, Any]:
    return tomllib.loads(resources.files("runner.caching").joinpath("rules.toml").read_text(encoding="utf-8"))
