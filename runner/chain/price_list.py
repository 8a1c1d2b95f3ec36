"""The prices of a model for a reader: today's, without batch, and every change that is announced."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

from runner.models import find_model
from runner.pricing import Price, price, price_changes, standard_price
from runner.reporting.price_view import PriceSheet, Terms, Tier

FOREVER = datetime.max.replace(tzinfo=UTC)


def price_sheet(name: str, now: datetime) -> PriceSheet:
    """What is known on the day of ``now``. Raises RunnerError for a model that the registry does not take."""
    model = find_model(name)
    return PriceSheet(
        model=model.id,
        provider=model.provider,
        day=now.astimezone(UTC).date(),
        batch=_terms(price(model, now)),
        standard=_terms(standard_price(model, now)),
        changes=tuple((day, _terms(then)) for day, then in price_changes(model, now, FOREVER)),
        retires=model.retires,
    )


def _terms(found: Price | None) -> Terms | None:
    if found is None:
        return None
    tiers = [Tier(**asdict(found.base))]
    if found.long is not None and found.long_above_tokens is not None:
        tiers.append(Tier(**asdict(found.long), above_tokens=found.long_above_tokens))
    return Terms(tuple(tiers), found.source, found.checked, found.assumed)
