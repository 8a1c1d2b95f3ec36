"""From a corpus file to the corpus folder: once, streaming, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import polars as pl

from runner.benchmarks.personaconvbench.clean import (
    clean_text,
    is_bot,
    is_deleted,
    is_usable,
    normalise,
    parse_score,
    parse_time,
    true_subreddit,
)
from runner.benchmarks.personaconvbench.corpus import COMMENTS, POSTS, PersonaCorpus
from runner.benchmarks.personaconvbench.deepjson import dumps_deep
from runner.benchmarks.personaconvbench.opening import Tally
from runner.benchmarks.personaconvbench.reading import UNKNOWN_AUTHOR, RawPost, read_posts
from runner.errors import RunnerError

CONVERTER = 1
"""Version of identities and tables; part of ``about.json``."""

_ROWS = 50_000  # comments, or a tenth as many posts, in memory and in a row group
_NOBODY = {UNKNOWN_AUTHOR, "null"}
_POST_KEYS = ("title", "content", "url", "__sub__", "score", "author", "timestamp", "comments")
_COMMENT_KEYS = ("body", "author", "score", "timestamp")

Progress = Callable[[int, int], None]


def load(source: Path, folder: Path, progress: Progress | None = None) -> PersonaCorpus:
    """Open ``folder``, converting ``source`` into it first when it does not exist.

    The folder appears only when whole: written beside itself, synced, renamed. ``progress`` is told bytes
    done and in all. Raises RunnerError when ``source`` is no corpus; nothing is left behind then.
    """
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _convert(source, unfinished, progress)
            unfinished.chmod(0o755)  # mkdtemp's folders are for one user only
            _publish(unfinished, folder)
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    corpus = PersonaCorpus(folder, folder.name)
    if corpus.about()["converter"] != CONVERTER:
        raise RunnerError(f"{folder} was converted by another version: delete that folder and run again.")
    return corpus


def _publish(unfinished: Path, folder: Path) -> None:
    for path in (*unfinished.iterdir(), unfinished):
        _sync(path)
    try:
        unfinished.rename(folder)
    except OSError:
        if not folder.exists():  # otherwise another process was quicker, with the same content
            raise
    _sync(folder.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _convert(source: Path, folder: Path, progress: Progress | None) -> None:
    tally = Tally()
    tables = _Tables(folder)
    for raw in read_posts(source, tally):
        tables.add(raw)
        if progress:
            progress(tally.bytes_done, tally.bytes_total)
    tables.posts.close()
    tables.comments.close()
    about = {
        "converter": CONVERTER,
        "source": source.name,
        "bytes": tally.bytes_total,
        "form": tally.form,
        "compression": tally.compression,
        "posts": tables.posts.rows,
        "comments": tables.comments.rows,
        "depth": tables.depth,
        "notes": dict(sorted((tables.notes + tally.noted).items())),
    }
    (folder / "about.json").write_bytes(orjson.dumps(about, option=orjson.OPT_INDENT_2))


class _Table:
    """A parquet file in the making: rows pile up, part files are written, the parts become one file."""

    def __init__(self, path: Path, schema: dict[str, pl.DataType], limit: int) -> None:
        self._path, self._schema, self._limit = path, schema, limit
        self._parts: list[Path] = []
        self._pending: list[tuple[object, ...]] = []
        self.rows = 0

    def add(self, row: tuple[object, ...]) -> None:
        self._pending.append(row)
        self.rows += 1
        if len(self._pending) >= self._limit:
            self._flush()

    def _flush(self) -> None:
        part = self._path.with_name(f"{self._path.stem}-{len(self._parts):05}.part")
        frame = pl.DataFrame(self._pending, schema=self._schema, orient="row")
        frame.write_parquet(part, compression="uncompressed")  # it is read once, soon
        self._parts.append(part)
        self._pending = []

    def close(self) -> None:
        if self._pending or not self._parts:
            self._flush()
        pl.scan_parquet(self._parts).sink_parquet(
            self._path, compression="zstd", row_group_size=self._limit, maintain_order=True
        )
        for part in self._parts:
            part.unlink()


class _Tables:
    def __init__(self, folder: Path) -> None:
        self.posts = _Table(folder / "posts.parquet", POSTS, _ROWS // 100)
        self.comments = _Table(folder / "comments.parquet", COMMENTS, _ROWS)
        self.notes: Counter[str] = Counter()
        self.depth = 0
        self._seen: set[str] = set()

    def add(self, raw: RawPost) -> None:
        post = raw.post
        number = self.posts.rows
        self._missing("post", post, _POST_KEYS)
        name = post.get("author")
        if "author" not in post and raw.owner not in _NOBODY:
            name = raw.owner  # a processed file that gives the author only as the key
        author = self._author("post", name)
        title, content, url = _text(post.get("title")), _text(post.get("content")), _text(post.get("url"))
        time = self._time("post", post.get("timestamp"))
        post_id = _hash(author, time, normalise(title))
        duplicate = post_id in self._seen
        self._seen.add(post_id)
        self._text_notes("post", content)
        if duplicate:
            self.notes["post is a duplicate"] += 1
        if not (is_usable(title) or is_usable(content)):
            self.notes["post without usable title or text"] += 1
        domain, score = _text(post.get("__sub__")), self._score("post", post.get("score"))
        where = (url, domain, true_subreddit(url))
        self.posts.add(
            (
                number,
                post_id,
                author,
                raw.owner,
                title,
                content,
                *where,
                score,
                time,
                duplicate,
                dumps_deep(post),
            )
        )
        self._add_comments(number, post_id, post.get("comments"))

    def _add_comments(self, post: int, post_id: str, top: object) -> None:
        twins: Counter[str] = Counter()
        order = 0
        todo = [(node, -1, post_id, 1) for node in reversed(self._members(top))]
        while todo:
            node, parent, parent_id, depth = todo.pop()
            if not isinstance(node, dict):
                self.notes["comment is not an object"] += 1
                continue
            order += 1
            row = self.comments.rows
            self._missing("comment", node, _COMMENT_KEYS)
            author, body = self._author("comment", node.get("author")), _text(node.get("body"))
            time = self._time("comment", node.get("timestamp"))
            self._text_notes("comment", body)
            comment_id = _hash(post_id, parent_id, author, time, normalise(body))
            twins[comment_id] += 1
            if twins[comment_id] > 1:
                comment_id = _hash(comment_id, twins[comment_id])
            score = self._score("comment", node.get("score"))
            self.comments.add((row, comment_id, post, parent, order, author, body, score, time))
            self.depth = max(self.depth, depth)
            for reply in reversed(self._members(node.get("replies"))):
                todo.append((reply, row, comment_id, depth + 1))

    def _members(self, value: object) -> list[Any]:
        if isinstance(value, list):
            return value
        if value:
            self.notes["replies are not a list"] += 1
        return []

    def _missing(self, kind: str, record: dict[str, Any], keys: tuple[str, ...]) -> None:
        for key in keys:
            if key not in record:
                self.notes[f"{kind} without {key}"] += 1

    def _author(self, kind: str, name: object) -> str | None:
        if not isinstance(name, str) or not is_usable(name):
            self.notes[f"{kind} author deleted or unknown"] += 1
            return None
        if is_bot(name):
            self.notes[f"{kind} author is a bot"] += 1
        return name

    def _time(self, kind: str, value: object) -> Any:
        time = parse_time(value)
        if time is None:
            self.notes[f"{kind} time unreadable"] += 1
        return time

    def _score(self, kind: str, value: object) -> int | None:
        score = parse_score(value)
        if score is None:
            what = "null" if value is None else "boolean" if isinstance(value, bool) else "unreadable"
            self.notes[f"{kind} score {what}"] += 1
        elif isinstance(value, str):
            self.notes[f"{kind} score is a numeric string"] += 1
        elif value != score:
            self.notes[f"{kind} score rounded"] += 1
        return score

    def _text_notes(self, kind: str, text: str | None) -> None:
        kept, was_cut = clean_text(text)
        if was_cut:
            self.notes[f"{kind} text cut at an edit"] += 1
        if is_deleted(text):
            self.notes[f"{kind} text deleted"] += 1
        elif not kept:
            self.notes[f"{kind} text empty"] += 1


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _hash(*parts: object) -> str:
    """128 bits over the parts in order; null is not the empty string."""
    text = "\x1f".join("\x00" if part is None else str(part) for part in parts)
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=16).hexdigest()
