"""Our own long work: a bar on a terminal, a line now and then elsewhere, nothing for what is quickly done."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, Protocol

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from runner.reporting.progress import is_live
from runner.reporting.table import console_for
from runner.reporting.words import count, duration, plain

QUIET_SECONDS = 1.0
"""Work that is shorter than this shows nothing."""
BAR_SECONDS = 0.1
LINE_SECONDS = 10.0


@contextmanager
def steps(
    label: str,
    total: int | None = None,
    stream: IO[str] | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[Callable[[int], None]]:
    """Yields ``advance(n)``: call it after every n items, as often as you like; between calls nothing moves.

    A bar is gone when the work is done; lines stay. ``total`` is None where it is not known beforehand.
    """
    stream = stream or sys.stderr
    display: _Display = _Bar(label, total, stream) if is_live(stream) else _Log(label, total, stream)
    start = clock()
    due = start + QUIET_SECONDS
    done = 0

    def advance(n: int) -> None:
        nonlocal due, done
        done += n
        if (now := clock()) >= due:
            due = now + display.pause
            display.show(done, now - start)

    try:
        yield advance
    finally:
        display.end(done, clock() - start)


class _Display(Protocol):
    pause: float

    def show(self, done: int, elapsed: float) -> None: ...

    def end(self, done: int, elapsed: float) -> None: ...


class _Bar:
    pause = BAR_SECONDS

    def __init__(self, label: str, total: int | None, stream: IO[str]) -> None:
        self._bar = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
            console=console_for(stream),
            transient=True,
            auto_refresh=False,
        )
        self._task = self._bar.add_task(plain(label), total=total)

    def show(self, done: int, elapsed: float) -> None:
        self._bar.update(self._task, completed=done)
        self._bar.start()
        self._bar.refresh()

    def end(self, done: int, elapsed: float) -> None:
        if self._bar.live.is_started:
            self._bar.stop()


class _Log:
    pause = LINE_SECONDS

    def __init__(self, label: str, total: int | None, stream: IO[str]) -> None:
        self._label = plain(label)
        self._of = "" if total is None else f" of {count(total)}"
        self._stream = stream
        self._spoke = False

    def show(self, done: int, elapsed: float) -> None:
        self._spoke = True
        self._write(f"{count(done)}{self._of}, {duration(elapsed)}")

    def end(self, done: int, elapsed: float) -> None:
        if self._spoke:
            self._write(f"{count(done)}{self._of} in {duration(elapsed)}")

    def _write(self, text: str) -> None:
        self._stream.write(f"{self._label}: {text}\n")
        self._stream.flush()
