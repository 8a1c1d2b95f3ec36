"""Score value: what was predicted against what came true, on the scale of the primary metric."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from runner.metrics.statistic import FloatArray
from runner.reporting.charts.chart import Chart
from runner.reporting.charts.judged import value_answers
from runner.reporting.charts.names import metric_name, short
from runner.reporting.charts.style import DIM, INK, SERIES, canvas, key
from runner.reporting.summary import Summary
from runner.reporting.words import count

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes

_MOST_POINTS = 2_000
_CELLS = 34
_SCALE = "log_mae"
_FAINTEST = 0.12
_TICKS = (-100_000, -10_000, -1_000, -100, -10, -1, 0, 1, 10, 100, 1_000, 10_000, 100_000, 1_000_000, 10_000_000)


def values(summary: Summary, items: pl.DataFrame) -> Chart | None:
    """A panel per setting: points, or shaded cells where there are more than 2,000; failed answers are crosses."""
    answers = value_answers(items)
    if answers is None or not answers.height:
        return None
    scale = [(pl.col(name).sign() * pl.col(name).abs().log1p()).alias(name) for name in ("truth", "predicted")]
    answers = answers.with_columns(scale)
    known = answers["setting"].unique().to_list()
    settings = [setting for setting in summary.settings if setting in known] or sorted(known)
    columns = min(2, len(settings))
    lines = -(-len(settings) // columns)
    figure, panels = canvas(
        summary.marks,
        summary.heading,
        height=0.9 + 2.5 * lines,
        rows=lines,
        columns=columns,
        share_x=True,
        share_y=True,
    )
    bounds = answers.select(
        low=pl.min_horizontal(pl.col("truth").min(), pl.col("predicted").min()),
        high=pl.max_horizontal(pl.col("truth").max(), pl.col("predicted").max()),
    ).row(0)
    low, high = bounds[0] - 0.4, bounds[1] + 0.4
    usable = answers.filter(~pl.col("failed"))
    binned = _binned(usable, low, high) if usable.height > _MOST_POINTS else None
    most = int(binned["n"].max() or 1) if binned is not None else 1  # type: ignore[arg-type]
    for number, (axes, setting) in enumerate(zip(panels, settings, strict=False)):
        own = usable.filter(pl.col("setting") == setting)
        if binned is None:
            axes.plot(own["truth"], own["predicted"], "o", color=SERIES[0], alpha=0.35, markersize=3, markeredgewidth=0)
        else:
            _cells(axes, binned.filter(pl.col("setting") == setting), (high - low) / _CELLS, most)
        failed = answers.filter(pl.col("failed") & (pl.col("setting") == setting))
        # Penalised answers lie on few lines: one cross for those that would fall on the same spot.
        spots = failed.select(pl.col("truth", "predicted").round(1)).unique(maintain_order=True)
        axes.plot(spots["truth"], spots["predicted"], "x", color=SERIES[1], markersize=3.5, markeredgewidth=0.8)
        _frame(axes, low, high)
        axes.set_title(
            f"{short(setting)} · n {count(own.height + failed.height)}, failed {count(failed.height)}", loc="left"
        )
        if number % columns == 0:
            axes.set_ylabel("predicted score (votes)")
        if number >= len(settings) - columns:
            axes.set_xlabel("true score (votes)")
            axes.tick_params(labelbottom=True)
    for axes in panels[len(settings) :]:
        axes.set_visible(False)
    has_failed = bool(answers["failed"].any())
    key(figure, _handles(most if binned is not None else None, has_failed))
    return Chart(
        "values",
        "Predicted against true scores",
        f"Each answer by its true and its predicted score in votes, both on the scale sign(x)·ln(1+|x|)"
        f"{_measured(summary)}; on the diagonal both are equal. n = {count(answers.height)} answers, not weighted"
        + (
            f"; the stronger the colour the more answers (1 to {count(most)}, logarithmic)."
            if binned is not None
            else "."
        )
        + (" Crosses: failed answers at the value that they are charged, with the wrong sign." if has_failed else "")
        + (" Failed answers leave this protocol's metrics and are not shown." if summary.protocol == "paper" else ""),
        f"Predicted against true scores of {count(answers.height)} answers in {len(settings)} panels, one per setting.",
        figure,
    )


def _measured(summary: Summary) -> str:
    """What the table makes of the distance from the diagonal, where that is what its first row holds."""
    far = f", on which {metric_name(_SCALE)} is the mean distance from the diagonal"
    return far if summary.primary == _SCALE else ""


def _binned(usable: pl.DataFrame, low: float, high: float) -> pl.DataFrame:
    """Counts in square cells: ``setting``, ``x``, ``y`` (left lower corner), ``n``."""
    width = (high - low) / _CELLS
    cells = [
        (((pl.col(name) - low) / width).floor() * width + low).alias(place)
        for name, place in (("truth", "x"), ("predicted", "y"))
    ]
    return usable.group_by("setting", *cells).agg(pl.len().alias("n")).sort("setting", "x", "y")


def _cells(axes: Axes, cells: pl.DataFrame, width: float, most: int) -> None:
    from matplotlib.collections import PolyCollection

    corners: FloatArray = np.array([[0, 0], [1, 0], [1, 1], [0, 1]]) * width
    places = cells.select("x", "y").to_numpy()[:, None, :] + corners[None]
    shades = [(SERIES[0], _shade(n, most)) for n in cells["n"]]
    axes.add_collection(PolyCollection(list(places), facecolors=shades, edgecolors="none"))


def _shade(n: int, most: int) -> float:
    if most == 1:
        return 1.0
    # In twelfths: steps that the eye can tell, and that keep the file small.
    return round(12 * (_FAINTEST + (1 - _FAINTEST) * float(np.log(n) / np.log(most)))) / 12


def _frame(axes: Axes, low: float, high: float) -> None:
    axes.plot([low, high], [low, high], color=INK, linewidth=0.7, zorder=1.5)
    if low < 0 < high:  # the page draws without clipping: a line elsewhere would lie beside the panel
        axes.axhline(0, color=DIM, linewidth=0.4, zorder=0.5)
        axes.axvline(0, color=DIM, linewidth=0.4, zorder=0.5)
    places = {value: float(np.sign(value) * np.log1p(abs(value))) for value in _TICKS}
    inside = {value: place for value, place in places.items() if low <= place <= high}
    labels = [f"{value:,}" if abs(value) < 1_000 else f"{value // 1000:,}k" for value in inside]
    axes.set_xticks(list(inside.values()), labels)
    axes.set_yticks(list(inside.values()), labels)
    axes.set_xlim(low, high)
    axes.set_ylim(low, high)


def _handles(most: int | None, has_failed: bool) -> list[Artist]:
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Artist] = [Line2D([], [], color=INK, linewidth=0.7, label="predicted = true")]
    if most is None:
        handles.append(Line2D([], [], color=SERIES[0], marker="o", markersize=3, linestyle="none", label="an answer"))
    else:
        steps = dict.fromkeys((1, max(1, round(most**0.5)), most))
        handles += [
            Patch(facecolor=(SERIES[0], _shade(n, most)), label=f"{count(n)} answer{'s' * (n != 1)}") for n in steps
        ]
    if has_failed:
        handles.append(
            Line2D([], [], color=SERIES[1], marker="x", markersize=3.5, linestyle="none", label="failed, as charged")
        )
    return handles
