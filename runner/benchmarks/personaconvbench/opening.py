"""The bytes of a corpus file: decompressed, mended where JSON readers would stop, or cut into lines."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO

from runner.errors import RunnerError

_CHUNK = 1 << 20
_BOM = b"\xef\xbb\xbf"


@dataclass
class Tally:
    """What a reading has met so far; ``bytes_done`` of ``bytes_total`` are those on disk, compressed or not.

    ``form`` is ``raw``, ``processed`` or ``lines``; ``noted`` counts what was left out or mended, by reason.
    """

    bytes_total: int = 0
    bytes_done: int = 0
    form: str = ""
    compression: str = "none"
    posts: int = 0
    noted: Counter[str] = field(default_factory=Counter)


def open_chunks(path: Path, tally: Tally) -> tuple[bytes, Iterator[bytes]]:
    """``(head, chunks)``: a first look at the decompressed bytes without their mark, and all of them.

    The compression is told from the first bytes. Raises RunnerError where the file cannot be read.
    """
    chunks = _decompressed(path, tally)
    head = b""
    while len(head) < _CHUNK // 16 and (chunk := next(chunks, b"")):
        head += chunk
    head = head.removeprefix(_BOM)
    return head, _chain(head, chunks)


def _chain(head: bytes, chunks: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    yield from chunks


def _decompressed(path: Path, tally: Tally) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            tally.bytes_total = path.stat().st_size
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(b"\x1f\x8b"):
                tally.compression = "gzip"
                chunks = _plain(gzip.GzipFile(fileobj=file))
            elif magic == b"\x28\xb5\x2f\xfd":
                tally.compression = "zstandard"
                chunks = _unzstd(path, file, tally)
            else:
                chunks = _plain(file)
            for chunk in chunks:
                tally.bytes_done = file.tell()
                yield chunk
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise _damaged(path, tally, str(error)) from error
    except OSError as error:
        raise RunnerError(f"{path} cannot be read ({error.strerror}): name a corpus file that exists.") from error


def _plain(file: BinaryIO | gzip.GzipFile) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk


def _unzstd(path: Path, file: BinaryIO, tally: Tally) -> Iterator[bytes]:
    # Frame by frame: the library's own stream reader takes a truncated frame for the end of the file.
    import zstandard

    frame = None
    data = b""
    try:
        while data or (data := file.read(_CHUNK // 4)):
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            if chunk := frame.decompress(data):
                yield chunk
            data = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise _damaged(path, tally, str(error)) from error
    if frame is not None:
        raise _damaged(path, tally, "it ends inside a frame")


def _damaged(path: Path, tally: Tally, reason: str) -> RunnerError:
    return RunnerError(
        f"{path} is damaged {tally.compression} data near byte {tally.bytes_done:,} ({reason}): get it again."
    )


# Escapes that no Unicode text can hold, and literals that JSON does not have. Pairs of surrogates match too,
# so that their halves do not. The literals only count behind a key: in a text its quotes would be escaped.
_HIGH, _LOW = rb"\\u[dD][89abAB][0-9a-fA-F]{2}", rb"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = re.compile(rb"(?<!\\)((?:\\\\)*)(" + _HIGH + _LOW + rb"|" + _HIGH + rb"|" + _LOW + rb")")
_NOT_A_NUMBER = re.compile(rb'(?<!\\)("\w+"\s*:\s*)-?(?:NaN|Infinity)\b')


def mend(data: bytes, noted: Counter[str]) -> bytes:
    """The same JSON with lone surrogate escapes as U+FFFD and NaN and infinities as null, both counted."""

    def surrogate(match: re.Match[bytes]) -> bytes:
        if len(match[2]) > 6:
            return match[0]
        noted["lone surrogate made U+FFFD"] += 1
        return match[1] + rb"\ufffd"

    if b"\\ud" in data or b"\\uD" in data:
        data = _SURROGATE.sub(surrogate, data)
    if b"NaN" in data or b"Infinity" in data:
        data, found = _NOT_A_NUMBER.subn(rb"\1null", data)
        noted["NaN or infinity made null"] += found
    return data


def mended(chunks: Iterator[bytes], noted: Counter[str]) -> Iterator[bytes]:
    """``mend`` over a stream, cut behind commas: no escape and no key with its value is in two halves."""
    rest: list[bytes] = []
    for chunk in chunks:
        cut = chunk.rfind(b",") + 1
        if cut:
            yield mend(b"".join([*rest, chunk[:cut]]), noted)
            rest = []
        rest.append(chunk[cut:])
    yield mend(b"".join(rest), noted)


def not_utf8(data: bytes) -> int | None:
    """Where these bytes stop being UTF-8; None where they do not, but for a character that is cut at their end."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(data)
    except UnicodeDecodeError as error:
        return error.start
    return None


def lines(chunks: Iterator[bytes]) -> Iterator[bytes]:
    r"""The stream cut at ``\n`` only: a text may hold U+2028, and ``splitlines`` would cut there."""
    rest: list[bytes] = []
    for chunk in chunks:
        first, *others = chunk.split(b"\n")
        rest.append(first)
        for line in others:
            yield b"".join(rest)
            rest = [line]
    yield b"".join(rest)
