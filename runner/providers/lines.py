"""Reading result files: bytes, split at the line feed only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from runner.errors import RunnerError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
READ_BYTES = 1 << 16
READ_PACKED_BYTES = 1 << 9
"""Of a compressed file: zstd packs 128 kB into four bytes, so that these unpack to 17 MB at most."""
LONGEST_LINE = 64_000_000
"""Bytes of a line; no answer comes near it."""
KEPT_BYTES = 1 << 16
"""What is kept of a longer one."""


class Overlong(bytes):
    """The beginning of a line of more than ``LONGEST_LINE`` bytes, of which the rest was passed over."""


def read_lines(path: Path, *, keep_ends: bool = False) -> Iterator[bytes]:
    r"""Every non-empty line of a result file, plain or zstd, without its ``\n`` or ``\r\n`` unless asked for.

    Never split as text: an answer may contain U+2028, at which ``str.splitlines`` would cut it in two.
    Memory is that of the longest line; of one that is too long only an ``Overlong`` is given. Raises RunnerError when
    a compressed file is damaged or cut short.
    """
    end = b"\n" if keep_ends else b""
    with path.open("rb") as file:
        is_zstd = file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
        file.seek(0)
        begun = _Begun()
        for chunk in _decompressed(file, path) if is_zstd else iter(lambda: file.read(READ_BYTES), b""):
            head, *rest = chunk.split(b"\n")
            begun.add(head)
            for part in rest:
                yield from _whole(begun.take(), end)
                begun.add(part)
        yield from _whole(begun.take(), b"")


class _Begun:
    """A line whose end has not come yet."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._size = 0

    def add(self, part: bytes) -> None:
        """Go on with it."""
        was_overlong = self._size > LONGEST_LINE
        self._size += len(part)
        if not was_overlong:
            self._parts.append(part)
            if self._size > LONGEST_LINE:
                self._parts = [_beginning(self._parts)]

    def take(self) -> bytes:
        """All of it, or its beginning; the next one begins."""
        line = b"".join(self._parts)
        is_overlong = self._size > LONGEST_LINE
        self._parts, self._size = [], 0
        return Overlong(line) if is_overlong else line


def _beginning(parts: list[bytes]) -> bytes:
    kept = bytearray()
    for part in parts:
        kept += part[: KEPT_BYTES - len(kept)]
        if len(kept) == KEPT_BYTES:
            break
    return bytes(kept)


def _whole(line: bytes, end: bytes) -> Iterator[bytes]:
    if isinstance(line, Overlong):
        yield line
    elif line and not line.isspace():
        line = line.removesuffix(b"\r")
        yield line + end if end else line


def _decompressed(file: BinaryIO, path: Path) -> Iterator[bytes]:
    # Not stream_reader: it ends silently where a file was cut short, and lost lines would be bought again.
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        while raw := file.read(READ_PACKED_BYTES):
            while raw:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                data = frame.decompress(raw)
                for start in range(0, len(data), READ_BYTES):
                    yield data[start : start + READ_BYTES]
                raw = frame.unused_data
    except zstandard.ZstdError as error:
        raise RunnerError(_damage(path, "is damaged"), code="damaged_file") from error
    if not frame.eof:
        raise RunnerError(_damage(path, "was cut short"), code="damaged_file")


def _damage(path: Path, what: str) -> str:
    return f"The result file {path} {what}: delete it and collect again while the provider still keeps it."
