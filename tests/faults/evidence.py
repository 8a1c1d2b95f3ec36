"""What may be said after a run: is every answer there, was it bought once, is nothing left lying, do the books agree?

The emulator's own tables are the witness for jobs, files and money; the workspace's files are what is judged.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from runner.emulator.registry import HOSTS
from runner.emulator.service import Service, open_service
from tests.place import Place

FINAL = {"ok", "refused", "filtered", "truncated", "rejected", "missing"}
DAY_S = 86_400.0
CENT_FRACTION = 1e-7
"""USD: how far two sums of the same prices may differ (floating point, never money)."""


@dataclass(frozen=True)
class Provider:
    """What lies at the emulator: times billed by request, dollars in all, jobs, those still open, input files."""

    billed: Counter[str]
    usd: float
    jobs: set[str]
    open_jobs: set[str]
    inputs: set[str]


def provider(place: Place) -> Provider:
    """Read the emulator's state, in this process and without moving it on."""
    return _read(_open(place))


def provider_at_last(place: Place) -> Provider:
    """The same, with the bill as it stands when the provider has ended whatever is still open there."""
    service = _open(place)
    before = _read(service)
    service.clock.advance(2 * DAY_S)
    service.life.settle()
    return replace(before, **{name: getattr(_read(service), name) for name in ("billed", "usd")})


def _open(place: Place) -> Service:
    return open_service(place.emulator, {name: host.dialect.wire for name, host in HOSTS.items()})


def _read(service: Service) -> Provider:
    bill = service.store.db.execute("SELECT custom_id, usd FROM bill").fetchall()
    jobs = service.jobs.select("")
    now = service.clock.now()
    files = [file for name in {job.provider for job in jobs} for file in service.files.newest_first(name, now)]
    return Provider(
        billed=Counter(row["custom_id"] for row in bill),
        usd=sum(row["usd"] for row in bill),
        jobs={_bare(job.id) for job in jobs},
        open_jobs={_bare(job.id) for job in jobs if job.is_open},
        inputs={_bare(file.id) for file in files if file.purpose != "batch_output"},
    )


def _bare(name: str | None) -> str:
    """An id without the kind that Gemini puts in front of it: ``batches/…``, ``files/…``."""
    return (name or "").rpartition("/")[2]


@dataclass(frozen=True)
class Books:
    """What the workspace says: jobs of the ledger as rows, all rows of answers bought, and the run's answers.

    ``losses`` counts, by request, the answers that it admits to have paid for without getting them: lines that
    cannot be read or did not come, and whole jobs whose results are gone. They count at their bound in the ledger.
    """

    jobs: list[dict[str, Any]]
    parts: pl.DataFrame
    losses: Counter[str]
    responses: pl.DataFrame
    asked: set[str]
    summary: dict[str, Any]

    @property
    def files(self) -> set[str]:
        """The input files that the ledger knows."""
        return {_bare(job["file_id"]) for job in self.jobs}


def books(place: Place) -> Books:
    """Read the workspace of one run."""
    with sqlite3.connect(f"file:{place.root / 'batches' / 'ledger.sqlite'}?mode=ro", uri=True) as ledger:
        ledger.row_factory = sqlite3.Row
        jobs = [dict(row) for row in ledger.execute("select * from jobs order by batch")]
    parts = [pl.read_parquet(place.root / job["part"]) for job in jobs if job["part"]]
    columns = ["request_id", "status", "cost_usd", "cost_is_bound", "error_code"]
    rows = pl.concat([part.select(columns) for part in parts]) if parts else pl.DataFrame(schema=columns)
    is_loss = (pl.col("status") == "unreadable") | (pl.col("error_code") == "not_delivered").fill_null(False)
    losses = Counter(rows.filter(is_loss)["request_id"])
    for job in jobs:
        if (job["error"] or "").startswith("lost: "):
            stage = place.root / "batches" / job["run"] / f"stage-{job['stage']}"
            ids = stage / f"batch-{job['batch']:04d}.ids.parquet"
            losses.update(pl.read_parquet(ids)["request_id"])
    return Books(
        jobs=jobs,
        parts=rows,
        losses=losses,
        responses=place.responses(),
        asked=place.asked(),
        summary=place.summary(),
    )


def double_payments(there: Provider, here: Books) -> list[str]:
    """Requests that were billed more often than once for an answer and once for each loss that is admitted."""
    return [request for request, times in there.billed.items() if times > 1 + here.losses[request]]


def lost_answers(there: Provider, here: Books) -> list[str]:
    """Requests that were billed and have no answer here, and nobody says so."""
    have = set(here.responses.filter(pl.col("status") != "missing")["request_id"])
    return sorted(set(there.billed) - have - set(here.losses))


def complaints(there: Provider, here: Books) -> Iterator[str]:
    """Every sentence that speaks against a run that claims to be complete."""
    yield from (f"{request} was billed {there.billed[request]} times" for request in double_payments(there, here)[:1])
    yield from (f"{request} was billed and its answer is lost" for request in lost_answers(there, here)[:1])
    yield from _answers(here)
    yield from _money(there, here)
    yield from _jobs(there, here)


def _answers(here: Books) -> Iterator[str]:
    rows, statuses = here.responses, set(here.responses["status"])
    if set(rows["request_id"]) != here.asked:
        yield f"{len(here.asked - set(rows['request_id']))} of {len(here.asked)} requests have no answer"
    if rows.select("request_id", "choice").is_duplicated().any():
        yield "an answer is there twice"
    if not statuses <= FINAL:
        yield f"answers are not final: {sorted(statuses - FINAL)}"
    if here.summary["state"] != "complete":
        yield f"the summary says {here.summary['state']}"
    requests = here.summary["requests"]
    said = {status: requests.get(status, 0) for status in FINAL if requests.get(status)}
    ends = Counter(rows.unique("request_id", keep="first", maintain_order=True)["status"])
    if requests["final"] != requests["total"] or said != ends:
        yield f"the summary counts {said} of {requests['total']}, the answers are {dict(ends)}"


def _money(there: Provider, here: Books) -> Iterator[str]:
    """Sums that are one: the provider's bill, the ledger's, the answers', the summary's. A loss counts at its bound.

    Where no price is known, none of them may pretend to be one.
    """
    claimed = [job["billed_usd"] for job in here.jobs if job["part"]]
    paid = here.parts["cost_usd"].drop_nulls()
    sums = {
        "the ledger": None if None in claimed else sum(job["billed_usd"] or 0.0 for job in here.jobs),
        "the answers": None if here.parts.height and paid.is_empty() else float(paid.sum()),
        "the summary": here.summary["cost"]["billed_usd"],
    }
    if all(usd is None for usd in sums.values()):
        return
    is_bound = here.losses or here.parts["cost_is_bound"].any()
    for name, usd in sums.items():
        if usd is None:
            yield f"{name} has no sum, others have: {sums}"
        elif usd < there.usd - CENT_FRACTION or (not is_bound and usd > there.usd + CENT_FRACTION):
            yield f"{name} says ${usd:.6f}, the bill ${there.usd:.6f}"


def _jobs(there: Provider, here: Books) -> Iterator[str]:
    known = {_bare(job["provider_job"]) for job in here.jobs}
    if states := {job["state"] for job in here.jobs} - {"closed"}:
        yield f"the ledger has jobs that are {', '.join(sorted(states))}"
    if orphans := there.jobs - known:
        yield f"{len(orphans)} jobs at the provider are in no ledger row: {sorted(orphans)[0]}"
    if there.open_jobs:
        yield f"{len(there.open_jobs)} jobs are still open at the provider"
    if kept := there.inputs & here.files:
        yield f"{len(kept)} input files of closed jobs are still at the provider"
