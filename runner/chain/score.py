"""scores and summary: judge the answers that are there, count every instance, and say how much is still missing."""

from __future__ import annotations

import importlib.metadata
from dataclasses import dataclass

import orjson
import polars as pl

from runner.benchmarks import find_task
from runner.benchmarks.base import Scored, Task
from runner.chain.files import write_bytes, write_frame
from runner.chain.journal import Point, reached
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import write_responses
from runner.ledger import Ledger
from runner.metrics.score import Score
from runner.reporting.summary import Cost, Failure, Requests, Summary
from runner.venues import is_rehearsal


def score(workspace: Workspace, ledger: Ledger, run: Run) -> Summary:
    """Score what is final, write ``scores.parquet`` and ``summary.json``, and return the summary.

    Free and repeatable: it reads files only. Pending requests are excluded and the summary says PARTIAL.
    """
    folders = Folders(workspace, run.name)
    _, task = find_task(run.asked.task, run.asked.protocol)
    responses = write_responses(workspace, ledger, run)
    instances = pl.read_parquet(folders.instances)
    frame = answered(folders, task, instances, responses)
    judged = Judged.of(task, frame)
    write_frame(folders.scores, judged.scored.items)
    reached(Point.SCORES_WRITTEN)
    summary = _summary(workspace, ledger, run, task, responses, judged)
    write_bytes(folders.summary, summary.to_json().encode())
    reached(Point.SUMMARY_WRITTEN)
    return summary


@dataclass(frozen=True)
class Judged:
    """A task's word on a frame of answers; empty when no answer is final yet."""

    scored: Scored
    floors: tuple[Score, ...]

    @classmethod
    def of(cls, task: Task, frame: pl.DataFrame) -> Judged:
        """Score the final rows; pending ones are no failures."""
        final = frame.filter(pl.col("status").is_not_null())
        if final.is_empty():
            return cls(Scored(final, (), {}), ())
        return cls(task.score(final), task.floors(final))


def answered(folders: Folders, task: Task, instances: pl.DataFrame, responses: pl.DataFrame) -> pl.DataFrame:
    """One row per instance, setting and sample of the last stage: what was asked and what was answered.

    ``status`` is null while an answer can still come. ``sample`` numbers draws and their choices from 0.
    """
    stage = len(task.stages)
    asked = (
        pl.read_parquet(folders.requests(stage))
        .with_columns(choice=pl.int_ranges(0, pl.col("n"), dtype=pl.Int32))
        .explode("choice", empty_as_null=False)
        .with_columns(sample=(pl.col("draw") * pl.col("n") + pl.col("choice")))
    )
    said = responses.select("request_id", "choice", "status", "text")
    # A request that failed as a whole has one row: its other choices failed with it.
    whole = said.unique("request_id", keep="first", maintain_order=True).select("request_id", whole="status")
    lost = pl.when(pl.col("whole") == "ok").then(pl.lit("missing")).otherwise(pl.col("whole"))
    frame = (
        asked.join(said, on=["request_id", "choice"], how="left", maintain_order="left")
        .join(whole, on="request_id", how="left", maintain_order="left")
        .with_columns(status=pl.coalesce("status", lost))
    )
    return (
        frame.with_columns(answer=_parsed(task, stage, frame))
        .select("instance_id", "setting", "sample", "request_id", "status", "text", "answer")
        .join(instances, on="instance_id", how="left", maintain_order="left")
    )


def _parsed(task: Task, stage: int, frame: pl.DataFrame) -> pl.Series:
    parse = task.stages[stage - 1].parse
    texts = frame.select(pl.when(pl.col("status") == "ok").then(pl.col("text")).alias("text"))["text"]
    parsed = {text: parse(text) for text in texts.drop_nulls().unique()}
    return pl.Series("answer", [None if text is None else parsed[text] for text in texts], pl.String())


def _summary(
    workspace: Workspace, ledger: Ledger, run: Run, task: Task, responses: pl.DataFrame, judged: Judged
) -> Summary:
    folders = Folders(workspace, run.name)
    asked = pl.read_parquet(folders.requests(len(task.stages)), columns=["request_id"])
    ends = responses.unique("request_id", keep="first", maintain_order=True).select("request_id", "status")
    counted = asked.join(ends, on="request_id", how="inner")["status"].value_counts().sort("status")
    done = int(counted["count"].sum())
    return Summary(
        run=run.name,
        task=task.name,
        title=task.title,
        model=run.asked.model,
        venue=run.asked.venue,
        protocol=task.protocol,
        corpus=run.asked.corpus,
        state="complete" if done == asked.height else "partial",
        primary=task.primary,
        instances=run.instances,
        rows=judged.scored.rows,
        floors=judged.floors,
        cost=_cost(ledger, run, folders, responses),
        requests=Requests(asked.height, run.unique, done, dict(counted.iter_rows())),
        failures=_failures(judged.scored.items),
        caution=_caution(run, responses),
        explanation=run.explanation,
        funnel=run.funnel.steps,
        funnel_notes=run.funnel.notes,
        versions=_versions(run, responses),
        signatures=judged.scored.signatures,
    )


def _caution(run: Run, responses: pl.DataFrame) -> str | None:
    """The task's own word, and, where an emulator signs its answers behind another name, what they are."""
    signed = responses["model_version"].str.contains("emulator").any() and not is_rehearsal(run.asked.venue)
    rehearsed = f"{run.asked.venue} is an emulator: this is a rehearsal, not a result" if signed else None
    return "; ".join(word for word in (rehearsed, run.caution) if word) or None


def _failures(items: pl.DataFrame) -> tuple[Failure, ...]:
    if "reason" not in items.columns:
        return ()
    counted = (
        items.filter(pl.col("reason").is_not_null())
        .group_by("setting", "reason", maintain_order=True)
        .agg(pl.len().alias("n"))
    )
    return tuple(Failure(setting, reason, n) for setting, reason, n in counted.iter_rows())


def _cost(ledger: Ledger, run: Run, folders: Folders, responses: pl.DataFrame) -> Cost:
    promised = folders.asked / "estimate.json"
    estimate = orjson.loads(promised.read_bytes()) if promised.exists() else {}
    reused = responses.filter(pl.col("bought_by") != run.name)
    spent = ledger.spent(run=run.name)
    return Cost(
        low_usd=estimate.get("low_usd"),
        mid_usd=estimate.get("mid_usd"),
        high_usd=estimate.get("high_usd"),
        bound_usd=estimate.get("bound_usd"),
        billed_usd=spent.billed_usd if spent.is_known else None,
        reused_usd=None if reused["cost_usd"].null_count() else float(reused["cost_usd"].sum()),
    )


def _versions(run: Run, responses: pl.DataFrame) -> dict[str, str]:
    versions = dict(run.versions)
    versions["scored with persona-runner"] = importlib.metadata.version("persona-runner")
    versions["prompts and rules"] = run.asked.version
    versions["tokens counted by"] = run.token_counter
    served = responses["model_version"].drop_nulls().unique().sort().to_list()
    versions["model as returned"] = ", ".join(served) or "no answer yet"
    times = responses["received_at"].drop_nulls()
    if times.len():
        versions["answers received"] = " to ".join(
            times.sort().dt.strftime("%Y-%m-%d").gather([0, -1]).unique(maintain_order=True)
        )
    return versions
