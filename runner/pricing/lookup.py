"""The price of a model on a day: our own table first, then the price package; and when it is going to change."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING

from runner.models import Model, find_model
from runner.pricing import overrides, packaged
from runner.pricing.rates import Price

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo

FINE_TUNED_FACTOR = 4
"""How many times the price of its base a fine-tuned model is taken to cost, where no price of it is recorded: OpenAI's
cost from 1.5 times (gpt-4.1) to 3.6 times (o4-mini) as much."""


def price(model: Model, at: datetime) -> Price | None:
    """The batch price of ``model`` at its provider at the time ``at`` (timezone-aware).

    None where no price is known: callers then say "price unknown" and never 0. Only the provider itself
    charges this price: do not ask for a model behind a custom base URL.
    """
    info, names = _known_as(model)
    found = overrides.batch_price(model.provider, names, at.astimezone(UTC).date())
    if found is None and info is not None:
        found = packaged.batch_price(model.provider, info, at.astimezone(UTC))
    if found is None and model.base is not None:
        return _of_base(model, price(_base(model), at))
    return _with_habits(_taken_for(model, info, found), model)


def standard_price(model: Model, at: datetime) -> Price | None:
    """What the same would cost without batch at the time ``at`` (timezone-aware); None where that is not known.

    It is never a batch price in disguise: a row of our table counts only where it says what a batch saves.
    """
    info, names = _known_as(model)
    found = overrides.standard_price(model.provider, names, at.astimezone(UTC).date())
    if found is None and info is not None:
        found = packaged.standard_price(info, at.astimezone(UTC))
    if found is None and model.base is not None:
        return _of_base(model, standard_price(_base(model), at))
    return _with_habits(_taken_for(model, info, found), model)


def highest_price(model: Model, at: datetime, window: timedelta = timedelta(hours=24)) -> Price | None:
    """The dearer, rate by rate, of the prices when a job is made and when its window ends.

    What ``bound`` needs: a job that was made before a price rise may be billed after it.
    """
    now, later = price(model, at), price(model, at + window)
    if now is None or later is None or now == later:
        return later
    thresholds = [each.long_above_tokens for each in (now, later) if each.long_above_tokens is not None]
    dear = now.base.or_dearer(later.base)
    return replace(
        later,
        base=dear,
        long_above_tokens=min(thresholds, default=None),
        long=(now.long or dear).or_dearer(later.long or dear) if thresholds else None,
        assumed=later.assumed or now.assumed,
    )


def price_changes(model: Model, at: datetime, until: datetime) -> list[tuple[date, Price | None]]:
    """The days (UTC) after ``at``, up to ``until``, from which on a batch costs something else, and what.

    None for a day from which on no price is known. What nobody has announced is not in it.
    """
    info, names = _known_as(model)
    days = overrides.turns(model.provider, names) | (packaged.turns(info) if info else set())
    if info is None and model.base is not None:
        return [(day, _of_base(model, then)) for day, then in price_changes(_base(model), at, until)]
    last, changes = price(model, at), list[tuple[date, Price | None]]()
    for day in sorted(day for day in days if at.astimezone(UTC).date() < day <= until.astimezone(UTC).date()):
        then = price(model, datetime.combine(day, time(), UTC))
        is_same = then.costs_the_same(last) if then and last else then is last
        if not is_same:
            changes.append((day, then))
        last = then
    return changes


def _known_as(model: Model) -> tuple[ModelInfo | None, set[str]]:
    """The package's record of the model, and every name that a row of our table may have for it."""
    info = packaged.find(model.provider, model.id)
    return info, {model.id} if info is None else {model.id, info.id}


def _base(model: Model) -> Model:
    return find_model(f"{model.provider}/{model.base}")


def _of_base(model: Model, found: Price | None) -> Price | None:
    """The price of the listed model that another was made of, which is then said."""
    if found is None:
        return None
    if not model.is_fine_tuned:
        return _assuming(found, f"the price of {model.base}")
    dearer = replace(
        found,
        base=found.base.times(FINE_TUNED_FACTOR),
        long=found.long and found.long.times(FINE_TUNED_FACTOR),
    )
    times = f"{FINE_TUNED_FACTOR} times the price of {model.base}"
    return _assuming(dearer, f"{times}, as no price of {model.id} is recorded")


def _taken_for(model: Model, info: ModelInfo | None, found: Price | None) -> Price | None:
    """What the package has for a name that is not listed may be another model's, which is then said."""
    if found is None or info is None or model.is_listed or info.id == model.id:
        return found
    return _assuming(found, f"the price of {info.id}, for which the price package takes {model.id}")


def _assuming(found: Price, what: str) -> Price:
    return replace(found, assumed=f"{what}; {found.assumed}" if found.assumed else what)


def _with_habits(found: Price | None, model: Model) -> Price | None:
    return None if found is None else replace(found, writes_unasked=model.provider == "openai")
