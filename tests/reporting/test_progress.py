"""Progress on real streams: a pipe's text and a pseudo-terminal's bytes."""

import io
import os
import pty
import re
import threading
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from typing import IO

import pytest
from runs_to_show import job

from runner.reporting.progress import watch
from runner.reporting.steps import steps

NOON = datetime(2030, 1, 2, 12, 0, 0, tzinfo=UTC)
CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]")


def on_terminal(act: Callable[[IO[str]], None]) -> str:
    """What a terminal receives while ``act`` writes to it."""
    master, slave = pty.openpty()
    received: list[bytes] = []

    def read() -> None:
        try:
            while chunk := os.read(master, 65536):
                received.append(chunk)
        except OSError:
            pass  # the other end was closed

    reader = threading.Thread(target=read)
    reader.start()
    with open(slave, "w", encoding="utf-8") as stream:  # noqa: PTH123
        act(stream)
    reader.join(10)
    os.close(master)
    return b"".join(received).decode()


@pytest.fixture
def terminal(monkeypatch) -> Callable[[int, int, Callable[[IO[str]], None]], str]:
    monkeypatch.setenv("TERM", "xterm-256color")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def sized(columns: int, lines: int, act: Callable[[IO[str]], None]) -> str:
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("LINES", str(lines))
        return on_terminal(act)

    return sized


def last_picture(shown: str) -> list[str]:
    """The lines that stay: those after the last line that was wiped."""
    return uncoloured(shown.rpartition("\x1b[2K")[2]).strip("\n").split("\n")


def uncoloured(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).replace("\r", "")


def test_a_pipe_gets_dated_lines_only_when_something_changed() -> None:
    stream = io.StringIO()
    with watch(stream, clock=lambda: NOON) as display:
        display.show([job(), job("batch-0002")], "asking again in 30 s")
        display.show([job(elapsed_s=800), job("batch-0002", elapsed_s=800)], "asking again in 29 s")
        display.show([job(elapsed_s=900, done=900), job("batch-0002", elapsed_s=900)], "scoring next")
    lines = stream.getvalue().splitlines()
    assert all(line.startswith("2030-01-02 12:00:00 ") for line in lines)
    assert [("batch-0001" in line, "batch-0002" in line) for line in lines] == [
        (True, False),
        (False, True),
        (False, False),
        (True, False),
        (False, False),
    ]
    assert "812 done, 3 failed, 185 in flight of 1,000; 1.2M tokens; cost $0.42; 12m05s" in lines[0]
    assert "900 done" in lines[3]
    assert lines[4].endswith("scoring next")


def test_a_pipe_never_gets_a_control_code(monkeypatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    stream = io.StringIO()
    with watch(stream) as display:
        display.show([job("\x1b[31mb\u202e\r", run="3.1__m__strict__emulator__a")], "\x1b[2Jfooter")
    assert not CONTROL.search(stream.getvalue())
    assert "\u202e" not in stream.getvalue()
    assert "EMULATOR — rehearsal, not a result" in stream.getvalue()


def test_a_dumb_terminal_is_treated_as_a_pipe(terminal, monkeypatch) -> None:
    monkeypatch.setenv("TERM", "dumb")

    def act(stream: IO[str]) -> None:
        with watch(stream) as display:
            display.show([job()], "footer")

    assert "\x1b" not in terminal(80, 24, act)


@pytest.mark.parametrize("columns", [50, 60, 80, 100, 120])
def test_a_terminal_shows_every_number_at_any_width(terminal, columns: int) -> None:
    def act(stream: IO[str]) -> None:
        with watch(stream) as display:
            display.show([job(), job("batch-0002", usd=None)], "asking again in 30 s; stopping is safe")

    shown = terminal(columns, 30, act)
    assert "\x1b" in shown
    lines = last_picture(shown)
    assert all(len(line) <= columns for line in lines)
    words = " ".join(lines).replace(";", "").split()
    for piece in ("812", "185", "1,000", "1,624", "2,000", "1.2M", "$0.42", "≥$0.42", "12m05s", "safe"):
        assert piece in words, piece


def test_more_batches_than_lines_keep_the_sum_and_the_footer(terminal) -> None:
    jobs = [job(f"batch-{i:04d}", state="closed" if i < 90 else "created") for i in range(100)]

    def act(stream: IO[str]) -> None:
        with watch(stream) as display:
            display.show(jobs, "the footer")

    lines = last_picture(terminal(100, 20, act))
    shown = "\n".join(lines)
    assert 15 < len(lines) <= 20
    assert "100,000" in shown
    assert "the footer" in shown
    assert all(f"batch-00{i}" in shown for i in range(90, 100))
    assert f"and {100 - shown.count('batch-')} more" in shown


def test_a_picture_is_redrawn_in_place(terminal) -> None:
    def act(stream: IO[str]) -> None:
        with watch(stream) as display:
            display.show([job()], "one")
            display.show([replace(job(), done=999, failed=1)], "two")

    shown = terminal(100, 24, act)
    assert "\x1b[1A" in shown.split("one", 1)[1]  # up a line before the second picture
    assert "999" in shown


def test_no_color_is_respected(terminal, monkeypatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    def act(stream: IO[str]) -> None:
        with watch(stream) as display:
            display.show([job(run="3.1__m__strict__emulator__a")], "footer")

    assert not re.search(r"\x1b\[[0-9;]*(3|4|9|10)[0-7][;m]", terminal(100, 24, act))


class Seconds:
    """A clock that the test moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def work(stream: IO[str], items: int, seconds_each: float) -> None:
    clock = Seconds()
    with steps("Counting tokens", items, stream, clock) as advance:
        for _ in range(items):
            clock.now += seconds_each
            advance(1)


def test_quick_work_shows_nothing(terminal) -> None:
    stream = io.StringIO()
    work(stream, 99, 0.01)
    assert stream.getvalue() == ""
    assert terminal(80, 24, lambda stream: work(stream, 99, 0.01)) == ""


def test_long_work_in_a_pipe_speaks_now_and_then_and_at_the_end() -> None:
    stream = io.StringIO()
    work(stream, 400, 0.25)
    lines = stream.getvalue().splitlines()
    assert 5 <= len(lines) <= 12
    assert lines[-1] == "Counting tokens: 400 of 400 in 1m40s"
    assert not CONTROL.search(stream.getvalue())


def test_long_work_on_a_terminal_is_a_bar_that_goes_away(terminal) -> None:
    shown = terminal(80, 24, lambda stream: work(stream, 40, 0.1))
    assert "Counting tokens" in shown
    assert "40/40" in shown.replace(" ", "")
    assert shown.rstrip().endswith("\x1b[2K")


def test_work_that_breaks_lets_the_error_through_and_frees_the_terminal(terminal) -> None:
    def act(stream: IO[str]) -> None:
        clock = Seconds()
        with pytest.raises(KeyError), steps("Packing", None, stream, clock) as advance:
            clock.now = 5
            advance(3)
            raise KeyError("x")

    assert "\x1b[?25h" in terminal(80, 24, act)  # the cursor is back
