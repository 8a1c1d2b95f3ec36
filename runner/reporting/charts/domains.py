"""The primary metric by domain, and the personal effect of each beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING

from runner.metrics.score import Effect, Score
from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import dot, floor_handle, floor_mark, handle, hollow
from runner.reporting.charts.gains import level_words, personal_by_domain
from runner.reporting.charts.names import direction, domain_of, metric_name, opening, short
from runner.reporting.charts.style import INK, SOLID, Look, canvas, key, looks, rows_from_top
from runner.reporting.summary import Summary
from runner.reporting.tables import LOWER_IS_BETTER, best_floor
from runner.reporting.words import count, figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST = 20


def domains(summary: Summary) -> Chart | None:
    """Domains sorted by the first setting, best on top; None where there is no domain with a value."""
    rows = [
        row for row in summary.rows if row.metric == summary.primary and domain_of(row.group) and row.value is not None
    ]
    if not rows:
        return None
    style = looks(tuple(dict.fromkeys(row.setting for row in rows)))
    by_group = _sorted(rows, summary.primary)
    left_out = len(by_group) - _MOST
    if left_out > 0:
        largest = sorted(by_group, key=lambda group: -max(row.n for row in by_group[group]))[:_MOST]
        by_group = {group: own for group, own in by_group.items() if group in largest}
    personal = personal_by_domain(summary.effects, summary.primary)
    beside = any(personal[group].value is not None for group in by_group if group in personal)
    drawn, axes = canvas(
        summary.marks,
        summary.heading,
        height=1.35 + max(0.1 * len(style), 0.24) * len(by_group),
        columns=1 + beside,
        share_y=beside,
        widths=(1.7, 1) if beside else None,
    )
    has_floor = _values(axes[0], summary, by_group, style)
    labels = [f"{short(domain_of(group) or group, 24)} · {_n(own)}" for group, own in by_group.items()]
    rows_from_top(axes[0], labels)
    axes[0].set_xlabel(f"{metric_name(summary.primary)}, {direction(summary.primary)}")
    shown = [personal[group] for group in by_group if group in personal]
    if beside:
        _effects(axes[1], personal, tuple(by_group))
        rows_from_top(axes[1], labels)
        axes[1].tick_params(labelleft=False)
        axes[1].set_xlabel("personal effect, right is better")
    handles = [handle(short(setting), look) for setting, look in style.items()]
    handles += [floor_handle("best floor")] if has_floor else []
    bounds = [row.low for own in by_group.values() for row in own] + [row.low for row in shown]
    key(drawn, handles + ([hollow()] if None in bounds else []))
    best = next(iter(by_group))
    return Chart(
        "domains",
        f"{opening(metric_name(summary.primary))} by domain",
        f"{opening(metric_name(summary.primary))} ({direction(summary.primary)}) with author-clustered 95 % "
        f"intervals, domains sorted by {short(rows[0].setting)}; the number after a domain is its n."
        + (" Dashed: the best trivial predictor of any setting." if has_floor else "")
        + (
            f" Right: own history less a stranger's, in {metric_name(summary.primary)} "
            f"({level_words(shown)} intervals), exploratory: not adjusted for the number of domains."
            if beside
            else ""
        )
        + (" Hollow: fewer than 20 effective authors or undefined bounds, so no interval." if None in bounds else "")
        + (f" {left_out} smaller domains are in the table only." if left_out > 0 else ""),
        f"Dot plot of {metric_name(summary.primary)} for {len(by_group)} domains and {len(style)} settings; first: "
        f"{short(domain_of(best) or best)}, {figure(by_group[best][0].value)} in {short(by_group[best][0].setting)}.",
        drawn,
    )


def _sorted(rows: Sequence[Score], metric: str) -> dict[str, list[Score]]:
    by_group: dict[str, list[Score]] = {}
    for row in rows:
        by_group.setdefault(row.group, []).append(row)
    first = rows[0].setting
    turn = 1 if metric in LOWER_IS_BETTER else -1

    def rank(group: str) -> tuple[float, str]:
        value = next((row.value for row in by_group[group] if row.setting == first), None)
        return (inf if value is None else turn * value, group)

    return {group: by_group[group] for group in sorted(by_group, key=rank)}


def _values(axes: Axes, summary: Summary, by_group: Mapping[str, Sequence[Score]], style: Mapping[str, Look]) -> bool:
    place = {setting: (number - (len(style) - 1) / 2) * 0.76 / len(style) for number, setting in enumerate(style)}
    has_floor = False
    for y, (group, own) in enumerate(by_group.items()):
        floor = best_floor(summary.floors, summary.primary, group)
        has_floor = has_floor or floor is not None
        floor_mark(axes, y, floor.value if floor else None, half=0.42)
        for row in own:
            dot(axes, y + place[row.setting], row.value, row.low, row.high, style[row.setting], size=4)
    return has_floor


def _effects(axes: Axes, personal: Mapping[str, Effect], groups: Sequence[str]) -> None:
    axes.axvline(0, color=INK, linewidth=0.8, zorder=1)
    for y, group in enumerate(groups):
        if (effect := personal.get(group)) is not None:
            dot(axes, y, effect.value, effect.low, effect.high, Look(INK, "o", SOLID), size=4)


def _n(rows: Sequence[Score]) -> str:
    return "/".join(dict.fromkeys(count(row.n) for row in rows))
