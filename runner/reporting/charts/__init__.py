"""The charts of one run: what a paper could print, and what a page shows in its own colours."""

from __future__ import annotations

import polars as pl

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.confusion import confusion
from runner.reporting.charts.cost import cost
from runner.reporting.charts.domains import domains
from runner.reporting.charts.failures import failures
from runner.reporting.charts.files import inline_svg, save
from runner.reporting.charts.gains import gains
from runner.reporting.charts.primary import primary
from runner.reporting.charts.style import drawing
from runner.reporting.charts.texts import texts
from runner.reporting.charts.values import values
from runner.reporting.summary import Summary

__all__ = ["Chart", "charts", "inline_svg", "save"]


def charts(summary: Summary, items: pl.DataFrame) -> list[Chart]:
    """Every chart that this run has something for, in the order of a report. ``items`` are those of scores.parquet."""
    with drawing():
        found = [
            gains(summary),
            primary(summary),
            domains(summary),
            confusion(summary, items),
            values(summary, items),
            texts(summary, items),
            failures(summary, items),
            cost(summary),
        ]
    return [chart for chart in found if chart is not None]
