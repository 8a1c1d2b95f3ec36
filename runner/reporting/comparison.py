"""What several runs say beside each other: boards of runs whose numbers may share a table, and nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from runner.metrics.score import Effect, Score
from runner.reporting.summary import REHEARSAL, Summary
from runner.reporting.tables import ALL, LOWER_IS_BETTER


@dataclass(frozen=True)
class Entry:
    """A scored run as a row; ``label`` is its model, with what tells it from the board's other rows of that model.

    One ``is_superseded`` where another run of the board says more of the same model: it is shown below, not tested.
    """

    label: str
    summary: Summary
    is_superseded: bool = False

    @property
    def is_partial(self) -> bool:
        """Whether answers are still to come."""
        return self.summary.state == "partial"

    @property
    def cost_usd(self) -> float | None:
        """Dollars for all its answers, whoever paid for them; None where a price is not known."""
        billed, reused = self.summary.cost.billed_usd, self.summary.cost.reused_usd
        return None if billed is None or reused is None else billed + reused

    @property
    def cost_is_bound(self) -> bool:
        """Whether they may have cost less: of some nobody told what they used."""
        return self.summary.cost.billed_is_bound or self.summary.cost.reused_is_bound

    @property
    def coverage(self) -> float | None:
        """The lowest share of usable answers among the settings (primary metric); None before the first answer."""
        rows = (row for row in self.summary.rows if (row.group, row.metric) == (ALL, self.summary.primary))
        return min((row.coverage for row in rows), default=None)

    def score(self, setting: str) -> Score | None:
        """The primary metric in a setting, over all instances."""
        wanted = (setting, ALL, self.summary.primary)
        return next((row for row in self.summary.rows if (row.setting, row.group, row.metric) == wanted), None)

    def effect(self, name: str) -> Effect | None:
        """A main effect on the primary metric, over all instances."""
        return self._effect("main", lambda effect: effect.name == name)

    def over_floor(self, setting: str) -> Effect | None:
        """The primary metric of a setting less its best floor."""
        return self._effect("floor", lambda effect: effect.name.startswith(f"{setting} - "))

    def _effect(self, kind: str, is_meant: Callable[[Effect], bool]) -> Effect | None:
        wanted = (kind, ALL, self.summary.primary)
        found = (each for each in self.summary.effects if (each.kind, each.group, each.metric) == wanted)
        return next(filter(is_meant, found), None)


@dataclass(frozen=True)
class Board:
    """Runs of one task, protocol, corpus and sample design, all of them rehearsals or none.

    ``title`` says which; ``settings`` are columns, the first one leads. ``entries`` are as ``best_first`` sorts them.
    ``pairs`` are the tests of two models each on the lead (``<label> - <label>``); only complete runs have them.
    """

    title: str
    primary: str
    is_rehearsal: bool
    settings: tuple[str, ...]
    entries: tuple[Entry, ...]
    pairs: tuple[Effect, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def lead(self) -> str:
        """The setting by which rows are sorted and models are tested."""
        return self.settings[0]

    @property
    def leading(self) -> tuple[Entry, ...]:
        """One run for each model: what the leaderboard is made of."""
        return tuple(entry for entry in self.entries if not entry.is_superseded)

    @property
    def others(self) -> tuple[Entry, ...]:
        """The runs of these models that say less: smaller samples, fresh answers, not yet complete."""
        return tuple(entry for entry in self.entries if entry.is_superseded)

    @property
    def marks(self) -> tuple[str, ...]:
        """What every heading of it says first."""
        return (REHEARSAL,) if self.is_rehearsal else ()

    @property
    def caution(self) -> str | None:
        """The cautions of its runs, each once."""
        return "; ".join(dict.fromkeys(e.summary.caution for e in self.entries if e.summary.caution)) or None

    @property
    def best(self) -> Entry | None:
        """The complete run with the best value in the lead; None where none is complete."""
        first = self.entries[0] if self.entries else None
        return None if first is None or first.is_partial or value_of(first, self.lead) is None else first


@dataclass(frozen=True)
class Beside:
    """Numbers that others printed, for the task of a board: (model, setting, metric, value)."""

    board: Board
    source: str
    rows: tuple[tuple[str, str, str, float], ...]
    footnotes: tuple[str, ...]


@dataclass(frozen=True)
class Comparison:
    """All of it. ``remarks`` are sentences about what is not there and why."""

    boards: tuple[Board, ...]
    published: tuple[Beside, ...] = ()
    remarks: tuple[str, ...] = ()


def best_first(entries: Sequence[Entry], setting: str) -> tuple[Entry, ...]:
    """Complete runs, smaller samples of them, partial runs; inside each by the primary metric, undefined ones last."""

    def key(entry: Entry) -> tuple[bool, bool, bool, float]:
        value = value_of(entry, setting)
        turned = 0.0 if value is None else value if entry.summary.primary in LOWER_IS_BETTER else -value
        return entry.is_partial, entry.is_superseded, value is None, turned

    return tuple(sorted(entries, key=key))


def value_of(entry: Entry, setting: str) -> float | None:
    """The primary metric in a setting; None where it is undefined or was not asked."""
    score = entry.score(setting)
    return None if score is None else score.value
