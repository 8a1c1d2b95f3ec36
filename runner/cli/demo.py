"""The demo: the whole chain for three tasks on the emulator, told on one screen."""

from __future__ import annotations

import io
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from typing import Any

import click
import orjson

from runner.cli import options
from runner.cli.office import Office, office, problems
from runner.cli.printing import print_json, say
from runner.cli.results import judge, show_scores
from runner.reporting.demo_view import Shown, screen

TASKS = ("3.1", "3.2", "3.3")
_ASKED: dict[str, Any] = {
    "run_name": None,
    "model": "gpt-5.4-mini",
    "data": "sample",
    "protocol": "strict",
    "settings": (),
    "limit": 150,
    "seed": 0,
    "samples": None,
    "effort": None,
    "no_temperature": False,
    "looks": None,
    "fresh": 0,
    "emulate": True,
    "as_of": None,
    "min_history": None,
    "history_lag": None,
    "label_balance": None,
    "match_length": False,
}


@click.command()
@click.option("--verbose", is_flag=True, help="Show every step and every table.")
@options.as_json
def demo(verbose: bool, as_json: bool) -> None:
    """The whole chain for 3.1, 3.2 and 3.3 on a synthetic corpus and the emulator: no key, no money."""
    with office() as here:
        shown = [_task(here, task, verbose and not as_json) for task in TASKS]
        if as_json:
            tables = [orjson.loads(each.summary.to_json()) for each in shown]
            pages, batches = [each.page for each in shown], sum(each.batches for each in shown)
            print_json({"summaries": tables, "pages": pages, "batches": batches}, verbatim=True)
            return
        click.echo(screen(shown, shutil.get_terminal_size().columns))


def _task(here: Office, task: str, verbose: bool) -> Shown:
    """One task, bought and reported where that was not done before."""
    from runner.chain.report import write_report
    from runner.chain.runs import Folders
    from runner.chain.score import scored
    from runner.chain.standing import standing
    from runner.venues import is_rehearsal

    say(f"Task {task}: build, estimate, submit, collect, score, report.")
    with _details(verbose):
        run = here.build({**_ASKED, "task": task})
        assert is_rehearsal(run.asked.venue)
        if not standing(here.workspace, here.ledger, run).is_complete:
            here.submit(run, None, yes=True, quiet=not verbose)
            problems(here.wait([run.name], None))
            judge(here, run.name)
        summary = scored(here.workspace, here.ledger, run)
        folders = Folders(here.workspace, run.name)
        page = folders.results / "report.html"
        if not page.exists() or page.stat().st_mtime_ns < folders.summary.stat().st_mtime_ns:
            write_report(here.workspace, run, files=False)
    if verbose:
        show_scores(here, summary, as_json=False)
    return Shown(summary, len(here.ledger.jobs(run=run.name)), str(page.relative_to(here.workspace.root)))


@contextmanager
def _details(verbose: bool) -> Iterator[None]:
    """What the steps say on their way, shown or kept back; kept back, it is shown when something goes wrong."""
    if verbose:
        yield
        return
    kept = io.StringIO()
    try:
        with redirect_stderr(kept):
            yield
    except Exception:
        sys.stderr.write(kept.getvalue())
        raise
