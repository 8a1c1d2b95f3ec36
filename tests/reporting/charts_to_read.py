"""What tests of charts look at."""

from functools import cache
from xml.etree import ElementTree

import polars as pl

from runner.reporting.charts import Chart, charts, inline_svg
from runner.reporting.summary import Summary

NOTHING = pl.DataFrame()


def made(given: Summary, items: pl.DataFrame = NOTHING) -> dict[str, Chart]:
    return {chart.name: chart for chart in charts(given, items)}


@cache
def svg_of(chart: Chart) -> str:
    return inline_svg(chart)


@cache
def drawn(chart: Chart) -> ElementTree.Element:
    return ElementTree.fromstring(svg_of(chart))


def texts_of(chart: Chart) -> str:
    return "\n".join(text.text or "" for text in drawn(chart).iter("text"))
