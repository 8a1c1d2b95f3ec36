"""Jobs whose batch's list of requests was deleted: what the ledger's rows still tell, and what waits for them.

Such a job is brought home all the same; the ids of its results then say what it had asked. Until then nobody knows
which requests are on their way in it, and nothing more of its model is bought.
"""

from __future__ import annotations

from runner.benchmarks.base import Funnel
from runner.chain.runs import Asked, Folders, Run, Workspace, read_run
from runner.chain.stock import known_ids, lost_parts
from runner.chain.stuck import name_of
from runner.ledger import OPEN, Job, Ledger, State
from runner.venues import provider_of


def run_of(workspace: Workspace, job: Job) -> Run:
    """The run of a job; where its folder is gone, who was asked, by the ledger's row, and nothing else."""
    if Folders(workspace, job.run).run_json.exists():
        return read_run(workspace, job.run)
    _, task, model, protocol, corpus = (*job.scope.split("|"), "", "", "", "", "")[:5]
    provider = provider_of(job.venue)
    asked = Asked("", task, model or job.model, provider, job.venue, protocol, "", corpus, (), None, 0, 1)
    return Run(asked, "", 0, 0, 0, Funnel((), {}), None, {}, "", False, (), (), None, {}, "")


def unknown_jobs(
    workspace: Workspace, ledger: Ledger, *, venue: str | None = None, model: str | None = None
) -> list[Job]:
    """Jobs still out, or whose answers were deleted, of which nothing here tells the requests."""
    out = [job for job in ledger.jobs(venue=venue, model=model, states=OPEN) if job.state is not State.INTENDED]
    doubtful = [*out, *lost_parts(workspace, ledger, venue, model)]
    return [job for job in doubtful if known_ids(workspace, job) is None]


def fetched_blindly(job: Job) -> str:
    """What is said of such a job until it is home."""
    where = job.provider_job or "not found yet"
    return (
        f"{name_of(job)} is out at {job.venue} ({where}), but its batches/{job.run}/ was deleted, and with it what it "
        f"asks: until `make collect` has its answers, nothing more is bought from {job.model}."
    )
