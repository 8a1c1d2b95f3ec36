"""The price list and catalogue in ``tariff.toml``, as values."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import lru_cache
from pathlib import Path

LONG_PROMPT_TOKENS = 272_000
SNAPSHOT = re.compile(r"-\d{4}-\d{2}-\d{2}$")


@dataclass(frozen=True, slots=True)
class Model:
    """A row of the catalogue. Prices are usd per million tokens, in a batch."""

    name: str
    snapshot: str
    input: float
    cached: float
    output: float
    window: int
    max_output: int
    queue_tokens: tuple[int, ...]
    reasoning: bool
    long_prompts_cost_more: bool
    retired: date | None

    def usd(self, input_tokens: int, cached_tokens: int, output_tokens: int) -> float:
        """What one request costs: ``input_tokens`` includes the cached, ``output_tokens`` the reasoning."""
        is_long = self.long_prompts_cost_more and input_tokens > LONG_PROMPT_TOKENS
        fresh = (input_tokens - cached_tokens) * self.input + cached_tokens * self.cached
        return (fresh * (2 if is_long else 1) + output_tokens * self.output * (1.5 if is_long else 1)) / 1e6


@dataclass(frozen=True, slots=True)
class Tariff:
    """One provider's catalogue and limits."""

    models: dict[str, Model]
    max_requests: int
    max_bytes: int
    max_batches_per_hour: int

    def model(self, name: object, now: float) -> Model | None:
        """The model of this name (or dated snapshot of it), unless it is unknown or retired by ``now``."""
        if not isinstance(name, str):
            return None
        model = self.models.get(name) or self.models.get(SNAPSHOT.sub("", name))
        if model is None or (model.retired and datetime.fromtimestamp(now, UTC).date() >= model.retired):
            return None
        return model


@lru_cache(maxsize=8)
def tariff(provider: str) -> Tariff:
    """The table of one provider."""
    raw = tomllib.loads(Path(__file__).with_name("tariff.toml").read_text())[provider]
    share = 1 - raw["batch_discount"]
    models = {
        name: Model(
            name=name,
            snapshot=row.get("snapshot", name),
            input=row["input"] * share,
            cached=row.get("cached", row["input"]) * share,
            output=row["output"] * share,
            window=row["window"],
            max_output=row["max_output"],
            queue_tokens=tuple(raw["queues"][row["queue"]]),
            reasoning=row.get("reasoning", False),
            long_prompts_cost_more=row.get("long", False),
            retired=row.get("retired"),
        )
        for name, row in raw["models"].items()
    }
    return Tariff(models, raw["max_requests"], raw["max_bytes"], raw["max_batches_per_hour"])
