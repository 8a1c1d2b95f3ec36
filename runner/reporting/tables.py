"""The tables of one run: every one is a view of its summary."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from runner.metrics.score import Score
from runner.reporting.effects import effects_table, effects_tables, reading
from runner.reporting.summary import Summary
from runner.reporting.table import Table, without_empty_columns
from runner.reporting.words import NOT_GIVEN, billed, count, estimate, figure, percent, usd

LOWER_IS_BETTER = frozenset({"log_mae", "mae", "median_ae", "rmse"})
ALL = "all"
UNTOLD = "≤: of some requests nobody told what they used; they count at the most that they can have cost"
_MARKS = "ᵃᵇᶜᵈᵉᶠᵍʰⁱʲᵏˡᵐⁿᵒᵖʳˢᵗᵘᵛʷˣʸᶻ"


def best_floor(floors: Iterable[Score], metric: str, group: str, setting: str | None = None) -> Score | None:
    """The best in ``setting`` (or of those that read no context at all), or in any; None where there is none."""
    found = {
        row.value: row
        for row in floors
        if row.metric == metric
        and row.group == group
        and row.value is not None
        and (setting is None or row.setting in (setting, ALL))
    }
    if not found:
        return None
    return found[min(found) if metric in LOWER_IS_BETTER else max(found)]


def result_table(summary: Summary) -> Table:
    """What the run came to: the primary metric of each setting over its best floor."""
    metric = summary.primary
    rows = [row for row in summary.rows if row.group == ALL and row.metric == metric]
    settings = _columns(rows, ())
    found = (best_floor(summary.floors, metric, ALL, setting) for setting in settings)
    floors = [replace(floor, setting=name) for name, floor in zip(settings, found, strict=True) if floor]
    notes = _Notes([*rows, *floors])
    lines = [(_metric_label(metric, metric), *_cells(rows, settings, notes))] if rows else []
    if floors:
        names = _distinct(floor.floor or "" for floor in floors)
        label = f"best floor: {names[0]}" if len(names) == 1 else "best floor"
        lines.append((label, *_cells(floors, settings, notes)))
    return _of(
        summary,
        "Results",
        ("metric", *settings),
        lines,
        notes=(*_bases(rows), *_legend(rows), *_beaten(summary, floors), *_direction([metric]), *notes.lines),
        strong=(0,),
    )


def metrics_table(summary: Summary) -> Table:
    """All metrics (primary first) over all their floors, in columns of settings; under them n and coverage."""
    rows = [row for row in summary.rows if row.group == ALL]
    floors = [row for row in summary.floors if row.group == ALL]
    metrics = sorted(_distinct(row.metric for row in rows), key=lambda metric: metric != summary.primary)
    settings = _columns(rows, floors)
    notes = _Notes([*rows, *floors])
    lines: list[tuple[str, ...]] = []
    strong: list[int] = []
    for metric in metrics:
        strong.append(len(lines))
        own = [row for row in rows if row.metric == metric]
        lines.append((_metric_label(metric, summary.primary), *_cells(own, settings, notes)))
        lines += _floor_lines([row for row in floors if row.metric == metric], settings, notes)
    if metrics:
        lead = [row for row in rows if row.metric == metrics[0]]
        lines.append(("n", *_per_setting(lead, settings, lambda row: count(row.n))))
        lines.append(("coverage", *_per_setting(lead, settings, lambda row: percent(row.coverage))))
    return _of(
        summary,
        "All metrics and floors",
        ("metric", *settings),
        lines,
        notes=(*_legend(rows), *_other_bases(rows, metrics), *_direction(metrics), *notes.lines),
        strong=strong,
    )


def domain_table(summary: Summary) -> Table:
    """The primary metric per domain (any group but ``all``), its floors under it."""
    rows = [row for row in summary.rows if row.group != ALL and row.metric == summary.primary]
    floors = [row for row in summary.floors if row.group != ALL and row.metric == summary.primary]
    settings = _columns(rows, floors)
    notes = _Notes([*rows, *floors])
    lines: list[tuple[str, ...]] = []
    strong: list[int] = []
    for group in _distinct(row.group for row in rows):
        own = [row for row in rows if row.group == group]
        n = " / ".join(_distinct(count(row.n) for row in own))
        coverage = " / ".join(_distinct(percent(row.coverage) for row in own))
        name = group.removeprefix("domain=")
        strong.append(len(lines))
        lines.append((name, *_cells(own, settings, notes), n, coverage))
        lines += [
            (*line, "", "") for line in _floor_lines([row for row in floors if row.group == group], settings, notes)
        ]
    return _of(
        summary,
        f"By domain: {summary.primary}",
        ("domain", *settings, "n", "coverage"),
        lines,
        notes=(*_direction([summary.primary]), *notes.lines),
        strong=strong,
    )


def funnel_table(summary: Summary) -> Table:
    """How many items each rule left."""
    notes = [f"{name}: {_said(value)}" for name, value in summary.funnel_notes.items()]
    steps = [(name, count(n)) for name, n in summary.funnel]
    return _of(summary, "Selection", ("rule", "left"), steps, notes=notes)


def cost_table(summary: Summary) -> Table:
    """What was expected, what was allowed, what was paid."""
    cost = summary.cost
    rows = (
        ("estimated, low", usd(cost.low_usd)),
        ("estimated, middle", usd(cost.mid_usd)),
        ("estimated, high", usd(cost.high_usd)),
        ("bound: no more than", usd(cost.bound_usd)),
        ("billed", billed(cost.billed_usd, is_bound=cost.billed_is_bound)),
        ("reused: paid by earlier runs", billed(cost.reused_usd, is_bound=cost.reused_is_bound)),
    )
    saved = tuple((f"not paid: {saving.why}", usd(saving.usd)) for saving in cost.savings)
    notes = [UNTOLD] if cost.billed_is_bound or cost.reused_is_bound else []
    return _of(summary, "Cost", ("", "US dollars"), (*rows, *saved), notes=notes)


def spent_table(summary: Summary) -> Table:
    """What the answers of each setting took."""
    rows = [
        (
            spent.setting,
            count(spent.answers),
            count(spent.input_tokens),
            count(spent.cached_tokens),
            count(spent.output_tokens),
            count(spent.reasoning_tokens),
            billed(spent.usd, is_bound=spent.is_bound),
        )
        for spent in summary.cost.by_setting
    ]
    columns = ("setting", "answers", "input tokens", "of them cached", "output tokens", "of them reasoning", "dollars")
    notes = ["whoever paid for them; an answer that settings share counts in each"]
    return _of(summary, "Used by setting", columns, rows, notes=notes if rows else [])


def requests_table(summary: Summary) -> Table:
    """Counts of requests, then the failures by reason and setting."""
    requests, settings = summary.requests, summary.settings
    counts = [("total", requests.total), ("unique", requests.unique), ("final", requests.final)]
    blank = ("",) * len(settings)
    rows = [(name, count(n), *blank) for name, n in (*counts, *requests.by_status.items())]
    for reason in _distinct(failure.reason for failure in summary.failures):
        by_setting = dict.fromkeys(settings, 0)
        for failure in summary.failures:
            if failure.reason == reason:
                by_setting[failure.setting] += failure.n
        rows.append((f"failure: {reason}", count(sum(by_setting.values())), *map(count, by_setting.values())))
    return _of(summary, "Requests", ("", "all settings", *settings), rows)


def provenance_table(summary: Summary) -> Table:
    """What produced the numbers and repeats them: what was asked, versions, and each metric's signature."""
    facts = [("run", summary.run), ("corpus", summary.corpus), *summary.repeat.items(), *summary.versions.items()]
    facts += [(f"signature of {metric}", text) for metric, text in summary.signatures.items()]
    return _of(summary, "Made by", ("what", "which"), facts, text_columns=(0, 1))


def first_tables(summary: Summary) -> tuple[Table, ...]:
    """What stands alone at the top of a report: the result, and the effects for which it was asked."""
    effects = effects_table(summary, brief=True)
    return (result_table(summary), *((effects,) if effects.rows else ()))


def other_tables(summary: Summary) -> tuple[Table, ...]:
    """Everything else, in the order of a report; tables with nothing to say are left out."""
    others = (domain_table, funnel_table, cost_table, spent_table, requests_table, provenance_table)
    made = (metrics_table(summary), *effects_tables(summary), *(make(summary) for make in others))
    return tuple(table for table in made if table.rows)


def _of(
    summary: Summary,
    what: str,
    columns: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    *,
    notes: Iterable[str] = (),
    strong: Iterable[int] = (),
    text_columns: tuple[int, ...] = (0,),
) -> Table:
    lines = tuple(rows)
    if not lines and summary.explanation:
        notes = (summary.explanation, *notes)
    table = Table(
        title=f"{what} · {summary.heading}",
        columns=columns,
        rows=lines,
        notes=tuple(notes),
        marks=summary.marks,
        caution=summary.caution,
        text_columns=text_columns,
        strong=tuple(strong) if lines else (),
    )
    return without_empty_columns(table)


class _Notes:
    """Footnotes of the cells, lettered in the order in which cells ask for them."""

    def __init__(self, scores: Sequence[Score]) -> None:
        self._of_metrics = {row.note for row in scores if row.floor is None}
        notes = {row.note for row in scores}
        self._marks: dict[str, str] = {note: "" for note in notes if note and len(notes) == 1}

    def about(self, floor: Sequence[Score]) -> str | None:
        """A note that all cells of a floor share and no metric has says something about the floor itself."""
        notes = {row.note for row in floor}
        return None if len(notes) > 1 or notes & self._of_metrics else notes.pop()

    def mark(self, note: str | None) -> str:
        """The letter of a note; none where it holds for the whole table."""
        if not note:
            return ""
        if note not in self._marks:
            turn, which = divmod(len(self._marks), len(_MARKS))
            self._marks[note] = _MARKS[which] * (turn + 1)
        return self._marks[note]

    @property
    def lines(self) -> list[str]:
        """What stands under the table."""
        return [f"{mark} {note}".strip() for note, mark in self._marks.items()]


def _columns(rows: Sequence[Score], floors: Sequence[Score]) -> list[str]:
    """The settings asked; ``all``, where a floor reads neither history nor thread, is no column of its own."""
    asked = _distinct(row.setting for row in (*rows, *floors))
    return [setting for setting in asked if setting != ALL] or asked


def _floor_lines(floors: Sequence[Score], settings: Sequence[str], notes: _Notes) -> list[tuple[str, ...]]:
    lines = []
    for floor in _distinct(row.floor or "" for row in floors):
        own = [row for row in floors if row.floor == floor]
        about = notes.about(own)
        label = f"floor: {floor} ({about})" if about else f"floor: {floor}"
        same = [replace(row, setting=setting) for row in own if row.setting == ALL for setting in settings]
        lines.append((label, *_cells([*same, *own], settings, notes, said=about)))
    return lines


def _cells(rows: Iterable[Score], settings: Sequence[str], notes: _Notes, said: str | None = None) -> list[str]:
    def cell(row: Score) -> str:
        return estimate(row.value, row.low, row.high) + notes.mark(None if row.note == said else row.note)

    return _per_setting(rows, settings, cell)


def _per_setting(rows: Iterable[Score], settings: Sequence[str], say: Callable[[Score], str]) -> list[str]:
    found = {row.setting: say(row) for row in rows}
    return [found.get(setting, NOT_GIVEN) for setting in settings]


def _other_bases(rows: Sequence[Score], metrics: Sequence[str]) -> list[str]:
    """A line for every metric whose n or coverage is not that of the table's last rows."""
    base = {row.setting: (row.n, row.coverage) for row in rows if row.metric == metrics[0]}
    lines = []
    for metric in metrics[1:]:
        others = [row for row in rows if row.metric == metric and base.get(row.setting) != (row.n, row.coverage)]
        said = (f"{row.setting} n {count(row.n)}, coverage {percent(row.coverage)}" for row in others)
        lines += [f"{metric}: {'; '.join(said)}"] if others else []
    return lines


def _bases(rows: Sequence[Score]) -> list[str]:
    """On how many instances, and with how many usable answers, in one line."""
    if not rows:
        return []
    n = {row.setting: count(row.n) for row in rows}
    coverage = {row.setting: percent(row.coverage) for row in rows}
    return [f"n {_each(n)}; coverage {_each(coverage)}"]


def _each(by_setting: Mapping[str, str]) -> str:
    """A word that holds for all settings once, else each with its setting."""
    settings: dict[str, list[str]] = {}
    for setting, said in by_setting.items():
        settings.setdefault(said, []).append(setting)
    if len(settings) == 1:
        return next(iter(settings))
    return ", ".join(f"{said} ({', '.join(where)})" for said, where in settings.items())


def _beaten(summary: Summary, floors: Sequence[Score]) -> list[str]:
    """What the paired differences to these floors allow to say."""
    names = {f"{floor.setting} - {floor.floor}": floor.setting for floor in floors}
    found = [e for e in summary.effects if e.kind == "floor" and e.group == ALL and e.name in names]
    said = {names[e.name]: reading(e) for e in found if e.metric == summary.primary}
    which = {floor.setting: floor.floor or "" for floor in floors}
    named = [f"best floors: {_each(which)}"] if len(set(which.values())) > 1 else []
    return [*named, *([f"against its best floor: {_each(said)}"] if said else [])]


def _metric_label(metric: str, primary: str) -> str:
    arrow = " ↓" if metric in LOWER_IS_BETTER else ""
    return f"{metric}{arrow} (primary)" if metric == primary else f"{metric}{arrow}"


def _legend(rows: Sequence[Score]) -> list[str]:
    """What the brackets and the floors are, where there are brackets."""
    if all(row.low is None for row in rows):
        return []
    return ["[low, high]: 95 % interval, bootstrap over authors; floor: what a trivial predictor reaches"]


def _direction(metrics: Iterable[str]) -> list[str]:
    return ["↓ lower is better"] if LOWER_IS_BETTER & set(metrics) else []


def _said(value: float | int | str) -> str:
    if isinstance(value, str):
        return value
    return count(value) if isinstance(value, int) else figure(value)


def _distinct(items: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(items))
