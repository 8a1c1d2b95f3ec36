"""Our own price table against the price package: they agree, or the row says why not and what the package has."""

import tomllib
from datetime import UTC, date, datetime, time
from pathlib import Path

import pytest

import runner
from runner.models import all_models
from runner.pricing import MILLION, Price, overrides, packaged

TABLE = tomllib.loads((Path(runner.__file__).parent / "prices.toml").read_text())
ROWS = TABLE["override"]
TOLD = {"provider", "model", "valid_from", "valid_until", "source", "checked", "assumed", "differs", "batch_discount"}
RATES = {"input", "cached_input", "cache_write", "cache_write_long", "output"}


def named(row):
    return f"{row['model']}-{row['valid_from']}"


each_row = pytest.mark.parametrize("row", ROWS, ids=named)


def package_prices(row) -> list[Price]:
    """What the package says on the first day of the row, when it began to record, and wherever it changes since."""
    info = packaged.find(row["provider"], row["model"])
    if info is None:
        return []
    turns = {packaged.BATCH_RECORDED_SINCE, *packaged.turns(info)}
    days = {row["valid_from"], *(day for day in turns if row["valid_from"] <= day <= row.get("valid_until", date.max))}
    moments = (datetime.combine(day, time(12), UTC) for day in sorted(days))
    return [found for at in moments if (found := packaged.batch_price(row["provider"], info, at))]


def ours(row) -> Price:
    found = overrides.batch_price(row["provider"], {row["model"]}, row["valid_from"])
    assert found is not None
    return found


def tiers(price: Price) -> list[float]:
    rates = [price.base, price.long or price.base]
    return [
        price.long_above_tokens or 0,
        *(getattr(each, name) * MILLION for each in rates for name in sorted(RATES)),
    ]


def difference(row, theirs: list[Price]) -> str | None:
    """What is wrong between a row and what the package says; None where nothing is."""
    others = [price for price in theirs if tiers(price) != pytest.approx(tiers(ours(row)), rel=1e-9)]
    differs = row.get("differs")
    if not others:
        return None if differs is None else f"says that it differs, but the package has the same: {theirs or 'nothing'}"
    if differs is None:
        return f"is {ours(row)}, but the package has {others[0]}: check both, and say why it `differs`"
    missing = [each for each in others if f"{each.base.input:.6g} in / {each.base.output:.6g} out" not in differs]
    return f"explains another difference than from {missing[0]}" if missing else None


@each_row
def test_a_row_is_what_the_package_has_or_says_why_not(row):
    found = difference(row, package_prices(row))
    assert found is None, f"{named(row)} {found}"


def test_a_package_that_moves_is_noticed():
    by_name = {named(row): row for row in ROWS}
    agreed, apart = by_name["o4-mini-2025-04-16"], by_name["gpt-5.5-pro-2026-04-23"]
    (theirs, *_), (other, *_) = package_prices(agreed), package_prices(apart)
    moved = Price(theirs.base.times(1.01), theirs.source, theirs.checked)
    assert "check both" in str(difference(agreed, [theirs, moved]))
    cheaper = Price(other.base.times(0.9), other.source, other.checked)
    assert "another difference" in str(difference(apart, [other, cheaper]))
    assert "has the same" in str(difference(apart, [ours(apart)]))
    no_long = Price(ours(apart).base.times(1), other.source, other.checked, long_above_tokens=200_000, long=other.base)
    assert difference({**apart, "differs": None}, [no_long]) is not None


@each_row
def test_a_row_says_where_its_price_comes_from_and_since_when(row):
    assert row["source"].strip()
    assert isinstance(row["checked"], date)
    assert isinstance(row["valid_from"], date)
    assert row.get("valid_until", date.max) >= row["valid_from"]
    assert set(row) - TOLD - RATES <= {"long_prompt"}, "a key that nobody reads"
    assert set(row.get("long_prompt", {})) - RATES <= {"above_tokens"}
    assert packaged.find("openai", "gpt-4o-mini") is not None


@each_row
def test_no_two_rows_hold_on_one_day(row):
    others = [
        other
        for other in ROWS
        if other is not row and (other["provider"], other["model"]) == (row["provider"], row["model"])
    ]
    for other in others:
        assert (
            other["valid_from"] > row.get("valid_until", date.max)
            or other.get("valid_until", date.max) < row["valid_from"]
        )


@each_row
def test_a_row_is_for_a_model_that_can_be_asked_for(row):
    ids = {model.id for model in all_models() if model.provider == row["provider"]}
    assert row["model"] in ids


@pytest.mark.parametrize("provider", TABLE["discount"])
def test_a_discount_says_where_it_comes_from(provider):
    found = TABLE["discount"][provider]
    assert 0 < found["share"] < 1
    assert found["source"].strip()
    assert isinstance(found["checked"], date)
