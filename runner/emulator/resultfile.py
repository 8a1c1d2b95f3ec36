"""A result file in the making: appended in order of execution, then laid out in the order of delivery."""

from __future__ import annotations

import os
from pathlib import Path


class ResultFile:
    """The file at ``path``, which is there once it is closed; ``end`` ends its lines."""

    def __init__(self, path: Path, end: bytes) -> None:
        self._path = path
        self._end = end
        self._raw = path.with_suffix(".raw")
        self._file = self._raw.open("w+b")
        self._spans: list[tuple[int, int]] = []
        self._has_copies = False

    def add(self, line: bytes, copies: int = 1) -> None:
        """Write one line."""
        start = self._file.tell()
        self._file.write(line + self._end)
        self._spans += [(start, len(line) + len(self._end))] * copies
        self._has_copies |= copies > 1

    def close(self, order: list[int] | None, *, is_cut: bool = False, is_needed: bool = False) -> Path | None:
        """The finished file, its lines in the given order (its second half missing); None without a line.

        One that ``is_needed`` is there without a line, too.
        """
        if order is None and self._has_copies:
            order = list(range(len(self._spans)))
        with self._file as raw:
            if self._spans and order is not None:
                with self._path.open("wb") as out:
                    for index in order:
                        start, size = self._spans[index]
                        raw.seek(start)
                        out.write(raw.read(size))
        if not self._spans and not is_needed:
            self._raw.unlink()
            return None
        if order is None or not self._spans:
            self._raw.replace(self._path)
        else:
            self._raw.unlink()
        if is_cut and self._spans:
            os.truncate(self._path, self._cut_at(order or range(len(self._spans))))
        return self._path

    def _cut_at(self, order: list[int] | range) -> int:
        """In the middle of the line that stands in the middle."""
        sizes = [self._spans[index][1] for index in order]
        middle = len(sizes) // 2
        return sum(sizes[:middle]) + sizes[middle] // 2

    def __len__(self) -> int:
        return len(self._spans)
