"""What one request costs, at least what it can be said to cost, and at most what it can cost. Never of sums."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import polars as pl

from runner.pricing.rates import MILLION, Price, Rates
from runner.request import Usd

if TYPE_CHECKING:
    from polars._typing import IntoExpr

CACHE_FROM_TOKENS = 1024
"""A shorter prompt is neither written to nor read from the cache (OpenAI prompt caching guide)."""

Amount = TypeVar("Amount", float, pl.Expr)


def cost(
    price: Price,
    input_tokens: int | None,
    cached_tokens: int | None,
    output_tokens: int | None,
    cache_write_tokens: int | None = None,
    cache_write_long_tokens: int | None = None,
) -> Usd:
    """The bill of one request; null counts as 0.

    ``input_tokens`` include the cached and the written ones, and the written ones those that are kept an hour
    (``cache_write_long_tokens``). Where ``cache_write_tokens`` is None nobody told how much was written to the
    cache. If the provider writes unasked, every uncached token of a prompt long enough to be cached is then taken
    as written: a bill must not be understated.
    """
    whole = float(input_tokens or 0)
    cached = min(float(cached_tokens or 0), whole)
    guess = whole - cached if price.writes_unasked and whole >= CACHE_FROM_TOKENS else 0.0
    written = guess if cache_write_tokens is None else min(float(cache_write_tokens), whole - cached)
    kept_long = min(float(cache_write_long_tokens or 0), written)
    is_long = price.long_above_tokens is not None and whole > price.long_above_tokens
    rates = price.long if is_long and price.long is not None else price.base
    return Usd(_usd(rates, whole, cached, written, kept_long, float(output_tokens or 0)))


def cost_expr(price: Price) -> pl.Expr:
    """``cost`` as an expression, per row, over the columns of its arguments' names.

    A frame may be without cache_write_long_tokens: rows of an older version have none.
    """
    whole, cached = pl.coalesce("input_tokens", 0), pl.coalesce("cached_tokens", 0)
    is_guessed = price.writes_unasked & (whole >= CACHE_FROM_TOKENS)
    guess = pl.when(is_guessed).then(whole).otherwise(0)  # estimate_expr takes no more than is left
    return estimate_expr(
        price,
        input=whole,
        cached=cached,
        written=pl.coalesce("cache_write_tokens", guess),
        written_long=pl.coalesce("^cache_write_long_tokens$", 0),
        output="output_tokens",
    )


def estimate_expr(
    price: Price, *, input: IntoExpr, cached: IntoExpr, written: IntoExpr, written_long: IntoExpr, output: IntoExpr
) -> pl.Expr:
    """USD per row, each row one request: from names of columns, expressions or numbers (tokens, null counts as 0).

    ``input`` includes all that is ``cached`` and ``written``, and ``written`` includes ``written_long``, which is
    kept an hour. Counts that contradict that are cut: cached to the input, written to the rest, long to written.
    """
    whole = pl.coalesce(input, 0)
    cached = pl.min_horizontal(pl.coalesce(cached, 0), whole)
    written = pl.min_horizontal(pl.coalesce(written, 0), whole - cached)
    kept_long = pl.min_horizontal(pl.coalesce(written_long, 0), written)
    tokens = (whole, cached, written, kept_long, pl.coalesce(output, 0))
    short = _usd(price.base, *tokens)
    if price.long_above_tokens is None or price.long is None:
        return short
    return pl.when(whole > price.long_above_tokens).then(_usd(price.long, *tokens)).otherwise(short)


def bound_expr(price: Price, *, input_bound: IntoExpr, max_output: IntoExpr, writes: pl.Expr | bool = True) -> pl.Expr:
    """USD per row that no bill of the request can exceed, if it has at most these tokens and the price is right.

    Every input token at its dearest rate (plain, cached or written), the output limit used up (for n choices n
    limits), and the long-prompt price as soon as the bound on the input allows it. Where the provider writes to its
    cache only what it is told to, a request that ``writes`` nothing pays for no writing.
    """
    whole, output = pl.coalesce(input_bound, 0), pl.coalesce(max_output, 0)
    may_write = pl.lit(True) if price.writes_unasked else pl.lit(writes) if isinstance(writes, bool) else writes
    short = _most(price.base, whole, output, may_write)
    if price.long_above_tokens is None or price.long is None:
        return short
    long = _most(price.base.or_dearer(price.long), whole, output, may_write)
    return pl.when(whole > price.long_above_tokens).then(long).otherwise(short)


def _most(rates: Rates, whole: pl.Expr, output: pl.Expr, may_write: pl.Expr) -> pl.Expr:
    plain = max(rates.input, rates.cached_input)
    written = max(plain, rates.cache_write, rates.cache_write_long)
    return (whole * pl.when(may_write).then(written).otherwise(plain) + output * rates.output) / MILLION


def _usd(rates: Rates, whole: Amount, cached: Amount, written: Amount, kept_long: Amount, output: Amount) -> Amount:
    """The one sum behind every bill and estimate; numbers and expressions alike."""
    plain = (whole - cached - written) * rates.input + cached * rates.cached_input
    kept = (written - kept_long) * rates.cache_write + kept_long * rates.cache_write_long
    return (plain + kept + output * rates.output) / MILLION
