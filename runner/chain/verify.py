"""verify: make a run's numbers again from what the provider sent, and say whether they are the same.

Everything is made anew in a temporary folder by the same steps: raw files to parts, parts to responses, responses
to scores and table. Nothing is bought, nobody is asked, and nothing in the workspace changes.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import polars as pl

from runner.benchmarks import find_task
from runner.chain.deleted import run_of
from runner.chain.files import is_whole, write_frame
from runner.chain.parts import read_part
from runner.chain.provenance import digests_of, instances_digest
from runner.chain.received import can_be_read, raw_files, spoilt
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.score import score
from runner.chain.stock import has_part, parts
from runner.errors import RunnerError
from runner.ledger import Job, Ledger
from runner.providers.base import JobState, JobStatus, Provider
from runner.reporting.summary import Cost, Summary
from runner.request import request_id

Decoder = Callable[[Run], Provider]
"""A provider's module for reading its files; it asks nobody."""

_COMPARED = (
    "request_id", "choice", "status", "text", "finish_reason", "model_version", "input_tokens", "output_tokens",
)  # fmt: skip
_CLOSE = 1e-9
_APART = ("rows", "floors", "effects", "versions", "signatures")
"""Compared by themselves, or (libraries and what names them) allowed to be newer."""


@dataclass(frozen=True)
class Check:
    """One thing that was made again. ``differs`` says where it is not what the run says; None where it is."""

    what: str
    compared: int
    differs: str | None = None


def verify(workspace: Workspace, ledger: Ledger, run: Run, decoder: Decoder) -> list[Check]:
    """Recompute and compare, from the first file to the last number. Raises RunnerError when nothing was scored."""
    folders = Folders(workspace, run.name)
    if not folders.summary.exists():
        raise RunnerError(f"{run.name} has no scores yet: `make score RUN={run.name}` makes them.")
    stored = Summary.from_json(folders.summary.read_bytes())
    checks = [_name(run), _family(run), _instances(folders, run, stored)]
    checks += [_requests(folders, run), _batches(folders, ledger)]
    with tempfile.TemporaryDirectory() as place:
        again = Workspace(Path(place), is_copy=True)
        again.batches.symlink_to(workspace.batches.resolve(), target_is_directory=True)
        checks += [_received(workspace, ledger, run), _parts(workspace, again, ledger, run, decoder)]
        summary = score(again, ledger, run, again=True)
        checks.append(_responses(folders, Folders(again, run.name)))
        checks.append(_scores(folders, Folders(again, run.name)))
        checks += _table(stored, summary)
    return checks


def differences(stored: Summary, versions: Mapping[str, str]) -> list[str]:
    """Libraries that are not those of the stored numbers: where numbers differ, this may be why."""
    return [
        f"{name}: scored with {old}, now {versions[name]}"
        for name, old in stored.versions.items()
        if name in versions and versions[name] != old
    ]


def _name(run: Run) -> Check:
    content = "the run's name is the digest of what was asked"
    differs = None if run.name == run.asked.name else f"it says {run.name}, what was asked gives {run.asked.name}"
    return Check(content, 1, differs)


def _family(run: Run) -> Check:
    _, task = find_task(run.asked.task, run.asked.protocol)
    declared = task.family(run.asked.settings)
    said = None if run.test_family == declared else f"run.json has {len(run.test_family)} of {len(declared)} tests"
    return Check("the tests are those that the task declares", len(declared), said)


def _instances(folders: Folders, run: Run, stored: Summary) -> Check:
    now, then = instances_digest(folders), stored.repeat.get("instances", "")
    wrong = [] if now in then else ["their ids are not those of the summary"]
    made = digests_of(folders)
    wrong += [f"{name} is not what was built" for name, digest in run.digests.items() if made.get(name) != digest]
    return Check("instances, references and requests as they were built", run.instances, "; ".join(wrong) or None)


def _requests(folders: Folders, run: Run) -> Check:
    wrong = total = 0
    for path in sorted(folders.asked.glob("stage-*/requests.parquet")):
        asked = pl.read_parquet(path, columns=["request_id", "draw"]).unique("request_id")
        bodies = pl.scan_parquet(path.with_name("bodies.parquet")).select("request_id", "body")
        for rows in bodies.join(asked.lazy(), on="request_id").collect().iter_slices(1000):
            for name, body, draw in rows.iter_rows():
                total += 1
                wrong += request_id(run.asked.venue, run.asked.model, run.asked.first_draw + draw, body) != name
    said = [f"{wrong:,} are not"] if wrong else []
    said += [f"{total:,} texts for {run.unique:,} requests"] if total != run.unique else []
    return Check("every request's id is the digest of its text", total, "; ".join(said) or None)


def _batches(folders: Folders, ledger: Ledger) -> Check:
    jobs = [job for job in ledger.jobs(run=folders.run) if job.sha256]
    wrong = []
    for job in jobs:
        path = folders.batch(job.stage, job.batch)
        wrong += [] if is_whole(path, job.sha256) else [path.name]
    said = f"not what the ledger knows: {', '.join(wrong)}" if wrong else None
    return Check("batch files as they were sent", len(jobs), said)


def _received(workspace: Workspace, ledger: Ledger, run: Run) -> Check:
    """The provider's files, and the parts made of them, against what the ledger noted when they came."""
    jobs = [job for job in ledger.jobs(venue=run.asked.venue, model=run.asked.model) if job.part and job.digests]
    mine = set(pl.read_parquet(Folders(workspace, run.name).responses, columns=["job"])["job"])
    jobs = [job for job in jobs if job.job in mine or job.run == run.name]
    wrong = [path.name for job in jobs for path in spoilt(workspace, job)]
    wrong += [Path(job.part or "").name for job in jobs if not has_part(workspace, job)]
    said = f"not what the ledger knows: {', '.join(wrong)}" if wrong else None
    return Check("the provider's files, and the answers in them, as they came", sum(len(j.digests) for j in jobs), said)


def _parts(workspace: Workspace, again: Workspace, ledger: Ledger, run: Run, decoder: Decoder) -> Check:
    """Raw files to parts, in the order in which they were bought, for every job that the run's answers come from."""
    wanted = set(pl.read_parquet(Folders(workspace, run.name).responses, columns=["job"])["job"])
    lacking, read = [], 0
    for job, path in parts(workspace, ledger, run.asked.venue, run.asked.model):
        files = raw_files(workspace, job)
        if not files or not all(map(can_be_read, files)):
            if job.job in wanted:
                lacking.append(job.job)
            continue
        provider = decoder(run_of(workspace, job))
        home = read_part(again, ledger, provider, job, files, _status(job, pl.read_parquet(path)))
        write_frame(Folders(again, job.run).part(job.job), home.part)
        read += len(files)
    differs = f"no raw file that can be read of {', '.join(lacking)}" if lacking else None
    return Check("raw files of the provider, read again", read, differs)


def _status(job: Job, stored: pl.DataFrame) -> JobStatus:
    """How the job ended: not in its result files, so taken from what was noted then."""
    noted = set(stored["status"])
    ends = {"expired": JobState.EXPIRED, "cancelled": JobState.CANCELLED}
    state = next((state for word, state in ends.items() if word in noted), JobState.COMPLETED)
    return JobStatus(job.provider_job or "", state, job.ended_at or job.intended_at, error=job.error)


def _responses(here: Folders, again: Folders) -> Check:
    then, now = (pl.read_parquet(folders.responses).select(_COMPARED) for folders in (here, again))
    gone = then.join(now, on=["request_id", "choice"], how="anti").height
    new = now.join(then, on=["request_id", "choice"], how="anti").height
    both = then.join(now, on=["request_id", "choice"], suffix="_now")
    changed = both.filter(
        pl.any_horizontal(pl.col(name).ne_missing(pl.col(f"{name}_now")) for name in _COMPARED[2:])
    ).height
    said = [f"{n:,} {what}" for n, what in ((gone, "are gone"), (new, "are new"), (changed, "differ")) if n]
    return Check("answers made from them", then.height, ", ".join(said) or None)


def _scores(here: Folders, again: Folders) -> Check:
    then, now = pl.read_parquet(here.scores), pl.read_parquet(again.scores)
    if then.columns != now.columns or then.height != now.height:
        return Check("scores of single answers", then.height, f"{then.shape} against {now.shape} rows and columns")
    wrong = [name for name in then.columns if not _same_column(then[name], now[name])]
    return Check("scores of single answers", then.height, f"they differ in {', '.join(wrong)}" if wrong else None)


def _same_column(then: pl.Series, now: pl.Series) -> bool:
    if then.dtype.is_float() and now.dtype.is_float():
        apart = (then - now).abs().fill_nan(None).max()
        return then.is_null().equals(now.is_null()) and (apart is None or float(apart) <= _CLOSE)  # type: ignore[arg-type]
    return then.equals(now, null_equal=True)


def _table(then: Summary, now: Summary) -> list[Check]:
    checks = []
    for what, name in (("rows of the table", "rows"), ("floors", "floors"), ("effects", "effects")):
        old, new = ([asdict(row) for row in getattr(summary, name)] for summary in (then, now))
        wrong = [_key(row) for row, other in zip(old, new, strict=False) if not _same(row, other)]
        if len(old) != len(new):
            wrong.append(f"{len(old)} against {len(new)} of them")
        said = "; ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        checks.append(Check(what, len(old), f"not the same: {said}" if wrong else None))
    others = [field.name for field in fields(Summary) if field.name not in _APART]
    wrong = [name for name in others if not _alike(getattr(then, name), getattr(now, name))]
    returned = "model as returned"
    if then.versions.get(returned) != now.versions.get(returned):
        wrong.append(returned)
    return [*checks, Check("all else that the summary says", len(others) + 1, _not_the_same(wrong))]


def _not_the_same(wrong: list[str]) -> str | None:
    return f"not the same: {', '.join(wrong)}" if wrong else None


def _alike(one: object, other: object) -> bool:
    """Equal, but for what rounding does to sums of money."""
    if isinstance(one, Cost) and isinstance(other, Cost):
        return _same(asdict(one), asdict(other))
    return one == other


def _key(row: Mapping[str, Any]) -> str:
    named = (row.get(name) for name in ("setting", "name", "floor", "metric", "group"))
    return " ".join(str(value) for value in named if value)


def _same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    def close(a: Any, b: Any) -> bool:
        if isinstance(a, float) and isinstance(b, float):
            return math.isclose(a, b, rel_tol=_CLOSE, abs_tol=_CLOSE)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            return _same(a, b)
        if isinstance(a, tuple) and isinstance(b, tuple):
            return len(a) == len(b) and all(map(close, a, b))
        return bool(a == b)

    return one.keys() == other.keys() and all(close(value, other[name]) for name, value in one.items())
