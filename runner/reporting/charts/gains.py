"""The 2 x 2: what own history and the thread are worth, as raw differences with intervals."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from runner.metrics.score import Effect
from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import dot, hollow, said
from runner.reporting.charts.names import metric_name
from runner.reporting.charts.style import DIM, INK, SERIES, SOLID, Look, canvas, key, rows_from_top
from runner.reporting.summary import Summary
from runner.reporting.tables import ALL
from runner.reporting.words import count, plain, signed

NO_OWN_REPLY = "no own reply visible"
_MEANS = {
    "personal": "own history less a stranger's",
    "conversation": "thread less no thread",
    "interaction": "interaction (history × thread)",
}
_PARTS = {
    ("main", ALL): "Main effects",
    ("simple", ALL): "Simple effects (exploratory)",
    ("arm", ALL): "Against no history",
    ("main", NO_OWN_REPLY): "No own reply visible",
}
_LOOK = Look(SERIES[0], "o", SOLID)


def gains(summary: Summary) -> Chart | None:
    """A forest plot of the effects on the primary metric; None where none has a value."""
    order = list(_PARTS)
    found = [row for row in summary.effects if row.metric == summary.primary and row.value is not None]
    shown = sorted(
        (row for row in found if (row.kind, row.group) in _PARTS), key=lambda row: order.index((row.kind, row.group))
    )
    if not shown:
        return None
    labels: list[str] = []
    rows: list[Effect | None] = []
    for part, inside in groupby(shown, key=lambda row: _PARTS[row.kind, row.group]):
        labels.append(part)
        rows.append(None)
        for effect in inside:
            labels.append(_MEANS.get(effect.name, plain(effect.name)))
            rows.append(effect)
    levels = level_words(shown)
    figure, (axes,) = canvas(summary.marks, summary.heading, height=1.2 + 0.2 * len(rows))
    rows_from_top(axes, labels)
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    for y, row in enumerate(rows):
        if row is None:
            axes.get_yticklabels()[y].set_fontweight("bold")
            continue
        dot(axes, y, row.value, row.low, row.high, _LOOK)
        said(axes, y, _in_words(row), dim=not row.is_shown)
    axes.spines["bottom"].set_color(DIM)
    axes.set_xlabel(f"difference in {metric_name(summary.primary)}, right of 0 is better; bars: {levels} intervals")
    if any(row.low is None for row in shown):
        key(figure, [hollow()])
    n = " / ".join(dict.fromkeys(count(row.n) for row in shown if row.group == ALL))
    return Chart(
        "gains",
        "What own history and the thread are worth",
        f"Raw differences in {metric_name(summary.primary)} on the same instances (n = {n}), turned so that right of 0 "
        f"is better; bars are author-clustered {levels} intervals. Where one holds 0, no difference is shown; p is "
        "Holm-adjusted inside the declared family, rows without a p are exploratory. Failed answers are counted.",
        _alt(shown, summary.primary),
        figure,
    )


def _in_words(row: Effect) -> str:
    text = signed(row.value, row.low, row.high)
    return text if row.p_holm is None else f"{text}  p {_p(row.p_holm)}"


def _p(value: float) -> str:
    return "<.001" if value < 0.001 else f"{value:.3f}".lstrip("0") if value < 1 else "1"


def _alt(rows: Sequence[Effect], metric: str) -> str:
    main = [row for row in rows if row.group == ALL][:3]
    each = "; ".join(f"{_MEANS.get(row.name, plain(row.name))} {_in_words(row)}" for row in main)
    return f"Forest plot of differences in {metric_name(metric)}: {each}."


def personal_by_domain(effects: Sequence[Effect], metric: str) -> dict[str, Effect]:
    """The personal main effect of each ``domain=…`` group, exploratory."""
    return {
        row.group: row
        for row in effects
        if row.name == "personal" and row.kind == "main" and row.metric == metric and row.group.startswith("domain=")
    }


def level_words(effects: Sequence[Effect]) -> str:
    """``95 %``, or several where looks differ."""
    return " / ".join(dict.fromkeys(f"{100 * row.level:.4g} %" for row in effects))
