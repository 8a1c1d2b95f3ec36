"""Next text: how the closeness to the true replies is distributed, failed answers at 0."""

from __future__ import annotations

from collections.abc import Mapping
from math import ceil
from typing import TYPE_CHECKING

import polars as pl

from runner.metrics.score import Score
from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import floor_handle, floor_mark
from runner.reporting.charts.judged import own_answers
from runner.reporting.charts.names import listed, metric_name, short
from runner.reporting.charts.style import Look, canvas, key, looks
from runner.reporting.summary import Summary
from runner.reporting.tables import ALL, best_floor
from runner.reporting.words import count, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_METRICS = ("rouge_l", "meteor", "sbert")
_STEPS = 200
_MEANS_AT = -0.07
_PAPER_MEANS = (
    "means, by this protocol of the best answer to each prompt and without zeros, so further right than the curves, "
    "which are of all single answers"
)


def texts(summary: Summary, items: pl.DataFrame) -> Chart | None:
    """Cumulative distributions by setting over the table's means; None for another task's items."""
    metrics = [name for name in _METRICS if name in items.columns and items[name].count()]
    if "rouge_l" not in metrics:
        return None
    own = own_answers(items)
    known = own["setting"].unique().to_list()
    settings = [setting for setting in summary.settings if setting in known] or sorted(known)
    style = looks(settings)
    drawn, panels = canvas(summary.marks, summary.heading, height=3.4, columns=len(metrics), share_y=True)
    medians = []
    for axes, metric in zip(panels, metrics, strict=True):
        highest = float(own[metric].max() or 1)  # type: ignore[arg-type]
        end = min(1, ceil(10 * highest) / 10)
        for setting in settings:
            middle = _curve(axes, own.filter(pl.col("setting") == setting), metric, style[setting], end)
            if metric == "rouge_l":
                medians.append(f"{short(setting)} {figure(middle)}")
        _means(axes, summary, metric, style)
        axes.set_ylim(-0.13, 1.01)
        axes.set_yticks([0, 0.25, 0.5, 0.75, 1])
        axes.set_xlim(-0.01 * end, 1.01 * end)
        axes.grid(axis="both")
        axes.set_axisbelow(True)
        axes.set_xlabel(f"{metric_name(metric)}, right is better")
    panels[0].set_ylabel("share of answers at or below")
    floors = {metric: floor for metric in metrics if (floor := best_floor(summary.floors, metric, ALL))}
    _legend(drawn, style, bool(floors))
    counted = own.group_by("setting").agg(pl.col("instance_id").n_unique())["instance_id"]
    n = " / ".join(count(number) for number in counted.unique().sort())
    beside = f", and dashed of the best trivial predictor ({_floor_names(floors)})" if floors else ""
    named = listed([metric_name(metric) for metric in metrics])
    return Chart(
        "texts",
        f"How close the texts come to the true replies by {named}",
        f"Cumulative share of answers by {named} against the true reply (weighted as in the table, n = {n} per "
        f"setting): the lower and the further right a curve, the better. Under the curves: the table's "
        f"{_PAPER_MEANS if summary.protocol == 'paper' else 'means'}{beside}. "
        "Failed answers are counted "
        f"{'as 0' if summary.protocol != 'paper' else 'nowhere by this protocol'}.",
        f"Cumulative distribution of ROUGE-L by setting; medians: {'; '.join(medians)}.",
        drawn,
    )


def _floor_names(floors: Mapping[str, Score]) -> str:
    """Their name; where metrics have different ones, each with its metric."""
    names = {metric: short(floor.floor or "", 40) for metric, floor in floors.items()}
    if len(set(names.values())) == 1:
        return next(iter(names.values()))
    return "; ".join(f"{metric_name(metric)}: {name}" for metric, name in names.items())


def _curve(axes: Axes, own: pl.DataFrame, metric: str, look: Look, end: float) -> float | None:
    """Draw the weighted distribution in steps of 1/200 (rounded down: never too good); its median."""
    values = own.select("weight", step=(pl.col(metric).clip(0, 1) * _STEPS + 1e-9).floor()).drop_nulls()
    steps = values.group_by("step").agg(pl.col("weight").sum()).sort("step")
    if not steps.height:
        return None
    share = (steps["weight"].cum_sum() / steps["weight"].sum()).to_list()
    places: list[float] = [step / _STEPS for step in steps["step"]]
    axes.step(
        [0.0, *places, end], [0.0, *share, 1.0], where="post", color=look.colour, linestyle=look.dashes, linewidth=1.4
    )
    return next(place for place, reached in zip(places, share, strict=True) if reached >= 0.5 - 1e-12)


def _means(axes: Axes, summary: Summary, metric: str, style: Mapping[str, Look]) -> None:
    for row in summary.rows:
        if row.metric == metric and row.group == ALL and row.setting in style and row.value is not None:
            look = style[row.setting]
            axes.plot([row.value], [_MEANS_AT], marker=look.marker, markersize=4, color=look.colour, linestyle="none")
    floor = best_floor(summary.floors, metric, ALL)
    floor_mark(axes, _MEANS_AT, floor.value if floor else None, half=0.055)


def _legend(drawn: Figure, style: Mapping[str, Look], has_floor: bool) -> None:
    from matplotlib.lines import Line2D

    handles = [
        Line2D(
            [], [], color=look.colour, linestyle=look.dashes, linewidth=1.4, marker=look.marker, markersize=4,
            label=short(setting),
        )
        for setting, look in style.items()
    ]  # fmt: skip
    key(drawn, handles + ([floor_handle("best floor, mean")] if has_floor else []))
