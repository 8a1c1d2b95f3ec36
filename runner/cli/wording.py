"""Whose words a sentence is in: make's (`make submit`, BUDGET=5) where make called, else the command line's.

Every sentence is written in make's words, wherever it is made. Called directly, what is said goes through ``worded``:
a command in backticks, a variable with its value, and a variable in backticks become what one types there. What click
says of an option is in the command line's words and goes the other way, through ``refusal``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import cache
from typing import Any

import click

from runner.reporting.table import Table

FROM_MAKE = "PERSONA_RUNNER_FROM_MAKE"
"""What the Makefile sets."""
TARGETS = {"data": "data fetch", "table": "compare"}
"""Targets that are not named as their command."""

_VALUE = r"(?:'[^']*'|\"[^\"]*\"|<[^>]*>|[^\s`'\"<>,;:()]*[^\s`'\"<>,;:().])+"
_ASSIGNED = re.compile(rf"(?<![\w?&/$-])([A-Z][A-Z_]*)=({_VALUE})?")
_COMMAND = re.compile(rf"(`?)\bmake ([a-z][a-z-]*)\b((?: [A-Z][A-Z_]*={_VALUE})*)")
_NAMED = re.compile(r"`([A-Z][A-Z_]*)`")


def calls_make() -> bool:
    """Whether this command was called through make."""
    return FROM_MAKE in os.environ


def worded(sentence: str) -> str:
    """A sentence of ours in the words of whoever reads it."""
    return sentence if calls_make() else _direct(sentence)


def worded_all(value: Any) -> Any:
    """The same for every text in what becomes JSON."""
    if isinstance(value, str):
        return worded(str(value))
    if isinstance(value, Mapping):
        return {key: worded_all(each) for key, each in value.items()}
    return [worded_all(each) for each in value] if isinstance(value, list | tuple) else value


def refusal(error: click.ClickException) -> str:
    """What click says of wrong use, in make's words."""
    return re.sub(r"'?--([a-z][a-z-]*)'?", lambda found: variable_of(found[1]), error.format_message())


def worded_table(table: Table) -> Table:
    """The same for a table."""
    return replace(
        table,
        title=worded(table.title),
        columns=tuple(map(worded, table.columns)),
        rows=tuple(tuple(map(worded, row)) for row in table.rows),
        notes=tuple(map(worded, table.notes)),
        caution=table.caution and worded(table.caution),
    )


def variable_of(option: str) -> str:
    """``--half-width`` as make has it: ``HALF_WIDTH``."""
    return option.removeprefix("--").upper().replace("-", "_")


def _direct(sentence: str) -> str:
    sentence = _COMMAND.sub(_command, sentence)
    sentence = _ASSIGNED.sub(lambda found: _option(found[1], found[2]) or found[0], sentence)
    return _NAMED.sub(lambda found: f"`--{_dashed(found[1])}`" if found[1] in _flags() else found[0], sentence)


def _command(found: re.Match[str]) -> str:
    tick, target, assigned = found.groups()
    name = TARGETS.get(target, target)
    command = _commands().get(name.split()[0])
    if command is None or not (tick or assigned):
        return found[0]
    arguments = (each for each in command.params if isinstance(each, click.Argument))
    places = {variable_of(each.name or "").removesuffix("S") for each in arguments}
    said = [
        str(value) if variable in places else _option(variable, value) or f"{variable}={value}"
        for variable, value in _ASSIGNED.findall(assigned)
    ]
    return " ".join([f"{tick}persona-runner", name, *said])


def _option(variable: str, value: str | None) -> str | None:
    """How the command line says it; None where it has no such option."""
    is_flag = _flags().get(variable)
    if is_flag is None:
        return None
    return f"--{_dashed(variable)}" if is_flag or not value else f"--{_dashed(variable)} {value}"


def _dashed(variable: str) -> str:
    return variable.lower().replace("_", "-")


@cache
def _flags() -> dict[str, bool]:
    """The variables that are options of some command, and whether they are flags."""
    options = [each for command in _leaves(_commands()) for each in command.params if isinstance(each, click.Option)]
    return {variable_of(name): each.is_flag for each in options for name in each.opts if name.startswith("--")}


def _leaves(commands: Mapping[str, click.Command]) -> Iterator[click.Command]:
    for command in commands.values():
        if isinstance(command, click.Group):
            yield from _leaves(command.commands)
        else:
            yield command


def _commands() -> Mapping[str, click.Command]:
    from runner.cli import cli  # which imports the commands, and they what they say

    return cli.commands
