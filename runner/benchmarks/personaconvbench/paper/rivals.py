"""The model against trivial predictors, and against another model: one metric where both have a usable answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import polars as pl

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.paper.floors import constant_items
from runner.benchmarks.personaconvbench.paper.frame import SETTINGS, Kind
from runner.benchmarks.personaconvbench.paper.usable import best, complete, usable
from runner.metrics import regression
from runner.metrics.effects import Contrast, Measured, effects
from runner.metrics.score import Effect
from runner.metrics.statistic import estimate, mean

PRIMARY: dict[Kind, str] = {"sign": "accuracy", "value": "rmse", "text": "rouge_l"}
"""The reference names none; what its table begins with, but for 3.3, where it is that of the strict protocol."""
SEED = 0

NO_TEST = "no test: partial"
_BOTH = "only prompts where both are not 0"
_SAID, _OTHER = "first", "second"
_LESS = {_SAID: 1.0, _OTHER: -1.0}
_Pair = tuple[pl.DataFrame, pl.DataFrame]


def beats(part: pl.DataFrame, copies: pl.DataFrame, setting: str, kind: Kind, *, tested: bool) -> Iterator[Effect]:
    """The model's answers of one setting less the best floor that the setting has, on the instances of both.

    Without ``tested`` (answers are still to come) the effect says that nothing may be concluded from it.
    """
    floors = dict(constant_items(part, kind))
    for (name,), copied in copies.filter(pl.col("setting") == setting).group_by("floor", maintain_order=True):
        floors[str(name)] = copied
    ranked = []
    for name, floor in floors.items():
        pair = _common(part, floor, kind, by_sample=False)
        if pair[0].height:
            other = _measured(pair[1], kind)
            value = estimate(other.statistic, np.ones(pair[1].height))
            ranked.append((float("-inf") if value is None else other.sign * value, name, pair))
    if ranked:
        _, name, pair = max(ranked, key=lambda one: one[0])
        contrast = Contrast(f"{setting} - {name}", "floor", _LESS)
        yield from _effect(pair, contrast, kind, "all", 0.95, None if tested else NO_TEST)


def versus(first: pl.DataFrame, second: pl.DataFrame, name: str, kind: Kind, design: Design) -> Iterator[Effect]:
    """One model less another in each setting that both have, without tests: the protocol declares none."""
    for setting in SETTINGS:
        here = pl.col("floor").is_null() & (pl.col("setting") == setting)
        pair = _common(first.filter(here), second.filter(here), kind, by_sample=True)
        if pair[0].height:
            yield from _effect(pair, Contrast(name, "model", _LESS), kind, setting, design.level)


def _common(first: pl.DataFrame, second: pl.DataFrame, kind: Kind, *, by_sample: bool) -> _Pair:
    """Rows that correspond: of each instance (3.3: its best answer) or of each sample of it."""
    if kind == "text":
        keys, (a, b) = ["instance_id"], (best(complete(items), PRIMARY[kind]) for items in (first, second))
    else:
        a, b = (usable(items, kind) for items in (first, second))
        keys = ["instance_id", "sample"]
        if not by_sample:  # a floor says the same to every sample
            b = a.select(keys).join(b.drop("sample"), on="instance_id")
    return a.join(b, on=keys, how="semi").sort(keys), b.join(a, on=keys, how="semi").sort(keys)


def _measured(rows: pl.DataFrame, kind: Kind) -> Measured:
    if kind == "value":
        return Measured(regression.rmse(rows["error"].to_numpy()), sign=-1.0)
    column = "correct" if kind == "sign" else PRIMARY[kind]
    return Measured(mean(rows[column].cast(pl.Float64).to_numpy()))


def _effect(
    pair: _Pair, contrast: Contrast, kind: Kind, group: str, level: float, note: str | None = None
) -> tuple[Effect, ...]:
    first, second = pair
    found = effects(
        [contrast],
        {_SAID: {PRIMARY[kind]: _measured(first, kind)}, _OTHER: {PRIMARY[kind]: _measured(second, kind)}},
        np.ones(first.height),
        first["user"].to_numpy().astype(object),
        instances=first["instance_id"].n_unique(),
        group=group,
        level=level,
        seed=SEED,
        tested=False,
    )
    notes = (note, _BOTH if kind == "text" else None)
    return tuple(
        replace(effect, note="; ".join(part for part in (*notes, effect.note) if part) or None) for effect in found
    )
