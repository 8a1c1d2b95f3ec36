"""Options that several commands share; the Makefile's variables are the same words."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import date, timedelta
from math import isfinite
from typing import Any

import click


class Duration(click.ParamType[timedelta]):
    """``20h``, ``90m``, ``2d``."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> timedelta:
        """The time; a sentence where it is none."""
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([mhd])", str(value).strip().lower())
        if isinstance(value, timedelta):
            return value
        if found is None or float(found[1]) == 0:
            self.fail(f"{value!r} is no time: write 90m, 20h or 2d", param, ctx)
        return float(found[1]) * {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}[found[2]]


class Amount(click.FloatRange):
    """A positive number, and a finite one: nothing is below ``nan``."""

    def __init__(self) -> None:
        super().__init__(min=0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The number; a sentence where it is none."""
        number = float(super().convert(value, param, ctx))
        if not isfinite(number):
            self.fail(f"{value!r} is no amount", param, ctx)
        return number


Command = Callable[..., Any]
Decorator = Callable[[Command], Command]


def _split(context: click.Context, parameter: click.Parameter, value: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for text in value for name in text.replace(",", " ").split())


def _day(context: click.Context, parameter: click.Parameter, value: str | None) -> date | None:
    try:
        return date.fromisoformat(value) if value else None
    except ValueError:
        raise click.BadParameter(f"{value!r} is no day: write 2025-06-01", context, parameter) from None


def together(*decorators: Decorator) -> Decorator:
    """Several options as one decorator, in the order of the help page."""

    def decorate(command: Command) -> Command:
        for decorator in reversed(decorators):
            command = decorator(command)
        return command

    return decorate


_task = click.option("--task", help="3.1 score sign, 3.2 score value, 3.2-all, 3.3 next text.")
_where = together(
    click.option("--protocol", type=click.Choice(["strict", "paper"]), help="Rules of selection and prompting."),
    click.option("--emulate", is_flag=True, help="A rehearsal on the embedded emulator: no key, no money."),
    click.option("--as-of", metavar="DAY", callback=_day, help="With --emulate: the catalogue of that day."),
)
_question = together(
    click.option("--data", metavar="PATH", help="The corpus: a file, or `sample` for a synthetic one."),
    click.option("--setting", "settings", multiple=True, callback=_split, help="Only these (default: all four)."),
    click.option("--seed", type=int, default=0, show_default=True, help="Of every random choice."),
    click.option("--effort", help="How much a thinking model is to think: low, medium, high, … (its default)."),
    click.option("--no-temperature", is_flag=True, help="Send no sampling parameters."),
    click.option("--samples", type=click.IntRange(1), help="Answers per request."),
    click.option("--looks", type=click.IntRange(1), help="How often this growing sample will be scored."),
    click.option("--min-history", type=click.IntRange(1), help="strict: own history items an instance needs (3)."),
    click.option("--history-lag", type=click.IntRange(0), help="strict: days a history item must be older (7)."),
    click.option("--label-balance", type=click.Choice(["on", "off"]), help="strict: 30 % negatives in 3.1, 3.2 (on)."),
    click.option("--match-length", is_flag=True, help="strict: donors matched in length (a sensitivity run)."),
)
which = together(
    click.option("--run", "run_name", metavar="NAME", help="A run by its folder name."),
    click.option("--model", help="The model, as its provider names it: gpt-4.1."),
    _task,
    _where,
)
asked = together(
    which,
    _question,
    click.option("--limit", type=click.IntRange(1), help="At most so many instances, in sample order."),
    click.option(
        "--fresh", type=click.IntRange(0, 1_000), default=0, metavar="N", help="Ask all anew, for the N-th time."
    ),
)
candidates = together(
    click.option("--model", "models", multiple=True, callback=_split, help="A candidate; may be given several times."),
    _task,
    _where,
    _question,
)
yes = click.option("--yes", is_flag=True, help="Answer the question about money with yes.")
spend = together(
    click.option("--budget", type=Amount(), metavar="USD", help="Never buy for more."),
    click.option("--pilot", type=click.IntRange(1), metavar="N", help="Buy only the first N instances for now."),
    yes,
)
waits = together(
    click.option("--wait", is_flag=True, help="Keep polling until everything is answered."),
    click.option("--poll", type=click.FloatRange(0.05), metavar="SECONDS", help="A fixed pace (1 s growing to 60 s)."),
)
looks = together(
    click.option("--tier", metavar="TIER", help="The account's usage tier at the provider (its queue limits)."),
    click.option("--deadline", type=Duration(), help="Cancel jobs older than this (20h), keep what they answered."),
    click.option("--keep-files", is_flag=True, help="Leave uploaded input files at the provider."),
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON instead of tables.")
