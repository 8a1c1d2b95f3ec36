"""The provider's files of a job on the disk: how they get there, and whether they are still what came."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

from runner.chain.files import is_whole, sync_folder
from runner.chain.journal import Point, reached
from runner.chain.runs import Folders, Workspace
from runner.errors import RunnerError
from runner.ledger import Job
from runner.providers.base import Provider
from runner.providers.lines import read_lines


def download(workspace: Workspace, provider: Provider, job: Job) -> list[Path]:
    """An ended job's result files, in a folder of this process beside their place: nothing of it needs the lock.

    Raises Unreachable, Gone.
    """
    assert job.provider_job is not None
    found = provider.fetch(job.provider_job, _landing(workspace, job, str(os.getpid())))
    reached(Point.DOWNLOADED)
    return found


def _landing(workspace: Workspace, job: Job, process: str) -> Path:
    return Folders(workspace, job.run).raw / f".{job.job}.{process}"


def put_away(job: Job, folders: Folders, found: Iterable[Path]) -> list[Path]:
    """The job's result files under our name for it."""
    # A provider's id may hold what no file name can: only what the file is stays of its name.
    files = [path.replace(folders.raw / ".".join((job.job, *path.name.split(".")[-3:]))) for path in found]
    if files:
        sync_folder(folders.raw)
    return files


def sweep(workspace: Workspace, job: Job, process: str = "*") -> None:
    """Remove what downloads of a job have left beside their place: of every process, also of those that were killed."""
    for folder in Folders(workspace, job.run).raw.glob(_landing(workspace, job, process).name):
        shutil.rmtree(folder, ignore_errors=True)


def raw_files(workspace: Workspace, job: Job) -> list[Path]:
    """The provider's files of a job that are on the disk."""
    return sorted(Folders(workspace, job.run).raw.glob(f"{job.job}.*.jsonl.zst"))


def spoilt(workspace: Workspace, job: Job) -> list[Path]:
    """The provider's files of a job that are gone, or not as they were received (of earlier versions: unreadable)."""
    raw = Folders(workspace, job.run).raw
    noted = [raw / name for name in job.digests if name.endswith(".zst")]
    if noted:
        return [path for path in noted if not is_whole(path, job.digests[path.name])]
    return [path for path in raw_files(workspace, job) if not can_be_read(path)]


def can_be_read(path: Path) -> bool:
    """Whether a provider's file is neither damaged nor cut short."""
    try:
        return all(True for _ in read_lines(path))
    except RunnerError:
        return False
