"""What earlier answers of a model took, beside what we had counted: the ground of the next estimate."""

from __future__ import annotations

from datetime import datetime
from itertools import groupby
from pathlib import Path

import polars as pl

from runner.caching import PREFIX_ORDER, Rules, matters, plan, rules_of
from runner.chain.outlook import Rate, seen
from runner.chain.prices import price_at
from runner.chain.runs import Asked, Folders, Run, Workspace, read_run
from runner.chain.stock import parts
from runner.ledger import Job, Ledger

LATEST_RUNS = 10
"""Runs of the model that are looked at."""
MOST_REREAD = 5_000
"""Requests of earlier batches whose texts are read again, to see what caching did."""

_SCHEMA: dict[str, pl.DataType] = {
    "cluster": pl.String(),
    "setting": pl.String(),
    "n": pl.Int32(),
    "tokens": pl.Int64(),
    "input_tokens": pl.Int64(),
    "output_tokens": pl.Int64(),
    "is_alike": pl.Boolean(),
}


def experience(workspace: Workspace, ledger: Ledger, run: Run) -> pl.DataFrame:
    """One row per answer of the model at this venue, of its latest runs: our count, and what was billed.

    ``cluster`` is an instance of a run, ``n`` the choices; ``is_alike`` where task, protocol and effort are this run's.
    Rehearsals and real answers never meet: they have venues of their own.
    """
    found = parts(workspace, ledger, run.asked.venue, run.asked.model)
    key = {job.job: (job.run, job.stage) for job, _ in found}
    frames = []
    ordered = sorted(found, key=lambda each: key[each[0].job])
    for (name, stage), jobs in groupby(ordered, key=lambda each: key[each[0].job]):
        paths = [path for _, path in jobs]
        folders = Folders(workspace, name)
        if not (folders.run_json.exists() and folders.bodies(stage).exists() and folders.requests(stage).exists()):
            continue
        asked = read_run(workspace, name).asked
        latest = max(job.intended_at for job, _ in found if key[job.job] == (name, stage))
        frames.append((latest, _answers(folders, stage, paths, is_alike=stage == 1 and _are_alike(asked, run.asked))))
    newest = [frame for _, frame in sorted(frames, key=lambda each: each[0])[-LATEST_RUNS:]]
    return pl.concat(pl.collect_all(newest)) if newest else pl.DataFrame(schema=_SCHEMA)


def _are_alike(one: Asked, other: Asked) -> bool:
    return (one.task, one.protocol, one.effort) == (other.task, other.protocol, other.effort)


def _answers(folders: Folders, stage: int, paths: list[Path], *, is_alike: bool) -> pl.LazyFrame:
    bodies = pl.scan_parquet(folders.bodies(stage)).select("request_id", "tokens", "instance")
    asked = pl.scan_parquet(folders.requests(stage)).select("request_id", "setting", "n").unique("request_id")
    return (
        pl.scan_parquet(paths, extra_columns="ignore", missing_columns="insert")
        .filter((pl.col("choice") == 0) & (pl.col("input_tokens") > 0) & pl.col("output_tokens").is_not_null())
        .select("request_id", "input_tokens", "output_tokens")
        .join(bodies, on="request_id")
        .join(asked, on="request_id")
        .with_columns(
            cluster=pl.concat_str(pl.lit(folders.run), pl.col("instance").cast(pl.String), separator=":"),
            is_alike=pl.lit(is_alike),
        )
        .select(list(_SCHEMA))
        .cast(_SCHEMA)  # type: ignore[arg-type]
    )


def hits_seen(workspace: Workspace, ledger: Ledger, run: Run, tokens_each: float) -> Rate | None:
    """Tokens read from the cache per token that was expected to be, in the latest batches; None where none were.

    Expected is what was marked then, at the hits of ``rules.toml``. ``tokens_each`` is what one of our
    tokens was billed as.
    """
    frames: list[pl.DataFrame] = []
    read = 0
    for job, path in reversed(parts(workspace, ledger, run.asked.venue, run.asked.model)):
        bodies_path = Folders(workspace, job.run).bodies(job.stage)
        if read + job.n > MOST_REREAD or not bodies_path.exists():
            continue  # a smaller one, the first above all, tells as much
        rows = (
            pl.scan_parquet(path)
            .select("request_id", "choice", "cached_tokens")
            .filter(pl.col("choice") == 0)
            .collect()
        )
        told = _told(workspace, job, bodies_path)
        if told is None:
            read += job.n
            told = _told_anew(run, job, _bodies(bodies_path, rows["request_id"]))
        frames.append(
            told.select(
                "request_id",
                cluster=pl.format("{}:{}", pl.lit(job.run), "instance"),
                expected=pl.col("expected_cached") * tokens_each,
            )
            .join(rows.drop_nulls("cached_tokens"), on="request_id")
            .filter(pl.col("expected") > 0)
        )
    return seen(pl.concat(frames), "cached_tokens", "expected") if frames else None


def rules_as_seen(workspace: Workspace, ledger: Ledger, run: Run, at: datetime) -> Rules | None:
    """The rules of the run's model with the hits that its earlier batches had, once there were some.

    Only what is marked depends on hits; where the provider caches by itself, or a cache changes no price, nothing is
    looked at.
    """
    rules, price = rules_of(run.asked.provider, run.asked.model), price_at(run, at)
    if rules is None or price is None or rules.unasked or not matters(price):
        return rules
    counted = None if run.tokens_exact else seen(experience(workspace, ledger, run), "input_tokens", "tokens")
    known = hits_seen(workspace, ledger, run, counted.span.mid if counted else 1.0)
    return rules if known is None else rules.as_seen(known.span.mid)


def _told(workspace: Workspace, job: Job, bodies: Path) -> pl.DataFrame | None:
    """What each request of a batch was expected to read when it was sent; None for a batch of an earlier version."""
    path = Folders(workspace, job.run).batch_ids(job.stage, job.batch)
    if not path.exists() or "expected_cached" not in pl.read_parquet_schema(path):
        return None
    return (
        pl.scan_parquet(path).join(pl.scan_parquet(bodies).select("request_id", "instance"), on="request_id").collect()
    )


def _told_anew(run: Run, job: Job, bodies: pl.DataFrame) -> pl.DataFrame:
    rules = rules_of(run.asked.provider, run.asked.model)
    price = price_at(run, job.intended_at)
    expected = plan(bodies["body"].to_list(), bodies["tokens"].to_list(), price, rules).expected
    return bodies.with_columns(expected_cached=expected["cached_tokens"])


def _bodies(path: Path, ids: pl.Series) -> pl.DataFrame:
    """These requests as their batch was sent: in prefix order."""
    return (
        pl.scan_parquet(path)
        .select("request_id", "body", "tokens", "instance")
        .join(ids.to_frame().lazy(), on="request_id", how="semi")
        .collect()
        .sort("request_id")
        .sort(PREFIX_ORDER, maintain_order=True)
    )
