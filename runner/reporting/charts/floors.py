"""Which floor is the best one: the trivial predictor that a model has to beat."""

from __future__ import annotations

from collections.abc import Iterable

from runner.metrics.score import Score
from runner.reporting.tables import ALL, LOWER_IS_BETTER


def best_floor(floors: Iterable[Score], metric: str, group: str, setting: str | None = None) -> Score | None:
    """The best in ``setting`` (or of those that read no context at all), or in any; None where there is none."""
    found = {
        row.value: row
        for row in floors
        if row.metric == metric
        and row.group == group
        and row.value is not None
        and (setting is None or row.setting in (setting, ALL))
    }
    if not found:
        return None
    return found[min(found) if metric in LOWER_IS_BETTER else max(found)]
