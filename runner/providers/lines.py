"""Reading result files: bytes, split at the line feed only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import zstandard

from runner.errors import RunnerError

ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
READ_BYTES = 1 << 16
READ_PACKED_BYTES = 1 << 12
"""Of a compressed file: alike lines unpack to a thousand times their size at once."""


def read_lines(path: Path, *, keep_ends: bool = False) -> Iterator[bytes]:
    r"""Every non-empty line of a result file, plain or zstd, without its ``\n`` or ``\r\n`` unless asked for.

    Never split as text: an answer may contain U+2028, at which ``str.splitlines`` would cut it in two.
    Memory is that of the longest line. Raises RunnerError when a compressed file is damaged or cut short.
    """
    with path.open("rb") as file:
        is_zstd = file.read(len(ZSTD_MAGIC)) == ZSTD_MAGIC
        file.seek(0)
        begun: list[bytes] = []
        for chunk in _decompressed(file, path) if is_zstd else iter(lambda: file.read(READ_BYTES), b""):
            head, *rest = chunk.split(b"\n")
            begun.append(head)
            for part in rest:
                yield from _whole(begun, b"\n" if keep_ends else b"")
                begun = [part]
        yield from _whole(begun, b"")


def _whole(parts: list[bytes], end: bytes) -> Iterator[bytes]:
    line = b"".join(parts).removesuffix(b"\r")
    if line.strip():
        yield line + end


def _decompressed(file: BinaryIO, path: Path) -> Iterator[bytes]:
    # Not stream_reader: it ends silently where a file was cut short, and lost lines would be bought again.
    frame = zstandard.ZstdDecompressor().decompressobj()
    try:
        while raw := file.read(READ_PACKED_BYTES):
            while raw:
                if frame.eof:
                    frame = zstandard.ZstdDecompressor().decompressobj()
                yield frame.decompress(raw)
                raw = frame.unused_data
    except zstandard.ZstdError as error:
        raise RunnerError(_damage(path, "is damaged"), code="damaged_file") from error
    if not frame.eof:
        raise RunnerError(_damage(path, "was cut short"), code="damaged_file")


def _damage(path: Path, what: str) -> str:
    return f"The result file {path} {what}: delete it and collect again while the provider still keeps it."
