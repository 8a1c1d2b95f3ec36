import re
from datetime import UTC, date, datetime, timedelta, timezone

import genai_prices
import pytest
from genai_prices import data_snapshot

from runner.models import Model, all_models, find_model
from runner.pricing import (
    Price,
    Rates,
    cost,
    highest_price,
    price,
    price_changes,
    standard_price,
)

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


NEW_YEAR = {date(2027, 1, 1)}
ANNOUNCED = {
    "gpt-5.6-sol": {date(2026, 11, 22)},
    "gemini-3.6-flash": NEW_YEAR,
    "gemini-3.7-flash": NEW_YEAR,
    "gemini-3.8-flash": NEW_YEAR,
}


def named(model: Model) -> str:
    return f"{model.provider}/{model.id}"


each_model = pytest.mark.parametrize("model", LISTED, ids=named)
each_recorded = pytest.mark.parametrize("model", RECORDED, ids=named)


def known(model: Model | str, at: datetime = AT) -> Price:
    found = price(find_model(model) if isinstance(model, str) else model, at)
    assert found is not None
    return found


def package_bill(
    model: Model, whole: int, cached: int, written: int, output: int, context: dict[str, str], kept_long: int = 0
) -> float:
    counts = {"cache_read_tokens": cached, "cache_write_tokens": written, "cache_write_1h_tokens": kept_long}
    usage = genai_prices.Usage(input_tokens=whole, output_tokens=output, **counts)
    calculated = genai_prices.calc_price(
        usage, model.id, provider_id=model.provider, genai_request_timestamp=AT, price_context=context
    )
    return float(calculated.total_price)


@each_recorded
@pytest.mark.parametrize("whole", [900, 200_000, 300_000], ids=["short", "cacheable", "long"])
def test_a_bill_is_that_of_the_price_package(model: Model, whole: int) -> None:
    rates = known(model)
    cached = whole // 2 if rates.base.cached_input < rates.base.input else 0
    written = whole // 3 if rates.base.cache_write > rates.base.input else 0
    kept_long = written // 2 if rates.base.cache_write_long > rates.base.cache_write else 0
    expected = package_bill(model, whole, cached, written, 700, {"processing": "batch"}, kept_long)
    assert cost(rates, whole, cached, 700, written, kept_long) == pytest.approx(expected, rel=1e-12)


@each_recorded
def test_a_batch_costs_half_of_the_standard_price(model: Model) -> None:
    for whole in (1_000, 300_000):
        standard = package_bill(model, whole, 0, 0, 1_000, {})
        rates = known(model)
        assert cost(rates, whole, 0, 1_000, 0) == pytest.approx(standard / 2, rel=1e-12)
        assert rates.assumed is None


@pytest.mark.parametrize(
    ("name", "rates"),
    [
        ("gpt-4o", Rates(1.25, 1.25, 1.25, 1.25, 5)),
        ("gpt-4o-mini", Rates(0.075, 0.075, 0.075, 0.075, 0.3)),
        ("gpt-4.1-mini", Rates(0.2, 0.2, 0.2, 0.2, 0.8)),
        ("o3", Rates(1, 1, 1, 1, 4)),
        ("gpt-5-mini", Rates(0.125, 0.0125, 0.125, 0.125, 1)),
        ("gpt-5.6-luna", Rates(0.1, 0.01, 0.125, 0.125, 0.6)),
        ("gpt-6-luna", Rates(0.05, 0.005, 0.0625, 0.0625, 0.25)),
        ("o3-pro", Rates(10, 10, 10, 10, 40)),
        ("gpt-5.5-pro", Rates(15, 15, 15, 15, 90)),
        ("o4-mini", Rates(0.55, 0.55, 0.55, 0.55, 2.2)),
        ("claude-3.5-sonnet", Rates(1.5, 0.15, 1.875, 3, 7.5)),
        ("claude-sonnet-4", Rates(1.5, 0.15, 1.875, 3, 7.5)),
        ("claude-haiku-4-5", Rates(0.5, 0.05, 0.625, 1, 2.5)),
        ("claude-sonnet-5-5", Rates(1, 0.05, 1.25, 2, 5)),
        ("gemini-2.5-pro", Rates(0.625, 0.125, 0.625, 0.625, 5)),
        ("gemini-2.5-flash", Rates(0.15, 0.03, 0.15, 0.15, 1.25)),
        ("gemini-3.5-flash", Rates(0.75, 0.075, 0.75, 0.75, 4.5)),
        ("gemini-3.7-flash", Rates(0.375, 0.0375, 0.375, 0.375, 1.875)),
        ("gemini-3.8-flash", Rates(0.375, 0.0375, 0.375, 0.375, 1.875)),
        ("mistral", Rates(0.25, 0.025, 0.25, 0.25, 0.75)),
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
        assert 0 < rates.cached_input <= rates.input <= rates.cache_write <= rates.cache_write_long < 100
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
    assert cost(found, 1_000, 0, 1_000) == pytest.approx(standard)
    assert found.assumed is not None
    assert "standard" in found.assumed


def test_a_time_before_batch_prices_were_recorded_gives_the_first_ones_and_says_so() -> None:
    early = known("gpt-4o-mini", datetime(2026, 3, 1, tzinfo=UTC))
    assert early.base == known("gpt-4o-mini").base
    assert early.assumed is not None


@pytest.mark.parametrize(
    ("name", "of", "times"),
    [
        ("gpt-5.4-mini-2026-09-09", "gpt-5.4-mini", 1),
        ("ft:gpt-4.1-2025-04-14:acme::x1", "gpt-4.1", 4),
        ("openai/ft:gpt-5.4-mini-2026-09-09:acme::x1", "gpt-5.4-mini", 4),
        ("ft:gpt-4o-mini-2024-07-18:acme::x1", "gpt-4o-mini", 2),  # the package has a price of its own for it
        ("anthropic/claude-sonnet-4-5-next", "claude-sonnet-4-5", 1),
    ],
)
def test_what_is_taken_for_the_price_of_a_name_that_is_not_listed_is_said(name: str, of: str, times: int) -> None:
    found, base = known(name), known(of)
    assert cost(found, 1_000, 0, 1_000) == pytest.approx(times * cost(base, 1_000, 0, 1_000))
    assert found.assumed is not None
    assert of in found.assumed


def test_an_unknown_model_has_no_price() -> None:
    assert price(find_model("openai/some-model-of-our-own"), AT) is None
    assert highest_price(find_model("openai/some-model-of-our-own"), AT) is None


def test_a_price_names_its_source_and_the_day_it_was_checked() -> None:
    found = known("gpt-4o-mini")
    assert found.source.startswith("genai-prices ")
    assert found.checked >= date(2026, 10, 14)
    assert "0.075 in / 0.3 out" in str(found)


def test_a_promotion_ends_on_its_day_in_utc() -> None:
    before, after = Rates(2, 0.2, 2.5, 2.5, 10), Rates(2.5, 0.25, 3.125, 3.125, 15)
    end = datetime(2026, 11, 22, tzinfo=UTC)
    for name in ("gpt-5.6-sol", "openai/gpt-5.6", "gpt-5.6-sol-2026-07-09"):
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
    assert day_before.base == Rates(2.5, 0.25, 3.125, 3.125, 15)
    assert day_before.long == Rates(5, 0.5, 6.25, 6.25, 22.5)
    assert highest_price(model, AT - timedelta(days=5)) == known(model, AT - timedelta(days=5))


@pytest.mark.parametrize("name", [model.id for model in LISTED if model.provider == "anthropic"])
def test_what_anthropic_keeps_an_hour_costs_twice_the_input_to_write(name: str) -> None:
    for rates in filter(None, (known(name).base, known(name).long)):
        assert rates.cache_write_long == pytest.approx(2 * rates.input)


@each_recorded
@pytest.mark.parametrize("whole", [900, 200_000, 300_000], ids=["short", "cacheable", "long"])
def test_the_standard_price_is_that_of_the_package_without_batch(model: Model, whole: int) -> None:
    found = standard_price(model, AT)
    assert found is not None
    cached = whole // 2 if found.base.cached_input < found.base.input else 0
    written = whole // 3 if found.base.cache_write > found.base.input else 0
    expected = package_bill(model, whole, cached, written, 700, {})
    assert cost(found, whole, cached, 700, written) == pytest.approx(expected, rel=1e-12)
    assert "without batch (genai-prices" in str(found)
    assert not found.in_batch


@pytest.mark.parametrize(
    ("name", "day", "standard"),
    [
        ("gpt-4.1", AT, (2, 0.5, 8)),  # read from the cache it is cheaper, other than in a batch
        ("gpt-5.6-sol", AT, (4, 0.4, 20)),
        ("gpt-5.6-sol", datetime(2026, 11, 22, tzinfo=UTC), (5, 0.5, 30)),
        ("gemini-3.7-flash", datetime(2027, 1, 1, tzinfo=UTC), (1.5, 0.15, 7.5)),
        ("llama-3.3-70b", AT, (0.13, 0.13, 0.4)),
        ("deepinfra/llama-3.3-70b", AT, (0.23, 0.23, 0.4)),
        ("together/llama-3.3-70b", AT, (0.88, 0.88, 0.88)),
        ("gpt-oss-120b", AT, (0.15, 0.075, 0.6)),
    ],
)
def test_published_standard_prices(name: str, day: datetime, standard: tuple[float, ...]) -> None:
    found = standard_price(find_model(name), day)
    assert found is not None
    assert (found.base.input, found.base.cached_input, found.base.output) == pytest.approx(standard)
    assert found.source
    assert found.checked <= date(2026, 11, 21)


@each_model
def test_no_standard_price_is_a_batch_price_in_disguise(model: Model) -> None:
    standard, batch = standard_price(model, AT), known(model)
    if standard is not None:
        share = batch.base.input / standard.base.input
        assert share == pytest.approx(batch.base.output / standard.base.output)
        assert share < 0.81 or batch.assumed, "a batch is cheaper, or it is said that nothing documents it"


def test_an_announced_change_is_known_before_it_comes() -> None:
    model = find_model("gpt-5.6-sol")
    ((day, then),) = price_changes(model, datetime(2026, 11, 21, 23, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC))
    assert (day, then) == (date(2026, 11, 22), known(model, datetime(2026, 11, 22, tzinfo=UTC)))
    assert price_changes(model, AT, datetime(2026, 11, 21, 23, 59, tzinfo=UTC)) == []
    assert price_changes(model, datetime(2026, 11, 22, tzinfo=UTC), datetime(2028, 1, 1, tzinfo=UTC)) == []


@each_model
def test_between_two_changes_the_price_stays(model: Model) -> None:
    end = datetime(2027, 3, 1, tzinfo=UTC)
    changes = dict(price_changes(model, AT, end))
    expected = known(model)
    for later in range((end - AT).days):
        at = AT + timedelta(days=later)
        expected = changes.get(at.date(), expected)
        assert known(model, at).costs_the_same(expected)
    assert set(changes) == ANNOUNCED.get(model.id, set())


def test_a_record_that_only_becomes_surer_is_no_change() -> None:
    before = datetime(2026, 9, 1, tzinfo=UTC)
    assert price_changes(find_model("gpt-4o-mini"), before, AT) == []


def test_the_package_is_asked_offline() -> None:
    assert not data_snapshot.get_snapshot().from_auto_update
