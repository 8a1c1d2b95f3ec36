"""The model against trivial predictors, and against another model: the primary metric on the same instances."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import polars as pl

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict.limits import SETTINGS
from runner.benchmarks.personaconvbench.strict.scoring.effects import PARTIAL
from runner.benchmarks.personaconvbench.strict.scoring.floors import ALL
from runner.benchmarks.personaconvbench.strict.scoring.kinds import PRIMARY, Kind
from runner.benchmarks.personaconvbench.strict.scoring.measures import measured
from runner.benchmarks.personaconvbench.strict.scoring.pairs import align, compare
from runner.benchmarks.personaconvbench.strict.scoring.table import settings_of
from runner.metrics.effects import Contrast
from runner.metrics.score import Effect
from runner.metrics.statistic import estimate

_LEVEL = 0.95
_SAID, _OTHER = "first", "second"
_LESS = {_SAID: 1.0, _OTHER: -1.0}


def beats(own: pl.DataFrame, floors: pl.DataFrame, kind: Kind, design: Design) -> Iterator[Effect]:
    """Per setting the model less the best floor that the setting allows, on the instances that both have.

    The best is the one of the best value on just these instances. Of a ``design`` that does not test (answers are
    still to come) the effects say that nothing may be concluded from them.
    """
    primary = (PRIMARY[kind],)
    for setting in settings_of(own):
        said = own.filter(pl.col("setting") == setting)
        best: tuple[float, str, dict[str, pl.DataFrame]] | None = None
        for (name,), floor in floors.filter(pl.col("setting").is_in([setting, ALL])).group_by(
            "floor", maintain_order=True
        ):
            answers = said.select("instance_id", "sample").join(floor.drop("sample"), on="instance_id")
            frames = align({_SAID: said, _OTHER: answers})
            worth = _worth(frames[_OTHER], kind)
            if frames[_SAID].height and (best is None or worth > best[0]):
                best = worth, str(name), frames
        if best is not None:
            contrast = Contrast(f"{setting} - {best[1]}", "floor", _LESS)
            for effect in compare(best[2], [contrast], kind, primary, "all", level=_LEVEL, tested=False):
                notes = (None if design.tested else PARTIAL, effect.note)
                yield replace(effect, note="; ".join(note for note in notes if note) or None)


def _worth(rows: pl.DataFrame, kind: Kind) -> float:
    """The primary metric, turned so that more is better; undefined is worse than all."""
    one = measured(rows, kind, (PRIMARY[kind],))[PRIMARY[kind]]
    value = estimate(one.statistic, rows["weight"].to_numpy())
    return float("-inf") if value is None else one.sign * value


def versus(first: pl.DataFrame, second: pl.DataFrame, name: str, kind: Kind, design: Design) -> Iterator[Effect]:
    """One model less another in each setting that both have, on the answers that both have; p-conv is tested."""
    ours, theirs = (items.filter(pl.col("floor").is_null()) for items in (first, second))
    for setting in settings_of(ours):
        here = pl.col("setting") == setting
        frames = align({_SAID: ours.filter(here), _OTHER: theirs.filter(here)})
        yield from compare(
            frames,
            [Contrast(name, "model", _LESS)],
            kind,
            (PRIMARY[kind],),
            setting,
            level=design.level,
            tested=design.tested and setting == SETTINGS[0],
        )
