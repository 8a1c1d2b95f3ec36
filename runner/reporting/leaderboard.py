"""The leaderboard: models beside each other, and the tests that say which of them differ."""

from __future__ import annotations

from runner.metrics.score import Effect, Score
from runner.reporting.comparison import Board, Comparison, Entry
from runner.reporting.effects import difference, effect_notes, p_value, percent_level, reading
from runner.reporting.published import published_table
from runner.reporting.table import Table
from runner.reporting.tables import ALL, LOWER_IS_BETTER, best_floor
from runner.reporting.words import NOT_GIVEN, count, estimate, percent, usd

ALIKE = "≈"
"""Beside a model that is not shown to differ from the best."""
POINT = 0.01
_LEVEL = 0.95


def comparison_tables(comparison: Comparison) -> tuple[Table, ...]:
    """Of each board its leaderboard and, where two models were tested, the pairs; then what others published."""
    tables: list[Table] = []
    for board in comparison.boards:
        tables.append(leaderboard_table(board))
        if board.pairs:
            tables.append(pairs_table(board))
    return (*tables, *(published_table(beside) for beside in comparison.published))


def leaderboard_table(board: Board) -> Table:
    """Runs in rows, settings in columns: the primary metric with its interval; the best floor last."""
    alike = {entry.label for entry in board.entries if is_alike(board, entry)}
    personal = ("personal effect",) if any(entry.effect("personal") for entry in board.entries) else ()
    rows = [
        (
            f"{entry.label} {ALIKE}" if entry.label in alike else entry.label,
            *(_cell(entry.score(setting)) for setting in board.settings),
            NOT_GIVEN if entry.coverage is None else percent(entry.coverage),
            _n(entry, board),
            usd(entry.cost_usd),
            _per_point(entry, board.lead),
            *(_personal(entry) for _ in personal),
            _state(entry),
        )
        for entry in board.entries
    ]
    floors = best_floors(board)
    if floors:
        cells = (_cell(floors.get(setting)) for setting in board.settings)
        rows.append(("best floor", *cells, *(NOT_GIVEN,) * (4 + len(personal)), ""))
    columns = ("model", *board.settings, "coverage", "n", "cost", "$ per 0.01", *personal, "state")
    return Table(
        title=f"Leaderboard · {board.title}: {_directed(board.primary)}",
        columns=columns,
        rows=tuple(rows),
        notes=tuple(_notes(board, bool(alike), floors)),
        marks=board.marks,
        caution=board.caution,
        text_columns=(0, len(columns) - 1),
    )


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
    return Table(
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
    if not board.entries:
        return {}
    basis = max(board.entries, key=lambda entry: (not entry.is_partial, entry.summary.instances)).summary
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
    return NOT_GIVEN if amount is None else usd(amount)


def _personal(entry: Entry) -> str:
    effect = entry.effect("personal")
    return NOT_GIVEN if effect is None else difference(effect, _LEVEL)


def _n(entry: Entry, board: Board) -> str:
    """Instances behind the values shown: planned ones have no part in them."""
    found = sorted({score.n for setting in board.settings if (score := entry.score(setting)) is not None})
    return NOT_GIVEN if not found else " – ".join(map(count, dict.fromkeys((found[0], found[-1]))))


def _state(entry: Entry) -> str:
    done = entry.summary.requests
    if entry.is_partial:
        return f"PARTIAL {count(done.final)} of {count(done.total)}"
    return "complete, smaller sample" if entry.is_superseded else "complete"


def _cell(score: Score | None) -> str:
    return NOT_GIVEN if score is None else estimate(score.value, score.low, score.high)


def _directed(metric: str) -> str:
    return f"{metric} (↓ lower is better)" if metric in LOWER_IS_BETTER else f"{metric} (higher is better)"


def _notes(board: Board, alike: bool, floors: dict[str, Score]) -> list[str]:
    notes = [
        f"value [95 % interval, bootstrap over authors]; sorted by {board.lead}, complete runs first",
        "coverage: the lowest of the settings; cost: of all answers in all settings, whoever paid for them",
        f"$ per 0.01: cost for each 0.01 by which {board.primary} beats its best floor on {board.lead}; "
        f"{NOT_GIVEN} where it is not shown to beat it, or a price is unknown",
    ]
    if any(entry.effect("personal") for entry in board.entries):
        notes.append("personal effect: raw difference with its 95 % interval (another level is said), + is better")
    if alike and board.best is not None:
        notes.append(f"{ALIKE} not shown to differ from the best ({board.best.label}) on {board.lead}")
    if any(entry.is_partial for entry in board.entries):
        notes.append("PARTIAL: answers are still to come; not tested against others, and not the best of this table")
    sizes = sorted({entry.summary.instances for entry in board.entries})
    if len(sizes) > 1:
        notes.append(
            f"samples of {' and '.join(map(count, sizes))} instances: rows with different n are not of the same ones; "
            "pairs are tested on those that both have, of each model its largest sample; floors are of the largest"
        )
    if floors:
        notes.append(f"best floor, what a trivial predictor reaches: {_floor_names(board, floors)}")
    return [*notes, *_cell_notes(board), *board.notes]


def _floor_names(board: Board, floors: dict[str, Score]) -> str:
    by_name: dict[str, list[str]] = {}
    for setting, floor in floors.items():
        by_name.setdefault(floor.floor or "", []).append(setting)
    if len(by_name) == 1 and len(floors) == len(board.settings):
        return next(iter(by_name))
    return "; ".join(f"{name} ({', '.join(settings)})" for name, settings in by_name.items())


def _cell_notes(board: Board) -> list[str]:
    """What the cells need said of them, each sentence once, of a row where it holds for all its settings."""
    about: dict[str, list[str]] = {}
    for entry in board.entries:
        scores = {setting: score for setting in board.settings if (score := entry.score(setting)) is not None}
        for note in dict.fromkeys(score.note for score in scores.values() if score.note):
            cells = [setting for setting, score in scores.items() if score.note == note]
            named = entry.label if len(cells) == len(scores) else f"{entry.label} {', '.join(cells)}"
            about.setdefault(note, []).append(named)
        effect: Effect | None = entry.effect("personal")
        if effect is not None and effect.note and entry.label not in about.get(effect.note, ()):
            about.setdefault(effect.note, []).append(f"{entry.label} personal effect")
    return [f"{'; '.join(cells)}: {note}" for note, cells in about.items()]
