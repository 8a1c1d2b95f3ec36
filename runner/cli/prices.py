"""What tokens cost."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime

import click

from runner.cli import options
from runner.cli.printing import print_json, show
from runner.errors import RunnerError


@click.command()
@click.argument("models", nargs=-1, metavar="MODEL...")
@options.as_json
def prices(models: tuple[str, ...], as_json: bool) -> None:
    """What a million tokens of each MODEL cost in a batch (and without), from which source, and when that changes."""
    from runner.chain.price_list import price_sheet
    from runner.reporting.price_view import price_table

    if not models:
        raise RunnerError(
            "Say of which models: persona-runner prices gpt-4.1 claude-sonnet-5 (`make models` lists them)."
        )
    now = datetime.now(UTC)
    sheets = [price_sheet(name, now) for name in models]
    if as_json:
        print_json([asdict(sheet) for sheet in sheets])
    else:
        show(*map(price_table, sheets))
