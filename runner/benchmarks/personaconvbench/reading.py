"""Posts out of a corpus file, one at a time: the raw form, the processed form, or JSON lines."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from runner.benchmarks.personaconvbench.deepjson import dumps_deep, loads_deep
from runner.benchmarks.personaconvbench.opening import Tally, lines, mend, mended, not_utf8, open_chunks
from runner.errors import RunnerError

__all__ = ["UNKNOWN_AUTHOR", "RawPost", "Tally", "loads_deep", "read_posts"]

UNKNOWN_AUTHOR = "UNKNOWN_AUTHOR"
"""The key of the processed form for posts without an author field, as the published script writes it."""

_POST_KEYS = {"title", "url", "content", "__sub__", "__srcfile__", "score", "author", "timestamp", "comments"}
_NEEDED = ("title", "content", "comments")
"""What makes an object a post: one of these keys at least."""
_FORMS = (
    "a corpus is a JSON list of posts, or an object {author: [posts]}, or one post a line (.jsonl); "
    f"plain, gzip or zstandard; a post is an object with the keys {', '.join(_NEEDED)}, author, timestamp, score"
)
_MOST = 8  # keys that a sentence names


@dataclass(frozen=True, slots=True)
class RawPost:
    """One post as the file has it. ``owner`` is the key it stands under in the processed form."""

    owner: str
    post: dict[str, Any]


def read_posts(path: Path, tally: Tally | None = None) -> Iterator[RawPost]:
    """The posts in file order; memory does not grow with the file (processed form: one author's posts).

    The form is told from the content (lines also from the name ``.jsonl``), the compression from the first
    bytes. List members that are no posts are left out and counted in ``tally.noted``. Numbers with a fraction
    come as ``Decimal`` or float. Raises RunnerError when the file is no corpus or not whole.
    """
    tally = tally if tally is not None else Tally()
    entries, keys = 0, None
    for owner, member in _members(path, tally):
        entries += 1
        if not isinstance(member, dict):
            tally.noted["post is not an object"] += 1
        elif not any(key in member for key in _NEEDED):
            tally.noted["post has no title, content or comments"] += 1
            keys = keys or list(member)
        else:
            tally.posts += 1
            yield RawPost(_owner(member) if owner is None else owner, member)
    if not tally.posts:
        raise RunnerError(f"{path} holds no posts: {_missing(entries, keys)}{_FORMS}.")


def _missing(entries: int, keys: list[str] | None) -> str:
    """What its entries lack."""
    if not entries:
        return ""
    if keys is None:
        return f"none of its {entries:,} entries is an object; "
    first = ", ".join(key[:60] for key in keys[:_MOST]) + (", …" if len(keys) > _MOST else "")
    said = f"the keys {', '.join(_NEEDED)} are missing from all of its {entries:,} entries"
    return f"{said}; the first has {first or 'no key'}; "


def _owner(post: dict[str, Any]) -> str:
    # As the published grouping writes it: a JSON key made from whatever the author is (null becomes "null").
    author = post.get("author", UNKNOWN_AUTHOR)
    return author if isinstance(author, str) else dumps_deep(author)


def _members(path: Path, tally: Tally) -> Iterator[tuple[str | None, object]]:
    head, chunks = open_chunks(path, tally)
    tally.form = _form(path, head)
    if tally.form == "lines":
        yield from _from_lines(path, chunks, tally)
    else:
        yield from _from_document(path, chunks, tally)


def _form(path: Path, head: bytes) -> str:
    start = head.lstrip()
    if not start:
        raise RunnerError(f"{path} is empty: {_FORMS}.")
    if start.startswith(b"version https://git-lfs"):
        raise RunnerError(f"{path} is a Git LFS pointer, not the data: fetch the file itself (git lfs pull).")
    if start.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise RunnerError(f"{path} is UTF-16: save it as UTF-8.")
    if start.startswith(b"["):
        return "raw"
    if path.name.lower().removesuffix(".gz").removesuffix(".zst").endswith((".jsonl", ".ndjson")):
        return "lines"
    first = re.match(rb'\{\s*(?:"((?:[^"\\]|\\.)*)"\s*:\s*(.)|\})', start, re.DOTALL)
    if first is None:
        shown = start[:30].split(b"\n")[0].decode("utf-8", "replace")
        raise RunnerError(f"{path} begins with {shown!r}, which is no corpus: {_FORMS}.")
    key, value = (first[1] or b"").decode("utf-8", "replace"), first[2]
    if key in _POST_KEYS and (value != b"[" or key == "comments"):
        return "lines"  # a post stands where the processed form has an author's list
    if value not in (b"[", None):
        raise _not_a_list(path, key)
    return "processed"


def _not_a_list(path: Path, key: str) -> RunnerError:
    return RunnerError(f"{path}: the key {key[:60]!r} holds no list of posts: {_FORMS}.")


def _from_document(path: Path, chunks: Iterator[bytes], tally: Tally) -> Iterator[tuple[str | None, object]]:
    import ijson

    source = _Readable(mended(chunks, tally.noted))
    count = 0
    try:
        if tally.form == "raw":
            for member in ijson.items(source, "item"):
                count += 1
                yield None, member
            return
        for owner, members in ijson.kvitems(source, ""):
            if not isinstance(members, list):
                raise _not_a_list(path, owner)
            for member in members:
                count += 1
                yield owner, member
    except (ijson.JSONError, UnicodeDecodeError) as error:
        if (at := not_utf8(source.last)) is not None:
            before = source.given - len(source.last) + at
            raise _other_encoding(path, source.last[at], f"byte {before:,}") from error
        raise RunnerError(
            f"{path} is not whole JSON ({_reason(error)}) after {count:,} posts, before byte "
            f"{source.given:,}: get the file again or mend it there."
        ) from error


class _Readable:
    """Chunks as the file that ijson asks for; ``given`` bytes were handed out, ``last`` at the end of them."""

    def __init__(self, chunks: Iterator[bytes]) -> None:
        self._chunks = chunks
        self.given = 0
        self.last = b""

    def read(self, size: int = -1) -> bytes:
        if size == 0:  # ijson asks whether this is text
            return b""
        chunk = next((chunk for chunk in self._chunks if chunk), b"")
        self.given += len(chunk)
        self.last = chunk or self.last
        return chunk


def _from_lines(path: Path, chunks: Iterator[bytes], tally: Tally) -> Iterator[tuple[str | None, object]]:
    for number, line in enumerate(lines(chunks), start=1):
        if not line.strip():
            continue
        try:
            value = _loads(line, tally)
        except ValueError as error:
            if (at := not_utf8(line)) is not None:
                raise _other_encoding(path, line[at], f"line {number:,}") from error
            raise RunnerError(
                f"{path}, line {number:,} is not whole JSON ({_reason(error)}): mend or remove that line."
            ) from error
        grouped = isinstance(value, dict) and value and not _POST_KEYS & value.keys()
        if grouped and all(isinstance(members, list) for members in value.values()):
            yield from ((owner, member) for owner, members in value.items() for member in members)
        else:
            yield None, value


def _loads(line: bytes, tally: Tally) -> Any:
    try:
        return orjson.loads(line)
    except orjson.JSONDecodeError:
        return loads_deep(mend(line, tally.noted))


def _other_encoding(path: Path, byte: int, where: str) -> RunnerError:
    return RunnerError(
        f"{path} is not UTF-8 (the byte 0x{byte:02X} at {where} is of another encoding, such as Latin-1): save it as "
        "UTF-8."
    )


def _reason(error: Exception) -> str:
    said = error.args[0] if error.args else ""
    text = said.decode("utf-8", "replace") if isinstance(said, bytes) else str(error)
    return text.strip().split("\n")[0].removesuffix(".")
