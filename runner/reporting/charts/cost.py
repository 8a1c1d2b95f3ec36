"""What the answers took: tokens and dollars by setting, and what did not have to be paid."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import said
from runner.reporting.charts.names import short
from runner.reporting.charts.style import DIM, SERIES, canvas, key, rows_from_top
from runner.reporting.summary import Saving, Spent, Summary
from runner.reporting.words import tokens, usd

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_KINDS = (
    ("input", SERIES[0], 1.0),
    ("input, cached", SERIES[0], 0.4),
    ("output", SERIES[1], 1.0),
    ("reasoning", SERIES[1], 0.4),
)
_THICK = 0.62


def cost(summary: Summary) -> Chart | None:
    """Stacked tokens over dollars; only tokens where no price is known; None where nothing was counted."""
    spent = summary.cost.by_setting
    if not any(sum(_kinds(row)) for row in spent):
        return None
    savings = tuple(row for row in summary.cost.savings if row.usd)
    is_priced = any(row.usd is not None for row in spent)
    lines = [len(spent), len(spent) + len(savings)] if is_priced else [len(spent)]
    figure, panels = canvas(
        summary.marks,
        summary.heading,
        height=0.95 + 0.25 * sum(lines) + 0.3 * len(lines),
        rows=len(lines),
        heights=lines if is_priced else None,
    )
    _tokens(panels[0], spent)
    from matplotlib.patches import Patch

    kinds = [place for place in range(4) if any(_kinds(row)[place] for row in spent)]
    handles = [Patch(facecolor=(_KINDS[place][1], _KINDS[place][2]), label=_KINDS[place][0]) for place in kinds]
    if is_priced:
        _dollars(panels[1], spent, savings)
        handles += [Patch(facecolor=(DIM, 0.55), label="dollars")]
        handles += [Patch(facecolor="none", edgecolor=DIM, label="not paid")] if savings else []
    key(figure, handles)
    unknown = [short(row.why) for row in summary.cost.savings if row.usd is None]
    return Chart(
        "cost",
        "What the answers took",
        "Tokens and dollars of the answers that each setting uses, whoever paid for them; an answer that settings "
        f"share counts in each, so that they can add up to more than the bill ({usd(summary.cost.billed_usd)}). Failed "
        "answers are counted."
        + ("" if is_priced else " No price is known for this model.")
        + (f" Saved as well, by an amount that is not known: {', '.join(unknown)}." if unknown else ""),
        "Tokens by setting: "
        + "; ".join(f"{short(row.setting)} {tokens(sum(_kinds(row)))} ({usd(row.usd)})" for row in spent)
        + ".",
        figure,
    )


def _kinds(row: Spent) -> tuple[int, int, int, int]:
    """Providers count cached tokens inside the input and reasoning inside the output."""
    cached = min(row.cached_tokens, row.input_tokens)
    reasoning = min(row.reasoning_tokens, row.output_tokens)
    return row.input_tokens - cached, cached, row.output_tokens - reasoning, reasoning


def _tokens(axes: Axes, spent: Sequence[Spent]) -> None:
    from matplotlib.ticker import FuncFormatter

    rows_from_top(axes, [short(row.setting) for row in spent])
    for y, row in enumerate(spent):
        start = 0
        for (_, colour, shade), n in zip(_KINDS, _kinds(row), strict=True):
            axes.barh(y, n, _THICK, left=start, color=(colour, shade), linewidth=0)
            start += n
        said(axes, y, f"{tokens(start)} tokens")
    axes.set_xlim(0, 1.04 * max(sum(_kinds(row)) for row in spent))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: tokens(value)))
    axes.set_xlabel("tokens, lower is cheaper")


def _dollars(axes: Axes, spent: Sequence[Spent], savings: Sequence[Saving]) -> None:
    from matplotlib.ticker import FuncFormatter

    rows_from_top(axes, [*(short(row.setting) for row in spent), *(short(row.why, 44) for row in savings)])
    for y, row in enumerate(spent):
        axes.barh(y, row.usd or 0.0, _THICK, color=(DIM, 0.55), linewidth=0)
        said(axes, y, usd(row.usd))
    for y, saving in enumerate(savings, len(spent)):
        axes.barh(y, saving.usd or 0.0, _THICK, facecolor="none", edgecolor=DIM, linewidth=0.8)
        said(axes, y, f"{usd(saving.usd)} not paid", dim=True)
    dearest = max([row.usd or 0.0 for row in spent] + [saving.usd or 0.0 for saving in savings])
    axes.set_xlim(0, 1.04 * dearest or 1)
    axes.locator_params(axis="x", nbins=6)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"${value:,.6g}"))
    axes.set_xlabel("US dollars, lower is cheaper")
