"""The crash matrix: every protocol × every point of the journal × every deed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from runner.chain.journal import Point
from tests.faults import evidence
from tests.faults.cells import PROTOCOLS, Verdict, again_until_complete, furnish, judged, last_line, quick_command
from tests.faults.deeds import Deed, End, befall
from tests.place import Place

LEAVING = -2
"""Interrupted in the last moment, when nothing of ours was left to be stopped: Python dies of the signal."""
CODES = {Deed.KILLED: {-9}, Deed.INTERRUPTED: {130}, Deed.DISK_FULL: {1}, Deed.CUT_OFF: {0, 1, 130, LEAVING}}


RARE = (Point.LOOKED, Point.WITHHELD, Point.ACCEPTED, Point.READ_AGAIN)
"""Points that are come to only where results are not what they should be: see test_delivery.py."""
POINTS = [point for point in Point if point not in RARE]
PER_BATCH = POINTS[POINTS.index(Point.PACKED) : POINTS.index(Point.CLOSED) + 1]
"""Points that a run of two batches comes to twice."""


@dataclass(frozen=True)
class Crash:
    """One cell; the deed is done in the first batch, which is small, or in the ``second``, with answers at home."""

    protocol: str
    point: Point
    deed: Deed
    second: bool = False

    def __str__(self) -> str:
        return f"{self.protocol}-{self.point}-{self.what.replace(',', '').replace(' ', '_')}"

    @property
    def what(self) -> str:
        """What is done, in words."""
        return f"{self.deed}, 2nd" if self.second else str(self.deed)

    @property
    def visit(self) -> int:
        """At which of its stops there; the first responses are written empty, before anything was answered."""
        return 2 if self.second or self.point is Point.RESPONSES_WRITTEN else 1

    @property
    def requests(self) -> int:
        """One batch, or the first small one of 50 requests and a second."""
        return 56 if self.second else 24

    @property
    def may_stray(self) -> bool:
        """Whether a file was sent, but its id could not be written down: then, and only then, it may stay there."""
        is_unwritten = self.point is Point.INTENDED and self.deed is Deed.DISK_FULL
        return self.point is Point.FILE_SENT or is_unwritten


def cells() -> Iterator[Crash]:
    """Every cell in which there is something to do."""
    for protocol, spoken in PROTOCOLS.items():
        for point in POINTS:
            if point is Point.DISCARDED and not spoken.has_files:
                continue  # nothing was uploaded, so nothing is removed
            for deed in Deed:
                if deed is Deed.CUT_OFF and point in (Point.BUILT, Point.APPROVED):
                    continue  # nobody has been connected to yet
                yield Crash(protocol, point, deed)
            if point in PER_BATCH:
                yield Crash(protocol, point, Deed.KILLED, second=True)


def crash(cell: Crash, root: Path, corpus: Path) -> Verdict:
    """Do the deed, give the same command again until the run is complete, and look at everything."""
    place = furnish(root, corpus)
    words = quick_command(cell.protocol, corpus, cell.requests)

    def work() -> Iterator[str]:
        yield from _of_ending(befall(place, words, cell.point, cell.deed, cell.visit), cell)
        if (yield from again_until_complete(place, words)):
            yield from _of_answers(place, cell)

    return judged(work, place)


def _of_ending(end: End, cell: Crash) -> Iterator[str]:
    """What speaks against the way in which the command ended."""
    said = last_line(end.stderr)
    if not end.is_reached:
        yield f"the work never came to {cell.point}: {end.code}, {said}"
    if end.code not in CODES[cell.deed]:
        yield f"{cell.deed}, it ended with {end.code}: {said}"
    if "Traceback" in end.stdout + end.stderr or "fault of persona-runner" in end.stderr:
        yield f"{cell.deed}, it said: {said}"
    if cell.deed is Deed.INTERRUPTED and not said.startswith("Stopped; nothing is lost."):
        yield f"interrupted, it said: {said}"


def _of_answers(place: Place, cell: Crash) -> Iterator[str]:
    """Nothing is wrong with the provider here: every answer is ok and was billed, and nothing strays."""
    there, here = evidence.provider(place), evidence.books(place)
    if set(there.billed) != here.asked:
        yield f"{len(here.asked - set(there.billed))} requests were never billed"
    if set(here.responses["status"]) != {"ok"}:
        yield f"answers are {', '.join(sorted(set(here.responses['status'])))}"
    if len(strays := there.inputs - here.files) > cell.may_stray:
        yield f"{len(strays)} input files at the provider are in no ledger row"
