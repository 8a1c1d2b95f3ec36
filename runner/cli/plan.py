"""What should I buy?"""

from __future__ import annotations

from dataclasses import asdict
from datetime import date

import click

from runner.cli import options
from runner.cli.office import office, print_json, say, show
from runner.errors import RunnerError


@click.command()
@click.option("--model", "models", multiple=True, required=True, help="A candidate; may be given several times.")
@click.option("--task", required=True, help="3.1 score sign, 3.2 score value, 3.2-all, 3.3 next text.")
@click.option("--data", metavar="PATH", help="The corpus: a file, or `sample` for a synthetic one.")
@click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="USD", help="What does this buy?")
@click.option("--half-width", type=click.FloatRange(0, min_open=True), help="What does so narrow an interval need?")
@click.option("--looks", type=click.IntRange(1), help="How often this growing sample will be scored.")
@click.option("--setting", "settings", multiple=True, callback=options._split, help="Only these (default: all four).")
@click.option("--seed", type=int, default=0, show_default=True, help="Of every random choice.")
@click.option("--samples", type=click.IntRange(1), help="Answers per request.")
@click.option("--effort", help="How much a thinking model is to think: low, medium, high, … (its default).")
@click.option("--emulate", is_flag=True, help="Plan a rehearsal on the embedded emulator.")
@click.option("--as-of", metavar="DAY", callback=options._day, help="With --emulate: the catalogue of that day.")
@options.as_json
def plan(
    models: tuple[str, ...],
    task: str,
    data: str | None,
    budget: float | None,
    half_width: float | None,
    looks: int | None,
    settings: tuple[str, ...],
    seed: int,
    samples: int | None,
    effort: str | None,
    emulate: bool,
    as_of: date | None,
    as_json: bool,
) -> None:
    """What should I buy? Cost and expected intervals by sample size, for each MODEL; buys nothing, asks nobody."""
    from runner.chain.build import Wanted
    from runner.chain.plan import Goal
    from runner.chain.plan import plan as make
    from runner.reporting.plan_view import plan_tables

    if budget is not None and half_width is not None:
        raise RunnerError("Either --budget or --half-width: each of them says what the other will be.")
    with office() as here:
        wanted = [
            Wanted(
                task=task,
                model=model,
                source=data,
                settings=settings,
                seed=seed,
                samples=samples,
                effort=effort,
                looks=looks,
                emulate=emulate,
                as_of=as_of,
                env=here.env,
            )
            for model in dict.fromkeys(models)
        ]
        found = make(here.workspace, here.ledger, wanted, Goal(budget, half_width), here.now, say)
        if as_json:
            print_json(asdict(found))
        else:
            show(*plan_tables(found))
