"""Remove what can be made again. Answers, raw files, the ledger and the batches that were sent stay."""

from __future__ import annotations

import shutil

from runner.chain.runs import Workspace
from runner.ledger import Ledger


def clean(workspace: Workspace, ledger: Ledger) -> int:
    """Delete converted corpora and the folders of runs that never began to buy; returns how many."""
    bought = {job.run for job in ledger.jobs()} | set(ledger.approved_runs())
    doomed = [folder for folder in workspace.corpora.glob("*") if folder.is_dir()]
    doomed += [path.parent for path in workspace.batches.glob("*/run.json") if path.parent.name not in bought]
    for folder in doomed:
        shutil.rmtree(folder)
        results = workspace.results / folder.name
        if results.is_dir() and not (results / "raw").exists():
            shutil.rmtree(results)
    return len(doomed)
