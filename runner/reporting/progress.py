"""Batches that are polled: a table that is redrawn on a terminal, plain dated lines elsewhere."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO, Protocol

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from runner.reporting.jobs import JobView, foremost, sentences, status_table, total_sentence
from runner.reporting.summary import REHEARSAL
from runner.reporting.table import console_for, fits, renderable
from runner.reporting.words import count, plain

Clock = Callable[[], datetime]


class Watch(Protocol):
    """The display of batches that are polled."""

    def show(self, jobs: Sequence[JobView], footer: str) -> None:
        """The state of things now; ``footer`` says what the program does next."""
        ...

    def note(self, sentence: str) -> None:
        """Something that happened: it stays to be read, above what changes."""
        ...


@contextmanager
def watch(stream: IO[str], clock: Clock = lambda: datetime.now(UTC)) -> Iterator[Watch]:
    """Live on a terminal; elsewhere a line for every batch that changed, and never a control code."""
    if not is_live(stream):
        yield _Lines(stream, clock)
        return
    console = console_for(stream)
    with Live(console=console, auto_refresh=False, redirect_stdout=False, redirect_stderr=False) as live:
        yield _Screen(live, console)


def is_live(stream: IO[str]) -> bool:
    """Whether lines of the stream can be drawn over."""
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")


class _Lines:
    def __init__(self, stream: IO[str], clock: Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._known: dict[tuple[str, str], JobView] = {}
        self._footer: str | None = None

    def show(self, jobs: Sequence[JobView], footer: str) -> None:
        """Time alone is no change: neither elapsed seconds nor a footer that counts down makes a line."""
        changed = [job for job in jobs if self._known.get((job.run, job.batch)) != replace(job, elapsed_s=0)]
        if not changed and self._footer is not None:
            return
        self._known |= {(job.run, job.batch): replace(job, elapsed_s=0) for job in changed}
        lines = sentences(changed)
        if self._footer is None and any(job.is_rehearsal for job in jobs):
            lines.insert(0, REHEARSAL)
        if footer and footer != self._footer:
            lines.append(footer)
        self._footer = footer
        now = f"{self._clock():%Y-%m-%d %H:%M:%S}"
        self._stream.writelines(f"{now} {plain(line)}\n" for line in lines)
        self._stream.flush()

    def note(self, sentence: str) -> None:
        self._stream.write(f"{plain(sentence)}\n")
        self._stream.flush()


class _Screen:
    def __init__(self, live: Live, console: Console) -> None:
        self._live = live
        self._console = console

    def show(self, jobs: Sequence[JobView], footer: str) -> None:
        """As many batches as the height allows; the sum and the footer always."""
        most = len(jobs)
        picture = self._picture(jobs, footer, most)
        while most > 1 and (over := len(self._console.render_lines(picture)) - self._console.height) > 0:
            most = max(1, min(most - 1, most - over // 2))
            picture = self._picture(jobs, footer, most)
        self._live.update(picture, refresh=True)

    def note(self, sentence: str) -> None:
        self._live.console.print(Text(plain(sentence)))

    def _picture(self, jobs: Sequence[JobView], footer: str, most: int) -> RenderableType:
        width = self._console.width
        table = status_table(jobs, most)
        if not fits(table, width):
            shown = foremost(jobs, most)
            alone = len({job.run for job in jobs}) == 1
            lines = sentences([replace(job, run="") for job in shown] if alone else shown)
            hidden = [f"and {count(len(jobs) - most)} more"] if most < len(jobs) else []
            table = replace(table, rows=(), notes=(*lines, *hidden, total_sentence(jobs)))
        return Group(renderable(table, width), Text(plain(footer)))
