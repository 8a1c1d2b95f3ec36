"""What others printed, beside what we measured: side by side, never mixed."""

from __future__ import annotations

import re

from runner.metrics.score import Score
from runner.reporting.comparison import Beside, Entry
from runner.reporting.summary import REHEARSAL
from runner.reporting.table import Table
from runner.reporting.tables import ALL, LOWER_IS_BETTER
from runner.reporting.words import NOT_GIVEN, count, estimate, percent


def published_table(beside: Beside) -> Table:
    """Metrics and settings in rows; in columns our runs, each before a published model of its name, then the others."""
    board = beside.board
    numbers = {(model, setting, metric): value for model, setting, metric, value in beside.rows}
    models = list(dict.fromkeys(model for model, *_ in beside.rows))
    metrics = list(dict.fromkeys(metric for *_, metric, _ in beside.rows))
    named = list(dict.fromkeys(setting for _, setting, *_ in beside.rows))
    settings = sorted(named, key=lambda name: (name not in board.settings, [*board.settings, *named].index(name)))
    columns = _columns(board.entries, models)
    rows = []
    for metric in metrics:
        for setting in settings:
            cells = [
                _ours(column, setting, metric)
                if isinstance(column, Entry)
                else _theirs(numbers.get((column, setting, metric)))
                for column in columns
            ]
            if any(cell != NOT_GIVEN for cell in cells):
                rows.append((f"{metric}{' ↓' if metric in LOWER_IS_BETTER else ''} · {setting}", *cells))
    ours = "ours, a rehearsal" if board.is_rehearsal else "ours"
    return Table(
        title=f"Beside the published numbers · {board.title}",
        columns=(
            "metric · setting",
            *(f"{c.label} ({ours})" if isinstance(c, Entry) else f"{c} (published)" for c in columns),
        ),
        rows=tuple(rows),
        notes=(
            f"published: {beside.source}; no interval and no n was printed for these values",
            f"ours: value [95 % interval]; {_sizes(board.entries)}; not tested against published values",
            *(["↓ lower is better"] if LOWER_IS_BETTER & set(metrics) else []),
            *beside.footnotes,
        ),
        marks=(REHEARSAL,) if board.is_rehearsal else (),
        caution=board.caution,
    )


def is_same_model(ours: str, published: str) -> bool:
    """Whether the names are equal but for case, separators and a date at the end; kin is not the same."""
    return _bare(ours) == _bare(published)


def _bare(name: str) -> str:
    undated = re.sub(r"[-@](?:20\d\d-?\d\d-?\d\d)$", "", name.rpartition("/")[2])
    return re.sub(r"[^a-z0-9]", "", undated.lower())


def _columns(entries: tuple[Entry, ...], models: list[str]) -> list[Entry | str]:
    columns: list[Entry | str] = []
    left = list(models)
    for entry in entries:
        columns.append(entry)
        same = [model for model in left if is_same_model(entry.summary.model, model)]
        columns += same
        left = [model for model in left if model not in same]
    return [*columns, *left]


def _ours(entry: Entry, setting: str, metric: str) -> str:
    wanted = (setting, ALL, metric)
    found = [row for row in entry.summary.rows if (row.setting, row.group, row.metric) == wanted]
    return _cell(found[0]) if found else NOT_GIVEN


def _cell(row: Score) -> str:
    return estimate(row.value, row.low, row.high)


def _theirs(value: float | None) -> str:
    """No digit more than was printed."""
    return NOT_GIVEN if value is None else f"{value:,}"


def _sizes(entries: tuple[Entry, ...]) -> str:
    return "; ".join(map(_size, entries))


def _size(entry: Entry) -> str:
    coverage = "" if entry.coverage is None else f", coverage at least {percent(entry.coverage)}"
    return f"{entry.label} n {count(entry.summary.instances)}{coverage}{', PARTIAL' if entry.is_partial else ''}"
