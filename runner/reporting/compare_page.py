"""The comparison as one HTML page that asks nobody for anything."""

from __future__ import annotations

from dataclasses import dataclass

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.files import inline_svg
from runner.reporting.charts.names import opening
from runner.reporting.compare_chart import board_chart
from runner.reporting.comparison import Board, Comparison
from runner.reporting.leaderboard import leaderboard_table, other_tables, reading_table
from runner.reporting.published import published_table
from runner.reporting.table import Table, templates


@dataclass(frozen=True)
class _Part:
    """One board as the page shows it: the leaderboard, and what opens under it."""

    board: Board
    first: Table
    others: tuple[Table, ...]
    chart: Chart | None
    svg: str

    @property
    def more(self) -> str:
        """What there is to open, in a line."""
        board = self.board
        parts = (("chart", self.chart), ("pairs of models", board.pairs), ("other runs", board.others))
        return opening(", ".join(name for name, is_there in parts if is_there))


def render_comparison(comparison: Comparison) -> str:
    """A self-contained page, light or dark, for screen and paper; every text of a stranger in it is escaped.

    Results come first; rehearsals beside them are folded away.
    """
    page = templates().get_template("compare.html.j2")
    parts = [_part(board, number) for number, board in enumerate(comparison.boards, 1)]
    results = [part for part, board in zip(parts, comparison.boards, strict=True) if not board.is_rehearsal]
    rehearsals = [part for part in parts if part not in results]
    published = [published_table(beside) for beside in comparison.published]
    marks = tuple(dict.fromkeys(mark for board in comparison.boards for mark in board.marks))
    return page.render(
        parts=results or parts,
        rehearsals=rehearsals if results else [],
        published=published,
        reading=reading_table(comparison),
        remarks=comparison.remarks,
        marks=() if results else marks,
    )


def _part(board: Board, number: int) -> _Part:
    first, others = leaderboard_table(board), other_tables(board)
    if all(entry.score(setting) is None for entry in board.leading for setting in board.settings):
        return _Part(board, first, others, None, "")
    chart = board_chart(board, number)
    return _Part(board, first, others, chart, inline_svg(chart))
