"""The arrows of the chain, one command each."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import click

from runner.chain.standing import Standing
from runner.chain.views import funnel_table, standing_table
from runner.cli import options
from runner.cli.office import Office, check_selected, office, problems
from runner.cli.printing import print_json, say, show
from runner.cli.results import fail_without_score, judge, show_scores, write_reports
from runner.errors import RunnerError
from runner.reporting.estimate_view import Estimate, estimate_table

WAITING = 3
"""Exit code of `status --exit-code` while something is still to come."""


@click.command()
@options.asked
@options.as_json
def build(as_json: bool, **chosen: Any) -> None:
    """Select instances and write the requests; asks nobody and costs nothing."""
    with office(reads=True) as here:
        run = here.build(chosen)
        if as_json:
            print_json(asdict(run))
        else:
            show(funnel_table(run))
        check_selected(run)
        if as_json:
            return
        say(f"{run.instances:,} instances, {run.requests:,} requests ({run.unique:,} different) in batches/{run.name}")


@click.command()
@options.asked
@click.option("--history", is_flag=True, help="Earlier estimates of this folder against their bills instead.")
@options.as_json
def estimate(history: bool, as_json: bool, **chosen: Any) -> None:
    """Counts, tokens and cost of what is still to be bought, before any money moves."""
    from runner.chain.reconcile import history as past
    from runner.reporting.reconcile_view import history_table

    with office(reads=True) as here:
        if history:
            rows = past(here.workspace, here.ledger)
            if as_json:
                print_json([asdict(row) for row in rows])
            else:
                show(history_table(rows))
            return
        run = here.build(chosen)
        check_selected(run)
        _show_estimate(here.estimate(run), as_json)


@click.command()
@options.asked
@options.spend
@options.looks
@options.as_json
def submit(
    budget: float | None,
    pilot: int | None,
    yes: bool,
    tier: str | None,
    deadline: timedelta | None,
    keep_files: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Build if needed, show the cost, ask, and send the first batches."""
    with office() as here:
        here.obey(tier, deadline, keep_files)
        here.check_key(chosen)
        run = here.build(chosen)
        if not run.explanation and here.submit(run, budget, yes, pilot, quiet=as_json, may_overrule=True):
            standings = here.advance([run.name])
            show_standings(here, standings, as_json)
            problems(standings)
            return
        if as_json:
            show_standings(here, here.standings([run.name]), as_json)
        check_selected(run)


@click.command()
@options.which
@options.waits
@options.looks
@options.as_json
def collect(
    wait: bool,
    poll: float | None,
    tier: str | None,
    deadline: timedelta | None,
    keep_files: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """Collect what is finished and submit what became possible: of all open runs, or of one."""
    with office() as here:
        here.obey(tier, deadline, keep_files)
        names = here.open_runs(chosen) + here.deleted_runs()
        if not names:
            say("Nothing is open: every run that was approved, and not cancelled, has its answers.")
            if as_json:
                print_json({"runs": [], "batches": []})
            return
        standings = here.wait(names, poll) if wait else here.advance(names)
        show_standings(here, standings, as_json)
        problems(standings, here.blind())


@click.command()
@options.asked
@options.spend
@options.waits
@options.looks
@options.as_json
def run(
    budget: float | None,
    pilot: int | None,
    yes: bool,
    wait: bool,
    poll: float | None,
    tier: str | None,
    deadline: timedelta | None,
    keep_files: bool,
    as_json: bool,
    **chosen: Any,
) -> None:
    """All of it: build, estimate, submit, collect until complete, score, and the report's page (it always waits)."""
    with office() as here:
        here.obey(tier, deadline, keep_files)
        here.check_key(chosen)
        one = here.build(chosen)
        standings: Sequence[Standing] = ()
        if not one.explanation:
            if not here.submit(one, budget, yes, pilot, quiet=as_json):
                if as_json:
                    show_standings(here, here.standings([one.name]), as_json)
                return
            standings = here.wait([one.name], poll)
            problems(standings)
            for standing in standings:
                if not standing.is_complete:
                    say(f"Not complete ({standing.final:,} of {standing.total:,} answered): {standing.next}")
        judged = judge(here, one.name)
        if pilot is not None and not all(standing.is_complete for standing in standings):
            say(f"A pilot is no result. What the rest would cost, by the answers to its {pilot:,} instances:")
            _show_estimate(here.estimate(one), as_json)
            return
        show_scores(here, judged, as_json)
        write_reports(here, one.name, files=False)
        check_selected(one)
        fail_without_score(judged)


@click.command()
@options.which
@options.as_json
@click.option(
    "--exit-code",
    is_flag=True,
    help="End with 0 when complete, 3 while waiting, 1 when stopped, not sent or not approved.",
)
def status(as_json: bool, exit_code: bool, **chosen: Any) -> None:
    """Where runs stand and what happens next; asks no provider."""
    from runner.chain.views import standing_notes

    with office(reads=True) as here:
        blind = here.blind()
        names = here.open_runs(chosen)
        if not names and not blind:
            names = [here.pick(chosen).name]
        standings = here.standings(names)
        notes = [*standing_notes(standings, here.ledger, here.limits), *blind]
        show_standings(here, standings, as_json, notes)
    if exit_code and (blind or any(standing.trouble or standing.needs_yes for standing in standings)):
        sys.exit(1)
    if exit_code and not all(standing.is_complete for standing in standings):
        sys.exit(WAITING)


@click.command()
@options.which
@options.waits
@options.as_json
def cancel(wait: bool, poll: float | None, as_json: bool, **chosen: Any) -> None:
    """Cancel a run: its jobs at the provider are stopped, what they answered is kept, nothing more is sent."""
    with office() as here:
        if not here.is_named(chosen):
            raise RunnerError("Say which run: RUN=<its name>, or MODEL=… and TASK=… (`make status` lists them).")
        name = here.pick(chosen)
        standings = here.cancel(name)
        if wait:
            standings = here.wait([name.name], poll)
        show_standings(here, standings, as_json)
        problems(standings)


@click.command()
@options.as_json
def clean(as_json: bool) -> None:
    """Remove what can be made again: converted corpora, and runs that never bought anything."""
    from runner.chain.clean import clean as sweep

    with office() as here:
        removed = sweep(here.workspace, here.ledger, say)
        if as_json:
            print_json({"removed": removed})
            return
        for folder in removed:
            say(f"Removed {folder}")
        say("What is left was bought, or made from it: answers, raw files, scores and the ledger.")


def _show_estimate(shown: Estimate, as_json: bool) -> None:
    if as_json:
        print_json(asdict(shown))
    else:
        show(estimate_table(shown))


def show_standings(here: Office, standings: list[Any], as_json: bool, notes: Sequence[str] = ()) -> None:
    """Where runs stand, and their batches."""
    from runner.chain.views import job_views
    from runner.reporting.jobs import status_table

    jobs = job_views(standings, here.ledger)
    if as_json:
        print_json(
            {
                "runs": [
                    {
                        "run": each.run.name,
                        "total": each.total,
                        "final": each.final,
                        "in_flight": each.in_flight,
                        "in_flight_in": each.elsewhere,
                        "not_sent": each.not_sent,
                        "complete": each.is_complete,
                        "next": each.next,
                        **asdict(here.ledger.spent(run=each.run.name)),
                    }
                    for each in standings
                ],
                "batches": [asdict(job) for job in jobs],
                "notes": list(notes),
            }
        )
        return
    show(standing_table(standings, here.ledger, notes))
    if jobs:
        show(status_table(jobs))
