"""Money: what a batch costs per token, on which day, from which source; a request's bill and its bound."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, fields, replace
from datetime import UTC, date, datetime, timedelta
from functools import cache
from importlib import metadata, resources
from typing import TYPE_CHECKING, Any

import polars as pl

from runner.models import Model
from runner.request import Usd

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

MILLION = 1_000_000

BATCH_RECORDED_SINCE = date(2026, 10, 14)
"""When genai-prices verified its batch prices; an older timestamp silently gives standard ones."""

CACHE_FROM_TOKENS = 1024
"""A shorter prompt is neither written to nor read from the cache (OpenAI prompt caching guide)."""


@dataclass(frozen=True, slots=True)
class Rates:
    """USD per million tokens: plain input, input read from the cache, input written to it, and output.

    A rate that nobody documents is that of ``input``: caching without a price is no discount.
    """

    input: float
    cached_input: float
    cache_write: float
    output: float


@dataclass(frozen=True, slots=True)
class Price:
    """A model's batch price. Above ``long_above_tokens`` of input the whole request costs ``long`` instead.

    ``writes_unasked`` where the provider writes prompts to its cache by itself (OpenAI) and not only when asked to
    (Anthropic). ``assumed`` says in a sentence why the price is less certain than its source; None where it is not.
    """

    base: Rates
    source: str
    checked: date
    long_above_tokens: int | None = None
    long: Rates | None = None
    writes_unasked: bool = True
    assumed: str | None = None

    def __str__(self) -> str:
        return (
            f"{self.base.input:g} in / {self.base.output:g} out USD per million tokens, batch "
            f"({self.source}, checked {self.checked})"
        )


def price(model: Model, at: datetime) -> Price | None:
    """The batch price of ``model`` at its provider at the time ``at`` (timezone-aware).

    None where no price is known: callers then say "price unknown" and never 0. Only the provider itself
    charges this price: do not ask for a model behind a custom base URL.
    """
    info = _info(model)
    names = {model.id} if info is None else {model.id, info.id}
    found = _overridden(model.provider, names, at.astimezone(UTC).date())
    if found is None and info is not None:
        found = _packaged(model.provider, info, at.astimezone(UTC))
    return None if found is None else replace(found, writes_unasked=model.provider == "openai")


def highest_price(model: Model, at: datetime, window: timedelta = timedelta(hours=24)) -> Price | None:
    """The dearer, rate by rate, of the prices when a job is made and when its window ends.

    What ``bound`` needs: a job that was made before a price rise may be billed after it.
    """
    now, later = price(model, at), price(model, at + window)
    if now is None or later is None or now == later:
        return later
    thresholds = [each.long_above_tokens for each in (now, later) if each.long_above_tokens is not None]
    dear = _dearer(now.base, later.base)
    return replace(
        later,
        base=dear,
        long_above_tokens=min(thresholds, default=None),
        long=_dearer(now.long or dear, later.long or dear) if thresholds else None,
        assumed=later.assumed or now.assumed,
    )


def cost(
    price: Price,
    input_tokens: int | None,
    cached_tokens: int | None,
    output_tokens: int | None,
    cache_write_tokens: int | None = None,
) -> Usd:
    """The bill of one request; ``input_tokens`` include the cached and the written ones, and null counts as 0.

    Where ``cache_write_tokens`` is None nobody told how much was written to the cache. If the provider writes
    unasked, every uncached token of a prompt long enough to be cached is then taken as written: a bill must not be
    understated.
    """
    whole, output = input_tokens or 0, output_tokens or 0
    cached = min(cached_tokens or 0, whole)
    is_long = price.long_above_tokens is not None and whole > price.long_above_tokens
    rates = price.long if is_long and price.long is not None else price.base
    if cache_write_tokens is not None:
        written, write_rate = min(cache_write_tokens, whole - cached), rates.cache_write
    elif price.writes_unasked and whole >= CACHE_FROM_TOKENS:
        written, write_rate = whole - cached, max(rates.cache_write, rates.input)
    else:
        written, write_rate = 0, rates.input
    fresh = (whole - cached - written) * rates.input + written * write_rate
    return Usd((fresh + cached * rates.cached_input + output * rates.output) / MILLION)


def cost_expr(price: Price) -> pl.Expr:
    """``cost`` as an expression, per row, over the columns input_tokens, cached_tokens, output_tokens and
    cache_write_tokens.
    """
    whole = pl.col("input_tokens").fill_null(0)
    output = pl.col("output_tokens").fill_null(0)
    cached = pl.min_horizontal(pl.col("cached_tokens").fill_null(0), whole)
    told = pl.min_horizontal(pl.col("cache_write_tokens").fill_null(0), whole - cached)
    is_told = pl.col("cache_write_tokens").is_not_null()
    is_guessed = is_told.not_() & (whole >= CACHE_FROM_TOKENS) & price.writes_unasked

    def bill(rates: Rates) -> pl.Expr:
        written = pl.when(is_guessed).then(whole - cached).otherwise(told)
        write_rate = pl.when(is_told).then(rates.cache_write).otherwise(max(rates.cache_write, rates.input))
        fresh = (whole - cached - written) * rates.input + written * write_rate
        return (fresh + cached * rates.cached_input + output * rates.output) / MILLION

    if price.long_above_tokens is None or price.long is None:
        return bill(price.base)
    return pl.when(whole > price.long_above_tokens).then(bill(price.long)).otherwise(bill(price.base))


def bound(price: Price, input_bound: int, max_output_tokens: int) -> Usd:
    """What no bill of one request can exceed, if it has at most these tokens and the price is right.

    Every input token at its dearest rate (plain, cached or written), the output limit used up, and the
    long-prompt price as soon as the bound on the input allows it. For n choices give n output limits.
    """
    rates = price.base
    if price.long_above_tokens is not None and price.long is not None and input_bound > price.long_above_tokens:
        rates = _dearer(price.base, price.long)
    dearest = max(rates.input, rates.cached_input, rates.cache_write)
    return Usd((input_bound * dearest + max_output_tokens * rates.output) / MILLION)


def _dearer(a: Rates, b: Rates) -> Rates:
    return Rates(**{field.name: max(getattr(a, field.name), getattr(b, field.name)) for field in fields(Rates)})


# The price package, behind the guards that it needs.


def _info(model: Model) -> ModelInfo | None:
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider_model(model.id, None, model.provider, None)[1]
    except LookupError:
        return None


def _packaged(provider: str, info: ModelInfo, at: datetime) -> Price | None:
    """From genai-prices, which gives standard prices without a word where it has none for batches: say so."""
    recorded = datetime.combine(BATCH_RECORDED_SINCE, datetime.min.time(), UTC)
    assumed = None
    if at < recorded:
        at, assumed = recorded, f"the price of {BATCH_RECORDED_SINCE}: earlier batch prices are not recorded"
    batch = _batch_variant(info, at)
    resolved = info.get_prices(at, {"processing": "batch"} if batch else None)
    base = _rates(provider, resolved, batch, is_long=False)
    starts = _tier_starts(resolved)
    if base is None:
        return None
    long = _rates(provider, resolved, batch, is_long=True) if starts else None
    if batch is None:
        discount = _table("discount").get(provider)
        share = discount["share"] if discount else 0.0
        base, long = _less(base, share), long and _less(long, share)
        assumed = (
            f"the standard price less the {share:.0%} that {discount['source']} gives batches, as no batch price of "
            "the model is recorded"
            if discount
            else "no batch price is recorded: this is the standard price, and a batch usually costs half of it"
        )
    return Price(
        base=base,
        source=f"genai-prices {metadata.version('genai-prices')}",
        checked=BATCH_RECORDED_SINCE,
        long_above_tokens=min(starts, default=None),
        long=long,
        assumed=assumed,
    )


def _batch_variant(info: ModelInfo, at: datetime) -> ModelPrice | None:
    """The variant for batches that is in force and names both input and output (an empty one is no price)."""
    for variant in info.price_variants or ():
        in_force = variant.constraint is None or variant.constraint.active(at)
        named = variant.prices.input_mtok is not None and variant.prices.output_mtok is not None
        if variant.when == {"processing": "batch"} and in_force and named:
            return variant.prices
    return None


def _rates(provider: str, resolved: ModelPrice, batch: ModelPrice | None, *, is_long: bool) -> Rates | None:
    """``resolved`` falls back to standard prices rate by rate. For cache reads in a batch that is what Gemini's
    batch page documents; elsewhere it would be a discount that nobody documents (gpt-4.x, o-series): without a
    batch price they cost what input costs.
    """

    def pick(value: Decimal | TieredPrices | None) -> float | None:
        tiers = getattr(value, "tiers", None)
        if value is None or tiers is None:
            return None if value is None else float(value)  # type: ignore[arg-type]
        return float(tiers[-1].price if is_long and tiers else value.base)  # type: ignore[union-attr]

    plain, output = pick(resolved.input_mtok), pick(resolved.output_mtok)
    if plain is None or output is None:
        return None
    cached = pick((resolved if batch is None or provider == "google" else batch).cache_read_mtok)
    written = pick(resolved.cache_write_mtok)
    return Rates(
        input=plain,
        cached_input=plain if cached is None else cached,
        cache_write=plain if written is None else written,
        output=output,
    )


def _tier_starts(prices: ModelPrice) -> list[int]:
    """Where dearer tiers begin. The package changes tier above, not at, the start (as OpenAI words it)."""
    named = (prices.input_mtok, prices.cache_read_mtok, prices.cache_write_mtok, prices.output_mtok)
    return [tier.start for value in named for tier in getattr(value, "tiers", ())]


# Our own table, for what the package cannot know.


@cache
def _table(name: str) -> Any:
    text = resources.files("runner").joinpath("prices.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)[name]


def _overridden(provider: str, names: set[str], day: date) -> Price | None:
    for row in _table("override"):
        in_force = row["valid_from"] <= day <= row.get("valid_until", date.max)
        if row["provider"] != provider or row["model"] not in names or not in_force:
            continue
        long = row.get("long_prompt")
        return Price(
            base=_table_rates(row),
            source=row["source"],
            checked=row["checked"],
            long_above_tokens=long["above_tokens"] if long else None,
            long=_table_rates(long) if long else None,
            assumed=row.get("assumed"),
        )
    return None


def _table_rates(row: dict[str, Any]) -> Rates:
    return Rates(**{field.name: row.get(field.name, row["input"]) for field in fields(Rates)})


def _less(rates: Rates, share: float) -> Rates:
    return Rates(**{field.name: getattr(rates, field.name) * (1 - share) for field in fields(Rates)})
