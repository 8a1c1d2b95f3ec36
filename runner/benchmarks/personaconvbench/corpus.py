"""The corpus as two parquet tables: what strict reads, and each post's raw JSON for the paper protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from runner.benchmarks.personaconvbench.deepjson import loads_deep

POSTS: dict[str, pl.DataType] = {
    "post": pl.UInt32(),  # index in file order
    "post_id": pl.String(),  # identity: hash of author, time, normalised title
    "author": pl.String(),  # null when deleted, missing or not a string
    "owner": pl.String(),  # the key this post stands under in the processed form; the paper protocol's user
    "title": pl.String(),
    "content": pl.String(),  # as read; cleaning is strict's
    "url": pl.String(),
    "domain": pl.String(),  # `__sub__`, the published bucket
    "subreddit": pl.String(),  # the true one, lower case, where the URL has it
    "score": pl.Int64(),  # null unless numeric and not boolean
    "time": pl.Datetime("us", "UTC"),  # naive = UTC; null when unreadable
    "duplicate": pl.Boolean(),  # an earlier post of the file has the same post_id
    "raw": pl.String(),  # the post with its comments as JSON; may nest too deeply for json and orjson
}
COMMENTS: dict[str, pl.DataType] = {
    "comment": pl.UInt32(),  # row number in this table
    "comment_id": pl.String(),  # identity: hash of post, parent, author, time, normalised body, twin number
    "post": pl.UInt32(),
    "parent": pl.Int32(),  # `comment` of the parent, -1 for the post
    "order": pl.UInt32(),  # preorder number within the post, from 1
    "author": pl.String(),
    "body": pl.String(),
    "score": pl.Int64(),
    "time": pl.Datetime("us", "UTC"),
}
_BATCH = 512  # posts whose JSON is in memory at a time


@dataclass(frozen=True)
class PersonaCorpus:
    """An opened corpus folder: ``posts.parquet``, ``comments.parquet``, ``about.json``."""

    folder: Path
    fingerprint: str

    def posts(self, columns: list[str] | None = None) -> pl.DataFrame:
        """Posts in file order; ask for ``raw`` only where it is needed."""
        return pl.read_parquet(self.folder / "posts.parquet", columns=columns)

    def comments(self, columns: list[str] | None = None) -> pl.DataFrame:
        """All comments, posts in file order, each post's in preorder."""
        return pl.read_parquet(self.folder / "comments.parquet", columns=columns)

    def raw_posts(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """``(owner, post as the file has it)`` in file order, in small memory."""
        table = pl.scan_parquet(self.folder / "posts.parquet").select("owner", "raw")
        start = 0
        while not (batch := table.slice(start, _BATCH).collect()).is_empty():
            for owner, raw in batch.iter_rows():
                yield owner, loads_deep(raw)
            start += _BATCH

    def about(self) -> dict[str, Any]:
        """What the conversion counted and the tables do not hold: see ``convert.py``."""
        about: dict[str, Any] = orjson.loads((self.folder / "about.json").read_bytes())
        return about
