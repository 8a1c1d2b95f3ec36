"""Effects in words: raw differences with intervals, their tests, and what they allow to say."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from runner.metrics.score import Effect
from runner.reporting.summary import Summary
from runner.reporting.table import Table, without_empty_columns
from runner.reporting.words import NOT_DEFINED, NOT_GIVEN, count, signed

MEANINGS = {
    "personal": "own history rather than a comparable stranger's",
    "conversation": "thread rather than none",
    "interaction": "interaction of history and thread",
}
"""What the main effects are differences of."""
_ALL = "all"
_DOMAIN = "domain="
_ORDER = ("main", "simple", "arm", "floor")
_KINDS = {"main": "main effect", "simple": "simple effect", "arm": "against no history", "floor": "against best floor"}
_FLOOR_LEVEL = 0.95
_NO_INTERVAL = "no interval"
_NO_TEST = "no test: partial"
NOT_TESTED = "not tested: partial"
"""Of a difference while answers are still to come."""


def effects_tables(summary: Summary) -> tuple[Table, ...]:
    """The effects of a run: on the primary metric, by domain, on the other metrics; those without rows are left out."""
    made = (effects_table(summary), domain_effects_table(summary), other_effects_table(summary))
    return tuple(table for table in made if table.rows)


def effects_table(summary: Summary, *, brief: bool = False) -> Table:
    """Effects on the primary metric: main ones (the declared family), simple ones, arms, then the best floors.

    ``brief`` keeps to the main ones over all instances: those for which the benchmark was made.
    """
    found = [e for e in summary.effects if e.metric == summary.primary and not e.group.startswith(_DOMAIN)]
    found = [e for e in found if e.kind in _ORDER and (not brief or (e.kind == "main" and e.group == _ALL))]
    found.sort(key=lambda effect: (_ORDER.index(effect.kind), effect.group != _ALL))
    level = next((effect.level for effect in found if effect.kind != "floor"), _FLOOR_LEVEL)
    rows = [
        (
            _explained(effect) if brief else _label(effect),
            "" if brief else _kind(effect),
            difference(effect, level),
            p_value(effect.p),
            p_value(effect.p_holm),
            count(effect.n),
            count(int(effect.authors)),
            reading(effect),
        )
        for effect in found
    ]
    table = Table(
        title=f"{'Effects' if brief else 'All effects'} on {summary.primary} · {summary.heading}",
        columns=("effect", "kind", f"difference {_bounds(level)}", "p", "Holm p", "n", "authors", "reading"),
        rows=tuple(rows),
        notes=(*_legend(summary, found), *effect_notes(found)),
        marks=summary.marks,
        caution=summary.caution,
        text_columns=(0, 1, 7),
        strong=tuple(number for number, effect in enumerate(found) if effect.family is not None),
    )
    return without_empty_columns(table)


def domain_effects_table(summary: Summary) -> Table:
    """The main effects on the primary metric inside each domain: intervals only, exploratory."""
    found = [
        effect
        for effect in summary.effects
        if effect.kind == "main" and effect.metric == summary.primary and effect.group.startswith(_DOMAIN)
    ]
    title = f"Effects by domain on {summary.primary} (exploratory)"
    return _grid(summary, found, title, "domain", [effect.group for effect in found])


def other_effects_table(summary: Summary) -> Table:
    """The main effects on all other metrics: intervals only, exploratory."""
    found = [
        effect
        for effect in summary.effects
        if effect.kind == "main" and effect.metric != summary.primary and effect.group == _ALL
    ]
    return _grid(summary, found, "Effects on other metrics (exploratory)", "metric", [e.metric for e in found])


def reading(effect: Effect) -> str:
    """What may be said of it; never that there is no difference."""
    if effect.value is None:
        return NOT_DEFINED
    if effect.low is None or effect.high is None:
        return _NO_INTERVAL
    if _NO_TEST in (effect.note or ""):
        return NOT_TESTED
    if effect.kind == "floor":
        return ("beats" if effect.value > 0 else "worse than the floor") if effect.is_shown else "not shown to beat"
    if not effect.is_shown:
        return "no difference shown"
    word = "shown" if effect.value > 0 else "shown: worse"
    return word if effect.family is not None else f"{word} (exploratory)"


def difference(effect: Effect, level: float) -> str:
    """``+0.031 [0.012, 0.050]``; the level of the interval is said where it is not that of the column."""
    text = signed(effect.value, effect.low, effect.high)
    other = effect.low is not None and abs(effect.level - level) > 1e-12
    return f"{text}{f' ({percent_level(effect.level)})' if other else ''}"


def p_value(p: float | None) -> str:
    """Four decimals; never rounded to nothing."""
    if p is None:
        return NOT_GIVEN
    return "<0.0001" if p < 0.0001 else f"{p:.4f}"


def percent_level(level: float) -> str:
    """``95 %``, ``97.5 %``, ``99.17 %``."""
    return f"{level * 100:.4g} %"


def effect_notes(effects: Sequence[Effect]) -> tuple[str, ...]:
    """Each note once, with the effects that it is about; alone where it is about all of them."""
    names: dict[str, list[str]] = {}
    for effect in effects:
        if effect.note:
            names.setdefault(effect.note, []).append(_label(effect))
    return tuple(
        note if len(about) == len(effects) else f"{', '.join(dict.fromkeys(about))}: {note}"
        for note, about in names.items()
    )


def _is_unlikeness(name: str, value: object) -> bool:
    """Where donors differ much from authors, part of the personal effect is that difference."""
    return "standardised difference" in name and isinstance(value, int | float)


def _label(effect: Effect) -> str:
    return effect.name if effect.group == _ALL else f"{effect.name}, {effect.group.removeprefix(_DOMAIN)}"


def _explained(effect: Effect) -> str:
    meaning = MEANINGS.get(effect.name, effect.name)
    return meaning if meaning.startswith(effect.name) else f"{effect.name}: {meaning}"


def _kind(effect: Effect) -> str:
    if effect.kind == "floor":
        return _KINDS["floor"]
    return f"{_KINDS.get(effect.kind, effect.kind)}, {'declared' if effect.family is not None else 'exploratory'}"


def _bounds(level: float) -> str:
    return f"[{percent_level(level)} interval]"


def _legend(summary: Summary, found: Sequence[Effect]) -> list[str]:
    if not found:
        return []
    tested = any(effect.p is not None for effect in found)
    swapped = "; p: two-sided, settings swapped by author" if tested else ""
    lines = [f"raw differences on the same instances, + is better{swapped}"]
    if any(effect.family is not None for effect in found):
        adjusted = ", Holm-adjusted inside it" if any(effect.p_holm is not None for effect in found) else ""
        lines.append(f"declared: the family of tests named before any answer was seen{adjusted}")
    unlike = [f"{name} {value:+.2f}" for name, value in summary.funnel_notes.items() if _is_unlikeness(name, value)]
    if unlike:
        lines.append(
            f"personal means own history rather than a comparable stranger's; how unlike they are: {'; '.join(unlike)}"
        )
    if summary.look is not None:
        of = f" of {summary.look.planned} planned" if summary.look.planned is not None else ""
        at = f"tests at {summary.look.alpha:.4g}" if summary.look.alpha is not None else "no confirmatory test"
        lines.append(f"look {summary.look.number}{of} at this sample: {at}")
        declared = summary.repeat.get("looks planned")
        if declared and summary.look.planned is None:
            lines.append(f"LOOKS={declared} does not hold: this sample was scored before, with another plan")
    return lines


def _grid(summary: Summary, found: Sequence[Effect], title: str, what: str, keys: Sequence[str]) -> Table:
    """Main effects in columns."""
    names = list(dict.fromkeys(effect.name for effect in found))
    level = found[0].level if found else _FLOOR_LEVEL
    cells = {(key, effect.name): effect for key, effect in zip(keys, found, strict=True)}

    def row(key: str) -> Iterable[str]:
        mine = [cells.get((key, name)) for name in names]
        yield key.removeprefix(_DOMAIN)
        yield from (NOT_GIVEN if effect is None else difference(effect, level) for effect in mine)
        yield " / ".join(dict.fromkeys(count(effect.n) for effect in mine if effect is not None))

    named = [
        replace(effect, name=f"{key.removeprefix(_DOMAIN)} {effect.name}", group=_ALL)
        for key, effect in zip(keys, found, strict=True)
    ]
    table = Table(
        title=f"{title} · {summary.heading}",
        columns=(what, *names, "n"),
        rows=tuple(tuple(row(key)) for key in dict.fromkeys(keys)),
        notes=(
            f"differences with {percent_level(level)} intervals, + is better; outside the declared tests",
            *effect_notes(named),
        )
        if found
        else (),
        marks=summary.marks,
        caution=summary.caution,
    )
    return without_empty_columns(table)
