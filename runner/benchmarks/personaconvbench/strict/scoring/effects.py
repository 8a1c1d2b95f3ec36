"""Effects on complete sets of settings: own history rather than a comparable stranger's, a thread rather than none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench.strict.scoring.contrasts import ARMS, MAIN, SIMPLE, declared
from runner.benchmarks.personaconvbench.strict.scoring.kinds import METRICS, NO_QUALITY, NOTES, PRIMARY, Kind
from runner.benchmarks.personaconvbench.strict.scoring.pairs import Aligned, align, compare
from runner.metrics import multiplicity
from runner.metrics.effects import Contrast
from runner.metrics.score import Effect

UNSEEN = "no own reply visible"
PARTIAL = "no test: partial"
_TESTABLE = frozenset({"balanced_accuracy", "accuracy", "log_mae", "mae", *METRICS["text"]})


def setting_effects(own: pl.DataFrame, kind: Kind, design: Design, task: str) -> list[Effect]:
    """All metrics over all instances (the primary first), then the primary where no own reply is visible and by domain.

    A domain has main effects only. Rows are answers that are final in all settings of the 2 x 2 that were asked; an
    effect whose settings were not asked is left out. The main effects on the primary are the family that ``design``
    declares.
    """
    metrics = [metric for metric in METRICS[kind] if metric not in NO_QUALITY]
    square, possible = _complete(own, (*MAIN, *SIMPLE))
    found = _compared(square, possible, kind, metrics, design)
    for contrasts in ARMS:
        found += _compared(*_complete(own, contrasts), kind, metrics, design)
    found.sort(key=lambda effect: metrics.index(effect.metric))  # stable: contrasts keep their order
    found = _with_family(found, PRIMARY[kind], design, task)
    found += _in_groups(square, possible, kind, design)
    return [_noted(effect, design) for effect in found]


def _complete(own: pl.DataFrame, contrasts: Sequence[Contrast]) -> tuple[Aligned, list[Contrast]]:
    """What is final in all of the contrasts' settings that were asked, and the contrasts that these allow."""
    settings = dict.fromkeys(setting for contrast in contrasts for setting in contrast.coefficients)
    asked = [setting for setting in settings if setting in own["setting"]]
    frames = align({setting: own.filter(pl.col("setting") == setting) for setting in asked})
    return frames, [contrast for contrast in contrasts if set(contrast.coefficients) <= set(asked)]


def _compared(
    frames: Aligned, contrasts: Sequence[Contrast], kind: Kind, metrics: Sequence[str], design: Design
) -> list[Effect]:
    return compare(frames, contrasts, kind, metrics, "all", level=design.level, tested=design.tested)


def _in_groups(square: Aligned, contrasts: Sequence[Contrast], kind: Kind, design: Design) -> list[Effect]:
    """The instances of a group keep the weights that they have in the whole."""
    if not contrasts:
        return []
    primary, level = (PRIMARY[kind],), design.level
    one = next(iter(square.values()))
    unseen = _only(square, pl.col("own_visible") == 0)
    found = compare(unseen, contrasts, kind, primary, UNSEEN, level=level, tested=design.tested)
    main = [contrast for contrast in contrasts if contrast.kind == "main"]
    for domain in one["domain"].unique().sort():
        inside = _only(square, pl.col("domain") == domain)
        found += compare(inside, main, kind, primary, f"domain={domain}", level=level, tested=False)
    return found


def _only(frames: Aligned, rows: pl.Expr) -> dict[str, pl.DataFrame]:
    return {setting: frame.filter(rows) for setting, frame in frames.items()}


def _with_family(effects: Sequence[Effect], primary: str, design: Design, task: str) -> list[Effect]:
    """Names the declared tests and adjusts their p; without one of them the family cannot be judged."""
    named: Mapping[int, str] = {
        place: name
        for place, effect in enumerate(effects)
        if effect.kind == "main"
        and effect.metric == primary
        and (name := declared(task, effect.name, primary)) in design.family
    }
    p = [effects[place].p for place in named]
    known = [one for one in p if one is not None]
    adjusted: Sequence[float | None] = multiplicity.holm(known) if len(known) == len(p) else [None] * len(p)
    of_family = dict(zip(named, adjusted, strict=True))
    return [
        replace(effect, family=named[place], p_holm=of_family[place]) if place in named else effect
        for place, effect in enumerate(effects)
    ]


def _noted(effect: Effect, design: Design) -> Effect:
    partial = not design.tested and effect.metric in _TESTABLE and not effect.group.startswith("domain=")
    notes = (NOTES.get(effect.metric), PARTIAL if partial else None, effect.note)
    return replace(effect, note="; ".join(note for note in notes if note) or None)
