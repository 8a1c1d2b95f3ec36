"""What is known of each model: the registry of models.toml, and what is assumed of a model outside it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date, timedelta
from functools import cache
from importlib import resources
from typing import Any

from runner.errors import RunnerError

CHAT = "/v1/chat/completions"
ALIKE = 50
"""How alike, of 100, a listed name must be to one that is not known in order to be suggested for it."""

_DATED = re.compile(r"(?P<base>.+)-(?P<day>\d{4}-\d{2}-\d{2}|\d{8})")
_FINE_TUNED = re.compile(r"ft:(?P<base>[^:]+):.+")


@dataclass(frozen=True, slots=True)
class Model:
    """One model at one provider. ``id`` is its canonical name there, without the provider's own.

    Prompt and output limit together stay within ``window_tokens``. ``encoding`` is a tiktoken name or None;
    without one a token is taken for ``bytes_per_token`` UTF-8 bytes. ``endpoint`` is the one of OpenAI's that
    serves the model. ``refused`` names the parts of a Body that the model answers with an error or ignores, and
    ``refused_when_thinking`` those that it refuses when told to think; they are left out.

    ``efforts`` are the words that the model takes for how much to think (none: it takes no such parameter) and
    ``allowances`` what each adds to the output limit, in tokens; ``reasoning_allowance_tokens`` is added where no
    effort is asked for (0: it answers at once). ``thinking`` is Gemini's way of being told: a "budget" of tokens,
    at least and at most ``thinking_budgets`` (0 turns thinking off), or a "level"; None where it is not told.

    ``queue_tokens`` are the enqueued prompt tokens that usage tiers 1, 2, … may have, None where the provider
    documents none. ``retires`` is the first day without it. ``assumptions`` are sentences for the user: what is
    taken for true without a source. ``base`` is the id of the listed model whose facts these are, where the name
    itself is not listed: a dated form of it, or (``is_fine_tuned``) one that was made of it.
    """

    id: str
    provider: str
    window_tokens: int
    max_output_tokens: int
    output_limit_parameter: str
    source: str
    checked: date
    encoding: str | None = None
    encoding_assumed: bool = False
    bytes_per_token: float = 4.0
    endpoint: str = CHAT
    refused: frozenset[str] = frozenset()
    refused_when_thinking: frozenset[str] = frozenset()
    efforts: tuple[str, ...] = ()
    allowances: tuple[int, ...] = ()
    reasoning_allowance_tokens: int = 0
    thinking: str | None = None
    thinking_budgets: tuple[int, int] | None = None
    queue_tokens: tuple[int, ...] | None = None
    retires: date | None = None
    successor: str | None = None
    assumptions: tuple[str, ...] = ()
    is_listed: bool = True
    base: str | None = None

    @property
    def is_fine_tuned(self) -> bool:
        """Whether the name is of a fine-tuned model: ``ft:<its base>:…``."""
        return _FINE_TUNED.fullmatch(self.id) is not None

    @property
    def reasoning(self) -> bool:
        """Whether the model thinks before it answers when no effort is asked for."""
        return self.reasoning_allowance_tokens > 0

    def reasoning_allowance_of(self, effort: str | None) -> int:
        """Tokens added to every output limit for the thinking. Raises RunnerError for an effort it does not take."""
        if effort is None:
            return self.reasoning_allowance_tokens
        if effort not in self.efforts:
            known = f"it takes {', '.join(self.efforts)}" if self.efforts else "it takes none: leave it out"
            raise RunnerError(f"{self.id} takes no effort {effort!r}; {known}.", code="bad_effort")
        return self.allowances[self.efforts.index(effort)]

    def refused_at(self, effort: str | None) -> frozenset[str]:
        """``refused``, and where this effort makes the model think, ``refused_when_thinking`` too."""
        return self.refused | self.refused_when_thinking if self.reasoning_allowance_of(effort) else self.refused

    def queue_tokens_of(self, tier: int) -> int | None:
        """Enqueued prompt tokens of one usage tier (from 1), None where none are documented."""
        if self.queue_tokens is None:
            return None
        if not 1 <= tier <= len(self.queue_tokens):
            raise RunnerError(f"there is no usage tier {tier} at {self.provider}: give one of 1 to {self.tiers}")
        return self.queue_tokens[tier - 1]

    @property
    def tiers(self) -> int:
        """How many usage tiers are known for the model; 0 where the provider documents no queue by tier."""
        return len(self.queue_tokens or ())


def find_model(name: str, *, as_of: date | None = None) -> Model:
    """The model that the user means by ``name`` or ``provider/name``; case and spaces do not matter.

    The provider is the part before the first slash. A short name of an open model (``llama-3.3-70b``) means the
    first host of models.toml that has it, which is said in ``assumptions``. A dated form of a listed model, and a
    model that was fine-tuned from one (``ft:gpt-4.1:…``), have its facts. Any other name that the registry does not
    know is taken, with stated ``assumptions``, only where its provider is named. Raises RunnerError for an unknown
    name without one, for a provider that cannot be run, and, where ``as_of`` is given, for a model that is shut down
    on that day: no name ever becomes another model.
    """
    provider, bare = _parted(name)
    model = _known(provider, bare) or _derived(provider, bare)
    if model is None and provider and bare:
        model = _assumed(provider, bare)
    if model is None:
        raise RunnerError(f"the model '{name}' is not known: {_hint(bare)}", code="unknown_model")
    if as_of is not None and model.retires is not None and as_of >= model.retires:
        instead = f"use {model.successor} instead, or" if model.successor else "choose another, or"
        raise RunnerError(
            f"the model '{model.id}' was shut down by its provider on {model.retires}: {instead} replay a day before "
            f"that (EMULATE=1 AS_OF={model.retires - timedelta(days=1)})",
            code="model_retired",
        )
    return model


def is_name_of(model: Model, told: str, *, at_custom_host: bool = False) -> bool:
    """Whether a reply that names its model so came from the one that was asked.

    It did where the name is its id, a dated form of that, or what models.toml calls it besides; behind a custom host,
    whose names are its own, only where it is the id that was sent or a dated form of it.
    """
    name, asked = _key(told), _key(model.id)
    dated = _dated(name)
    if name == asked or (dated is not None and dated["base"] == asked):
        return True
    return not at_custom_host and name in map(_key, _aliases(model))


def _aliases(model: Model) -> tuple[str, ...]:
    """The undated and short names of the row that a model has its facts from; a fine-tuned one has none."""
    if model.is_fine_tuned:
        return ()
    for row in _tables()["model"]:
        ids = (row["id"], *row.get("snapshots", ()))
        if _provider(row) == model.provider and (model.id in ids or model.base in ids):
            return (row["id"], *row.get("names", ()))
    return ()


def all_models() -> tuple[Model, ...]:
    """The registry in its order, without the dated and the short names of the same models."""
    return tuple(_read(row) for row in _tables()["model"])


def names_of(model: Model) -> tuple[str, ...]:
    """The short names by which a listed model may be asked for, besides its id."""
    rows = (row for row in _tables()["model"] if row["id"] == model.id)
    return next((tuple(row.get("names", ())) for row in rows if _provider(row) == model.provider), ())


def providers() -> tuple[str, ...]:
    """Every provider of the registry, in its order."""
    return tuple(_tables()["provider"])


def _parted(name: str) -> tuple[str, str]:
    """The provider ("" where none is named) and the rest."""
    name = name.strip()
    if "/" not in name:
        return "", name
    provider, _, bare = name.partition("/")
    if provider.casefold() not in providers():
        raise RunnerError(
            f"there is no provider '{provider}' (asked for by model '{name}'): use one of {', '.join(providers())}, "
            "as in openai/gpt-4o-mini or nebius/meta-llama/Llama-3.3-70B-Instruct"
        )
    return provider.casefold(), bare.strip()


def _hint(bare: str) -> str:
    near = _near(_key(bare))
    hint = f"did you mean {' or '.join(near)}?" if near else "`make models` lists those that are."
    return f"{hint} For another one write openai/<name>, or <provider>/<name> of {', '.join(providers())}."


def _near(key: str) -> list[str]:
    """Up to three listed names: those that go on where this one ends, then those that are spelled much like it."""
    from rapidfuzz import fuzz, process

    longer = [name for name in _names() if key and name.startswith(key)]
    alike = process.extract(key, list(_names()), scorer=fuzz.ratio, limit=3, score_cutoff=ALIKE)
    return list(dict.fromkeys([*longer, *(name for name, *_ in alike)]))[:3]


def _key(name: str) -> str:
    """By what names are compared: "Claude 3.5 Sonnet" is ``claude-3.5-sonnet``."""
    return "-".join(name.casefold().split())


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(resources.files("runner").joinpath("models.toml").read_text(encoding="utf-8"))


def _provider(row: Mapping[str, Any]) -> str:
    provider: str = row.get("provider") or _tables()["family"][row["family"]]["provider"]
    return provider


def _read(row: Mapping[str, Any]) -> Model:
    """A row of the table over its family's."""
    provider = _tables()["provider"][_provider(row)]
    from_provider = {name: provider[name] for name in ("source", "checked") if name in provider}
    facts = {**from_provider, **_tables()["family"][row["family"]], **row}
    for name in ("family", "names", "snapshots"):
        facts.pop(name, None)
    assumptions = (*facts.pop("family_assumptions", ()), *facts.pop("assumptions", ()))
    if provider.get("has_token_queue") and "queue_tokens" not in facts:
        assumptions += ("the provider documents no batch queue limit for this model",)
    if facts.get("encoding_assumed"):
        assumptions += (f"tokens counted with {facts['encoding']}, which nobody confirms",)
    efforts: dict[str, int] = facts.pop("efforts", {})
    for name in ("refused", "refused_when_thinking"):
        facts[name] = frozenset(facts.get(name, ()))
    for name in ("queue_tokens", "thinking_budgets"):
        facts[name] = tuple(facts[name]) if name in facts else None
    return Model(**facts, efforts=tuple(efforts), allowances=tuple(efforts.values()), assumptions=assumptions)


@cache
def _names() -> dict[str, tuple[Model, ...]]:
    """Every name that a listed model is known by, and the models that bear it in the order of the table."""
    named: dict[str, tuple[Model, ...]] = {}
    for row in _tables()["model"]:
        model = _read(row)
        bearers = [model, *(replace(model, id=snapshot) for snapshot in row.get("snapshots", ()))]
        for bearer in bearers:
            named[_key(bearer.id)] = (*named.get(_key(bearer.id), ()), bearer)
        for name in row.get("names", ()):
            said = f"{name} means {model.id} at {model.provider}"
            bearer = replace(model, assumptions=(*model.assumptions, said))
            named[_key(name)] = (*named.get(_key(name), ()), bearer)
    return named


def _known(provider: str, bare: str) -> Model | None:
    bearers = _names().get(_key(bare), ())
    return next((model for model in bearers if provider in ("", model.provider)), None)


def _derived(provider: str, name: str) -> Model | None:
    """A dated or fine-tuned name that is not listed, of a model that is: the same facts, with the assumption said."""
    match = _FINE_TUNED.fullmatch(name) or _dated(name)
    if match is None:
        return None
    base = _known(provider, match["base"]) or (_derived(provider, match["base"]) if name.startswith("ft:") else None)
    if base is None or _key(base.id) != _key(match["base"]):
        return None
    taken = f"limits taken from {base.id}"
    return replace(base, id=name, is_listed=False, base=base.id, assumptions=(*base.assumptions, taken))


def _dated(name: str) -> re.Match[str] | None:
    """A name that ends with a day of the calendar."""
    match = _DATED.fullmatch(name)
    if match is None:
        return None
    try:
        date.fromisoformat(match["day"])
    except ValueError:
        return None
    return match


def _assumed(provider: str, name: str) -> Model:
    """A name that is not listed, as its provider's table says. A name of a thinking family is treated as one."""
    table = _tables()["provider"][provider]
    made_of = match["base"] if (match := _FINE_TUNED.fullmatch(name)) else name
    thinks = "thinking_names" in table and re.search(table["thinking_names"], made_of) is not None
    row = {
        "id": name,
        "provider": provider,
        "family": table["thinking_family" if thinks else "family"],
        "window_tokens": table["window_tokens"],
        "max_output_tokens": table["max_output_tokens"],
        "source": f"assumed, as the model is not in the registry: {table['because']}",
        "checked": table["checked"],
    }
    model = _read(row)
    said: tuple[str, ...] = (
        f"a window of {model.window_tokens:,} tokens and at most {model.max_output_tokens:,} tokens of output",
        f"treated as a model that {'thinks first' if model.reasoning else 'answers at once'}",
    )
    if model.encoding is not None and not model.encoding_assumed:
        model = replace(model, encoding_assumed=True)
        said += (f"tokens counted with {model.encoding}, which nobody confirms",)
    unlisted = f"{name} is a model, though none of those that `make models` lists"
    assumptions = (*said, *table.get("assumptions", ()), *model.assumptions, unlisted)
    return replace(model, is_listed=False, assumptions=assumptions)
