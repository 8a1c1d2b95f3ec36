"""Commands for what cannot be brought to an end in any other way; each asks first."""

from __future__ import annotations

import click

from runner.cli import options
from runner.cli.office import asker, office, say


@click.command("give-up")
@click.option("--job", required=True, metavar="JOB", help="The job, by its name in the ledger or at the provider.")
@options.yes
def give_up(job: str, yes: bool) -> None:
    """Give a stuck JOB up: its bound counts as spent, and its requests may be bought again. Refused while it runs."""
    from runner.chain.settle import find_job
    from runner.chain.settle import give_up as let_go
    from runner.venues import provider_of

    with office() as here:
        venue = find_job(here.ledger, job).venue
        provider = here.connect(provider_of(venue), venue)
        let_go(here.workspace, here.ledger, provider, job, asker(yes), here.now, say)
