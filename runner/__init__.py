"""Evaluate language models on personalization benchmarks through batch APIs.

In a notebook: ``runner.responses(run)``, ``runner.scores(run)``, ``runner.requests(run)`` are polars frames of a
run by its name; without one, of the latest run in the folder.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

    from runner.chain.runs import Folders

__all__ = ["requests", "responses", "scores"]


def requests(run: str | None = None, *, workspace: str | Path = ".") -> pl.DataFrame:
    """What was asked: instance_id, setting, draw, n, request_id, tokens, body; one row per request."""
    import polars as pl

    folders = _folders(run, workspace)
    stages = sorted(folders.asked.glob("stage-*"))
    frames = [
        pl.read_parquet(stage / "requests.parquet").join(
            pl.read_parquet(stage / "bodies.parquet", columns=["request_id", "body"]),
            on="request_id",
            how="left",
            maintain_order="left",
        )
        for stage in stages
    ]
    return pl.concat(frames)


def responses(run: str | None = None, *, workspace: str | Path = ".") -> pl.DataFrame:
    """All final answers that the run uses, one row per request and choice, with ``bought_by``."""
    return _read(_folders(run, workspace).responses, "make collect")


def scores(run: str | None = None, *, workspace: str | Path = ".") -> pl.DataFrame:
    """One row per instance, setting and sample, with what was computed for it."""
    return _read(_folders(run, workspace).scores, "make score")


def _folders(run: str | None, workspace: str | Path) -> Folders:
    from runner.chain.runs import Folders, Workspace, latest_run, read_run

    place = Workspace(Path(workspace))
    return Folders(place, read_run(place, run or latest_run(place)).name)


def _read(path: Path, maker: str) -> pl.DataFrame:
    import polars as pl

    from runner.errors import RunnerError

    if not path.exists():
        raise RunnerError(f"There is no {path} yet: `{maker}` writes it.")
    return pl.read_parquet(path)
