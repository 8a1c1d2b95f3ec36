"""Misbehaviour on demand. Each fault is one line here; where it bites, the code asks for it by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.emulator import draws
from runner.emulator.store import Store


class Unit(StrEnum):
    """What a rate counts: one HTTP call, one job, or one answered line of a job (at least one line of it)."""

    CALL = "call"
    JOB = "job"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Fault:
    """``rate`` is the share of units that are hit when the user names none."""

    name: str
    unit: Unit
    rate: float
    doc: str


LIST_LAG_S = 45.0
NOT_FOUND_S = 30.0
LATE_IDS_S = 120.0

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        Fault("create_lost", Unit.CALL, 1.0, "The job is created, but the answer never arrives (cut or 500)."),
        Fault("create_500", Unit.CALL, 0.5, "Create answers 500 and no job exists."),
        Fault("truncated_download", Unit.CALL, 0.5, "A file's body ends before its Content-Length."),
        Fault("list_lag", Unit.JOB, 1.0, f"A new job is in lists only after {LIST_LAG_S:.0f} s."),
        Fault("not_found_after_create", Unit.JOB, 1.0, f"A new job is 404 for {NOT_FOUND_S:.0f} s."),
        Fault("late_file_ids", Unit.JOB, 1.0, f"An ended job names its files {LATE_IDS_S:.0f} s later."),
        Fault("expired_partial", Unit.JOB, 1.0, "The job expires after 24 h with a part answered (and billed)."),
        Fault("error_file_empty_id", Unit.JOB, 1.0, 'error_file_id is "" instead of null on a clean job.'),
        Fault("all_failed", Unit.JOB, 1.0, "Every request fails with 500: no output file, nothing billed."),
        Fault("stuck", Unit.JOB, 1.0, "The job stays in progress, past its deadline, until it is cancelled."),
        Fault("shuffle", Unit.JOB, 1.0, "Result lines come in another order than the requests (default on)."),
        Fault("u2028", Unit.LINE, 0.05, "Answers hold raw U+2028, U+2029 and U+0085, which are not line ends."),
        Fault("duplicate_line", Unit.LINE, 0.05, "A result line comes twice (billed once)."),
        Fault("unknown_id", Unit.LINE, 0.05, "An extra result line has a custom_id that nobody sent."),
        Fault("missing_id", Unit.LINE, 0.05, "A request is in neither file (it was not run, nor billed)."),
        Fault("bad_line", Unit.LINE, 0.05, "A result line is cut off and cannot be parsed (billed)."),
        Fault("status_zero", Unit.LINE, 0.05, "A line of the output file has status_code 0 (not billed)."),
    )
}


def parse(text: str) -> tuple[str, float]:
    """``NAME`` or ``NAME:RATE``; ValueError says what is wrong with it."""
    name, colon, number = text.partition(":")
    if name not in FAULTS:
        raise ValueError(f"unknown fault {name!r}; there are: {', '.join(FAULTS)}")
    try:
        rate = float(number) if colon else FAULTS[name].rate
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate of fault {name!r} must lie in 0..1, not {number!r}")
    return name, rate


class Faults:
    """The rates in force, kept in the state folder."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rates(self) -> dict[str, float]:
        """Name to rate, of those in force."""
        return {"shuffle": 1.0, **self._store.setting("faults", {})}

    def put(self, rates: Mapping[str, float]) -> None:
        """Add to those in force; a rate of 0 switches one off."""
        with self._store.transaction():
            self._store.set_setting("faults", self.rates() | dict(rates))

    def strikes(self, name: str) -> bool:
        """Whether this call is hit; a stored counter makes the next call another draw."""
        rate = self.rates().get(name, 0.0)
        if rate in (0.0, 1.0):
            return rate == 1.0
        with self._store.transaction():
            calls = self._store.setting(f"calls of {name}", 0)
            self._store.set_setting(f"calls of {name}", calls + 1)
        return draws.unit(self._store.seed, name, calls) < rate

    def of_job(self, number: int) -> list[str]:
        """Which job faults the job of this number has."""
        return [
            name
            for name, rate in self.rates().items()
            if FAULTS[name].unit is Unit.JOB and draws.unit(self._store.seed, name, number) < rate
        ]

    def of_lines(self, number: int, lines: Sequence[int]) -> dict[str, set[int]]:
        """Which of a job's lines are hit by which fault: the rate's share, rounded up."""
        return {
            name: set(draws.stream(self._store.seed, name, number).sample(lines, math.ceil(rate * len(lines))))
            for name, rate in self.rates().items()
            if FAULTS[name].unit is Unit.LINE and rate > 0
        }
