"""The registry as a table: what may be asked for, what it costs in a batch today, and until when."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime

from runner.errors import RunnerError
from runner.models import Model, all_models, find_model, names_of, providers
from runner.pricing import price
from runner.reporting.table import Table

COLUMNS = ("model", "at", "window", "output", "$ in", "$ out", "tokens", "not sent", "until", "instead")
NOTES = (
    "$ per million tokens in a batch, on that day; * where an assumption is needed, which the estimate of a run says",
    "tokens: counted exactly where the tokenizer is public, else estimated; a budget rests on an upper bound anyway",
    "not sent: what the model refuses or ignores; sampling is temperature and top_p, n several answers to one request",
    "any other model may be asked for as provider/model; what is then assumed is said",
)


def models_table(provider: str | None, now: datetime) -> Table:
    """Every listed model, or those of one provider; the retired ones come last.

    Raises RunnerError for a provider that there is none of.
    """
    if provider is not None and provider not in providers():
        raise RunnerError(f"there is no provider '{provider}': choose one of {', '.join(providers())}.")
    listed = [model for model in all_models() if provider in (None, model.provider)]
    listed.sort(key=lambda model: _is_retired(model, now))
    return Table(
        title=f"Models{f' of {provider}' if provider else ''} on {now:%Y-%m-%d}",
        columns=COLUMNS,
        rows=tuple(_row(model, now) for model in listed),
        notes=(*NOTES, *_sources(listed, now)) if listed else (f"none is listed: ask for {provider}/<model>",),
        text_columns=(0, 1, 6, 7, 9),
    )


def _row(model: Model, now: datetime) -> tuple[str, ...]:
    name = _name(model)
    found = price(model, now)
    mark = "*" if found is not None and found.assumed else ""
    return (
        name,
        model.provider if name == model.id else f"{model.provider}: {model.id}",
        _short(model.window_tokens),
        _short(model.max_output_tokens),
        "unknown" if found is None else f"{found.base.input:.4g}{mark}",
        "unknown" if found is None else f"{found.base.output:.4g}{mark}",
        "exact" if model.encoding and not model.encoding_assumed else "about",
        _refused(model.refused),
        "" if model.retires is None else f"{'RETIRED ' if _is_retired(model, now) else ''}{model.retires}",
        model.successor or "",
    )


def _name(model: Model) -> str:
    """The shortest that a user may write for exactly this row."""
    for name in (*names_of(model), model.id):
        if "/" not in name and _is_same(find_model(name), model):
            return name
    return f"{model.provider}/{next(iter(names_of(model)), model.id)}"


def _is_same(one: Model, other: Model) -> bool:
    return (one.provider, one.id) == (other.provider, other.id)


def _is_retired(model: Model, now: datetime) -> bool:
    return model.retires is not None and now.date() >= model.retires


def _refused(names: frozenset[str]) -> str:
    sampling = {"temperature", "top_p"}
    if names >= sampling:
        names = names - sampling | {"sampling"}
    return ", ".join(sorted(names))


def _short(tokens: int) -> str:
    return f"{tokens / 1e6:.3g}M" if tokens >= 1_000_000 else f"{tokens / 1e3:.3g}k"


def _sources(listed: list[Model], now: datetime) -> tuple[str, ...]:
    """One line per provider for its limits and one for its prices, each with the day of the oldest look."""
    limits = [(model.provider, model.source, model.checked) for model in listed]
    prices = [(model.provider, found.source, found.checked) for model in listed if (found := price(model, now))]
    return (*_merged("limits", limits), *_merged("prices", prices))


def _merged(what: str, facts: Iterable[tuple[str, str, date]]) -> Iterable[str]:
    by_provider: dict[str, list[tuple[str, date]]] = {}
    for provider, source, checked in facts:
        by_provider.setdefault(provider, []).append((source, checked))
    for provider, looks in by_provider.items():
        sources = dict.fromkeys(part for source, _ in looks for part in source.split("; "))
        yield f"{what} of {provider}, {min(day for _, day in looks)}: {'; '.join(sources)}"
