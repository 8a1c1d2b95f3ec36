"""Which model answered, by the replies' own word, against the one that was asked: another one is never silent."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from runner.chain.runs import Asked
from runner.models import find_model, is_name_of
from runner.venues import is_rehearsal

_SIGNED = "-emulator"
"""How the emulator's Gemini ends the name of every model."""


def other_models(asked: Asked, versions: pl.Series) -> dict[str, int]:
    """Of rows' ``model_version`` the names that are not the asked model's, each with its rows; most rows first."""
    model = find_model(f"{asked.provider}/{asked.model}")
    is_custom = asked.venue != asked.provider and not is_rehearsal(asked.venue)
    counted = versions.drop_nulls().rename("version").value_counts()
    found: dict[str, int] = {}
    for version, n in counted.sort("count", "version", descending=[True, False]).iter_rows():
        name = _name(version)
        if name is not None and not is_name_of(model, name, at_custom_host=is_custom):
            found[name] = found.get(name, 0) + n
    return found


def _name(version: str) -> str | None:
    """The model's name in a ``model_version``, where a fingerprint may follow it, or stand alone."""
    first = version.split(maxsplit=1)[0] if version.strip() else ""
    if not first or first.startswith("fp_"):
        return None
    return first.removeprefix("models/").removesuffix(_SIGNED)


def swap_sentence(asked: Asked, others: Mapping[str, int], answers: int) -> str | None:
    """What is said of answers that name another model; None where there are none."""
    if not others:
        return None
    named = ", ".join(f"{name} ({n:,})" for name, n in others.items())
    return f"{asked.model} was asked, but {sum(others.values()):,} of {answers:,} answers name another model: {named}"
