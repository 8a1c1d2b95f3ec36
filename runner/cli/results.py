"""What came of a run: its table, its report, and whether the numbers can be made again."""

from __future__ import annotations

import sys
import webbrowser
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from runner.cli import options
from runner.cli.office import NOWHERE, Office, check_selected, office
from runner.cli.printing import print_json, say, show
from runner.cli.wording import worded
from runner.errors import RunnerError
from runner.reporting.summary import Summary


@click.command()
@options.which
@options.as_json
def score(as_json: bool, **chosen: Any) -> None:
    """The result table of a run (the latest by default); free and repeatable."""
    with office(reads=True) as here:
        run = here.pick(chosen)
        summary = judge(here, run.name)
        show_scores(here, summary, as_json)
        check_selected(run)
        if not as_json:
            show_bill(here, run.name)
            say("All metrics, floors and effects: `make report`.")
        fail_without_score(summary)


@click.command()
@options.which
@click.option("--open", "opens", is_flag=True, help="Show the page in the browser.")
@options.as_json
def report(opens: bool, as_json: bool, **chosen: Any) -> None:
    """Write report.md, report.html and the charts of a run (the latest by default)."""
    from runner.chain.score import scored

    with office(reads=True) as here:
        run = here.pick(chosen)
        summary = scored(here.workspace, here.ledger, run)
        files = write_reports(here, run.name)
        _, page, *_ = files
        if as_json:
            written = [str(path.relative_to(here.workspace.root)) for path in files if path.exists()]
            print_json({"run": run.name, "files": written})
        if opens and not webbrowser.open(page.resolve().as_uri()):
            say(f"No browser could be started here; open {page} in one.")
        fail_without_score(summary)


@click.command()
@options.which
@options.as_json
def verify(as_json: bool, **chosen: Any) -> None:
    """Make a run's numbers again from the provider's files and say whether they match; asks and changes nothing."""
    from runner import providers
    from runner.chain.provenance import library_versions
    from runner.chain.runs import Folders
    from runner.chain.verify import differences
    from runner.chain.verify import verify as check
    from runner.chain.views import checks_table

    with office(reads=True) as here:
        run = here.pick(chosen)
        checks = check(
            here.workspace,
            here.ledger,
            run,
            lambda run: providers.connect(run.asked.provider, here.env, base_url=NOWHERE, venue=run.asked.venue),
        )
        stored = Summary.from_json(Folders(here.workspace, run.name).summary.read_bytes())
        others = differences(stored, library_versions())
        if as_json:
            print_json({"run": run.name, "checks": [asdict(each) for each in checks], "versions": others})
        else:
            show(checks_table(run, checks, others))
    if any(each.differs for each in checks):
        sys.exit(1)


def judge(here: Office, name: str) -> Summary:
    """Score a run."""
    from runner.chain.runs import read_run
    from runner.chain.score import score as judge_run

    return judge_run(here.workspace, here.ledger, read_run(here.workspace, name))


def show_scores(here: Office, summary: Summary, as_json: bool) -> None:
    """The result table and what the settings differ by."""
    from runner.reporting.effects import effects_table
    from runner.reporting.headline import headline
    from runner.reporting.tables import result_table

    if as_json:
        click.echo(summary.to_json())
        return
    if summary.explanation and summary.requests.final:
        return  # what is said of it is the error
    show(result_table(summary))
    if summary.effects:
        show(effects_table(summary, brief=True))
    click.echo(worded(headline(summary)))


def fail_without_score(summary: Summary) -> None:
    """End with exit code 1 where answers came, and none of them can be used."""
    if summary.explanation and summary.requests.final:
        raise RunnerError(f"{summary.run}: {summary.explanation}", code="no_score", exit_code=1)


def show_bill(here: Office, name: str) -> None:
    """What was billed against what was estimated, where something was bought."""
    from runner.chain.reconcile import reconcile
    from runner.chain.runs import read_run
    from runner.reporting.reconcile_view import reconcile_table

    reconciled = reconcile(here.workspace, here.ledger, read_run(here.workspace, name))
    if reconciled is not None:
        show(reconcile_table(reconciled))


def write_reports(here: Office, name: str, *, files: bool = True) -> tuple[Path, ...]:
    """Write the reports of a scored run, its charts also as files, and say where they are."""
    from runner.chain.report import write_report
    from runner.chain.runs import read_run

    paths = write_report(here.workspace, read_run(here.workspace, name), files=files)
    for path in paths if files else paths[:2]:
        if path.exists():
            say(f"Wrote {path.relative_to(here.workspace.root)}")
    return paths
