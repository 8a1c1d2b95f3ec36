"""Commands for what cannot be brought to an end in any other way; each asks first."""

from __future__ import annotations

import click

from runner.cli import options
from runner.cli.commands import show_standings
from runner.cli.office import office, problems
from runner.cli.printing import asker, print_json, say


@click.command()
@click.option("--job", required=True, metavar="JOB", help="The job, by its name in the ledger or at the provider.")
@options.yes
@options.as_json
def accept(job: str, yes: bool, as_json: bool) -> None:
    """Give up the answers of JOB, which counts them and gives none; what they asked is bought again once."""
    from runner.chain.settle import accept as take_as_lost

    with office() as here:
        run = take_as_lost(here.workspace, here.ledger, job, asker(yes), here.now, say)
        if run is None:
            return
        standings = here.advance([run.name])
        show_standings(here, standings, as_json)
        problems(standings)


@click.command("give-up")
@click.option("--job", required=True, metavar="JOB", help="The job, by its name in the ledger or at the provider.")
@options.yes
@options.as_json
def give_up(job: str, yes: bool, as_json: bool) -> None:
    """Give a stuck JOB up: its bound counts as spent, and its requests may be bought again. Refused while it runs."""
    from runner.chain.settle import find_job
    from runner.chain.settle import give_up as let_go
    from runner.venues import provider_of

    with office() as here:
        venue = find_job(here.ledger, job).venue
        provider = here.connect(provider_of(venue), venue)
        done = let_go(here.workspace, here.ledger, provider, job, asker(yes), here.now, say)
        if as_json:
            print_json({"job": job, "given_up": done})


@click.command()
@click.option("--run", "run_name", metavar="NAME", required=True, help="A run by its name, also one that was deleted.")
@options.yes
@options.as_json
def forget(run_name: str, yes: bool, as_json: bool) -> None:
    """Delete a RUN that is over, or what is left of one; answers that other runs use stay. Its money stays spent."""
    from runner.chain.settle import forget as let_go

    with office() as here:
        done = let_go(here.workspace, here.ledger, run_name, asker(yes), here.now, say)
        if as_json:
            print_json({"run": run_name, "forgotten": done})
