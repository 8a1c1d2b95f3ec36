"""Which final answers could not be used, and why, by setting."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import polars as pl

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import said
from runner.reporting.charts.judged import own_answers
from runner.reporting.charts.names import short
from runner.reporting.charts.style import PAPER, SERIES, canvas, key, rows_from_top
from runner.reporting.summary import Failure, Summary
from runner.reporting.tables import ALL
from runner.reporting.words import count, percent

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_SHADES = tuple((colour, shade) for shade in (1.0, 0.5) for colour in SERIES)


def failures(summary: Summary, items: pl.DataFrame) -> Chart | None:
    """Shares of final answers that failed, stacked by reason; None where none did."""
    found = [row for row in summary.failures if row.n]
    totals = _totals(summary, items)
    if not found or not totals:
        return None
    sizes: dict[str, int] = {}
    for row in found:
        sizes[row.reason] = sizes.get(row.reason, 0) + row.n
    reasons = sorted(sizes, key=lambda reason: (-sizes[reason], reason))
    figure, (axes,) = canvas(summary.marks, summary.heading, height=1.2 + 0.3 * len(totals))
    rows_from_top(axes, [short(setting) for setting in totals])
    words = []
    for y, (setting, total) in enumerate(totals.items()):
        own = [row for row in found if row.setting == setting]
        failed = sum(row.n for row in own)
        _bar(axes, y, own, reasons, total)
        words.append(f"{count(failed)} of {count(total)} failed, coverage {percent(1 - failed / total)}")
        said(axes, y, words[-1])
    axes.set_xlim(left=0)
    from matplotlib.patches import Patch
    from matplotlib.ticker import FuncFormatter

    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{100 * value:.3g} %"))
    axes.set_xlabel("share of final answers that failed, lower is better")
    key(figure, [Patch(facecolor=_colour(place), label=short(name)) for place, name in enumerate(reasons)])
    rule = "leave the metrics" if summary.protocol == "paper" else "count as failures in every metric"
    return Chart(
        "failures",
        "Answers that could not be used",
        f"Final answers that failed, by reason, as a share of all final answers of the setting; under this protocol "
        f"they {rule}. Answers that can still be had are in neither.",
        "Failed answers by setting: "
        + "; ".join(f"{short(setting)} {told}" for setting, told in zip(totals, words, strict=True))
        + ".",
        figure,
    )


def _totals(summary: Summary, items: pl.DataFrame) -> dict[str, int]:
    """Final answers per setting: counted, or, without items, instances of the table."""
    if items.height and "setting" in items.columns:
        counted = dict(own_answers(items).group_by("setting").agg(pl.len()).iter_rows())
        settings = [setting for setting in summary.settings if setting in counted]
        return {setting: counted[setting] for setting in settings}
    rows = [row for row in summary.rows if row.group == ALL and row.metric == summary.primary and row.n]
    return {row.setting: row.n for row in rows}


def _bar(axes: Axes, y: int, own: Sequence[Failure], reasons: Sequence[str], total: int) -> None:
    start = 0.0
    for place, reason in enumerate(reasons):
        share = sum(row.n for row in own if row.reason == reason) / total
        axes.barh(y, share, 0.62, left=start, color=_colour(place), edgecolor=PAPER, linewidth=0.5)
        start += share


def _colour(place: int) -> tuple[str, float]:
    return _SHADES[place % len(_SHADES)]
