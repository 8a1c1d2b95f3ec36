"""Remove what can be made again. Answers, scores, the ledger and the batches that were sent stay."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from runner.chain.runs import REHEARSALS, Workspace
from runner.ledger import Ledger


def clean(workspace: Workspace, ledger: Ledger, say: Callable[[str], None]) -> list[str]:
    """Delete converted corpora, and the requests of runs that were never approved and have no results."""
    with workspace.locked(say):
        used = {job.run for job in ledger.jobs()} | set(ledger.approved_runs())
        built = [path.parent for path in workspace.batches.glob("*/run.json")]
        doomed = [folder for folder in workspace.corpora.glob("*") if folder.is_dir()]
        doomed += [folder for folder in workspace.batches.glob(f"{REHEARSALS}*") if not _is_played(folder)]
        doomed += [
            folder for folder in built if folder.name not in used and not (workspace.results / folder.name).exists()
        ]
        for folder in doomed:
            shutil.rmtree(folder)
    return [str(folder.relative_to(workspace.root)) for folder in doomed]


def _is_played(folder: Path) -> bool:
    """Whether the process that plays a rehearsal, which its folder is named after, is still there."""
    process = folder.name.removeprefix(REHEARSALS).partition("-")[0]
    try:
        os.kill(int(process), 0)
    except (ValueError, ProcessLookupError):
        return False
    except PermissionError:
        pass
    return True
