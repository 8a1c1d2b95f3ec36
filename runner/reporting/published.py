"""What others printed, beside what we measured: side by side, never mixed."""

from __future__ import annotations

import re
from collections.abc import Sequence

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
            digits = _decimals([value for (_, *of), value in numbers.items() if of == [setting, metric]])
            cells = [
                _ours(column, setting, metric)
                if isinstance(column, Entry)
                else _theirs(numbers.get((column, setting, metric)), digits)
                for column in columns
            ]
            if any(cell != NOT_GIVEN for cell in cells):
                rows.append((f"{metric}{' ↓' if metric in LOWER_IS_BETTER else ''} · {setting}", *cells))
    places = {(metric, setting) for metric in metrics for setting in settings}
    shown = [(entry, _shown(entry, places)) for entry in board.entries]
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
            f"ours: value [95 % interval]; {'; '.join(_size(*one) for one in shown)}; "
            "not tested against published values",
            *(note for entry, scores in shown for note in _cell_notes(entry.label, scores)),
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
    found = _shown(entry, {(metric, setting)})
    return estimate(found[0].value, found[0].low, found[0].high) if found else NOT_GIVEN


def _shown(entry: Entry, places: set[tuple[str, str]]) -> list[Score]:
    """The cells of a run at these (metric, setting), over all instances."""
    return [row for row in entry.summary.rows if row.group == ALL and (row.metric, row.setting) in places]


def _theirs(value: float | None, digits: int) -> str:
    return NOT_GIVEN if value is None else f"{value:,.{digits}f}"


def _decimals(values: Sequence[float]) -> int:
    """A printed row has one number of decimals; a number has lost the zeros at its end, its neighbours tell of them."""
    return max((len(repr(value).partition(".")[2]) for value in values), default=0)


def _size(entry: Entry, scores: Sequence[Score]) -> str:
    """On how many instances its cells are; none was dropped unseen."""
    known = [row for row in scores if row.value is not None]
    sizes = sorted({row.n for row in known})
    n = "–".join(count(size) for size in dict.fromkeys((sizes[0], sizes[-1]))) if sizes else "0"
    coverage = f", coverage at least {percent(min(row.coverage for row in known))}" if known else ""
    return f"{entry.label} n {n}{coverage}{', PARTIAL' if entry.is_partial else ''}"


def _cell_notes(label: str, scores: Sequence[Score]) -> list[str]:
    """What the cells of a run need said of them, each sentence once with the cells that it is about."""
    sentences = dict.fromkeys(row.note for row in scores if row.note)
    return [f"{label}{_where(scores, note)}: {note}" for note in sentences]


def _where(scores: Sequence[Score], note: str) -> str:
    if all(row.note == note for row in scores):
        return ""
    said = []
    for metric in dict.fromkeys(row.metric for row in scores):
        settings = [row for row in scores if row.metric == metric]
        noted = [row.setting for row in settings if row.note == note]
        if noted:
            said.append(metric if len(noted) == len(settings) else f"{metric} · {', '.join(noted)}")
    return f", {'; '.join(said)}"
