"""What commands say, show and ask, in the words of whoever called."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click
import orjson

from runner.cli.wording import worded, worded_all, worded_table
from runner.errors import RunnerError
from runner.reporting.table import Table, print_table


def say(sentence: str) -> None:
    """A line about the work goes to stderr, so that tables and JSON can be piped."""
    click.echo(worded(sentence), err=True)


def show(*tables: Table) -> None:
    """Print tables on stdout."""
    for table in tables:
        print_table(worded_table(table), sys.stdout)
        click.echo()


def print_json(value: object, *, verbatim: bool = False) -> None:
    """Print a value on stdout, for programs; ``verbatim`` where its texts are not ours."""
    said = value if verbatim else worded_all(value)
    click.echo(orjson.dumps(said, option=orjson.OPT_INDENT_2, default=str).decode())


def asker(yes: bool) -> Callable[[str], bool]:
    """How a question is put: YES=1 says yes; where nobody is there to answer, RunnerError."""

    def ask(question: str) -> bool:
        if yes:
            return True
        if not sys.stdin.isatty():
            raise RunnerError(f"{question} Nobody is there to answer: YES=1 says yes.")
        return click.confirm(worded(question), err=True)

    return ask
