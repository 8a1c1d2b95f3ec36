"""The price lists, catalogues and rules in ``tariffs/``, one file per provider, as values."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any

from runner.emulator.rules import CacheRules, Rules

FOLDER = Path(__file__).with_name("tariffs")
SNAPSHOT = re.compile(r"-(?:\d{4}-\d{2}-\d{2}|\d{8})$")


@dataclass(frozen=True, slots=True)
class Long:
    """Prompts over ``from_tokens`` cost so many times as much (``input``: of whatever kind)."""

    from_tokens: int
    input: float
    output: float


@dataclass(frozen=True, slots=True)
class Model:
    """A row of the catalogue. Prices are usd per million tokens, in a batch; ``standard`` has those outside of one.

    ``cache_write`` and ``cache_write_long`` (kept an hour) are None where writing costs nothing more.
    ``cache_from`` overrides the provider's shortest prompt that is cached.
    """

    name: str
    snapshot: str
    input: float
    cached: float
    output: float
    window: int
    max_output: int
    queue_tokens: tuple[int, ...] = ()
    reasoning: bool = False
    retired: date | None = None
    cache_write: float | None = None
    cache_write_long: float | None = None
    cache_from: int | None = None
    long: Long | None = None
    standard: Model | None = None

    def usd(
        self,
        input_tokens: int,
        cached_tokens: int,
        output_tokens: int,
        cache_write_tokens: int = 0,
        cache_write_long_tokens: int = 0,
    ) -> float:
        """What one request costs; the counts include one another as those of ``wire.Usage`` do."""
        write = self.input if self.cache_write is None else self.cache_write
        write_long = write if self.cache_write_long is None else self.cache_write_long
        short_tokens = cache_write_tokens - cache_write_long_tokens
        read = (input_tokens - cached_tokens - cache_write_tokens) * self.input + cached_tokens * self.cached
        prompt = read + short_tokens * write + cache_write_long_tokens * write_long
        answer = output_tokens * self.output
        if self.long and input_tokens > self.long.from_tokens:
            prompt, answer = prompt * self.long.input, answer * self.long.output
        return (prompt + answer) / 1e6


@dataclass(frozen=True, slots=True)
class Tariff:
    """One provider's catalogue and rules. ``later`` has a model as it is from a day (UTC) on, in the order of days."""

    models: dict[str, Model]
    rules: Rules
    later: dict[str, tuple[tuple[date, Model], ...]] = field(default_factory=dict)

    def model(self, name: object, now: float) -> Model | None:
        """The model of this name (or dated snapshot of it) as it is ``now``; None if unknown, or retired by then."""
        if not isinstance(name, str):
            return None
        model = self.models.get(name) or self.models.get(SNAPSHOT.sub("", name))
        today = datetime.fromtimestamp(now, UTC).date()
        if model is None or (model.retired and today >= model.retired):
            return None
        changed = [row for day, row in self.later.get(model.name, ()) if day <= today]
        return changed[-1] if changed else model


def providers() -> list[str]:
    """The names of those that have a tariff."""
    return sorted(path.stem for path in FOLDER.glob("*.toml"))


@lru_cache(maxsize=32)
def tariff(provider: str) -> Tariff:
    """The tables of one provider. What their keys mean stands at the head of ``tariffs/openai.toml``."""
    raw = tomllib.loads((FOLDER / f"{provider}.toml").read_text())
    rows: dict[str, dict[str, Any]] = raw.get("models", {})
    models = {name: _model(name, row, raw) for name, row in rows.items()}
    later = {
        name: tuple((change["day"], _model(name, {**row, **change}, raw)) for change in row["from"])
        for name, row in rows.items()
        if "from" in row
    }
    given: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in raw["rules"].items()
    }
    return Tariff(models, Rules(**given, cache=CacheRules(**raw.get("cache", {}))), later)


def _model(name: str, row: dict[str, Any], raw: dict[str, Any]) -> Model:
    share = 1 - row.get("batch_discount", raw["batch_discount"])
    cached = row.get("cached", row["input"])
    standard = _priced(name, row, raw, 1, cached)
    return replace(_priced(name, row, raw, share, row.get("cached_in_batch", cached * share)), standard=standard)


def _priced(name: str, row: dict[str, Any], raw: dict[str, Any], share: float, cached: float) -> Model:
    """The model at this share of its list prices."""
    long = row.get("long", False)
    long = raw["long"] if long is True else long
    write, write_long = row.get("cache_write"), row.get("cache_write_long")
    return Model(
        name=name,
        snapshot=row.get("snapshot", name),
        input=row["input"] * share,
        cached=cached,
        output=row["output"] * share,
        window=row["window"],
        max_output=row["max_output"],
        queue_tokens=tuple(raw["queues"][row["queue"]]) if "queue" in row else (),
        reasoning=row.get("reasoning", False),
        retired=row.get("retired"),
        cache_write=None if write is None else write * share,
        cache_write_long=None if write_long is None else write_long * share,
        cache_from=row.get("cache_from"),
        long=Long(**long) if long else None,
    )
