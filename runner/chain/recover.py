"""A ledger that was lost or is not whole: how that is told, and how it is made again from what lies in the folder.

Every batch file and every file of answers has a row. Where one has none, the ledger is not the one that bought it,
and what it does not know would be bought again.
"""

from __future__ import annotations

import hashlib
import re
import sqlite3
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from runner.chain.deleted import run_of
from runner.chain.prices import bound_of, bound_price_at, with_bound
from runner.chain.runs import Folders, Workspace, new_name, read_run, run_names
from runner.chain.score import digest_of
from runner.chain.stock import FINAL_WORDS, known_ids, sizes
from runner.chain.stuck import NOBODY
from runner.ledger import Job, Ledger, State
from runner.reporting.summary import Summary

Say = Callable[[str], None]
Key = tuple[str, int, int]
"""Run, stage, number of the batch."""

NAME = re.compile(r"[0-9a-f]{8}-(?P<stage>\d+)-(?P<batch>\d{4,})-[0-9a-f]{8}")
BATCH = re.compile(r"batch-(?P<batch>\d{4,})\.ids\.parquet")
WAY_BACK = (
    "Restore it from a copy, or let `make orphans ADOPT=all` make it again from this folder and from "
    "the lists of the providers; until then nothing is bought. (`make score`, `make report` and `make table` work.)"
)


def opened(workspace: Workspace) -> tuple[Ledger, str | None]:
    """The ledger and None; or, where it is not whole, one in memory that knows what the folder tells, and why.

    What is read with that one is true; nothing may be bought with it, and nothing that it is told stays.
    """
    found = _files(workspace)
    trouble = _damage(workspace.ledger)
    if trouble is None or not found:
        ledger = Ledger(workspace.ledger)
        left = unknown(ledger, found)
        if not left:
            return ledger, None
        trouble = (
            f"does not know {len(left)} batch(es) that were sent from here, such as batch {left[0][2]} of {left[0][0]}"
        )
        spare = ledger.in_memory()
        ledger.close()
    else:
        spare = Ledger(Path(":memory:"))
    enter(workspace, spare)
    return spare, f"batches/ledger.sqlite {trouble}: what it does not know would be bought again. {WAY_BACK}"


def _damage(path: Path) -> str | None:
    """What is wrong with the file itself; None where it can be read to its end."""
    if not path.exists():
        return "is gone"
    if path.stat().st_size == 0:
        return "is empty"
    try:
        db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=60)
        try:
            said = str(db.execute("pragma quick_check(1)").fetchone()[0])
            db.execute("select count(*) from jobs").fetchone()
        finally:
            db.close()
    except sqlite3.DatabaseError as error:
        return None if "locked" in str(error) else f"cannot be read ({error})"
    return None if said == "ok" else f"cannot be read ({said})"


def _files(workspace: Workspace) -> dict[Key, Path | None]:
    """Every batch that was written here, with its answers where they are."""
    found: dict[Key, Path | None] = {}
    for path in sorted(workspace.batches.glob("*/stage-*/batch-*.ids.parquet")):
        if match := BATCH.fullmatch(path.name):
            stage = int(path.parent.name.removeprefix("stage-"))
            found[path.parent.parent.name, stage, int(match["batch"])] = None
    for path in sorted(workspace.results.glob("*/parts/*.parquet")):
        if match := NAME.fullmatch(path.stem):
            found[path.parent.parent.name, int(match["stage"]), int(match["batch"])] = path
    return found


def unknown(ledger: Ledger, found: dict[Key, Path | None]) -> list[Key]:
    """The batches that the ledger has no row of.

    The next number of an approved run is none: its file may have been written just before a crash.
    """
    known = {(job.run, job.stage, job.batch) for job in ledger.jobs()}
    approved = set(ledger.approved_runs())
    return [
        key
        for key, part in found.items()
        if key not in known
        and not (part is None and key[0] in approved and key[2] == ledger.next_batch(key[0], key[1]))
    ]


def enter(workspace: Workspace, ledger: Ledger) -> list[Job]:
    """Give a row to each batch that has none: closed where its answers are here, else to be looked for."""
    found = _files(workspace)
    jobs = []
    for key in unknown(ledger, found):
        job = _row(workspace, key, found[key])
        ledger.intend(job)
        jobs.append(job)
    _enter_looks(workspace, ledger)
    return jobs


def _row(workspace: Workspace, key: Key, part: Path | None) -> Job:
    """The row of a batch as far as its files tell it; what it may have cost is held back where it is still out."""
    run, stage, batch = key
    folders = Folders(workspace, run)
    ids_file, file = folders.batch_ids(stage, batch), folders.batch(stage, batch)
    answers = pl.read_parquet(part) if part else None
    times = [datetime.fromtimestamp(path.stat().st_mtime, UTC) for path in (part, ids_file) if path and path.exists()]
    came = [] if answers is None else answers["received_at"].drop_nulls().sort().to_list()
    wrote = min([*times, *came])
    job = Job(
        job=part.stem if part else new_name(run, stage, batch),
        venue=str(answers["venue"][0]) if answers is not None else read_run(workspace, run).asked.venue,
        account=NOBODY,
        model=str(answers["model"][0]) if answers is not None else read_run(workspace, run).asked.model,
        run=run,
        scope="",
        stage=stage,
        batch=batch,
        sha256=hashlib.sha256(file.read_bytes()).hexdigest() if file.exists() else "",
        n=0,
        tokens=0,
        reserved_usd=None,
        state=State.UNCLEAR,
        intended_at=wrote,
        part=str(part.relative_to(workspace.root)) if part else None,
    )
    job = sized(workspace, job)
    if answers is None:
        return replace(job, error="entered again after the ledger was lost")
    billed = None if answers["cost_usd"].null_count() == answers.height else float(answers["cost_usd"].sum())
    done = answers.filter(pl.col("status").is_in(FINAL_WORDS))["request_id"].n_unique()
    return replace(
        job,
        state=State.CLOSED,
        billed_usd=billed,
        answered=done,
        collected_at=wrote,
        ended_at=came[-1] if came else wrote,
    )


def sized(workspace: Workspace, job: Job) -> Job:
    """A row with the number, tokens and bound of its requests, and the scope of its run, where these are here."""
    ids = known_ids(workspace, job)
    bodies = Folders(workspace, job.run).bodies(job.stage)
    scope = read_run(workspace, job.run).asked.scope if Folders(workspace, job.run).run_json.exists() else job.scope
    if ids is None or not bodies.exists():
        return replace(job, n=job.n if ids is None else ids.len(), scope=scope)
    columns = sizes(Folders(workspace, job.run), job.stage)
    mine = columns.join(ids.to_frame("request_id").lazy(), on="request_id", how="semi").collect()
    bound = bound_of(with_bound(mine, bound_price_at(run_of(workspace, job), job.intended_at)))
    return replace(job, n=ids.len(), tokens=int(mine["tokens"].sum()), reserved_usd=bound, scope=scope)


def _enter_looks(workspace: Workspace, ledger: Ledger) -> None:
    """Looks at growing samples, by the summaries that were made of them: the next one is not taken for the first."""
    for name in run_names(workspace):
        folders = Folders(workspace, name)
        if not folders.summary.exists() or not folders.responses.exists():
            continue
        look = Summary.from_json(folders.summary.read_bytes()).look
        series = read_run(workspace, name).asked.series
        answers = digest_of(pl.read_parquet(folders.responses))
        if look is None or ledger.known_look(series, answers) is not None:
            continue
        at = datetime.fromtimestamp(folders.summary.stat().st_mtime, UTC)
        for number in range(1, look.number):
            ledger.look(series, f"lost look {number}", name, look.planned, at)
        ledger.look(series, answers, name, look.planned, at)


def set_aside(workspace: Workspace, say: Say) -> Ledger:
    """A ledger on the disk to be completed: the one that is there, or, where it cannot be read, a new one beside it."""
    if workspace.ledger.exists() and _damage(workspace.ledger) is not None:
        number = len(list(workspace.batches.glob("ledger.sqlite.unreadable-*"))) + 1
        aside = workspace.batches / f"ledger.sqlite.unreadable-{number}"
        workspace.ledger.rename(aside)
        say(f"The ledger that cannot be read is kept as {aside.relative_to(workspace.root)}.")
        for suffix in ("-wal", "-shm"):
            rest = workspace.ledger.with_name(workspace.ledger.name + suffix)
            if rest.exists():
                rest.rename(aside.with_name(aside.name + suffix))
    return Ledger(workspace.ledger)
