"""The leaderboard: models beside each other, and the tests that say which of them differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runner.metrics.score import Effect, Score
from runner.reporting.comparison import Board, Comparison, Entry
from runner.reporting.effects import difference, effect_notes, p_value, percent_level, reading
from runner.reporting.published import published_table
from runner.reporting.table import Table, without_empty_columns
from runner.reporting.tables import ALL, LOWER_IS_BETTER, UNTOLD, best_floor
from runner.reporting.words import NOT_GIVEN, billed, count, estimate, percent

ALIKE = "≈"
"""Beside a model that is not shown to differ from the best."""
POINT = 0.01
_LEVEL = 0.95
_FEW_PAIRS = 6


def first_tables(comparison: Comparison) -> tuple[Table, ...]:
    """The leaderboards, and what others published where it was asked for."""
    return (
        *map(leaderboard_table, comparison.boards),
        *(published_table(beside) for beside in comparison.published),
    )


def other_tables(board: Board) -> tuple[Table, ...]:
    """Below a leaderboard: the tests of each two models, and the other runs of its models."""
    return (*([pairs_table(board)] if board.pairs else []), *([others_table(board)] if board.others else []))


def brief_tables(comparison: Comparison) -> tuple[Table, ...]:
    """What fits a terminal: the leaderboards, the pairs where they are few, and how to read them."""
    pairs = sum(len(board.pairs) for board in comparison.boards)
    few = [board for board in comparison.boards if board.pairs and pairs <= _FEW_PAIRS]
    pairs = 0 if few else pairs
    others = sum(len(board.others) for board in comparison.boards)
    left = [f"{count(n)} {what}" for n, what in ((pairs, "tested pairs of models"), (others, "other runs")) if n]
    reading = reading_table(comparison)
    if left:
        reading = replace(
            reading, notes=(*reading.notes, f"not here but in table.html and table.md: {' and '.join(left)}")
        )
    return (*first_tables(comparison), *map(pairs_table, few), reading)


def leaderboard_table(board: Board) -> Table:
    """A row for each model, settings in columns: the primary metric with its interval; the best floor last."""
    return _table(board, "Leaderboard", board.leading, best_floors(board))


def others_table(board: Board) -> Table:
    """The other runs of these models, in the same columns."""
    return _table(board, "Other runs of these models", board.others, {})


def _table(board: Board, what: str, entries: Sequence[Entry], floors: Mapping[str, Score]) -> Table:
    alike = {entry.label for entry in entries if is_alike(board, entry)}
    personal = ("personal effect",) if any(entry.effect("personal") for entry in entries) else ()
    level = _level(entries)
    rows = [
        (
            f"{entry.label} {ALIKE}" if entry.label in alike else entry.label,
            *(_cell(entry.score(setting)) for setting in board.settings),
            NOT_GIVEN if entry.coverage is None else percent(entry.coverage),
            _n(entry, board),
            billed(entry.cost_usd, is_bound=entry.cost_is_bound),
            _per_point(entry, board.lead),
            *(_personal(entry, level) for _ in personal),
            _state(entry) if any(each.is_partial or each.is_superseded for each in entries) else "",
        )
        for entry in entries
    ]
    if floors:
        cells = (_cell(floors.get(setting)) for setting in board.settings)
        rows.append(("best floor", *cells, *(NOT_GIVEN,) * (4 + len(personal)), ""))
    columns = ("model", *board.settings, "coverage", "n", "cost", "$ per 0.01", *personal, "state")
    table = Table(
        title=f"{what} · {board.title}: {_directed(board.primary)}",
        columns=columns,
        rows=tuple(rows),
        notes=tuple(_notes(board, entries, bool(alike), floors)),
        marks=board.marks,
        caution=board.caution,
        text_columns=(0, len(columns) - 1),
    )
    return without_empty_columns(table, keep=1 + len(board.settings))


def reading_table(comparison: Comparison) -> Table:
    """What the columns of all leaderboards mean: said once, and no rows."""
    entries = [entry for board in comparison.boards for entry in board.entries]
    notes = [
        "one row for each model: its largest complete run; smaller, fresh and unfinished ones are other runs",
        "value [95 % interval, bootstrap over authors]; sorted by the first setting, complete runs first",
        "coverage: the lowest of the settings; cost: of all answers in all settings, whoever paid for them",
        f"$ per 0.01: cost for each 0.01 by which the metric beats its best floor in the first setting; {NOT_GIVEN} "
        "where it is not shown to beat it, or a price is unknown",
    ]
    if any(entry.effect("personal") for entry in entries):
        notes.append("personal effect: raw difference with its 95 % interval (another level is said), + is better")
    return Table(title="How to read the leaderboards", columns=(), rows=(), notes=tuple(notes))


def pairs_table(board: Board) -> Table:
    """Two models each on the leading setting: difference, interval, p; Holm inside this family."""
    rows = [
        (
            pair.name,
            f"{difference(pair, pair.level)} ({percent_level(pair.level)})",
            p_value(pair.p),
            p_value(pair.p_holm),
            count(pair.n),
            count(int(pair.authors)),
            reading(pair),
        )
        for pair in board.pairs
    ]
    table = Table(
        title=f"Pairs of models on {board.lead} · {board.title}: {_directed(board.primary)}",
        columns=("pair", "difference [interval]", "p", "Holm p", "n", "authors", "reading"),
        rows=tuple(rows),
        notes=(
            "+: the first of the two is better; paired on the instances that both have, models swapped by author",
            f"Holm p: adjusted inside the family of these {count(len(board.pairs))} pairs",
            *effect_notes(board.pairs),
        ),
        marks=board.marks,
        caution=board.caution,
        text_columns=(0, 6),
    )
    return without_empty_columns(table)


def is_alike(board: Board, entry: Entry) -> bool:
    """Whether a run was tested against the board's best and is not shown to be behind it."""
    best = board.best
    if best is None or entry is best or entry.is_partial or entry.is_superseded or entry.score(board.lead) is None:
        return False
    name = f"{best.label} - {entry.label}"
    pair = next((each for each in board.pairs if each.name == name), None)
    return pair is not None and pair.p_holm is not None and not (pair.is_shown and (pair.value or 0) > 0)


def best_floors(board: Board) -> dict[str, Score]:
    """Per setting the best trivial predictor on the primary metric, of the board's largest complete sample."""
    if not board.leading:
        return {}
    basis = max(board.leading, key=lambda entry: (not entry.is_partial, entry.summary.instances)).summary
    found = {setting: best_floor(basis.floors, board.primary, ALL, setting) for setting in board.settings}
    return {setting: floor for setting, floor in found.items() if floor is not None}


def usd_per_point(entry: Entry, setting: str) -> float | None:
    """Dollars for each 0.01 by which the primary metric beats its best floor; None where it does not, or unpriced."""
    over = entry.over_floor(setting)
    if entry.cost_usd is None or over is None or over.value is None or over.value <= 0 or not over.is_shown:
        return None
    return entry.cost_usd / (over.value / POINT)


def _per_point(entry: Entry, setting: str) -> str:
    amount = usd_per_point(entry, setting)
    return NOT_GIVEN if amount is None else billed(amount, is_bound=entry.cost_is_bound)


def _personal(entry: Entry, level: float) -> str:
    effect = entry.effect("personal")
    return NOT_GIVEN if effect is None else difference(effect, level)


def _level(entries: Sequence[Entry]) -> float:
    """The level that the intervals of all their personal effects have; 95 % where these differ."""
    levels = {effect.level for entry in entries if (effect := entry.effect("personal")) is not None}
    return levels.pop() if len(levels) == 1 else _LEVEL


def _n(entry: Entry, board: Board) -> str:
    """Instances behind the values shown: planned ones have no part in them."""
    found = sorted({score.n for setting in board.settings if (score := entry.score(setting)) is not None})
    return NOT_GIVEN if not found else " – ".join(map(count, dict.fromkeys((found[0], found[-1]))))


def _state(entry: Entry) -> str:
    done = entry.summary.requests
    if entry.is_partial:
        return f"PARTIAL {count(done.final)} of {count(done.total)}"
    return "complete"


def _cell(score: Score | None) -> str:
    return NOT_GIVEN if score is None else estimate(score.value, score.low, score.high)


def _directed(metric: str) -> str:
    return f"{metric} (↓ lower is better)" if metric in LOWER_IS_BETTER else f"{metric} (higher is better)"


def _notes(board: Board, entries: Sequence[Entry], alike: bool, floors: Mapping[str, Score]) -> list[str]:
    notes = []
    if any(entry.cost_is_bound for entry in entries):
        notes.append(UNTOLD)
    if (level := _level(entries)) != _LEVEL:
        notes.append(f"personal effect: {percent_level(level)} intervals")
    if alike and board.best is not None:
        notes.append(f"{ALIKE} not shown to differ from the best ({board.best.label}) on {board.lead}")
    if any(entry.is_partial for entry in entries):
        notes.append("PARTIAL: answers are still to come; not tested against others, and not the best of this table")
    sizes = sorted({entry.summary.instances for entry in entries})
    if len(sizes) > 1:
        notes.append(
            f"samples of {' and '.join(map(count, sizes))} instances: rows with different n are not of the same ones; "
            "pairs are tested on those that both have, of each model its largest sample; floors are of the largest"
        )
    if floors:
        notes.append(f"best floor, what a trivial predictor reaches: {_floor_names(board, floors)}")
    return [*notes, *_cell_notes(board, entries), *board.notes]


def _floor_names(board: Board, floors: Mapping[str, Score]) -> str:
    by_name: dict[str, list[str]] = {}
    for setting, floor in floors.items():
        by_name.setdefault(floor.floor or "", []).append(setting)
    if len(by_name) == 1 and len(floors) == len(board.settings):
        return next(iter(by_name))
    return "; ".join(f"{name} ({', '.join(settings)})" for name, settings in by_name.items())


def _cell_notes(board: Board, entries: Sequence[Entry]) -> list[str]:
    """What the cells need said of them, each sentence once, of a row where it holds for all its settings."""
    about: dict[str, list[str]] = {}
    for entry in entries:
        scores = {setting: score for setting in board.settings if (score := entry.score(setting)) is not None}
        for note in dict.fromkeys(score.note for score in scores.values() if score.note):
            cells = [setting for setting, score in scores.items() if score.note == note]
            named = entry.label if len(cells) == len(scores) else f"{entry.label} {', '.join(cells)}"
            about.setdefault(note, []).append(named)
        effect: Effect | None = entry.effect("personal")
        if effect is not None and effect.note and entry.label not in about.get(effect.note, ()):
            about.setdefault(effect.note, []).append(f"{entry.label} personal effect")
    return [f"{'; '.join(cells)}: {note}" for note, cells in about.items()]
