"""What result files say, line by line; a bad line never stops the others."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner.chain.files import written
from runner.providers.base import Provider
from runner.providers.lenient import load_object
from runner.providers.lines import Overlong, read_lines
from runner.providers.loose import shorten
from runner.request import Response, Status

Keep = Callable[[bytes], None]
"""What is done with a line that cannot be read."""

_ID = re.compile(rb'"([a-z2-7]{26})"')
"""Whatever a provider calls the key of a line, no other string of ours looks like this."""


def ignore(_: bytes) -> None:
    """Keep no line."""


@dataclass(frozen=True)
class Reading:
    """What the result files said: the best row per (request, choice), and what did not belong.

    ``why`` is what is wrong with the first of the ``unreadable`` lines.
    """

    rows: dict[tuple[str, int], Response]
    unreadable: int
    unreadable_ids: frozenset[str]
    duplicated: int
    unknown: int
    why: str | None = None

    @property
    def ids(self) -> frozenset[str]:
        """Whatever it names."""
        return frozenset(request_id for request_id, _ in self.rows) | self.unreadable_ids


def read_results(
    provider: Provider, files: Iterable[Path], expected: frozenset[str] | None, keep: Keep = ignore
) -> Reading:
    """Read every line of output and error files; a bad line goes to ``keep`` and never stops the others.

    Where it is not known what is ``expected`` any more, whatever may be an id of ours is. Of several rows for one
    choice a final one beats one to retry, and the first ok wins.
    """
    rows: dict[tuple[str, int], Response] = {}
    why: str | None = None
    bad = 0
    bad_ids: set[str] = set()
    duplicated = unknown = 0
    for path in files:
        for line in read_lines(path):
            try:
                responses = provider.decode(line)
            except ValueError as trouble:
                keep(line)
                bad, why = bad + 1, why or shorten(str(trouble))
                bad_ids.update(name for match in _ID.finditer(line) if _is_one_of(name := match[1].decode(), expected))
                del line
                continue
            for response in responses:
                key = (response.request_id, response.choice)
                if not _is_one_of(response.request_id, expected):
                    unknown += 1
                elif key not in rows:
                    rows[key] = response
                else:
                    duplicated += 1
                    if _rank(response.status) < _rank(rows[key].status):
                        rows[key] = response
            del line, responses  # or a long one would stay while the next is read
    answered = {request_id for request_id, _ in rows}
    return Reading(rows, bad, frozenset(bad_ids) - answered, duplicated, unknown, why)


def _is_one_of(request_id: str, expected: frozenset[str] | None) -> bool:
    return bool(_ID.fullmatch(f'"{request_id}"'.encode())) if expected is None else request_id in expected


def _rank(status: Status) -> int:
    return 0 if status is Status.OK else 1 if status.is_final else 2 if status is Status.UNREAD else 3


def is_cut(path: Path) -> bool:
    """Whether the last line has no end and cannot be read: a download that was cut where no length tells."""
    rest = b""
    for line in read_lines(path, keep_ends=True):
        rest = b"" if line.endswith(b"\n") or isinstance(line, Overlong) else line
        del line  # or a long one would stay while the next is read
    try:
        return bool(rest and not load_object(rest))
    except ValueError:
        return True


@contextmanager
def quarantine(path: Path) -> Iterator[Keep]:
    """A place for lines that cannot be read, written as they come; of one that is too long, its beginning."""
    with ExitStack() as exits:
        files: list[BinaryIO] = []

        def keep(line: bytes) -> None:
            if not files:
                files.append(exits.enter_context(exits.enter_context(written(path)).open("wb")))
            files[0].write(line + b"\n")

        yield keep
