"""The primary metric of each setting beside the best trivial predictor."""

from __future__ import annotations

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import dot, floor_handle, floor_mark, hollow, said
from runner.reporting.charts.names import metric_axis, metric_name, opening, short
from runner.reporting.charts.style import canvas, key, looks, rows_from_top
from runner.reporting.summary import Summary
from runner.reporting.tables import ALL, best_floor
from runner.reporting.words import count, estimate, figure, percent


def primary(summary: Summary) -> Chart | None:
    """Settings as dots with intervals, the best floor of each as a stroke; None without a defined value."""
    rows = [row for row in summary.rows if row.metric == summary.primary and row.group == ALL]
    if all(row.value is None for row in rows):
        return None
    style = looks([row.setting for row in rows])
    drawn, (axes,) = canvas(summary.marks, summary.heading, height=1.25 + 0.36 * len(rows))
    rows_from_top(axes, [short(row.setting) for row in rows])
    names: dict[str, None] = {}
    words = []
    for y, row in enumerate(rows):
        dot(axes, y, row.value, row.low, row.high, style[row.setting])
        said(axes, y - 0.14, estimate(row.value, row.low, row.high))
        words.append(f"{short(row.setting)} {estimate(row.value, row.low, row.high)}")
        floor = best_floor(summary.floors, summary.primary, ALL, row.setting)
        if floor is not None:
            name = short(floor.floor or "floor", 40)
            names[name] = None
            floor_mark(axes, y, floor.value)
            said(axes, y + 0.2, f"{name} {figure(floor.value)}", size=6.3, dim=True)
    axes.set_xlabel(metric_axis(summary.primary))
    handles = [floor_handle("best floor of the setting")] if names else []
    if any(row.low is None and row.value is not None for row in rows):
        handles.append(hollow())
    if handles:
        key(drawn, handles)
    n = " / ".join(dict.fromkeys(count(row.n) for row in rows))
    covered = " / ".join(dict.fromkeys(percent(row.coverage) for row in rows))
    beside = f" Dashed: the best trivial predictor ({', '.join(names)})." if names else ""
    return Chart(
        "primary",
        f"{opening(metric_name(summary.primary))} by setting",
        f"{opening(metric_axis(summary.primary))}; bars are author-clustered 95 % intervals; n = {n}, "
        f"coverage {covered}.{beside} Intervals of two settings may overlap although their paired difference is shown.",
        f"Dot plot of {metric_name(summary.primary)} by setting: {'; '.join(words)}.",
        drawn,
    )
