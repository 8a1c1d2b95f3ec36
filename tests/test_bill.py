"""One request's bill: the tiers, what is taken where nothing is told, the expression, and the bound."""

from datetime import UTC, date, datetime, timedelta

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.models import all_models, find_model
from runner.pricing import (
    CACHE_FROM_TOKENS,
    Price,
    Rates,
    bound_expr,
    cost,
    cost_expr,
    estimate_expr,
    highest_price,
    price,
)

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)
COLUMNS = ["input_tokens", "cached_tokens", "output_tokens", "cache_write_tokens", "cache_write_long_tokens"]


def bound(found: Price, most_in: int, most_out: int) -> float:
    frame = pl.DataFrame({"most_in": [most_in], "most_out": [most_out]})
    return float(frame.select(bound_expr(found, input_bound="most_in", max_output="most_out")).item())


def known(name: str) -> Price:
    found = price(find_model(name), AT)
    assert found is not None
    return found


def test_the_whole_request_is_dearer_above_the_threshold_and_not_at_it() -> None:
    found = Price(Rates(1, 1, 1, 1, 10), "test", date(2026, 1, 1), long_above_tokens=1_000, long=Rates(2, 2, 2, 2, 15))
    assert cost(found, 1_000, 0, 100) == pytest.approx((1_000 * 1 + 100 * 10) / 1e6)
    assert cost(found, 1_001, 0, 100) == pytest.approx((1_001 * 2 + 100 * 15) / 1e6)


def test_missing_usage_counts_as_nothing() -> None:
    assert cost(known("gpt-6-luna"), None, None, None) == 0
    assert cost(known("gpt-5-mini"), 1_000_000, None, None) == pytest.approx(0.125)


def test_written_tokens_cost_what_writing_costs_where_they_are_told_and_else_the_worst_is_taken() -> None:
    openai, anthropic = known("gpt-6-luna"), known("claude-haiku-4-5")
    assert cost(openai, 2_000, 500, 0, 1_000) == pytest.approx((500 * 0.05 + 500 * 0.005 + 1_000 * 0.0625) / 1e6)
    assert cost(openai, 2_000, 500, 0) == pytest.approx((1_500 * 0.0625 + 500 * 0.005) / 1e6), "OpenAI writes unasked"
    assert cost(openai, 2_000, 500, 0, 0) == pytest.approx((1_500 * 0.05 + 500 * 0.005) / 1e6)
    assert cost(openai, CACHE_FROM_TOKENS - 1, 0, 0) == pytest.approx((CACHE_FROM_TOKENS - 1) * 0.05 / 1e6)
    assert cost(anthropic, 2_000, 0, 0) == pytest.approx(2_000 * 0.5 / 1e6), "Anthropic writes only when asked to"
    assert cost(anthropic, 2_000, 500, 0, 1_500) == pytest.approx((1_500 * 0.625 + 500 * 0.05) / 1e6)
    assert cost(anthropic, 2_000, 500, 0, 1_500, 900) == pytest.approx((600 * 0.625 + 900 * 1 + 500 * 0.05) / 1e6)


def rates_of(input: float, reading: float, output: float, dearer: float, dearest: float) -> Rates:
    """Writing is never cheaper than not writing."""
    return Rates(input, reading, input + dearer, input + dearer + dearest, output)


usd = st.floats(0, 100, allow_nan=False)
rates = st.builds(rates_of, usd, usd, usd, usd, usd)
day = st.just(date(2026, 1, 1))
prices = st.one_of(
    st.builds(Price, rates, st.just("test"), day, writes_unasked=st.booleans()),
    st.builds(Price, rates, st.just("test"), day, st.integers(0, 5_000), rates, st.booleans()),
)
tokens = st.one_of(st.none(), st.integers(0, 10_000))
rows = st.lists(st.tuples(tokens, tokens, tokens, tokens, tokens), min_size=1, max_size=8)


def framed(rows: list[tuple[int | None, ...]], columns: list[str] = COLUMNS) -> pl.DataFrame:
    return pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64()), orient="row")


def about(rows: list[float]) -> object:
    return pytest.approx(rows, rel=1e-12, abs=1e-15)


@given(prices, rows)
def test_the_expression_is_the_function_row_by_row(found: Price, rows: list[tuple[int | None, ...]]) -> None:
    billed = framed(rows).select(usd=cost_expr(found))["usd"].to_list()
    assert billed == about([cost(found, *row) for row in rows])


@given(prices, rows)
def test_parts_from_before_hour_long_writes_are_billed_without_them(
    found: Price, rows: list[tuple[int | None, ...]]
) -> None:
    old = framed([row[:4] for row in rows], COLUMNS[:4])
    assert old.select(usd=cost_expr(found))["usd"].to_list() == about([cost(found, *row[:4]) for row in rows])


@given(prices, rows)
def test_an_estimate_of_what_was_told_is_the_bill(found: Price, rows: list[tuple[int | None, ...]]) -> None:
    told = [tuple(count or 0 for count in row) for row in rows]
    frame = framed(told).with_columns(half=pl.col("output_tokens") / 2)
    names = {"input": "input_tokens", "cached": "cached_tokens", "written": pl.col("cache_write_tokens")}
    expr = estimate_expr(found, **names, written_long="cache_write_long_tokens", output=pl.col("half") * 2)
    assert frame.select(usd=expr)["usd"].to_list() == about([cost(found, *row) for row in told])
    plain = estimate_expr(found, input="input_tokens", cached=0, written=0, written_long=0, output=100)
    assert frame.select(usd=plain)["usd"].to_list() == about([cost(found, row[0], 0, 100, 0) for row in told])


def test_an_estimate_is_made_per_request_and_not_on_the_sum() -> None:
    found = known("gemini-2.5-pro")
    frame = pl.DataFrame({"tokens": [150_000, 150_000, 250_000]})
    expr = estimate_expr(found, input="tokens", cached=0, written=0, written_long=0, output=0)
    assert frame.select(expr.sum()).item() == pytest.approx((300_000 * 0.625 + 250_000 * 1.25) / 1e6)


def any_bill(found: Price, most_in: int, most_out: int, data: st.DataObject) -> float:
    whole = data.draw(st.integers(0, most_in))
    written = data.draw(st.one_of(st.none(), st.integers(0, whole)))
    cached, output = data.draw(st.integers(0, whole)), data.draw(st.integers(0, most_out))
    return cost(found, whole, cached, output, written, data.draw(st.integers(0, whole)))


@given(prices, st.integers(0, 10_000), st.integers(0, 10_000), st.data())
def test_no_bill_exceeds_its_bound(found: Price, most_in: int, most_out: int, data: st.DataObject) -> None:
    assert any_bill(found, most_in, most_out, data) <= bound(found, most_in, most_out) * (1 + 1e-12)


BILLED_AND_BOUND = [
    (billed, highest)
    for model in all_models()
    for when in (AT, datetime(2026, 12, 31, 12, tzinfo=UTC), datetime(2027, 1, 1, 6, tzinfo=UTC))
    if (billed := price(model, when)) and (highest := highest_price(model, when - timedelta(hours=20)))
]


@given(st.sampled_from(BILLED_AND_BOUND), st.integers(0, 400_000), st.integers(0, 50_000), st.data())
def test_no_bill_of_a_listed_model_exceeds_its_bound(
    of_model: tuple[Price, Price], most_in: int, most_out: int, data: st.DataObject
) -> None:
    """Also where the job was made up to a day before, at another price."""
    billed, highest = of_model
    assert any_bill(billed, most_in, most_out, data) <= bound(highest, most_in, most_out) * (1 + 1e-12)


def test_the_bound_of_a_request_that_may_be_kept_an_hour_is_that_of_writing_it() -> None:
    found = known("claude-haiku-4-5")
    assert bound(found, 1_000_000, 0) == pytest.approx(1.0)
