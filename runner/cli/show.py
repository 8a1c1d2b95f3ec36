"""What would be asked?"""

from __future__ import annotations

import sys
from typing import Any

import click

from runner.cli import options
from runner.cli.office import office
from runner.cli.printing import print_json, say


@click.command()
@options.asked
@click.option("--n", type=click.IntRange(1), default=1, show_default=True, help="Of so many instances.")
@options.as_json
def show(n: int, as_json: bool, **chosen: Any) -> None:
    """The prompts as they would be sent, with what differs between settings marked; needs no key, buys nothing."""
    from runner.chain.runs import read_run
    from runner.chain.show import show as prompts_of
    from runner.chain.show import show_run
    from runner.reporting.prompt_view import print_prompts

    with office(reads=True) as here:
        if chosen["run_name"]:
            shown = show_run(here.workspace, read_run(here.workspace, chosen["run_name"]), chosen["settings"], n)
        else:
            shown = prompts_of(here.workspace, here.wanted(chosen), n, here.now, say)
        if as_json:
            print_json(shown.to_dict(), verbatim=True)
        else:
            print_prompts(shown, sys.stdout)
