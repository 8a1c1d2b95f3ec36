"""What is done to a command that stands at a point of the journal, from outside, and how it then ends."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from runner.chain.journal import Point
from tests import warm
from tests.place import HANGS_S, Place

Process = subprocess.Popen[str] | warm.Command
FILLER = "filler"
PAUSE_S = 0.02
NETWORK_AWAY_S = 1.5
"""How long a command may look for a provider that is gone before the user stops it."""


class Deed(StrEnum):
    """What befalls the process."""

    KILLED = "killed"
    INTERRUPTED = "interrupted"
    DISK_FULL = "disk full"
    CUT_OFF = "cut off"


@dataclass(frozen=True)
class End:
    """How a command ended: its exit code (negative: by that signal) and what it printed.

    ``is_reached`` tells whether it came to the point at all; then ``code`` says what the deed made of it.
    """

    code: int
    stdout: str
    stderr: str
    is_reached: bool = True


def befall(place: Place, command: Sequence[str], point: Point, deed: Deed, visit: int = 1) -> End:
    """Run a command, do the deed at its ``visit``-th stop at the point, let it go on, and see how it ends."""
    process = place.begin(*command, PERSONA_RUNNER_STOP_AT=point)
    try:
        for number in range(visit):
            if number:
                process.send_signal(signal.SIGCONT)
            if not stops(process):
                return End(process.returncode, *process.communicate(), is_reached=False)
        _do(deed, process, place)
        return _ending(process, deed)
    finally:
        (place.root / FILLER).unlink(missing_ok=True)
        if process.poll() is None:
            process.kill()
            process.wait()


def stops(process: Process) -> bool:
    """Wait until the process stops itself; False when it ends instead."""
    deadline = time.monotonic() + HANGS_S
    while time.monotonic() < deadline:
        if process.poll() is not None:
            return False
        if _is_stopped(process.pid):
            return True
        time.sleep(PAUSE_S)
    raise TimeoutError(f"the command neither stopped nor ended in {HANGS_S:.0f} s")


def _is_stopped(pid: int) -> bool:
    with suppress(FileNotFoundError):  # it has just ended
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def _do(deed: Deed, process: Process, place: Place) -> None:
    if deed is Deed.KILLED:
        process.kill()
    elif deed is Deed.INTERRUPTED:
        process.send_signal(signal.SIGINT)
    elif deed is Deed.CUT_OFF:
        for child in children(process.pid):
            os.kill(child, signal.SIGKILL)
    elif place.root.is_mount():
        _fill(place.root / FILLER)
    else:  # every further write to a file fails, as on a full disk, but for the errno (EFBIG)
        _, hard = resource.prlimit(process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (0, hard))


def _fill(path: Path) -> None:
    """Take all the room of the file system that a file is on."""
    with path.open("wb", buffering=0) as file:
        for size in (1 << 20, 1 << 12, 1):
            with suppress(OSError):
                while True:
                    file.write(bytes(size))


def _ending(process: Process, deed: Deed) -> End:
    """Let it go on, past every further stop. One that waits for a provider that is gone is interrupted."""
    waits = [NETWORK_AWAY_S, HANGS_S] if deed is Deed.CUT_OFF else [HANGS_S]
    for turn, patience in enumerate(waits):
        if turn:
            process.send_signal(signal.SIGINT)
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            process.send_signal(signal.SIGCONT)
            try:
                stdout, stderr = process.communicate(timeout=2 * PAUSE_S)
            except subprocess.TimeoutExpired:
                continue
            return End(process.returncode, stdout, stderr)
    raise TimeoutError(f"{deed}, the command did not end in {HANGS_S:.0f} s")


def children(pid: int) -> list[int]:
    """The processes that this one has started and that still run."""
    found = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    return [int(child) for pids in found for child in pids]
