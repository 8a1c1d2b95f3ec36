"""What is known of each model: the registry of models.toml, and what is assumed of a model outside it."""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from importlib import resources
from typing import Any

from runner.errors import RunnerError

OUTPUT_LIMIT_PARAMETERS = ("max_tokens", "max_completion_tokens")
TIERS = (1, 2, 3, 4, 5)

_REASONING = re.compile(r"gpt-([5-9]|\d\d)|o\d")  # names of the thinking families, as OpenAI gives them
_BARE_OPENAI = re.compile(r"(gpt-|o\d|ft:gpt-|chatgpt-)")
_SNAPSHOT = re.compile(r"(?P<base>.+)-\d{4}-\d{2}-\d{2}")


@dataclass(frozen=True, slots=True)
class Model:
    """One model. ``id`` is its canonical name, as the provider knows it, without the provider's own.

    Prompt and output limit together stay within ``window_tokens``. ``encoding`` is a tiktoken name or None.
    ``refused`` names the request parameters that are left out because the model answers them with an error.
    ``reasoning_allowance_tokens`` is added to every output limit (0 where the model does not think first).
    ``queue_tokens`` are the enqueued prompt tokens that usage tiers 1 to 5 may have, None where the provider
    documents none. ``assumptions`` are sentences for the user: what is taken for true without a source.
    """

    id: str
    provider: str
    window_tokens: int
    max_output_tokens: int
    encoding: str | None
    output_limit_parameter: str
    source: str
    checked: date
    encoding_assumed: bool = False
    refused: frozenset[str] = frozenset()
    reasoning: bool = False
    reasoning_allowance_tokens: int = 0
    queue_tokens: tuple[int, ...] | None = None
    retires: date | None = None
    successor: str | None = None
    assumptions: tuple[str, ...] = ()

    def queue_tokens_of(self, tier: int) -> int | None:
        """Enqueued prompt tokens of one usage tier (1 to 5), None where none are documented."""
        if tier not in TIERS:
            raise RunnerError(f"there is no usage tier {tier}: give one of 1 to 5")
        return None if self.queue_tokens is None else self.queue_tokens[tier - 1]


def find_model(name: str, *, as_of: date | None = None) -> Model:
    """The model that the user means by ``name`` or ``provider/name``.

    A model that the registry does not know is taken with stated ``assumptions`` when the provider is named or
    the name looks like OpenAI's (``gpt-…``, ``o3…``). Raises RunnerError for any other unknown name, for a
    provider that cannot be run, and, where ``as_of`` is given, for a model that is shut down on that day.
    """
    provider, _, bare = ("", "", name.strip()) if "/" not in name else name.strip().partition("/")
    if provider and provider not in _providers():
        known = ", ".join(sorted(_providers()))
        raise RunnerError(
            f"there is no provider '{provider}' (asked for by model '{name}'): use one of {known}, "
            "as in openai/gpt-4o-mini"
        )
    model = _registry().get(bare) or _snapshot_of(bare)
    if model is None and bare and (provider or _BARE_OPENAI.match(bare)):
        model = _assumed(bare)
    if model is None:
        close = difflib.get_close_matches(bare, _registry(), n=3, cutoff=0.5)
        known = ", ".join(model.id for model in all_models())
        hint = f"did you mean {' or '.join(close)}?" if close else f"known are {known}."
        raise RunnerError(f"the model '{name}' is not known: {hint} For another one write openai/<name>.")
    if as_of is not None and model.retires is not None and as_of >= model.retires:
        instead = f": use {model.successor} instead" if model.successor else ""
        raise RunnerError(
            f"the model '{model.id}' was shut down by its provider on {model.retires}{instead}",
            code="model_retired",
        )
    return model


def all_models() -> tuple[Model, ...]:
    """The registry in its order, without the dated names of the same models."""
    return tuple(model for name, model in _registry().items() if name not in _snapshot_names())


@cache
def _tables() -> tuple[dict[str, Any], list[dict[str, Any]]]:
    text = resources.files("runner").joinpath("models.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    return tables["family"], tables["model"]


@cache
def _registry() -> dict[str, Model]:
    families, rows = _tables()
    registry: dict[str, Model] = {}
    for row in rows:
        facts = {**families[row["family"]], **row}
        del facts["family"]
        snapshots = facts.pop("snapshots", [])
        facts["refused"] = frozenset(facts["refused"])
        facts["assumptions"] = tuple(facts.get("assumptions", ()))
        if "queue_tokens" in facts:
            facts["queue_tokens"] = tuple(facts["queue_tokens"])
        else:
            facts["assumptions"] += ("the provider documents no batch queue limit for this model",)
        if facts.get("encoding_assumed"):
            facts["assumptions"] += (f"tokens counted with {facts['encoding']}, which nobody confirms",)
        model = Model(**facts)
        registry[model.id] = model
        registry.update({snapshot: replace(model, id=snapshot) for snapshot in snapshots})
    return registry


@cache
def _snapshot_names() -> frozenset[str]:
    return frozenset(snapshot for row in _tables()[1] for snapshot in row.get("snapshots", ()))


@cache
def _providers() -> frozenset[str]:
    return frozenset(model.provider for model in _registry().values())


def _snapshot_of(name: str) -> Model | None:
    """A dated name that is not listed, of a model that is: the same facts, with the assumption said."""
    match = _SNAPSHOT.fullmatch(name)
    base = _registry().get(match["base"]) if match else None
    if base is None:
        return None
    return replace(base, id=name, assumptions=(*base.assumptions, f"limits taken from {base.id}"))


def _assumed(name: str) -> Model:
    """An unknown name at OpenAI or a compatible host. A name of a thinking family is treated as one."""
    reasoning = bool(_REASONING.match(name))
    family = _tables()[0]["openai-reasoning" if reasoning else "openai-classic"]
    return Model(
        id=name,
        provider="openai",
        window_tokens=128_000,
        max_output_tokens=16_384,
        encoding="o200k_base",
        encoding_assumed=True,
        output_limit_parameter=family["output_limit_parameter"],
        refused=frozenset(family["refused"]),
        reasoning=reasoning,
        reasoning_allowance_tokens=family["reasoning_allowance_tokens"],
        source="assumed: the model is not in the registry",
        checked=family["checked"],
        assumptions=(
            "a window of 128,000 tokens and at most 16,384 tokens of output",
            "tokens counted with o200k_base",
            f"treated as a model that {'thinks first' if reasoning else 'answers at once'}",
            "no batch queue limit is known",
        ),
    )
