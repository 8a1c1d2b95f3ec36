"""Answers that are damaged on the disk were paid for: made again from what is there, else fetched, else a loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from tests.place import Place, asked


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def _turn_a_bit(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _files(place: Place, pattern: str) -> list[Path]:
    return sorted((place.root / "results" / place.runs()[0]).glob(pattern))


@pytest.mark.parametrize("harm", [_cut, _turn_a_bit, _empty])
@pytest.mark.parametrize("patterns", [["parts/*"], ["parts/*", "raw/*"]])
def test_a_damaged_part_is_made_again(
    scored: Place, corpus: Path, harm: Callable[[Path], None], patterns: list[str]
) -> None:
    before, billed = scored.responses(), scored.times_billed()
    for pattern in patterns:
        for path in _files(scored, pattern):
            harm(path)
    for command in (["status"], ["score"]):
        assert scored.call(*command, check=False).returncode in (0, 1)
    scored.call("collect")
    assert scored.responses().drop("received_at").equals(before.drop("received_at"))
    scored.call("run", *asked(corpus), "--yes")
    assert scored.call("verify").returncode == 0
    assert scored.times_billed() == billed


def test_damaged_answers_that_nobody_keeps_any_more_are_a_loss_that_needs_a_yes(scored: Place, corpus: Path) -> None:
    for pattern in ("parts/*", "raw/*"):
        for path in _files(scored, pattern):
            _turn_a_bit(path)
    jobs = len(scored.jobs())
    scored.advance(40 * 86_400)
    for _ in range(2):
        assert scored.call("collect", check=False).returncode == 1
    assert len(scored.jobs()) == jobs, "nothing is bought again unasked"
    scored.call("run", *asked(corpus), check=False)
    assert len(scored.jobs()) == jobs
    scored.call("submit", *asked(corpus), "--yes", check=False)
    assert len(scored.jobs()) > jobs
    assert pl.Series(scored.times_billed().values()).max() <= 2
