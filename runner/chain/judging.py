"""answers to items: what the task's judges say of every answer, block by block of instances, on all cores.

Workers read what they need from the files and send back numbers, so that neither
they nor the parent ever hold all texts.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path

import polars as pl

from runner.benchmarks import find_task
from runner.benchmarks.base import Task
from runner.chain.runs import Folders, Workspace
from runner.reporting.steps import steps
from runner.request import Body

MOST_ROWS, FEWEST_ROWS = 4_000, 250
"""Of a block: few enough to be small, enough to be worth a process's while."""
POOL_FROM_ROWS = 1_500
"""Fewer rows are judged before a pool's processes would have started."""
_CORES = os.cpu_count() or 1
KEYS = ("instance_id", "setting", "sample", "floor")


@dataclass(frozen=True)
class Block:
    """Some consecutive instances of a run: ``count`` from ``first``; their requests and responses by row number."""

    root: Path
    run: str
    task: str
    protocol: str
    stage: int
    first: int
    count: int
    requests: tuple[int, int]
    responses: tuple[int, int]

    @property
    def folders(self) -> Folders:
        """Where the run's files lie."""
        return Folders(Workspace(self.root), self.run)


def blocks(folders: Folders, task: Task) -> list[Block]:
    """The run's instances in pieces, several for each core. ``responses.parquet`` has to be there."""
    stage = len(task.stages)
    instances = pl.scan_parquet(folders.instances).select(pl.len()).collect().item()
    order = pl.scan_parquet(folders.instances).select("instance_id").with_row_index("place")
    said = pl.scan_parquet(folders.responses).select("request_id").with_row_index("answer")
    where = said.group_by("request_id").agg(low=pl.col("answer").min(), high=pl.col("answer").max())
    asked = (
        pl.scan_parquet(folders.requests(stage))
        .select("instance_id", "request_id", rows="n")
        .with_row_index("request")
        .join(order, on="instance_id", how="left")
        .join(where, on="request_id", how="left")
        .group_by("place")
        .agg(
            pl.col("rows").sum(),
            first=pl.col("request").min(),
            last=pl.col("request").max(),
            low=pl.col("low").min(),
            high=pl.col("high").max(),
        )
        .sort("place")
        .collect()
    )
    rows = int(asked["rows"].sum()) or 1
    wanted = min(MOST_ROWS, max(FEWEST_ROWS, rows // (4 * _CORES)))
    size = max(1, wanted * instances // rows)
    parts = asked.group_by(pl.col("place") // size, maintain_order=True).agg(
        pl.col("place").min().alias("start"),
        pl.col("first").min(),
        pl.col("last").max(),
        pl.col("low").min(),
        pl.col("high").max(),
    )
    root = folders.workspace.root
    return [
        Block(
            root=root,
            run=folders.run,
            task=task.name,
            protocol=task.protocol,
            stage=stage,
            first=row["start"],
            count=min(size, instances - row["start"]),
            requests=(row["first"], row["last"] + 1),
            responses=(0, 0) if row["low"] is None else (row["low"], row["high"] + 1),
        )
        for row in parts.iter_rows(named=True)
    ]


def answered(block: Block) -> pl.DataFrame:
    """One row per instance, setting and sample of the block: the instance's columns, what was asked and answered.

    ``status`` is null while an answer can still come. ``sample`` numbers draws and their choices from 0.
    """
    folders = block.folders
    _, task = find_task(block.task, block.protocol)
    instances = pl.scan_parquet(folders.instances).slice(block.first, block.count).collect()
    low, high = block.requests
    asked = (
        pl.scan_parquet(folders.requests(block.stage))
        .slice(low, high - low)
        .collect()
        .join(instances.select("instance_id"), on="instance_id", how="semi", maintain_order="left")
        .with_columns(choice=pl.int_ranges(0, pl.col("n"), dtype=pl.Int32))
        .explode("choice", empty_as_null=False)
        .with_columns(sample=(pl.col("draw") * pl.col("n") + pl.col("choice")))
    )
    low, high = block.responses
    said = (
        pl.scan_parquet(folders.responses)
        .select("request_id", "choice", "status", "text")
        .slice(low, high - low)
        .collect()
    )
    # A request that failed as a whole has one row: its other choices failed with it.
    whole = said.unique("request_id", keep="first", maintain_order=True).select("request_id", whole="status")
    lost = pl.when(pl.col("whole") == "ok").then(pl.lit("missing")).otherwise(pl.col("whole"))
    frame = (
        asked.join(said, on=["request_id", "choice"], how="left", maintain_order="left")
        .join(whole, on="request_id", how="left", maintain_order="left")
        .with_columns(status=pl.coalesce("status", lost))
    )
    return (
        frame.with_columns(answer=_parsed(task, block.stage, frame))
        .select("instance_id", "setting", "sample", "request_id", "status", "text", "answer")
        .join(instances, on="instance_id", how="left", maintain_order="left")
    )


def _parsed(task: Task, stage: int, frame: pl.DataFrame) -> pl.Series:
    parse = task.stages[stage - 1].parse
    texts = frame.select(pl.when(pl.col("status") == "ok").then(pl.col("text")).alias("text"))["text"]
    parsed = {text: parse(text) for text in texts.drop_nulls().unique()}
    return pl.Series("answer", [None if text is None else parsed[text] for text in texts], pl.String())


def prompts_of(folders: Folders, stage: int) -> Callable[[Collection[str]], Mapping[str, str]]:
    """The last message of requests, by their ids, read from the file when it is asked for."""

    def find(ids: Collection[str]) -> Mapping[str, str]:
        if not ids:
            return {}
        found = (
            pl.scan_parquet(folders.bodies(stage))
            .filter(pl.col("request_id").is_in(list(ids)))
            .select("request_id", "body")
            .collect()
        )
        return {name: Body.from_json(body).messages[-1].content for name, body in found.iter_rows()}

    return find


def judged(block: Block, number: int) -> pl.DataFrame:
    """The items of the task's ``number``-th judge for the block's final answers. Runs in any process."""
    _, task = find_task(block.task, block.protocol)
    final = answered(block).filter(pl.col("status").is_not_null())
    return task.judges[number].judge(final, prompts_of(block.folders, block.stage)) if final.height else pl.DataFrame()


def judge_all(task: Task, parts: list[Block]) -> pl.DataFrame:
    """The joined items of all judges and blocks, in sample order; empty when no answer is final."""
    items = pl.DataFrame()
    for number, judge in enumerate(task.judges):
        found = [frame for frame in _each(parts, number, judge.name, judge.pooled) if frame.height]
        said = pl.concat(found, how="vertical") if found else pl.DataFrame()
        if items.is_empty():
            items = said
        elif said.height:
            items = items.join(said, on=list(KEYS), how="left", nulls_equal=True, maintain_order="left")
    return items


def _each(parts: list[Block], number: int, name: str, pooled: bool) -> Iterator[pl.DataFrame]:
    rows = sum(high - low for low, high in (part.requests for part in parts))
    with steps(f"Scoring ({name})", rows) as advance:
        if not pooled or rows < POOL_FROM_ROWS or len(parts) < 2 or _CORES < 2:
            for part in parts:
                yield judged(part, number)
                advance(part.requests[1] - part.requests[0])
            return
        # spawn: a forked child of a process with threads (polars) may hang.
        with ProcessPoolExecutor(_CORES, get_context("spawn"), _alone) as pool:
            try:
                waiting: list[Future[pl.DataFrame]] = [pool.submit(judged, part, number) for part in parts]
                for part, future in zip(parts, waiting, strict=True):
                    yield future.result()
                    advance(part.requests[1] - part.requests[0])
            except BaseException:
                for child in active_children():  # nobody waits for the blocks that they are at
                    child.kill()
                pool.shutdown(wait=False, cancel_futures=True)
                raise


def _alone() -> None:
    """A worker leaves Ctrl-C to its parent, and ends when the parent does, however that was."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()

    def follow() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=follow, daemon=True).start()
