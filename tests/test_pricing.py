import re
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

LISTED = [model for model in all_models() if model.provider != "vllm"]
RECORDED = [  # with a batch price in the package, and no other in our own table
    model
    for model in LISTED
    if (model.provider in ("openai", "anthropic", "google", "mistral"))
    and not re.match(
        r"o4-mini|gpt-5\.5-pro|claude-3|claude-(sonnet|opus)-4-20|claude-opus-4-1|gemini-3\.[57]-flash$", model.id
    )
]


def named(model: Model) -> str:
    return f"{model.provider}/{model.id}"


each_model = pytest.mark.parametrize("model", LISTED, ids=named)
each_recorded = pytest.mark.parametrize("model", RECORDED, ids=named)


def known(model: Model | str, at: datetime = AT) -> Price:
    found = price(find_model(model) if isinstance(model, str) else model, at)
    assert found is not None
    return found


def package_bill(model: Model, whole: int, cached: int, written: int, output: int, context: dict[str, str]) -> Decimal:
    usage = genai_prices.Usage(
        input_tokens=whole, cache_read_tokens=cached, cache_write_tokens=written, output_tokens=output
    )
    return genai_prices.calc_price(
        usage, model.id, provider_id=model.provider, genai_request_timestamp=AT, price_context=context
    ).total_price


@each_recorded
@pytest.mark.parametrize("whole", [900, 200_000, 300_000], ids=["short", "cacheable", "long"])
def test_a_bill_is_that_of_the_price_package(model: Model, whole: int) -> None:
    rates = known(model)
    cached = whole // 2 if rates.base.cached_input < rates.base.input else 0
    written = whole // 3 if rates.base.cache_write > rates.base.input else 0
    expected = package_bill(model, whole, cached, written, 700, {"processing": "batch"})
    assert cost(rates, whole, cached, 700, written) == pytest.approx(float(expected), rel=1e-12)


@each_recorded
def test_a_batch_costs_half_of_the_standard_price(model: Model) -> None:
    for whole in (1_000, 300_000):
        standard = package_bill(model, whole, 0, 0, 1_000, {})
        rates = known(model)
        assert cost(rates, whole, 0, 1_000, 0) == pytest.approx(float(standard) / 2, rel=1e-12)
        assert rates.assumed is None


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
        ("o3-pro", Rates(10, 10, 10, 40)),
        ("gpt-5.5-pro", Rates(15, 15, 15, 90)),
        ("o4-mini", Rates(0.55, 0.55, 0.55, 2.2)),
        ("claude-3.5-sonnet", Rates(1.5, 0.15, 1.875, 7.5)),
        ("claude-sonnet-4", Rates(1.5, 0.15, 1.875, 7.5)),
        ("claude-haiku-4-5", Rates(0.5, 0.05, 0.625, 2.5)),
        ("claude-sonnet-5-5", Rates(1, 0.05, 1.25, 5)),
        ("gemini-2.5-pro", Rates(0.625, 0.125, 0.625, 5)),
        ("gemini-2.5-flash", Rates(0.15, 0.03, 0.15, 1.25)),
        ("gemini-3.5-flash", Rates(0.75, 0.075, 0.75, 4.5)),
        ("gemini-3.7-flash", Rates(0.375, 0.0375, 0.375, 1.875)),
        ("gemini-3.8-flash", Rates(0.375, 0.0375, 0.375, 1.875)),
        ("mistral", Rates(0.25, 0.025, 0.25, 0.75)),
    ],
)
def test_published_batch_prices(name: str, rates: Rates) -> None:
    """The pricing pages; where OpenAI's has no batch price for cached input, that is no cheaper than input."""
    assert known(name).base == rates
    assert known(name).assumed is None


@pytest.mark.parametrize(
    ("name", "standard", "share"),
    [
        ("llama-3.3-70b", (0.13, 0.4), 0.5),
        ("deepinfra/llama-3.3-70b", (0.23, 0.4), 0.2),
        ("deepseek-r1", (0.7, 2.4), 0.2),
        ("deepseek-v3", (0.32, 0.89), 0.2),
        ("deepseek-r1-0528", (0.8, 2.4), 0.5),
        ("deepseek-v3-0324", (0.5, 1.5), 0.5),
        ("groq/llama-3.3-70b", (0.59, 0.79), 0.25),
        ("together/llama-3.3-70b", (0.88, 0.88), 0.5),
        ("gpt-oss-120b", (0.15, 0.6), 0.25),
        ("gpt-oss-20b", (0.075, 0.3), 0.25),
        ("claude-3.7-sonnet", (3, 15), 0.5),
        ("claude-opus-4-1", (15, 75), 0.5),
    ],
)
def test_a_documented_discount_on_the_standard_price_is_an_assumption(
    name: str, standard: tuple[float, float], share: float
) -> None:
    found = known(name)
    assert (found.base.input, found.base.output) == pytest.approx([usd * (1 - share) for usd in standard])
    assert found.base.cached_input <= found.base.input
    assert found.assumed is not None
    assert f"{share:.0%}" in found.assumed.replace(" %", "%")


@each_model
def test_every_listed_model_has_a_price_with_a_source_and_a_day(model: Model) -> None:
    found = known(model)
    assert found.source
    assert date(2026, 10, 14) <= found.checked <= date(2026, 11, 21)
    for rates in filter(None, (found.base, found.long)):
        assert 0 < rates.cached_input <= rates.input <= rates.cache_write < 100
        assert rates.output >= rates.input


def test_a_model_on_the_users_own_machine_has_no_price() -> None:
    assert price(find_model("vllm/meta-llama/Llama-3.3-70B-Instruct"), AT) is None


@pytest.mark.parametrize("name", ["gemini-3.6-flash", "gemini-3.7-flash", "gemini-3.8-flash"])
def test_the_introductory_prices_of_gemini_end_with_the_year(name: str) -> None:
    last, first = datetime(2026, 12, 31, 23, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)
    assert (known(name, last).base.input, known(name, first).base.input) == (0.375, 0.75)
    at_the_turn = highest_price(find_model(name), last)
    assert at_the_turn is not None
    assert at_the_turn.base == known(name, first).base


@pytest.mark.parametrize(
    ("name", "above", "times"),
    [("gemini-2.5-pro", 200_000, 2), ("claude-haiku-5-5", 100_000, 5), ("gpt-5.5-pro", 272_000, 2)],
)
def test_a_long_prompt_is_dearer_as_a_whole(name: str, above: int, times: int) -> None:
    found = known(name)
    assert cost(found, above + 1, 0, 0) == pytest.approx(cost(found, above, 0, 0) * times, rel=1e-4)


@pytest.mark.parametrize("name", ["o4-mini", "claude-3.5-sonnet"])
def test_a_replay_of_a_retired_model_has_the_price_of_its_day(name: str) -> None:
    assert known(name, datetime(2025, 9, 1, tzinfo=UTC)) == known(name)


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


def test_written_tokens_cost_what_writing_costs_where_they_are_told_and_else_the_worst_is_taken() -> None:
    openai, anthropic = known("gpt-6-luna"), known("claude-haiku-4-5")
    assert cost(openai, 2_000, 500, 0, 1_000) == pytest.approx((500 * 0.05 + 500 * 0.005 + 1_000 * 0.0625) / 1e6)
    assert cost(openai, 2_000, 500, 0) == pytest.approx((1_500 * 0.0625 + 500 * 0.005) / 1e6), "OpenAI writes unasked"
    assert cost(openai, 2_000, 500, 0, 0) == pytest.approx((1_500 * 0.05 + 500 * 0.005) / 1e6)
    assert cost(openai, CACHE_FROM_TOKENS - 1, 0, 0) == pytest.approx((CACHE_FROM_TOKENS - 1) * 0.05 / 1e6)
    assert cost(anthropic, 2_000, 0, 0) == pytest.approx(2_000 * 0.5 / 1e6), "Anthropic writes only when asked to"
    assert cost(anthropic, 2_000, 500, 0, 1_500) == pytest.approx((1_500 * 0.625 + 500 * 0.05) / 1e6)


def test_the_package_is_asked_offline() -> None:
    assert not data_snapshot.get_snapshot().from_auto_update


usd = st.floats(0, 100, allow_nan=False)
rates = st.builds(Rates, usd, usd, usd, usd)
day = st.just(date(2026, 1, 1))
prices = st.one_of(
    st.builds(Price, rates, st.just("test"), day, writes_unasked=st.booleans()),
    st.builds(Price, rates, st.just("test"), day, st.integers(0, 5_000), rates, st.booleans()),
)
tokens = st.one_of(st.none(), st.integers(0, 10_000))
rows = st.lists(st.tuples(tokens, tokens, tokens, tokens), min_size=1, max_size=8)


@given(prices, rows)
def test_the_expression_is_the_function_row_by_row(found: Price, rows: list[tuple[int | None, ...]]) -> None:
    columns = ["input_tokens", "cached_tokens", "output_tokens", "cache_write_tokens"]
    frame = pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.Int64()), orient="row")
    assert frame.select(cost_expr(found)).to_series().to_list() == pytest.approx(
        [cost(found, *row) for row in rows], rel=1e-12, abs=1e-15
    )


def any_bill(found: Price, most_in: int, most_out: int, data: st.DataObject) -> float:
    whole = data.draw(st.integers(0, most_in))
    written = data.draw(st.one_of(st.none(), st.integers(0, whole)))
    return cost(found, whole, data.draw(st.integers(0, whole)), data.draw(st.integers(0, most_out)), written)


@given(prices, st.integers(0, 10_000), st.integers(0, 10_000), st.data())
def test_no_bill_exceeds_its_bound(found: Price, most_in: int, most_out: int, data: st.DataObject) -> None:
    assert any_bill(found, most_in, most_out, data) <= bound(found, most_in, most_out) * (1 + 1e-12)


BILLED_AND_BOUND = [
    (known(model, when), highest)
    for model in LISTED
    for when in (AT, datetime(2026, 12, 31, 12, tzinfo=UTC), datetime(2027, 1, 1, 6, tzinfo=UTC))
    if (highest := highest_price(model, when - timedelta(hours=20)))
]


@given(st.sampled_from(BILLED_AND_BOUND), st.integers(0, 400_000), st.integers(0, 50_000), st.data())
def test_no_bill_of_a_listed_model_exceeds_its_bound(
    of_model: tuple[Price, Price], most_in: int, most_out: int, data: st.DataObject
) -> None:
    """Also where the job was made up to a day before, at another price."""
    billed, highest = of_model
    assert any_bill(billed, most_in, most_out, data) <= bound(highest, most_in, most_out) * (1 + 1e-12)
