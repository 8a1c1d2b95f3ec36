from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal

import genai_prices
import polars as pl
import pytest
from genai_prices import data_snapshot
from hypothesis import given
from hypothesis import strategies as st

from runner.models import Model, all_models, find_model
from runner.pricing import CACHE_FROM_TOKENS, Price, Rates, bound, cost, cost_expr, highest_price, price

AT = datetime(2026, 11, 20, 12, tzinfo=UTC)

each_model = pytest.mark.parametrize("model", all_models(), ids=lambda model: model.id)


def known(model: Model | str, at: datetime = AT) -> Price:
    found = price(find_model(model) if isinstance(model, str) else model, at)
    assert found is not None
    return found


def package_bill(model: Model, whole: int, cached: int, written: int, output: int, context: dict[str, str]) -> Decimal:
    usage = genai_prices.Usage(
        input_tokens=whole, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output
    )
    return genai_prices.calc_price(
        usage, model.id, provider_id="openai", genai_request_timestamp=AT, price_context=context
    ).total_price


@each_model
@pytest.mark.parametrize("whole", [900, 200_000, 300_000], ids=["short", "cacheable", "long"])
def test_a_bill_is_that_of_the_price_package(model: Model, whole: int) -> None:
    rates = known(model)
    writes_cost = rates.base.cache_write > rates.base.input
    cached = whole // 2 if rates.base.cached_input < rates.base.input else 0
    written = whole - cached if writes_cost and whole >= CACHE_FROM_TOKENS else 0
    expected = package_bill(model, whole, cached, written, 700, {"processing": "batch"})
    assert cost(rates, whole, cached, 700) == pytest.approx(float(expected), rel=1e-12)


@each_model
def test_a_batch_costs_half_of_the_standard_price(model: Model) -> None:
    for whole in (1_000, 300_000):
        standard = package_bill(model, whole, 0, 0, 1_000, {})
        rates = known(model)
        plain = replace(rates, base=_no_cache(rates.base), long=rates.long and _no_cache(rates.long))
        assert cost(plain, whole, 0, 1_000) == pytest.approx(float(standard) / 2, rel=1e-12)
        assert rates.assumed is None


def _no_cache(rates: Rates) -> Rates:
    return replace(rates, cached_input=rates.input, cache_write=rates.input)


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("gpt-4o", Rates(1.25, 1.25, 1.25, 5)),
        ("gpt-4o-mini", Rates(0.075, 0.075, 0.075, 0.3)),
        ("gpt-4.1-mini", Rates(0.2, 0.2, 0.2, 0.8)),
        ("o3", Rates(1, 1, 1, 4)),
        ("gpt-5-mini", Rates(0.125, 0.0125, 0.125, 1)),
        ("gpt-5.6-luna", Rates(0.1, 0.01, 0.125, 0.6)),
        ("gpt-6-luna", Rates(0.05, 0.005, 0.0625, 0.25)),
    ],
)
def test_published_batch_prices(name: str, rates: Rates) -> None:
    """OpenAI's pricing page; where it has no batch price for cached input, that is no cheaper than input."""
    assert known(name).base == rates


def test_a_model_without_a_batch_price_has_the_standard_one_and_says_so() -> None:
    model = find_model("openai/gpt-4o-search-preview")
    found = known(model)
    standard = package_bill(model, 1_000, 0, 0, 1_000, {})
    assert cost(found, 1_000, 0, 1_000) == pytest.approx(float(standard))
    assert found.assumed is not None
    assert "standard" in found.assumed


def test_a_time_before_batch_prices_were_recorded_gives_the_first_ones_and_says_so() -> None:
    early = known("gpt-4o-mini", datetime(2026, 3, 1, tzinfo=UTC))
    assert early.base == known("gpt-4o-mini").base
    assert early.assumed is not None


def test_an_unknown_model_has_no_price() -> None:
    assert price(find_model("openai/some-model-of-our-own"), AT) is None
    assert highest_price(find_model("openai/some-model-of-our-own"), AT) is None


def test_a_price_names_its_source_and_the_day_it_was_checked() -> None:
    found = known("gpt-4o-mini")
    assert found.source.startswith("genai-prices ")
    assert found.checked >= date(2026, 10, 14)
    assert "0.075 in / 0.3 out" in str(found)


def test_a_promotion_ends_on_its_day_in_utc() -> None:
    before, after = Rates(2, 0.2, 2.5, 10), Rates(2.5, 0.25, 3.125, 15)
    end = datetime(2026, 11, 22, tzinfo=UTC)
    for name in ("gpt-5.6-sol", "gpt-5.6", "gpt-5.6-sol-2026-07-09"):
        assert known(name, end - timedelta(seconds=1)).base == before
        assert known(name, end).base == after
        assert known(name, end).assumed is not None
    still_the_21st = datetime(2026, 11, 22, 8, tzinfo=timezone(timedelta(hours=9)))
    assert known("gpt-5.6-sol", still_the_21st).base == before
    assert known("gpt-6-sol", end).base == known("gpt-6-sol").base


def test_a_job_made_before_a_rise_is_bounded_by_the_price_after_it() -> None:
    model = find_model("gpt-5.6-sol")
    day_before = highest_price(model, datetime(2026, 11, 21, 9, tzinfo=UTC))
    assert day_before is not None
    assert day_before.base == Rates(2.5, 0.25, 3.125, 15)
    assert day_before.long == Rates(5, 0.5, 6.25, 22.5)
    assert highest_price(model, AT - timedelta(days=5)) == known(model, AT - timedelta(days=5))


def test_the_whole_request_is_dearer_above_the_threshold_and_not_at_it() -> None:
    found = Price(Rates(1, 1, 1, 10), "test", date(2026, 1, 1), long_above_tokens=1_000, long=Rates(2, 2, 2, 15))
    assert cost(found, 1_000, 0, 100) == pytest.approx((1_000 * 1 + 100 * 10) / 1e6)
    assert cost(found, 1_001, 0, 100) == pytest.approx((1_001 * 2 + 100 * 15) / 1e6)


def test_missing_usage_counts_as_nothing() -> None:
    assert cost(known("gpt-6-luna"), None, None, None) == 0
    assert cost(known("gpt-5-mini"), 1_000_000, None, None) == pytest.approx(0.125)


def test_the_package_is_asked_offline() -> None:
    assert not data_snapshot.get_snapshot().from_auto_update


usd = st.floats(0, 100, allow_nan=False)
rates = st.builds(Rates, usd, usd, usd, usd)
prices = st.one_of(
    st.builds(Price, rates, st.just("test"), st.just(date(2026, 1, 1))),
    st.builds(Price, rates, st.just("test"), st.just(date(2026, 1, 1)), st.integers(0, 5_000), rates),
)
tokens = st.one_of(st.none(), st.integers(0, 10_000))
rows = st.lists(st.tuples(tokens, tokens, tokens), min_size=1, max_size=8)


@given(prices, rows)
def test_the_expression_is_the_function_row_by_row(found: Price, rows: list[tuple[int | None, ...]]) -> None:
    columns = ["input_tokens", "cached_tokens", "output_tokens"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64()), orient="row")
    assert frame.select(cost_expr(found)).to_series().to_list() == pytest.approx(
        [cost(found, *row) for row in rows], rel=1e-12, abs=1e-15
    )


@given(prices, st.integers(0, 10_000), st.integers(0, 10_000), st.data())
def test_no_bill_exceeds_its_bound(found: Price, most_in: int, most_out: int, data: st.DataObject) -> None:
    whole = data.draw(st.integers(0, most_in))
    bill = cost(found, whole, data.draw(st.integers(0, whole)), data.draw(st.integers(0, most_out)))
    assert bill <= bound(found, most_in, most_out) * (1 + 1e-12)
