"""Our own table, prices.toml, for what the price package cannot know. Its keys are explained at its head."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from datetime import date, timedelta
from functools import cache
from importlib import resources
from typing import Any

from runner.pricing.rates import Price, Rates


def batch_price(provider: str, names: set[str], day: date) -> Price | None:
    """The price of the row that is in force on this day (UTC), if there is one."""
    row = _row(provider, names, day)
    return None if row is None else _price(row)


def standard_price(provider: str, names: set[str], day: date) -> Price | None:
    """What the row that is in force says a request costs without batch; None where it does not say it."""
    row = _row(provider, names, day)
    if row is None or "batch_discount" not in row:
        return None
    found, factor = _price(row), 1 / (1 - row["batch_discount"])
    return replace(found, base=found.base.times(factor), long=found.long and found.long.times(factor), in_batch=False)


def discount(provider: str) -> tuple[float, str] | None:
    """The share that the provider documents to save in any batch, and where it does."""
    found = _tables()["discount"].get(provider)
    return (found["share"], found["source"]) if found else None


def turns(provider: str, names: set[str]) -> set[date]:
    """The first days of the model's rows, and the first days after them."""
    rows = _rows(provider, names)
    return {row["valid_from"] for row in rows} | {
        row["valid_until"] + timedelta(days=1) for row in rows if "valid_until" in row
    }


@cache
def _tables() -> Any:
    return tomllib.loads(resources.files("runner").joinpath("prices.toml").read_text(encoding="utf-8"))


def _rows(provider: str, names: set[str]) -> list[dict[str, Any]]:
    return [row for row in _tables()["override"] if row["provider"] == provider and row["model"] in names]


def _row(provider: str, names: set[str], day: date) -> dict[str, Any] | None:
    rows = _rows(provider, names)
    return next((row for row in rows if row["valid_from"] <= day <= row.get("valid_until", date.max)), None)


def _price(row: dict[str, Any]) -> Price:
    long = row.get("long_prompt")
    return Price(
        base=_rates(row),
        source=row["source"],
        checked=row["checked"],
        long_above_tokens=long["above_tokens"] if long else None,
        long=_rates(long) if long else None,
        assumed=row.get("assumed"),
    )


def _rates(row: dict[str, Any]) -> Rates:
    plain = row["input"]
    written = row.get("cache_write", plain)
    return Rates(plain, row.get("cached_input", plain), written, row.get("cache_write_long", written), row["output"])
