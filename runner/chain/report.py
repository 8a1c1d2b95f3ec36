"""summary to report: one markdown and one self-contained HTML file, with a few instances to read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from runner.chain.files import write_bytes
from runner.chain.runs import Folders, Run, Workspace
from runner.reporting.page import Example, render_markdown, render_page
from runner.reporting.summary import Summary
from runner.request import Body

EXAMPLES = 5
"""Instances shown, each in all its settings."""
_GIVEN = ("instance_id", "setting", "sample", "domain", "user", "time", "weight", "reference", "status", "answer")


def write_report(workspace: Workspace, run: Run) -> tuple[Path, Path]:
    """Write ``report.md`` and ``report.html`` from ``summary.json`` and ``scores.parquet``; returns their paths."""
    folders = Folders(workspace, run.name)
    summary = Summary.from_json(folders.summary.read_bytes())
    markdown, page = folders.results / "report.md", folders.results / "report.html"
    write_bytes(markdown, render_markdown(summary).encode())
    write_bytes(page, render_page(summary, _examples(folders)).encode())
    return markdown, page


def _examples(folders: Folders) -> list[Example]:
    items = pl.read_parquet(folders.scores)
    if items.is_empty():
        return []
    chosen = items["instance_id"].unique(maintain_order=True).head(EXAMPLES)
    asked = pl.read_parquet(folders.requests(1)).filter(
        pl.col("instance_id").is_in(chosen.implode()) & (pl.col("draw") == 0)
    )
    shown = (
        asked.select("instance_id", "setting", "request_id")
        .join(_texts(folders, asked), on="request_id", how="left", maintain_order="left")
        .join(_references(folders), on="instance_id", how="left", maintain_order="left")
        .join(
            items.filter(pl.col("sample") == 0).drop("reference", strict=False),
            on=["instance_id", "setting"],
            how="inner",
            maintain_order="left",
        )
    )
    own = [name for name in items.columns if name not in (*_GIVEN, "reason")]
    return [
        Example(
            instance_id=row["instance_id"],
            setting=row["setting"],
            prompt=Body.from_json(row["body"]).messages[-1].content,
            answer=row["text"],
            reference=row["reference"],
            verdict=_verdict(row, own),
        )
        for row in shown.iter_rows(named=True)
    ]


def _texts(folders: Folders, asked: pl.DataFrame) -> pl.DataFrame:
    ids = asked.select("request_id").unique().lazy()
    bodies = pl.scan_parquet(folders.bodies(1)).select("request_id", "body").join(ids, on="request_id", how="semi")
    said = pl.scan_parquet(folders.responses).filter(pl.col("choice") == 0).select("request_id", "text")
    return bodies.join(said, on="request_id", how="left").collect()


def _references(folders: Folders) -> pl.DataFrame:
    return pl.read_parquet(folders.instances, columns=["instance_id", "reference"])


def _verdict(row: Mapping[str, object], own: list[str]) -> str:
    """Why the answer could not be used, else what was computed for it."""
    if row.get("reason"):
        return f"not usable: {row['reason']}"
    values = ((name, row[name]) for name in own if row[name] is not None)
    return ", ".join(f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}" for name, value in values)
