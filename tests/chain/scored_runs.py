"""Runs on the disk as build and score leave them, made up for the tests of comparisons."""

from __future__ import annotations

import random

import polars as pl

from runner.benchmarks import find_task
from runner.benchmarks.base import Funnel
from runner.chain.files import write_bytes, write_frame
from runner.chain.runs import Asked, Folders, Run, Workspace, write_run
from runner.metrics.score import Score
from runner.reporting.summary import Cost, Requests, Summary

AUTHORS = 60
EACH = 4


def asked(model: str, **changes: object) -> Asked:
    protocol = str(changes.get("protocol", "strict"))
    _, task = find_task(str(changes.get("task", "3.1")), protocol)
    fields: dict[str, object] = {
        "benchmark": "personaconvbench",
        "task": task.name,
        "model": model,
        "provider": "openai",
        "venue": "openai",
        "protocol": protocol,
        "version": task.version,
        "corpus": "f00dfeedf00dfeed",
        "settings": task.settings,
        "limit": None,
        "seed": 0,
        "samples": 1,
        **changes,
    }
    return Asked(**fields)  # type: ignore[arg-type]


def items(share: float, instances: int = AUTHORS * EACH) -> pl.DataFrame:
    """3.1 as it is scored: every author has two positive and two negative replies; ``share`` of answers are right."""
    draw = random.Random(f"{share}")
    rows = []
    for number in range(instances):
        truth = number % 2 == 0
        right = draw.random() < share
        said = truth if right else not truth
        rows.append(
            {
                "instance_id": f"i{number:04d}",
                "domain": "gaming",
                "user": f"u{number // EACH}",
                "stratum": "all",
                "stratum_size": AUTHORS * EACH,
                "own_visible": 3,
                "reason": None,
                "truth": truth,
                "predicted": "positive" if said else "negative",
                "correct": right,
            }
        )
    frame = pl.DataFrame(rows, schema_overrides={"reason": pl.String()})
    settings = pl.DataFrame({"setting": ["p-conv", "p-nonconv", "np-conv", "np-nonconv"], "sample": [0] * 4})
    texts = {name: pl.lit("text") for name in ("request_id", "text", "reference")}
    return frame.join(settings, how="cross").with_columns(**texts)


def scored(
    workspace: Workspace, wanted: Asked, share: float, instances: int = AUTHORS * EACH, **changes: object
) -> str:
    """A run on the disk, as build and score leave it."""
    run = Run(wanted, "corpus.json", instances, 0, 0, Funnel(()), None, {}, "tiktoken", True, (), (), None, {}, "now")
    write_run(workspace, run)
    _, task = find_task(wanted.task, wanted.protocol)
    rows = tuple(
        Score(setting, "all", task.primary, share, share - 0.05, share + 0.05, instances, 1.0)
        for setting in wanted.settings
    )
    fields: dict[str, object] = {
        "title": task.title,
        "state": "complete",
        "primary": task.primary,
        "cost": Cost(None, None, None, None, 1.0, 0.0),
        "requests": Requests(instances * 4, instances * 4, instances * 4, {}),
        **changes,
    }
    summary = Summary(
        run=run.name,
        task=task.name,
        model=wanted.model,
        venue=wanted.venue,
        protocol=task.protocol,
        corpus=wanted.corpus,
        instances=instances,
        rows=rows,
        floors=(),
        **fields,  # type: ignore[arg-type]
    )
    folders = Folders(workspace, run.name)
    write_bytes(folders.summary, summary.to_json().encode())
    write_frame(folders.scores, items(share, instances))
    return run.name
