"""scores and summary: judge the answers that are there, count every instance, and say how much is still missing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from datetime import UTC, datetime

import polars as pl

from runner.benchmarks import find_task
from runner.benchmarks.base import Design, Scored, Task
from runner.chain.accounts import cost_of
from runner.chain.files import write_bytes, write_frame, write_frames
from runner.chain.journal import Point, reached
from runner.chain.judging import KEYS, Block, answered, blocks, judge_all
from runner.chain.provenance import library_versions, repeat_of, versions_of
from runner.chain.returned import other_models, swap_sentence
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import write_responses
from runner.ledger import Ledger
from runner.metrics.multiplicity import look_alpha
from runner.reporting.summary import Failure, Look, Requests, Summary
from runner.venues import is_rehearsal


def score(workspace: Workspace, ledger: Ledger, run: Run, *, again: bool = False) -> Summary:
    """Score what is final, write ``scores.parquet`` and ``summary.json``, and return the summary.

    Free and repeatable: it reads files only. Pending requests are excluded and the summary says PARTIAL. ``again``
    is for verifying: no look is written down that was not taken.
    """
    folders = Folders(workspace, run.name)
    _, task = find_task(run.asked.task, run.asked.protocol)
    responses = write_responses(workspace, ledger, run)
    parts = blocks(folders, task)
    items = judge_all(task, parts)
    own = items.filter(pl.col("floor").is_null()).drop("floor") if items.width else items
    _write_scores(folders, parts, own)
    reached(Point.SCORES_WRITTEN)
    summary = _summary(ledger, run, folders, task, responses, items, again)
    write_bytes(folders.summary, summary.to_json().encode())
    reached(Point.SUMMARY_WRITTEN)
    return summary


def scored(workspace: Workspace, ledger: Ledger, run: Run) -> Summary:
    """The summary as it is, where nothing has changed since it was made; else the run is scored."""
    folders = Folders(workspace, run.name)
    write_responses(workspace, ledger, run)
    if folders.summary.exists() and folders.scores.exists():
        made = folders.summary.stat().st_mtime_ns
        newer = [path for path in (folders.responses, folders.instances) if path.stat().st_mtime_ns > made]
        summary = Summary.from_json(folders.summary.read_bytes())
        now = library_versions()
        if not newer and {name: summary.versions.get(name) for name in now} == now:
            return summary
    return score(workspace, ledger, run)


def _write_scores(folders: Folders, parts: list[Block], own: pl.DataFrame) -> None:
    """The model's own items with the texts they were made from, a block at a time."""
    if own.is_empty():
        write_frame(folders.scores, own)
        return
    texts: dict[str, pl.DataType] = {name: pl.String() for name in ("request_id", "text", "reference")}
    keys = [key for key in KEYS if key != "floor"]
    kept = [name for name in own.columns if name not in texts]

    def frames() -> Iterator[pl.DataFrame]:
        for part in parts:
            said = answered(part).select(*keys, *texts)
            yield own.select(kept).join(said, on=keys, how="inner", maintain_order="left")

    write_frames(folders.scores, frames(), {**dict(own.select(kept).schema), **texts})


def _summary(
    ledger: Ledger,
    run: Run,
    folders: Folders,
    task: Task,
    responses: pl.DataFrame,
    items: pl.DataFrame,
    again: bool,
) -> Summary:
    asked = pl.read_parquet(folders.requests(len(task.stages)), columns=["request_id"])
    ends = responses.unique("request_id", keep="first", maintain_order=True).select("request_id", "status")
    counted = asked.join(ends, on="request_id", how="inner")["status"].value_counts().sort("status")
    done = int(counted["count"].sum())
    complete = done == asked.height
    useless = _useless(items)
    useful = useless is None
    look = _look(ledger, run, responses, again) if complete and run.test_family and done and useful else None
    scored = task.score(items, _design(run, look, tested=complete)) if items.height and useful else Scored()
    others = other_models(run.asked, responses["model_version"])
    return Summary(
        run=run.name,
        task=task.name,
        title=task.title,
        model=run.asked.model,
        venue=run.asked.venue,
        protocol=task.protocol,
        corpus=run.asked.corpus,
        state="complete" if complete else "partial",
        primary=task.primary,
        instances=run.instances,
        rows=scored.rows,
        floors=scored.floors,
        effects=scored.effects,
        look=look,
        cost=cost_of(ledger, run, folders, responses),
        requests=Requests(asked.height, run.unique, done, dict(counted.iter_rows())),
        failures=_failures(items),
        caution=_caution(run, responses, others),
        other_models=others,
        explanation=run.explanation or useless,
        funnel=run.funnel.steps,
        funnel_notes=run.funnel.notes,
        versions=versions_of(run, responses),
        signatures=scored.signatures,
        remarks=task.remarks,
        repeat=repeat_of(run, folders),
    )


def _useless(items: pl.DataFrame) -> str | None:
    """Why there is no score, where not one final answer can be used: a number would be the failures' alone."""
    if "reason" not in items.columns:
        return None
    own = items.filter(pl.col("floor").is_null())
    if own.is_empty() or own["reason"].null_count():
        return None
    counted = own["reason"].value_counts(sort=True).head(3)
    why = ", ".join(f"{n:,} {reason}" for reason, n in counted.iter_rows())
    return f"None of the {own.height:,} final answers can be used ({why}), so that there is no score."


def digest_of(responses: pl.DataFrame) -> str:
    """What names answers in the list of looks."""
    digest = hashlib.sha256()
    for row in responses.select("request_id", "choice", "status", "text").sort("request_id", "choice").iter_rows():
        digest.update(repr(row).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:32]


def _look(ledger: Ledger, run: Run, responses: pl.DataFrame, again: bool) -> Look | None:
    """Which look at this growing sample it is; the same answers scored again are the same look."""
    series, answers = run.asked.series, digest_of(responses)
    if again:
        known = ledger.known_look(series, answers)
    else:
        known = ledger.look(series, answers, run.name, run.asked.looks, datetime.now(UTC))
    return Look(known[0], look_alpha(*known), known[1]) if known else None


def _design(run: Run, look: Look | None, *, tested: bool) -> Design:
    if look is None:
        return Design(tested=tested, family=run.test_family)
    if look.alpha is None:  # beyond the looks that were planned: nothing is confirmed any more
        return Design()
    return Design(1 - look.alpha, tested, run.test_family)


def _caution(run: Run, responses: pl.DataFrame, others: dict[str, int]) -> str | None:
    """What stands over every table: who really answered, where it is not who was asked, and the task's own word."""
    signed = responses["model_version"].str.contains("emulator").any() and not is_rehearsal(run.asked.venue)
    rehearsed = f"{run.asked.venue} is an emulator: this is a rehearsal, not a result" if signed else None
    swapped = swap_sentence(run.asked, others, responses["model_version"].count())
    return "; ".join(word for word in (rehearsed, swapped, run.caution) if word) or None


def _failures(items: pl.DataFrame) -> tuple[Failure, ...]:
    if "reason" not in items.columns:
        return ()
    counted = (
        items.filter(pl.col("reason").is_not_null() & pl.col("floor").is_null())
        .group_by("setting", "reason", maintain_order=True)
        .agg(pl.len().alias("n"))
    )
    return tuple(Failure(setting, reason, n) for setting, reason, n in counted.iter_rows())
