"""Result files on their way to the disk: compressed as they come, and there only when they are whole."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import zstandard

from runner.providers.base import Unreachable
from runner.providers.lenient import LONGEST_ODD_LINE, load_object

LOOKS = 3
"""How often a result file that seems short is downloaded: what is missing would be bought again, and where nothing
tells the file's length, only another look tells one that is short from a connection that was cut on its way."""

LEAST_BYTES = 1 << 14
LEAST_BYTES_S = 60.0
"""A download that brings less than so many bytes in so many seconds is given up: it would go on for days."""


class Writer(Protocol):
    """What takes the bytes."""

    def write(self, data: bytes, /) -> int:
        """Take some."""
        ...


def result_path(folder: Path, provider_job: str, kind: str) -> Path:
    """``<job>.<kind>.jsonl.zst``, with a job id in which no character can lead elsewhere."""
    stem = re.sub(r"[^\w.-]", "_", provider_job)
    return folder / f"{stem}.{kind}.jsonl.zst"


@contextmanager
def saving(path: Path) -> Iterator[Writer]:
    """A zstd file that appears under its name when the block ends without an error, and on the disk for good."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        with partial.open("wb") as file:
            with zstandard.ZstdCompressor(write_checksum=True).stream_writer(file, closefd=False) as writer:
                yield writer
            file.flush()
            os.fsync(file.fileno())
        partial.replace(path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    finally:
        partial.unlink(missing_ok=True)


def paced(pieces: Iterable[bytes], now: Callable[[], float] = time.monotonic) -> Iterator[bytes]:
    """What arrives, as it arrives. Raises Unreachable where next to nothing does; of silence the client's timeout."""
    since, received = now(), 0
    for piece in pieces:
        yield piece
        received += len(piece)
        if received >= LEAST_BYTES:
            since, received = now(), 0
        elif now() - since > LEAST_BYTES_S:
            raise Unreachable(f"the download brought {received:,} bytes in {LEAST_BYTES_S:.0f} s and was given up")


def save_whole(download: Callable[[Writer], None], path: Path, least_lines: int) -> None:
    """Download into ``path`` until the file is whole, ``LOOKS`` times at most; then the longest is what there is.

    It is whole with so many lines, the last of them too. Nothing is left behind when ``download`` raises.
    """
    look, best = (path.with_name(f".{kind}-{path.name}") for kind in ("look", "best"))
    longest = -1
    try:
        for _ in range(LOOKS):
            with saving(look) as writer:
                tally = Tally(writer)
                download(tally)
            if tally.length > longest:
                longest = tally.length
                look.replace(best)
            if tally.is_whole(least_lines):
                break
        best.replace(path)
    finally:
        look.unlink(missing_ok=True)
        best.unlink(missing_ok=True)


class Tally:
    """Counts what is written through it: bytes, lines, and what stands after the last line feed."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._lines = 0
        self._tail = bytearray()
        self.length = 0

    def write(self, data: bytes, /) -> int:
        """Pass on some bytes."""
        self.length += len(data)
        self._lines += data.count(b"\n")
        _, end, rest = data.rpartition(b"\n")
        if end:
            self._tail.clear()
        if len(self._tail) <= LONGEST_ODD_LINE:  # a longer one cannot be whole: it is not read
            self._tail += rest
        return self._writer.write(data)

    def is_whole(self, least_lines: int) -> bool:
        """Whether there are so many lines, the last with an end or at least a whole piece of JSON."""
        last = bytes(self._tail)
        try:
            return self._lines + bool(last and load_object(last)) >= least_lines
        except ValueError:
            return False
