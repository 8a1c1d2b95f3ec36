"""Options that several commands share; the Makefile's variables are the same words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def _split(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for text in value for name in text.replace(",", " ").split())


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order of the help page."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


which = together(
    click.option("--run", "run_name", metavar="NAME", help="A run by its folder name."),
    click.option("--model", help="The model, as its provider names it: gpt-4.1."),
    click.option("--task", help="3.1 score sign, 3.2 score value, 3.2-all, 3.3 next text."),
    click.option("--protocol", type=click.Choice(["strict", "paper"]), help="Rules of selection and prompting."),
    click.option("--emulate", is_flag=True, help="A rehearsal on the embedded emulator: no key, no money."),
)
asked = together(
    which,
    click.option("--data", metavar="PATH", help="The corpus: a file, or `sample` for a synthetic one."),
    click.option("--setting", "settings", multiple=True, callback=_split, help="Only these (default: all four)."),
    click.option("--limit", type=click.IntRange(1), help="At most so many instances, in sample order."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of every random choice."),
    click.option("--samples", type=click.IntRange(1), help="Answers per request."),
    click.option("--min-history", type=click.IntRange(1), help="strict: own history items an instance needs (3)."),
    click.option("--history-lag", type=click.IntRange(0), help="strict: days a history item must be older (7)."),
    click.option("--label-balance", type=click.Choice(["on", "off"]), help="strict: 30 % negatives in 3.1, 3.2 (on)."),
    click.option("--match-length", is_flag=True, help="strict: donors matched in length (a sensitivity run)."),
)
spend = together(
    click.option("--budget", type=click.FloatRange(0, min_open=True), metavar="USD", help="Never buy for more."),
    click.option("--yes", is_flag=True, help="Answer the question about money with yes."),
)
waits = together(
    click.option("--wait", is_flag=True, help="Keep polling until everything is answered."),
    click.option("--poll", type=click.FloatRange(0.05), metavar="SECONDS", help="A fixed pace (1 s growing to 60 s)."),
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
