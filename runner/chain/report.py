"""summary to report: markdown, one self-contained HTML page, and the charts as files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import takewhile
from pathlib import Path
from typing import Any

import polars as pl

from runner.benchmarks import find_task
from runner.chain.files import ROWS_PER_GROUP, write_bytes
from runner.chain.runs import Folders, Run, Workspace
from runner.reporting.charts import Chart, charts, save
from runner.reporting.explorer import BUDGET, Answer, Explorer, Instance, pack, reading_order, ruler
from runner.reporting.page import CHARTS, render_markdown, render_page
from runner.reporting.steps import steps
from runner.reporting.summary import Summary
from runner.request import Body

_TEXTS = ("text", "reference", "request_id")
"""Columns of ``scores.parquet`` that nothing is computed from."""
_KEYS = (*_TEXTS, "instance_id", "setting", "sample", "domain", "user", "reason", "place", "body")
_RAW = 10 * BUDGET
"""Bytes of prompts and answers that are read in order to fill the page: packed they are a fifth or less."""
_BYTES_PER_TOKEN = 4
_BYTES_PER_ANSWER = 1_000
"""An answer of usual length, with its scores and ids."""


def write_report(workspace: Workspace, run: Run, *, files: bool = True) -> tuple[Path, Path, Path]:
    """Write ``report.md``, ``report.html`` and ``charts/`` from what ``score`` wrote; returns these three paths.

    Without ``files`` the charts stand in the page only: to save them takes seconds (their fonts).

    The page holds a sample of the answers, so that it stays small whatever the size of the run.
    """
    folders = Folders(workspace, run.name)
    summary = Summary.from_json(folders.summary.read_bytes())
    items = _items(folders)
    drawn = charts(summary, items)
    folder = folders.results / CHARTS
    _save(drawn if files else [], folder)
    explorer = None if items.is_empty() else _explorer(folders, run, summary, items)
    markdown, page = folders.results / "report.md", folders.results / "report.html"
    write_bytes(markdown, render_markdown(summary, drawn if files else ()).encode())
    write_bytes(page, render_page(summary, drawn, explorer, saved=files).encode())
    return markdown, page, folder


def _items(folders: Folders) -> pl.DataFrame:
    return pl.scan_parquet(folders.scores).drop(_TEXTS, strict=False).collect()


def _save(drawn: list[Chart], folder: Path) -> None:
    """The files of these charts and of no others: one that is not drawn any more would be taken for a result."""
    with steps("Drawing charts", len(drawn)) as count:
        written: set[Path] = set()
        for chart in drawn:
            written.update(save(chart, folder))
            count(1)
    for path in folder.glob("*"):
        if path not in written:
            path.unlink()


def _explorer(folders: Folders, run: Run, summary: Summary, items: pl.DataFrame) -> Explorer:
    _, task = find_task(run.asked.task, run.asked.protocol)
    stage = len(task.stages)
    chosen = _chosen(folders, stage, items)
    total = items["instance_id"].n_unique()
    with steps("Packing answers to read", len(chosen)) as count:
        return pack(_instances(folders, stage, chosen), ruler(items, summary.primary), total, advance=count)


def _chosen(folders: Folders, stage: int, items: pl.DataFrame) -> list[str]:
    """The instances that are read, in reading order: more than the page will hold, far fewer than a large run has."""
    answers = items.group_by("instance_id").agg(pl.len().alias("answers"), failed=pl.col("reason").is_not_null().any())
    tokens = pl.scan_parquet(folders.requests(stage)).group_by("instance_id").agg(pl.col("tokens").sum())
    sizes = (
        pl.scan_parquet(folders.instances)
        .select("instance_id")
        .join(answers.lazy(), on="instance_id", how="inner", maintain_order="left")
        .join(tokens, on="instance_id", how="left", maintain_order="left")
        .with_columns(size=pl.col("tokens") * _BYTES_PER_TOKEN + pl.col("answers") * _BYTES_PER_ANSWER)
        .collect()
    )
    size_of: dict[str, int] = dict(zip(sizes["instance_id"], sizes["size"], strict=True))
    failed = set(sizes.filter("failed")["instance_id"])
    read = 0

    def fits(name: str) -> bool:
        nonlocal read
        read += size_of[name]
        return read <= _RAW or read == size_of[name]

    return list(takewhile(fits, reading_order(sizes["instance_id"].to_list(), failed)))


def _instances(folders: Folders, stage: int, chosen: list[str]) -> Iterator[Instance]:
    """These instances with their answers and prompts, in this order."""
    wanted = pl.DataFrame({"instance_id": chosen}, schema={"instance_id": pl.String()}).lazy()
    place = pl.scan_parquet(folders.instances).select("instance_id").with_row_index("place")
    rows = (
        pl.scan_parquet(folders.scores)
        .with_columns(pl.col("instance_id").cast(pl.String()))
        .join(wanted, on="instance_id", how="semi", maintain_order="left")
        .join(place, on="instance_id", how="left", maintain_order="left")
        .collect()
    )
    ids = rows["request_id"].unique()
    prompts = _prompts(folders.bodies(stage), ids)
    origins = _origins(folders, ids)
    own = [name for name in rows.columns if name not in _KEYS]
    by_instance: dict[str, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        by_instance.setdefault(row["instance_id"], []).append(row)
    for name in chosen:
        answers = by_instance[name]
        first = answers[0]
        yield Instance(
            place=first["place"],
            instance_id=name,
            domain=first["domain"],
            reference=first["reference"],
            answers=tuple(_answer(row, own, prompts, origins) for row in answers),
        )


def _answer(
    row: Mapping[str, Any], own: list[str], prompts: Mapping[str, str], origins: Mapping[str, tuple[str | None, str]]
) -> Answer:
    body = prompts.get(row["request_id"])
    version, bought_by = origins.get(row["request_id"], (None, None))
    return Answer(
        setting=row["setting"],
        sample=row["sample"],
        request_id=row["request_id"],
        prompt=tuple((message.role, message.content) for message in Body.from_json(body).messages) if body else (),
        text=row["text"],
        reason=row["reason"],
        values={name: row[name] for name in own if row[name] is not None},
        model_version=version,
        bought_by=bought_by,
    )


def _prompts(path: Path, ids: pl.Series) -> dict[str, str]:
    """The bodies of these requests; of a large file only the row groups in which they lie are read."""
    wanted = pl.col("request_id").is_in(ids.implode())
    numbers = pl.scan_parquet(path).select(wanted.arg_true()).collect().to_series()
    found: dict[str, str] = {}
    for group in (numbers // ROWS_PER_GROUP).unique().sort():
        rows = pl.scan_parquet(path).slice(group * ROWS_PER_GROUP, ROWS_PER_GROUP)
        found.update(rows.filter(wanted).select("request_id", "body").collect().iter_rows())
    return found


def _origins(folders: Folders, ids: pl.Series) -> dict[str, tuple[str | None, str]]:
    """Which version of the model answered, and which run paid."""
    responses = pl.scan_parquet(folders.responses).filter(pl.col("request_id").is_in(ids.implode()))
    found = responses.select("request_id", "model_version", "bought_by").unique("request_id", keep="first").collect()
    return {name: (version, bought_by) for name, version, bought_by in found.iter_rows()}
