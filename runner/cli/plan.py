"""What should I buy?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import click

from runner.cli import options
from runner.cli.office import office
from runner.cli.printing import print_json, say, show
from runner.errors import RunnerError


@click.command()
@options.candidates
@click.option("--budget", type=options.Amount(), metavar="USD", help="What does this buy?")
@click.option("--half-width", type=options.Amount(), metavar="WIDTH", help="What does so narrow an interval need?")
@options.as_json
def plan(models: tuple[str, ...], budget: float | None, half_width: float | None, as_json: bool, **chosen: Any) -> None:
    """What should I buy? Cost and expected intervals by sample size, for each MODEL; buys nothing, asks nobody."""
    from runner.chain.plan import Goal
    from runner.chain.plan import plan as make
    from runner.reporting.plan_view import plan_tables

    if budget is not None and half_width is not None:
        raise RunnerError("Either `BUDGET` or `HALF_WIDTH`: each of them says what the other will be.")
    with office(reads=True) as here:
        free = {**chosen, "limit": None, "fresh": 0}
        wanted = [here.wanted({**free, "model": model}) for model in dict.fromkeys(models or ("",))]
        found = make(here.workspace, here.ledger, wanted, Goal(budget, half_width), here.now, say)
        if as_json:
            print_json(asdict(found))
        else:
            show(*plan_tables(found))
