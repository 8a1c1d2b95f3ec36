"""What a plan takes for known: how scores vary (a pilot's, else assumed), and at which level the next look tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from runner.benchmarks.personaconvbench.strict.scoring.contrasts import MAIN
from runner.chain.pilots import Pilot, looks_so_far
from runner.chain.runs import Asked, Workspace
from runner.metrics.multiplicity import ALPHA, look_alpha
from runner.metrics.planning import PRIOR_ICC, PRIOR_ICC_SD, Spread
from runner.reporting.words import count

ASSUMED: Mapping[str, tuple[float, float]] = {
    "balanced_accuracy": (0.46, 0.45),
    "log_mae": (1.0, 0.6),
    "rouge_l": (0.10, 0.08),
}
"""Until a pilot is scored: the s.d. of an instance's score in one setting, and of its difference between two. For 3.1
the protocol's 20 % discordance, at 70 % right answers; the others are guesses that a pilot should replace."""
ASSUMED_ERROR = 0.5
"""Relative standard error of an assumed variance: the s.d. may be a third smaller or half as large again."""

Effect = tuple[str, Mapping[str, float], float]
"""Name, coefficients of the settings, level of the interval."""


def effects_of(settings: tuple[str, ...], level: float) -> list[Effect]:
    """Name, coefficients and level of all that gets an interval: the main effects first, then the settings."""
    main: list[Effect] = [
        (each.name, each.coefficients, level) for each in MAIN if set(each.coefficients) <= {*settings}
    ]
    return main + [(setting, {setting: 1.0}, 1 - ALPHA) for setting in settings]


def spread_of(
    pilot: Pilot | None, primary: str, coefficients: Mapping[str, float], classes: Sequence[str]
) -> tuple[Spread, bool]:
    """From the pilot, or (True) assumed."""
    found = pilot.spread_of(coefficients) if pilot else None
    if found is not None and set(classes) == set(found.variances):
        return found, False
    alone, apart = ASSUMED.get(primary, (1.0, 1.0))
    # Settings that are alike have the variance s²(1 - r) for Σ coefficients² = 1, which is half of a difference's.
    squares = sum(factor**2 for factor in coefficients.values())
    variance = alone**2 if len(coefficients) == 1 else apart**2 / 2 * squares
    return Spread(
        dict.fromkeys(classes, variance), dict.fromkeys(classes, ASSUMED_ERROR), PRIOR_ICC, PRIOR_ICC_SD
    ), True


def level_of(workspace: Workspace, asked: Asked) -> tuple[float, str]:
    """The level of the effects' intervals at the next look, and a sentence about it."""
    so_far, plans = looks_so_far(workspace, asked)
    planned = asked.looks if plans <= {asked.looks} else None
    alpha = look_alpha(so_far + 1, planned)
    if alpha is None:
        return 1 - ALPHA, f"look {so_far + 1} of {planned} planned: nothing is confirmed any more"
    of = f" of {planned} planned" if planned else ""
    return 1 - alpha, f"scoring it will be look {so_far + 1}{of}: effects at level {1 - alpha:.4g}, settings at 0.95"


def basis_of(pilot: Pilot | None, asked: Asked, is_assumed: bool) -> str:
    """In words, whose answers the half-widths rest on."""
    if pilot is None or is_assumed:
        return "assumptions"
    whose = "its own pilot" if pilot.asked.model == asked.model else f"a pilot of {pilot.asked.model}"
    where = "" if pilot.asked.corpus == asked.corpus else ", another corpus"
    return f"{whose}: {count(pilot.items.height)} instances{where}"
