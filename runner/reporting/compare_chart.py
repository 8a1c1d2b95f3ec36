"""The leaderboard as dots with intervals: a line per model, a colour and a marker per setting."""

from __future__ import annotations

from runner.reporting.charts.chart import Chart
from runner.reporting.charts.dots import dot, floor_handle, floor_mark, handle, hollow
from runner.reporting.charts.names import metric_axis, metric_name, short
from runner.reporting.charts.style import canvas, drawing, key, looks, rows_from_top
from runner.reporting.comparison import Board
from runner.reporting.leaderboard import best_floors
from runner.reporting.words import count

_LINE = 0.42
_ROOM = 1.5
_SPREAD = 0.62


def board_chart(board: Board, number: int) -> Chart:
    """The primary metric of every run in every setting, with its interval, and the best floor of each setting.

    ``number`` tells the charts of a page apart.
    """
    names = [short(entry.label) + (" (PARTIAL)" if entry.is_partial else "") for entry in board.leading]
    look = looks(board.settings)
    floors = best_floors(board)
    step = _SPREAD / max(len(board.settings), 1)
    bare = False
    with drawing():
        figure, (axes,) = canvas(board.marks, board.title, height=_ROOM + _LINE * len(names))
        for line, entry in enumerate(board.leading):
            for place, setting in enumerate(board.settings):
                y = line + (place - (len(board.settings) - 1) / 2) * step
                score = entry.score(setting)
                if score is None:
                    continue
                dot(axes, y, score.value, score.low, score.high, look[setting])
                bare = bare or (score.value is not None and score.low is None)
                floor = floors.get(setting)
                floor_mark(axes, y, None if floor is None else floor.value, half=step / 2)
        rows_from_top(axes, names)
        axes.set_xlabel(metric_axis(board.primary))
        handles = [handle(setting, look[setting]) for setting in board.settings]
        handles += [floor_handle("best floor")] if floors else []
        key(figure, [*handles, *([hollow()] if bare else [])])
    sizes = sorted({entry.summary.instances for entry in board.leading})
    title = f"{metric_name(board.primary)} of each model"
    tested = "; which models differ is tested in the table of pairs" if board.pairs else ""
    return Chart(
        name=f"leaderboard-{number}",
        title=title,
        caption=(
            f"{title} on {', '.join(board.settings)}, with 95 % intervals by author; dashed: the best trivial "
            f"predictor. {' or '.join(map(count, sizes))} instances. Intervals that overlap are no test{tested}."
        ),
        alt=f"{title}: the values of the table above, as dots with intervals.",
        figure=figure,
    )
