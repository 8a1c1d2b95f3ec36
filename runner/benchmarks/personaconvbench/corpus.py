"""The corpus as two parquet tables: what strict reads, and each post's raw JSON for the paper protocol."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

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
    "raw": pl.String(),  # the post with its comments as JSON
}
COMMENTS: dict[str, pl.DataType] = {
    "comment": pl.UInt32(),  # row number in this table
    "comment_id": pl.String(),  # identity: hash of post, parent, author, time, normalised body
    "post": pl.UInt32(),
    "parent": pl.Int32(),  # `comment` of the parent, -1 for the post
    "order": pl.UInt32(),  # preorder number within the post, from 1
    "author": pl.String(),
    "body": pl.String(),
    "score": pl.Int64(),
    "time": pl.Datetime("us", "UTC"),
}


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
