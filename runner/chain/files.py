"""Files are written once: temporary name, fsync, rename, fsync of the folder. A reader never sees half a file."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

import polars as pl
from polars.io.plugins import register_io_source

from runner.errors import RunnerError

ROWS_PER_GROUP = 2_000
"""Small row groups keep a writer of long texts in flat memory."""


@contextmanager
def written(path: Path) -> Iterator[Path]:
    """Give a temporary path beside ``path``; on leaving without an error it is durable under its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make renames inside the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def is_whole(path: Path, digest: str) -> bool:
    """Whether a file is there, and is what it was when its digest was noted."""
    return path.is_file() and digest_of(path) == digest


def digest_of(path: Path) -> str:
    """The sha256 of a file, which is read once in a process while it stays as it is."""
    about = path.stat()
    return _digest(path, about.st_ino, about.st_size, about.st_mtime_ns)


@lru_cache(maxsize=100_000)
def _digest(path: Path, inode: int, size: int, modified_ns: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def write_bytes(path: Path, content: bytes) -> None:
    """A small file, whole or not at all."""
    with written(path) as temporary:
        temporary.write_bytes(content)


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    """One frame as parquet, whole or not at all."""
    with written(path) as temporary, _explained(path):
        # Nobody asks for the least and the greatest, and of long texts they would be copies.
        frame.write_parquet(temporary, compression="zstd", statistics=False)


def write_frames(path: Path, frames: Iterable[pl.DataFrame], schema: dict[str, pl.DataType]) -> None:
    """Many frames as one parquet file, in order and in flat memory."""
    with written(path) as temporary, _explained(path):
        _source(lambda: iter(frames), schema).sink_parquet(
            temporary, compression="zstd", row_group_size=ROWS_PER_GROUP, maintain_order=True
        )


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Polars speaks of a file format where the disk took no more."""
    try:
        yield
    except pl.exceptions.ComputeError as error:
        raise RunnerError(
            f"{path} could not be written ({error}): is the disk full? Nothing that was bought is lost; make room and "
            f"run it again.",
            exit_code=1,
        ) from error


def _source(make: Callable[[], Iterator[pl.DataFrame]], schema: dict[str, pl.DataType]) -> pl.LazyFrame:
    def generate(
        with_columns: list[str] | None, predicate: pl.Expr | None, n_rows: int | None, batch_size: int | None
    ) -> Iterator[pl.DataFrame]:
        for frame in make():
            chosen = frame if with_columns is None else frame.select(with_columns)
            yield chosen if predicate is None else chosen.filter(predicate)

    return register_io_source(generate, schema=schema)
