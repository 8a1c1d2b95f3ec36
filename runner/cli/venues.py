"""Commands about the providers themselves: what they offer, and what lies there unknown."""

from __future__ import annotations

from dataclasses import asdict

import click

from runner import providers
from runner.cli import options
from runner.cli.office import Office, office
from runner.cli.printing import print_json, say, show
from runner.errors import RunnerError
from runner.providers.base import Gone, Provider, Unreachable
from runner.venues import is_rehearsal, provider_of, rehearsal


@click.command()
@click.argument("provider", required=False)
@options.as_json
def models(provider: str | None, as_json: bool) -> None:
    """The models that are known (of PROVIDER): windows, prices, what they refuse, when they retire."""
    from runner.chain.catalogue import models_table
    from runner.models import all_models

    if provider and provider not in providers.names():
        raise RunnerError(f"There is no provider {provider!r}: the known ones are {', '.join(providers.names())}.")
    with office(reads=True) as here:
        if as_json:
            print_json([asdict(model) for model in all_models() if provider in (None, model.provider)])
        else:
            show(models_table(provider, here.now))


ALL = "all"


@click.command()
@click.option("--provider", "wanted", multiple=True, help="Only at this one (default: wherever runs were sent).")
@click.option("--emulate", is_flag=True, help="At the embedded emulator.")
@click.option("--adopt", metavar="JOB", help="Take this job into the ledger (`all`: whatever was sent from here).")
@click.option("--cancel", metavar="JOB", help="Ask the provider to cancel this job.")
@click.option("--delete", metavar="FILE", help="Delete this file at the provider.")
@options.as_json
def orphans(
    wanted: tuple[str, ...], emulate: bool, adopt: str | None, cancel: str | None, delete: str | None, as_json: bool
) -> None:
    """List jobs and files at the providers that the ledger does not know; act only on what is named."""
    from runner.chain.orphans import adopt as take_up
    from runner.chain.orphans import adopt_all, find_orphans
    from runner.chain.views import orphan_table

    if sum(map(bool, (adopt, cancel, delete))) > 1:
        raise RunnerError("One thing at a time: ADOPT=…, --cancel JOB or --delete FILE.")
    with office(reads=True) as here:
        if adopt:
            here.recover()
        venues = _venues(here, wanted, emulate)
        if not venues:
            raise RunnerError("No run was sent from this folder yet: name the provider: PROVIDER=openai.")
        named = cancel or delete or (adopt if adopt != ALL else None)
        if named and len(venues) > 1:
            raise RunnerError(f"Say where {named} lies: {' or '.join(f'PROVIDER={name}' for name, _ in venues)}.")
        found: list[dict[str, object]] = []
        for provider_name, venue in venues:
            try:
                provider = here.connect(provider_name, venue)
                if adopt == ALL:
                    with here.workspace.locked(say):
                        adopt_all(here.workspace, here.ledger, provider, say)
                elif adopt:
                    with here.workspace.locked(say):
                        take_up(here.workspace, here.ledger, provider, adopt, say)
                elif cancel:
                    _cancel(provider, cancel)
                elif delete:
                    _delete(provider, delete)
                else:
                    there = find_orphans(here.workspace, here.ledger, provider)
                    found += [{"venue": venue, **asdict(orphan)} for orphan in there]
                    if not as_json:
                        show(orphan_table(venue, there))
            except Unreachable as trouble:
                raise RunnerError(f"{venue} could not be asked: {trouble}", exit_code=1) from None
        if as_json:
            done = {"adopted": adopt, "cancelled": cancel, "deleted": delete}
            print_json({"venues": [venue for _, venue in venues], "orphans": found, **done})


def _cancel(provider: Provider, job: str) -> None:
    try:
        provider.cancel(job)
    except Gone as trouble:
        raise RunnerError(f"{provider.venue} knows no such job: {trouble}") from None
    say(f"Asked {provider.venue} to cancel {job}; what it has answered may be billed.")


def _delete(provider: Provider, file: str) -> None:
    if all(kept.file_id != file for kept in provider.files()):
        raise RunnerError(f"{provider.venue} keeps no file {file!r}; `persona-runner orphans` lists those it keeps.")
    provider.discard(file)
    if any(kept.file_id == file for kept in provider.files()):
        raise RunnerError(f"{provider.venue} did not delete {file}; ask it there.", exit_code=1)
    say(f"{file} is gone from {provider.venue}.")


def _venues(here: Office, wanted: tuple[str, ...], emulate: bool) -> list[tuple[str, str]]:
    """(provider, venue) of those that are wanted, else of every run that was sent from here."""
    if wanted:
        return [(name, rehearsal(name) if emulate else providers.venue_of(name, here.env)) for name in wanted]
    found = dict.fromkeys((provider_of(job.venue), job.venue) for job in here.ledger.jobs())
    return [(provider, venue) for provider, venue in found if not emulate or is_rehearsal(venue)]
