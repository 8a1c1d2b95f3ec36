"""A synthetic corpus in the raw form: for trying the whole chain without data of anybody."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import IO, Any

from runner.benchmarks.personaconvbench.deepjson import dumps_deep
from runner.benchmarks.personaconvbench.sample_people import population
from runner.benchmarks.personaconvbench.sample_thread import make_post
from runner.errors import RunnerError


def write_sample(path: Path, *, posts: int = 2000, seed: int = 7, habits: bool = True) -> Path:
    """Write ``posts`` synthetic posts to ``path``; equal arguments give equal bytes.

    The name decides: ``.jsonl`` is one post a line, anything else one JSON list; ``.gz`` and ``.zst`` compress.
    People have habits of writing and of being voted on, so that their own history tells more about a reply than a
    stranger's of the same community; ``habits=False`` takes just that away, as a null to test against.
    """
    if posts < 1:
        raise RunnerError(f"a sample of {posts} posts is empty: ask for at least 1.")
    lines = path.name.removesuffix(".gz").removesuffix(".zst").endswith(".jsonl")
    unfinished = path.with_name(f".{path.name}.unfinished")
    path.parent.mkdir(parents=True, exist_ok=True)
    with _compressed(unfinished, path.suffix) as file:
        file.write(b"" if lines else b"[\n")
        for number, post in enumerate(_posts(posts, seed, habits)):
            file.write((b"" if lines or not number else b",\n") + dumps_deep(post).encode())
            file.write(b"\n" if lines else b"")
        file.write(b"" if lines else b"\n]\n")
    unfinished.replace(path)
    return path


def _posts(posts: int, seed: int, habits: bool) -> Iterator[dict[str, Any]]:
    people = population(seed, posts)
    rng = Random(f"{seed}/reposts")
    previous: dict[str, Any] | None = None
    for number in range(posts):
        if previous is None or rng.random() >= 0.003:
            previous = make_post(people, number, posts, habits)
        yield previous  # now and then the same again: a duplicate


@contextmanager
def _compressed(path: Path, suffix: str) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=file, mode="wb", mtime=0) as zipped:
                yield zipped  # type: ignore[misc]
        elif suffix == ".zst":
            import zstandard

            with zstandard.ZstdCompressor(level=6).stream_writer(file, closefd=False) as zipped_too:
                yield zipped_too
        else:
            yield file
        file.flush()
        os.fsync(file.fileno())
