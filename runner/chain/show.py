"""What would be asked? The prompts of the first instances, before anything is bought."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from runner import tokens
from runner.benchmarks.base import Context
from runner.chain.build import Wanted, build_stage, resolve
from runner.chain.runs import Asked, Folders, Run, Workspace
from runner.errors import RunnerError
from runner.reporting.prompt_view import Instance, Prompt, Shown
from runner.request import Body

Say = Callable[[str], None]


def show(workspace: Workspace, wanted: Wanted, n: int, now: datetime, say: Say) -> Shown:
    """The prompts of the first ``n`` instances of a run as it is built, or would be; asks nobody, leaves no run behind.

    Raises RunnerError for what ``build`` refuses, and where no instance is selected.
    """
    found = resolve(workspace, wanted, now, say)
    if Folders(workspace, found.asked.name).run_json.is_file():
        return _shown(found.asked, Folders(workspace, found.asked.name), found.asked.settings, n)
    say("Selecting instances.")
    selection = found.task.instances(found.corpus, found.asked.options)
    if selection.frame.is_empty():
        raise RunnerError(f"There is nothing to show: {selection.explanation}", exit_code=1)
    counter = tokens.counter(found.model)
    context = Context(found.corpus, found.asked.options, counter.count, found.model.window_tokens)
    first = selection.frame.head(n)
    with TemporaryDirectory() as temporary:
        folders = Folders(Workspace(Path(temporary)), found.asked.name)
        build_stage(folders, 1, found.task, first, None, context, found.model, counter, found.asked)
        return _shown(found.asked, folders, found.asked.settings, n)


def show_run(workspace: Workspace, run: Run, settings: Sequence[str], n: int) -> Shown:
    """The same of a run that is built, of these of its settings (all where none is named)."""
    if unknown := [setting for setting in settings if setting not in run.asked.settings]:
        raise RunnerError(
            f"{run.name} does not ask the setting {', '.join(unknown)}; it asks: {', '.join(run.asked.settings)}."
        )
    chosen = tuple(setting for setting in run.asked.settings if setting in settings)
    if not run.instances:
        raise RunnerError(f"There is nothing to show: {run.explanation}", exit_code=1)
    return _shown(run.asked, Folders(workspace, run.name), chosen or run.asked.settings, n)


def _shown(asked: Asked, folders: Folders, settings: tuple[str, ...], n: int) -> Shown:
    """One prompt for each instance and setting: further draws and samples are the same prompt again."""
    requests = pl.read_parquet(folders.requests(1)).unique(
        ["instance_id", "setting"], keep="first", maintain_order=True
    )
    ids = requests["instance_id"].unique(maintain_order=True).head(n)
    requests = requests.filter(pl.col("instance_id").is_in(ids.to_list()) & pl.col("setting").is_in(settings))
    wanted = requests.select("request_id").lazy()
    bodies = pl.scan_parquet(folders.bodies(1)).join(wanted, on="request_id", how="semi").select("request_id", "body")
    texts = dict(bodies.collect().iter_rows())
    prompts = {
        (row["instance_id"], row["setting"]): Prompt(
            row["setting"], row["request_id"], row["tokens"], Body.from_json(texts[row["request_id"]])
        )
        for row in requests.iter_rows(named=True)
    }
    return Shown(
        run=asked.name,
        model=asked.model,
        venue=asked.venue,
        task=asked.task,
        protocol=asked.protocol,
        instances=tuple(
            Instance(name, tuple(prompts[name, setting] for setting in settings if (name, setting) in prompts))
            for name in ids
        ),
    )
