"""The result for which the benchmark exists, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from math import floor

from runner.metrics.intervals import FEWEST_AUTHORS
from runner.metrics.score import Effect, Score
from runner.reporting.charts.names import metric_name, opening, short
from runner.reporting.effects import MEANINGS, NOT_TESTED
from runner.reporting.summary import Summary
from runner.reporting.tables import ALL, LOWER_IS_BETTER, best_floor
from runner.reporting.words import NOT_DEFINED, count, estimate, figure, is_zero, percent, signed


def headline(summary: Summary) -> str:
    """The effects of the 2 x 2 on the primary metric; without them, the first setting beside its best floor.

    Marks (rehearsal, partial) come first. Differences are raw, with their intervals, turned so that + is better; of
    a partial run nothing is concluded from them.
    """
    found = {row.name: row for row in summary.effects if _is_main(row, summary.primary)}
    effects = [found[name] for name in MEANINGS if name in found]
    said = _of_effects(effects, _is_partial(summary)) if effects else _of_setting(summary)
    return ": ".join(filter(None, (" · ".join(summary.marks), said)))


def _is_partial(summary: Summary) -> bool:
    return summary.state == "partial"


def _is_main(row: Effect, primary: str) -> bool:
    return row.kind == "main" and row.group == ALL and row.metric == primary


def _of_effects(effects: Sequence[Effect], partial: bool) -> str:
    metric = effects[0].metric
    is_mixed = any(row.low is not None for row in effects)
    parts = [
        f"{MEANINGS[row.name]}: {_difference(row, metric if row is effects[0] else None)}"
        f"{', no interval' if is_mixed and row.low is None else _verdict(row) if not partial else ''}"
        for row in effects
    ]
    return f"{opening('; '.join(parts))} ({', '.join(_grounds(effects, partial))})."


def _difference(row: Effect, metric: str | None) -> str:
    """``balanced accuracy +0.031 [0.012, 0.050]``; ``log error lower by 0.12 [0.05, 0.19]``."""
    if row.value is None:
        return " ".join(filter(None, (metric and metric_name(metric), NOT_DEFINED)))
    name = f"{metric_name(metric)} " if metric else ""
    if all(is_zero(number) for number in (row.value, row.low, row.high) if number is not None):
        return f"{name}{estimate(row.value, row.low, row.high)}"
    if row.metric in LOWER_IS_BETTER:
        if row.value >= 0 or row.low is None or row.high is None:
            word, bounds = ("lower" if row.value >= 0 else "higher"), (row.low, row.high)
        else:
            word, bounds = "higher", (-row.high, -row.low)
        return f"{name}{word} by {estimate(abs(row.value), *bounds)}"
    return f"{name}{signed(row.value, row.low, row.high)}"


def _verdict(row: Effect) -> str:
    if row.value is None or row.low is None or row.high is None or row.is_shown:
        return ""
    if row.low <= 0 <= row.high:
        return ", no difference shown"
    return ", not tested" if row.p_holm is None else f", no difference shown (adjusted p {row.p_holm:.2g})"


def _grounds(effects: Sequence[Effect], partial: bool) -> list[str]:
    """On what it rests: intervals, instances, authors, tests."""
    first = effects[0]
    said = []
    bounded = [row for row in effects if row.low is not None]
    if bounded:
        said.append(f"{' / '.join(dict.fromkeys(f'{100 * row.level:.4g} %' for row in bounded))} intervals")
    elif first.authors < FEWEST_AUTHORS:
        said.append(f"no interval and no test: fewer than {FEWEST_AUTHORS} effective authors")
    else:
        said.append(f"no interval: {first.note or 'undefined'}")
    # Rounded down: 19.9 are not the 20 that an interval needs.
    said.append(f"{count(first.n)} instances, worth {count(floor(first.authors))} authors")
    adjusted = [row for row in effects if row.p_holm is not None]
    if partial and bounded:
        said.append(NOT_TESTED)
    elif adjusted:
        said.append("Holm-adjusted" if len(adjusted) == len(effects) else "Holm-adjusted where tested")
    elif bounded:
        said.append("not tested" if all(row.p is None for row in effects) else "exploratory")
    return said


def _of_setting(summary: Summary) -> str:
    row = next((row for row in summary.rows if row.metric == summary.primary and row.group == ALL), None)
    if row is None:
        return summary.explanation or "No answer has been scored."
    grounds = [f"{count(row.n)} instances", f"coverage {percent(row.coverage)}"]
    if row.value is not None:
        grounds.insert(0, "95 % interval" if row.low is not None else row.note or "no interval")
    value = estimate(row.value, row.low, row.high)
    own = f"{short(row.setting)}: {metric_name(row.metric)} {value} ({', '.join(grounds)})"
    return f"{own}; {_beside_floor(summary, row)}."


def _beside_floor(summary: Summary, row: Score) -> str:
    best = best_floor(summary.floors, row.metric, ALL, row.setting)
    if best is None:
        return "no trivial predictor to compare with"
    said = f"best trivial predictor, {short(best.floor or '', 40)}: {figure(best.value)}"
    name = f"{row.setting} - {best.floor}"
    effect = next((one for one in summary.effects if one.kind == "floor" and one.name == name), None)
    if effect is None or effect.value is None:
        return said
    verdict = f", {NOT_TESTED}" if _is_partial(summary) else _verdict(effect)
    return f"{said}, difference: {_difference(effect, None)}{verdict}"
