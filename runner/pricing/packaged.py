"""The prices of genai-prices, behind the guards that it needs: without a word it gives standard prices for batches."""

from __future__ import annotations

from datetime import UTC, date, datetime
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING

from runner.pricing import overrides
from runner.pricing.rates import Price, Rates

if TYPE_CHECKING:
    from decimal import Decimal

    from genai_prices.types import ModelInfo, ModelPrice, TieredPrices

BATCH_RECORDED_SINCE = date(2026, 10, 14)
"""When genai-prices verified its batch prices; an older timestamp silently gives standard ones."""


def find(provider: str, model: str) -> ModelInfo | None:
    """The package's record of a model, None where it has none."""
    from genai_prices import data_snapshot

    try:
        return data_snapshot.get_snapshot().find_provider_model(model, None, provider, None)[1]
    except LookupError:
        return None


def batch_price(provider: str, info: ModelInfo, at: datetime) -> Price | None:
    """The batch price, or what is taken for it, which ``assumed`` then says."""
    recorded = datetime.combine(BATCH_RECORDED_SINCE, datetime.min.time(), UTC)
    assumed = None
    if at < recorded:
        at, assumed = recorded, f"the price of {BATCH_RECORDED_SINCE}: earlier batch prices are not recorded"
    batch = _batch_variant(info, at)
    if batch is not None:
        # Rate by rate the package falls back to standard prices. For cache reads in a batch that is what Gemini's
        # batch page documents; elsewhere it would be a discount that nobody documents (gpt-4.x, o-series): without
        # a batch price they cost what input costs.
        in_batch = info.get_prices(at, {"processing": "batch"})
        return _price(in_batch, in_batch if provider == "google" else batch, assumed)
    found = standard_price(info, at)
    if found is None:
        return None
    share, source = overrides.discount(provider) or (0.0, None)
    return Price(
        base=found.base.times(1 - share),
        source=found.source,
        checked=found.checked,
        long_above_tokens=found.long_above_tokens,
        long=found.long and found.long.times(1 - share),
        assumed=(
            f"the standard price less the {share:.0%} that {source} gives batches, as no batch price of the model is "
            "recorded"
            if source
            else "no batch price is recorded: this is the standard price, and a batch usually costs half of it"
        ),
    )


def standard_price(info: ModelInfo, at: datetime) -> Price | None:
    """The price outside of batches."""
    standard = info.get_prices(at)
    return _price(standard, standard, None, in_batch=False)


def turns(info: ModelInfo) -> set[date]:
    """The first days of the standard and batch prices that the package has."""
    from genai_prices.types import ModelPrice, StartDateConstraint

    dated = [] if isinstance(info.prices, ModelPrice) else [each.constraint for each in info.prices]
    dated += [each.constraint for each in info.price_variants or () if each.when == {"processing": "batch"}]
    return {each.start_date for each in dated if isinstance(each, StartDateConstraint)}


def _batch_variant(info: ModelInfo, at: datetime) -> ModelPrice | None:
    """The variant for batches that is in force and names both input and output (an empty one is no price)."""
    for variant in info.price_variants or ():
        in_force = variant.constraint is None or variant.constraint.active(at)
        named = variant.prices.input_mtok is not None and variant.prices.output_mtok is not None
        if variant.when == {"processing": "batch"} and in_force and named:
            return variant.prices
    return None


def _price(prices: ModelPrice, with_cached: ModelPrice, assumed: str | None, *, in_batch: bool = True) -> Price | None:
    """``with_cached`` is where the price of cached input may be taken from."""
    cached = with_cached.cache_read_mtok
    base, starts = _rates(prices, cached, is_long=False), _tier_starts(prices)
    if base is None:
        return None
    return Price(
        base=base,
        source=_source(),
        checked=BATCH_RECORDED_SINCE,
        long_above_tokens=min(starts, default=None),
        long=_rates(prices, cached, is_long=True) if starts else None,
        assumed=assumed,
        in_batch=in_batch,
    )


@cache
def _source() -> str:
    return f"genai-prices {metadata.version('genai-prices')}"


def _rates(prices: ModelPrice, cached: Decimal | TieredPrices | None, *, is_long: bool) -> Rates | None:
    def pick(value: Decimal | TieredPrices | None) -> float | None:
        tiers = getattr(value, "tiers", None)
        if value is None or tiers is None:
            return None if value is None else float(value)  # type: ignore[arg-type]
        return float(tiers[-1].price if is_long and tiers else value.base)  # type: ignore[union-attr]

    plain, output = pick(prices.input_mtok), pick(prices.output_mtok)
    if plain is None or output is None:
        return None
    read, written, written_long = pick(cached), pick(prices.cache_write_mtok), pick(prices.cache_write_1h_mtok)
    written = plain if written is None else written
    return Rates(
        input=plain,
        cached_input=plain if read is None else read,
        cache_write=written,
        cache_write_long=written if written_long is None else written_long,
        output=output,
    )


def _tier_starts(prices: ModelPrice) -> list[int]:
    """Where dearer tiers begin. The package changes tier above, not at, the start (as OpenAI words it)."""
    named = (prices.input_mtok, prices.cache_read_mtok, prices.cache_write_mtok, prices.output_mtok)
    return [tier.start for value in named for tier in getattr(value, "tiers", ())]
