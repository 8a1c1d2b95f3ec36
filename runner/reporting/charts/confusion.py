"""Score sign: what was said of positive and of negative replies, and what an answer is worth."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.judged import sign_answers
from runner.reporting.charts.names import short
from runner.reporting.charts.style import DIM, INK, LINE, SERIES, canvas
from runner.reporting.summary import Summary
from runner.reporting.words import NOT_DEFINED, count, percent, shares

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_TRUTHS = ((True, "positive"), (False, "negative"))
_MEANS = {"balanced_accuracy": "Balanced accuracy is the mean of the two shares on the diagonal. "}
_SAID = ("positive", "negative", "failed")


def confusion(summary: Summary, items: pl.DataFrame) -> Chart | None:
    """A panel per setting: weighted shares of each row, counts, and how often each answer was right."""
    answers = sign_answers(items)
    if answers is None or not answers.height:
        return None
    answers = answers.with_columns(
        said=pl.when("said").then(pl.lit("positive")).when(~pl.col("said")).then(pl.lit("negative")).fill_null("failed")
    )
    cells = answers.group_by("setting", "truth", "said").agg(pl.col("weight").sum(), pl.len().alias("n"))
    known = cells["setting"].unique().to_list()
    settings = [setting for setting in summary.settings if setting in known] or sorted(known)
    columns = min(2, len(settings))
    lines = -(-len(settings) // columns)
    figure, panels = canvas(summary.marks, summary.heading, height=0.7 + 1.75 * lines, rows=lines, columns=columns)
    told = []
    for axes, setting in zip(panels, settings, strict=False):
        told.append(_panel(axes, setting, cells.filter(pl.col("setting") == setting)))
    for axes in panels[len(settings) :]:
        axes.set_visible(False)
    return Chart(
        "confusion",
        "What was said of positive and of negative replies",
        f"Rows: the true sign; cells: the share of the row (weighted as in the table) and the number of answers, n = "
        f"{count(answers.height)} in all. {_MEANS.get(summary.primary, '')}Failed answers are counted, as errors. "
        "Last line: of all answers “positive” (and “negative”), the weighted share that truly are positive; the task "
        "gives no probability to calibrate.",
        f"Confusion matrices by setting. {' '.join(told)}",
        figure,
    )


def _panel(axes: Axes, setting: str, cells: pl.DataFrame) -> str:
    found = {(truth, said): (weight, n) for truth, said, weight, n in cells.drop("setting").iter_rows()}
    recall = []
    for y, (truth, word) in enumerate(_TRUTHS):
        cells_of_row = [found.get((truth, said), (0.0, 0)) for said in _SAID]
        whole = sum(weight for weight, _ in cells_of_row)
        told = shares([weight for weight, _ in cells_of_row])
        for x, (weight, n) in enumerate(cells_of_row):
            _cell(axes, x, y, told[x], count(n), shade=weight / whole if whole else 0.0)
        recall.append(f"{word} found {told[_SAID.index(word)]}")
    for x, said in enumerate(_SAID[:2]):
        parts = [found.get((truth, said), (0.0, 0)) for truth, _ in _TRUTHS]
        weight = parts[0][0] + parts[1][0]
        share = percent(parts[0][0] / weight) if weight else NOT_DEFINED
        _cell(axes, x, 2.15, share, count(parts[0][1] + parts[1][1]))
    axes.set_title(short(setting), loc="left", fontweight="bold")
    axes.set_xlim(-0.5, 2.5)
    axes.set_ylim(2.65, -0.5)
    axes.set_xticks(range(3), [f"“{said}”" if said != "failed" else said for said in _SAID])
    axes.set_yticks((0, 1, 2.15), ("is positive", "is negative", "truly positive"))
    axes.tick_params(length=0, labelsize=7, top=True, labeltop=True, bottom=False, labelbottom=False)
    for spine in axes.spines.values():
        spine.set_visible(False)
    return f"{short(setting)}: {', '.join(recall)}."


def _cell(axes: Axes, x: float, y: float, share: str, n: str, *, shade: float | None = None) -> None:
    """Two lines of words; of a ``shade`` on a ground as strong as that."""
    from matplotlib.patches import Rectangle

    filled = shade is not None
    face = "none" if shade is None else (SERIES[0], 0.55 * shade)
    axes.add_patch(
        Rectangle((x - 0.48, y - 0.46), 0.96, 0.92, facecolor=face, edgecolor=LINE if filled else "none", linewidth=0.6)
    )
    axes.text(x, y - 0.12, share, ha="center", va="center", fontsize=8)
    axes.text(x, y + 0.24, f"n {n}", ha="center", va="center", fontsize=6.3, color=INK if filled else DIM)
