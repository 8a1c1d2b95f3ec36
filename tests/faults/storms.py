"""The fault matrix: every protocol × every fault of the emulator that applies to it; and all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from runner.emulator import draws
from runner.emulator.faults import FAULTS
from tests.faults import evidence
from tests.faults.cells import (
    PROTOCOLS,
    Verdict,
    again_until_complete,
    command,
    furnish,
    judged,
    last_line,
    quick_command,
)
from tests.place import Place

RATES = {"create_500": 0.5, "expired_partial": 0.5, "expired_nothing": 0.5, "cancelled_partial": 0.5, "stuck": 0.5}
"""Where the emulator's own rate would leave no way to an end."""
STOPPING = {"spend_limit"}
"""The run cannot go on until they are over; it must say so and end with 1."""
UNREAD = {"odd_body", "no_choices"}
"""What arrived and is not understood is held: the run cannot become complete, and must say so and end with 1."""
ENDINGS = {"filtered": {"filtered", "refused"}}
"""How requests may end other than ok, or missing after the last attempt."""

STORM = {
    "create_lost": 0.3,
    "create_500": 0.2,
    "create_429_made": 0.2,
    "upload_reset_middle": 0.2,
    "upload_reset_after": 0.2,
    "storm_429": 0.5,
    "storm_5xx": 0.5,
    "truncated_download": 0.3,
    "length_too_small": 0.2,
    "list_lag": 0.5,
    "not_found_after_create": 0.3,
    "late_file_ids": 0.5,
    "expired_partial": 0.3,
    "cancelled_partial": 0.2,
    "crlf": 0.3,
    "u2028": 0.05,
    "lone_surrogate": 0.05,
    "duplicate_line": 0.05,
    "unknown_id": 0.05,
    "missing_id": 0.02,
    "mixed_endings": 0.05,
    "standard_tier": 0.1,
}
"""All weathers at once, except those that make a bill that nobody can read off the answers (a cut-off line)."""


@dataclass(frozen=True)
class Weather:
    """One cell: a protocol and the faults of its emulator, by one name."""

    protocol: str
    name: str
    faults: tuple[str, ...]
    is_storm: bool = False
    seed: int = 1

    def __str__(self) -> str:
        return f"{self.protocol}-{self.name}"


def cells() -> Iterator[Weather]:
    """Each fault where it applies."""
    for protocol in PROTOCOLS:
        for name, fault in FAULTS.items():
            if fault.applies_to(protocol):
                rate = RATES.get(name, fault.rate)
                yield Weather(protocol, name, (f"{name}:{rate}",), seed=_biting_seed(name, rate))


def _biting_seed(name: str, rate: float) -> int:
    """The first seed with which the fault strikes the first call, job or storm."""
    return next(seed for seed in count(1) if all(draws.unit(seed, name, unit) < rate for unit in (0, 1)))


def storm(protocol: str, seed: int) -> Weather:
    """All at once."""
    faults = tuple(f"{name}:{rate}" for name, rate in STORM.items() if FAULTS[name].applies_to(protocol))
    return Weather(protocol, f"storm {seed}", faults, is_storm=True, seed=seed)


def weather(cell: Weather, root: Path, corpus: Path) -> Verdict:
    """Run under the faults, giving the same command again as a user would, and look at everything."""
    place = furnish(root, corpus)
    words = command(cell.protocol, corpus, 30) if cell.is_storm else quick_command(cell.protocol, corpus)
    words += ["--deadline", "20h"]

    if cell.name in UNREAD:
        place.misbehave(*cell.faults, seed=cell.seed)
        return _held(place, words)

    def work() -> Iterator[str]:
        place.misbehave(*cell.faults, seed=cell.seed)
        if cell.name in STOPPING:
            yield from _stops(place, words)
            place.misbehave(f"{cell.name}:0")
        if (yield from again_until_complete(place, words)):
            odd = set(evidence.books(place).responses["status"]) - {"ok", "missing"} - ENDINGS.get(cell.name, set())
            if odd:
                yield f"answers are {', '.join(sorted(odd))}"

    return judged(work, place)


def _held(place: Place, words: Sequence[str]) -> Verdict:
    """Whatever the user repeats, nothing is bought twice, and what could be read stays a part of the table."""
    said = [*_stops(place, words)]
    for again in (words, ["submit", *words[1:]], ["collect", "--wait"]):
        place.call(*again, check=False)
    place.call("score")
    billed = place.times_billed()
    doubles = [name for name, times in billed.items() if times > 1]
    if doubles or set(billed) != place.asked():
        said.append(f"{len(doubles)} requests were billed twice, {len(billed)} of {len(place.asked())} at all")
    if place.summary()["state"] != "partial" or not 0 < place.summary()["requests"]["final"] < len(billed):
        said.append("the table is not PARTIAL")
    return Verdict(tuple(said), double_payments=len(doubles))


def _stops(place: Place, words: Sequence[str]) -> Iterator[str]:
    done = place.call(*words, check=False)
    if done.returncode != 1:
        yield f"it does not stop: {done.returncode}, {last_line(done.stderr)}"
