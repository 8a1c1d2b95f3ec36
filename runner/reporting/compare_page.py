"""The comparison as one HTML page that asks nobody for anything."""

from __future__ import annotations

from dataclasses import dataclass

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.files import inline_svg
from runner.reporting.compare_chart import board_chart
from runner.reporting.comparison import Board, Comparison
from runner.reporting.leaderboard import leaderboard_table, pairs_table
from runner.reporting.published import published_table
from runner.reporting.table import Table, templates


@dataclass(frozen=True)
class _Part:
    """One board as the page shows it."""

    tables: tuple[Table, ...]
    chart: Chart | None
    svg: str


def render_comparison(comparison: Comparison) -> str:
    """A self-contained page, light or dark, for screen and paper; every text of a stranger in it is escaped."""
    page = templates().get_template("compare.html.j2")
    parts = [_part(board, number) for number, board in enumerate(comparison.boards, 1)]
    published = [published_table(beside) for beside in comparison.published]
    marks = tuple(dict.fromkeys(mark for board in comparison.boards for mark in board.marks))
    everywhere = marks if all(board.marks for board in comparison.boards) else ()
    return page.render(parts=parts, published=published, remarks=comparison.remarks, marks=everywhere)


def _part(board: Board, number: int) -> _Part:
    tables = (leaderboard_table(board), *((pairs_table(board),) if board.pairs else ()))
    if all(entry.score(setting) is None for entry in board.entries for setting in board.settings):
        return _Part(tables, None, "")
    chart = board_chart(board, number)
    return _Part(tables, chart, inline_svg(chart))
