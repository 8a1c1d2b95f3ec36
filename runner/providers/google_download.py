"""Result files whose length nothing tells: ``files.get`` answers 400 to the names of results.

So one with fewer lines than the job has answers, or that ends inside a line, is downloaded again: a connection may
have been cut on its way, or the file may truly be so.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import orjson

from runner.providers.saving import Writer, saving

LOOKS = 3


def save_whole(download: Callable[[Writer], None], path: Path, least_lines: int) -> None:
    """Download into ``path`` until the file is whole, three times at most; then the longest is what there is.

    Nothing is left behind when ``download`` raises.
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
        self._tail: list[bytes] = []
        self.length = 0

    def write(self, data: bytes, /) -> int:
        """Pass on some bytes."""
        self.length += len(data)
        self._lines += data.count(b"\n")
        _, end, rest = data.rpartition(b"\n")
        self._tail = [rest] if end else [*self._tail, data]
        return self._writer.write(data)

    def is_whole(self, least_lines: int) -> bool:
        """Whether there are so many lines, the last with an end or at least a whole piece of JSON."""
        last = b"".join(self._tail)
        try:
            return self._lines + bool(last and orjson.loads(last)) >= least_lines
        except orjson.JSONDecodeError:
            return False
