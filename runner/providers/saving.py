"""Result files on their way to the disk: compressed as they come, and there only when they are whole."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import zstandard


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
