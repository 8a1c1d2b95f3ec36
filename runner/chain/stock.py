"""What a run has: its final answers over all runs, what is on its way, and so what is still to be bought."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from runner.chain.files import is_whole, write_frame
from runner.chain.journal import Point, reached
from runner.chain.runs import Folders, Run, Workspace
from runner.errors import RunnerError
from runner.ledger import OPEN, SENT, Approval, Job, Ledger
from runner.request import FINAL, RESPONSE_SCHEMA, Status

MAX_ATTEMPTS = 3
"""After so many tries that brought nothing, a request is finally ``missing``."""

FINAL_WORDS = [str(status) for status in FINAL]


def parts(workspace: Workspace, ledger: Ledger, venue: str, model: str) -> list[tuple[Job, Path]]:
    """The jobs of a venue and model that brought answers, and where those lie; the index of all reuse."""
    return [
        (job, workspace.root / job.part)
        for job in ledger.jobs(venue=venue, model=model)
        if job.part and has_part(workspace, job)
    ]


def has_part(workspace: Workspace, job: Job) -> bool:
    """Whether the answers of a job are on the disk as they were written."""
    path = workspace.root / (job.part or "")
    digest = None if workspace.is_copy else job.digests.get(path.name)
    return path.is_file() if digest is None else is_whole(path, digest)


def attempts(workspace: Workspace, ledger: Ledger, venue: str, model: str, ids: Iterable[str]) -> dict[str, int]:
    """How many tries each of these requests has used up so far."""
    wanted = pl.DataFrame({"request_id": list(ids)}, schema={"request_id": pl.String()}).lazy()
    files = [path for _, path in parts(workspace, ledger, venue, model)]
    if not files:
        return {}
    used = (
        pl.scan_parquet(files, extra_columns="ignore")  # parts of earlier versions lack later columns
        .select("request_id", "attempt")
        .join(wanted, on="request_id", how="semi")
        .group_by("request_id")
        .agg(pl.col("attempt").max())
        .collect()
    )
    return dict(zip(used["request_id"], used["attempt"], strict=True))


def cut_short(workspace: Workspace, ledger: Ledger, venue: str, model: str, ids: pl.Series) -> list[Job]:
    """The jobs that expired or were cancelled before they came to some of these requests."""
    wanted = ids.unique().to_frame("request_id").lazy()
    found = parts(workspace, ledger, venue, model)
    if not found:
        return []
    unreached = pl.col("status").is_in(["expired", "cancelled"])
    read = [pl.scan_parquet(path).select("request_id", "status", "job").filter(unreached) for _, path in found]
    names = set(pl.concat(read).join(wanted, on="request_id", how="semi").collect()["job"])
    return [job for job, _ in found if job.job in names]


_IS_FINAL = pl.col("status").is_in(FINAL_WORDS)
_IS_UNREAD = pl.col("status") == Status.UNREAD
_IS_EXHAUSTED = ~_IS_FINAL & ~_IS_UNREAD & (pl.col("attempt") >= MAX_ATTEMPTS)


def answered(workspace: Workspace, ledger: Ledger, venue: str, model: str, ids: pl.Series) -> pl.Series:
    """Those of ``ids`` that have a final answer, over all runs, each once."""
    names = ["request_id", "status", "attempt"]
    files = [path for _, path in parts(workspace, ledger, venue, model)]
    if not files:
        return ids.clear()
    rows = pl.scan_parquet(files, extra_columns="ignore").select(names).filter(_IS_FINAL | _IS_EXHAUSTED)
    wanted = ids.unique().to_frame("request_id").lazy()
    return rows.join(wanted, on="request_id", how="semi").select("request_id").unique().collect()["request_id"]


def answers(workspace: Workspace, ledger: Ledger, venue: str, model: str, ids: pl.Series) -> pl.DataFrame:
    """The final answers to ``ids``, over all runs: RESPONSE_SCHEMA and ``bought_by``, a row per choice, in their order.

    Final beats retry and the first ok wins. After the last attempt a request is finally ``missing``.
    """
    found = parts(workspace, ledger, venue, model)
    if not found:
        return pl.DataFrame(schema={**RESPONSE_SCHEMA, "bought_by": pl.String()})
    buyers = {str(path): job.run for job, path in found}
    rows = pl.scan_parquet(
        [path for _, path in found],
        schema=RESPONSE_SCHEMA,
        missing_columns="insert",  # in parts of earlier versions
        extra_columns="ignore",
        include_file_paths="bought_by",
    )
    order = ids.unique(maintain_order=True).to_frame("request_id").lazy().with_row_index("place")
    return (
        rows.filter(_IS_FINAL | _IS_EXHAUSTED)
        .join(order, on="request_id")
        .with_columns(rank=pl.when(pl.col("status") == "ok").then(0).when(_IS_FINAL).then(1).otherwise(2))
        .sort("place", "choice", "rank", "received_at", maintain_order=True)
        .unique(["place", "choice"], keep="first", maintain_order=True)
        .with_columns(
            status=pl.when(pl.col("rank") == 2).then(pl.lit("missing")).otherwise(pl.col("status")),
            bought_by=pl.col("bought_by").replace_strict(buyers, return_dtype=pl.String),
        )
        .drop("rank", "place")
        .collect()
    )


def write_responses(workspace: Workspace, ledger: Ledger, run: Run) -> pl.DataFrame:
    """Write ``responses.parquet``: all final answers that this run uses, wherever they were bought, in sample order."""
    folders = Folders(workspace, run.name)
    frame = answers(workspace, ledger, run.asked.venue, run.asked.model, request_ids(folders))
    if not folders.responses.exists() or not pl.read_parquet(folders.responses).equals(frame):
        write_frame(folders.responses, frame)
        reached(Point.RESPONSES_WRITTEN)
    return frame


def request_ids(folders: Folders) -> pl.Series:
    """The unique requests of a run, over the stages built so far, in sample order."""
    found = [
        pl.read_parquet(path, columns=["request_id"]) for path in sorted(folders.asked.glob("stage-*/bodies.parquet"))
    ]
    return pl.concat(found)["request_id"] if found else pl.Series("request_id", [], pl.String())


def lost_parts(workspace: Workspace, ledger: Ledger, venue: str | None, model: str | None) -> list[Job]:
    """Jobs whose answers were on the disk and are gone or damaged: paid for, so not to be bought again."""
    jobs = ledger.jobs(venue=venue, model=model)
    return [job for job in jobs if job.part and not has_part(workspace, job)]


def held(workspace: Workspace, ledger: Ledger, venue: str, model: str) -> pl.DataFrame:
    """Requests in any open or unresolved job of the venue and model, over all runs: never to be bought again.

    Where a file that says what a job asks was deleted, nothing is bought at all (``deleted.unknown_jobs``).

    request_id, the ``run`` whose job holds it, and ``is_sent``: whether the job is or may be at the provider.
    """
    lost = lost_parts(workspace, ledger, venue, model)
    jobs = [(job, job.state in SENT) for job in ledger.jobs(venue=venue, model=model, states=OPEN)]
    found = [
        ids.to_frame().with_columns(run=pl.lit(job.run), is_sent=pl.lit(is_sent))
        for job, is_sent in [*jobs, *((job, True) for job in lost)]
        if (ids := known_ids(workspace, job)) is not None
    ]
    return pl.concat(found) if found else pl.DataFrame(schema=_HELD)


_HELD = {"request_id": pl.String(), "run": pl.String(), "is_sent": pl.Boolean()}


@dataclass(frozen=True)
class Out:
    """A run's requests that are bought and not answered: ``in_flight`` by jobs of its own, ``elsewhere`` how many by
    those of other runs, ``not_sent`` in batches (of the runs ``holders``) that no provider has.
    """

    in_flight: pl.Series
    elsewhere: Mapping[str, int]
    not_sent: pl.Series
    holders: frozenset[str]


def out(workspace: Workspace, ledger: Ledger, run: Run, ids: pl.Series) -> Out:
    """Where those of a run's requests are that are in some job."""
    rows = (
        held(workspace, ledger, run.asked.venue, run.asked.model)
        .filter(pl.col("request_id").is_in(ids.implode()))
        .with_columns(is_own=pl.col("run") == run.name)
        .sort("is_sent", "is_own", descending=True, maintain_order=True)
        .unique("request_id", keep="first", maintain_order=True)
    )
    sent, unsent = rows.filter("is_sent"), rows.filter(~pl.col("is_sent"))
    others = sent.filter(~pl.col("is_own"))["run"].value_counts().sort("run")
    return Out(
        in_flight=sent.filter("is_own")["request_id"],
        elsewhere=dict(others.iter_rows()),
        not_sent=unsent["request_id"],
        holders=frozenset(unsent["run"]),
    )


def unread(workspace: Workspace, ledger: Ledger, venue: str, model: str) -> pl.Series:
    """Requests whose reply arrived and was not understood, over all runs: paid for, so not to be bought again."""
    files = [path for job, path in parts(workspace, ledger, venue, model) if job.unread]
    found = [pl.scan_parquet(path).filter(_IS_UNREAD).select("request_id") for path in files]
    return pl.concat(found).unique().collect()["request_id"] if found else pl.Series("request_id", [], pl.String())


def known_ids(workspace: Workspace, job: Job) -> pl.Series | None:
    """The requests of a batch: by its own list, else by its answers; None where both were deleted."""
    path = Folders(workspace, job.run).batch_ids(job.stage, job.batch)
    if path.exists():
        return pl.read_parquet(path, columns=["request_id"])["request_id"]
    part = workspace.root / job.part if job.part else None
    if part is None or not part.exists():
        return None
    return pl.read_parquet(part, columns=["request_id"])["request_id"].unique(maintain_order=True)


def batch_ids(workspace: Workspace, job: Job) -> pl.Series:
    """The requests of a batch. Raises RunnerError when the files that say so were deleted."""
    ids = known_ids(workspace, job)
    if ids is None:
        path = Folders(workspace, job.run).batch_ids(job.stage, job.batch)
        raise RunnerError(f"{path.relative_to(workspace.root)} is gone, and with it what batch {job.batch} asked for.")
    return ids


def sizes(folders: Folders, stage: int) -> pl.LazyFrame:
    """What bounds each request of a stage: request_id, tokens, input_bound, max_output, instance, writes.

    ``writes`` is False where nothing of the prompt will be written to a cache at a price of its own: it begins like no
    other of the stage, and so is never marked (``submit``). Where nobody noted how prompts begin, all may write.
    """
    path = folders.bodies(stage)
    names = ["request_id", "tokens", "input_bound", "max_output", "instance"]
    if "beginning" not in pl.read_parquet_schema(path):
        return pl.scan_parquet(path).select(*names, writes=pl.lit(True))
    begins = pl.col("beginning")
    return pl.scan_parquet(path).select(*names, writes=begins.is_not_null() & begins.is_duplicated())


def to_buy(workspace: Workspace, ledger: Ledger, run: Run, stage: int) -> pl.DataFrame:
    """The run's requests − final answers − ids in any open job − replies not understood, over all runs of the model.

    In sample order: request_id, tokens, input_bound, max_output, instance, writes.
    """
    folders = Folders(workspace, run.name)
    venue, model = run.asked.venue, run.asked.model
    have = answered(workspace, ledger, venue, model, request_ids(folders))
    paid = [held(workspace, ledger, venue, model)["request_id"], unread(workspace, ledger, venue, model)]
    taken = pl.concat([have, *paid]).to_frame("request_id").unique()
    return sizes(folders, stage).join(taken.lazy(), on="request_id", how="anti", maintain_order="left").collect()


def room_usd(ledger: Ledger, run: Run, approval: Approval) -> float | None:
    """What may still be bought under the approval, and under its BUDGET over all runs of the scope."""
    if approval.bound_usd is None:
        return None
    own = approval.bound_usd - ledger.spent(run=run.name).total_usd
    if approval.budget_usd is None:
        return own
    return min(own, approval.budget_usd - ledger.spent(scope=run.asked.scope).total_usd)
