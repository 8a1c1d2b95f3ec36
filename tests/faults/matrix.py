"""``python -m tests.faults.matrix``: the crash matrix, the fault matrix and the storms, printed as tables.

Exit code 1 when a cell fails. Every cell is one folder in which real commands run; it takes some seconds.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from runner.chain.journal import Point
from runner.emulator.faults import FAULTS
from tests import clock
from tests.faults import crash, storms
from tests.faults.cells import PROTOCOLS, SMALL_DISK, Verdict, furnish_corpus
from tests.faults.deeds import Deed

SEEDS = (1, 2, 3)


@dataclass(frozen=True)
class Square:
    """A cell as it is shown: in which table, row and column it stands, and what it does."""

    table: str
    row: str
    column: str
    name: str
    run: Callable[[Path, Path], Verdict]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the squares that are asked for, a few at a time; the number of those that fail."""
    options = _options(arguments)
    clock.begin()
    if options.small_disks and not os.environ.get(SMALL_DISK):
        os.environ[SMALL_DISK] = "yes"
        os.execvp(
            "unshare", ["unshare", "--map-root-user", "--mount", sys.executable, "-m", __spec__.name, *sys.argv[1:]]
        )
    squares = [square for square in _squares(options) if not options.only or options.only in square.name]
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(options.workers) as pool:
        home = Path(folder)
        corpus = furnish_corpus(home)
        found = {}
        for square, verdict in zip(squares, pool.map(lambda one: _run(one, home, corpus), squares), strict=True):
            found[square] = verdict
            if verdict.complaints or options.verbose:
                print(f"{square.name} ({verdict.seconds:.0f} s): {'; '.join(verdict.complaints) or 'ok'}", flush=True)
    for table in dict.fromkeys(square.table for square in squares):
        _print_table(table, {square: verdict for square, verdict in found.items() if square.table == table})
    _print_counts(found, time.monotonic() - began)
    return sum(bool(verdict.complaints) for verdict in found.values())


def _run(square: Square, home: Path, corpus: Path) -> Verdict:
    with tempfile.TemporaryDirectory(dir=home) as folder:
        root = Path(folder) / "place"
        try:
            return square.run(root, corpus)
        except Exception as error:  # one broken cell stops no other
            return Verdict((f"the cell itself broke: {type(error).__name__}: {error}",))
        finally:
            if root.is_mount():
                subprocess.run(["umount", "--lazy", root], check=True)


def _squares(options: argparse.Namespace) -> list[Square]:
    """What the options choose, in the order of the tables."""
    squares = []
    if "crash" in options.matrix:
        for cell in crash.cells():
            if cell.point in options.point and cell.deed in options.deed:
                run = _bound(crash.crash, cell)
                squares.append(Square(f"crash matrix, {cell.protocol}", cell.point, cell.what, str(cell), run))
    if "faults" in options.matrix:
        for weather in storms.cells():
            if weather.name in options.fault:
                run = _bound(storms.weather, weather)
                squares.append(Square("fault matrix", weather.name, weather.protocol, str(weather), run))
    if "storms" in options.matrix:
        for seed in SEEDS:
            for protocol in PROTOCOLS:
                weather = storms.storm(protocol, seed)
                run = _bound(storms.weather, weather)
                squares.append(Square("storms", weather.name, protocol, str(weather), run))
    return [square for square in squares if square.name.split("-")[0] in options.protocol]


def _bound(run: Callable[..., Verdict], cell: object) -> Callable[[Path, Path], Verdict]:
    return lambda root, corpus: run(cell, root, corpus)


def _print_table(name: str, found: dict[Square, Verdict]) -> None:
    columns = list(dict.fromkeys(square.column for square in found))
    width = max(len(square.row) for square in found) + 2
    print(f"\n{name}\n{'':{width}}" + "".join(f"{column:>13}" for column in columns))
    for row in dict.fromkeys(square.row for square in found):
        marks = {
            square.column: "FAILS" if verdict.complaints else "ok"
            for square, verdict in found.items()
            if square.row == row
        }
        print(f"{row:{width}}" + "".join(f"{marks.get(column, '·'):>13}" for column in columns))


def _print_counts(found: dict[Square, Verdict], seconds: float) -> None:
    def count(verdicts: Iterable[Verdict]) -> str:
        all_of = list(verdicts)
        failures = sum(bool(verdict.complaints) for verdict in all_of)
        doubles = sum(verdict.double_payments for verdict in all_of)
        lost = sum(verdict.lost_answers for verdict in all_of)
        return f"{len(all_of):>7}{failures:>10}{doubles:>17}{lost:>14}"

    print(f"\n{'protocol':12}{'cells':>7}{'failures':>10}{'double payments':>17}{'lost answers':>14}")
    for protocol in PROTOCOLS:
        mine = [verdict for square, verdict in found.items() if square.name.split("-")[0] == protocol]
        if mine:
            print(f"{protocol:12}{count(mine)}")
    print(f"{'all':12}{count(found.values())}   in {seconds / 60:.1f} minutes")


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults.matrix", description=__doc__)
    several = {"action": "extend", "nargs": "+", "metavar": "NAME"}
    choices = {
        "matrix": ["crash", "faults", "storms"],
        "protocol": list(PROTOCOLS),
        "point": [str(point) for point in Point],
        "deed": [str(deed) for deed in Deed],
        "fault": list(FAULTS),
    }
    for name, known in choices.items():
        parser.add_argument(f"--{name}", choices=known, help=", ".join(known), **several)
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--small-disks", action="store_true", help="fill a real file system (Linux namespaces)")
    parser.add_argument("--workers", type=int, default=3)  # one of them often waits
    parser.add_argument("--verbose", action="store_true", help="a line for each cell")
    options = parser.parse_args(arguments)
    for name, known in choices.items():
        setattr(options, name, getattr(options, name) or known)
    return options


if __name__ == "__main__":
    sys.exit(min(main(), 1))
