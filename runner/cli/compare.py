"""The leaderboard over runs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import click

from runner.cli import options
from runner.cli.printing import say, show


@click.command()
@click.argument("runs", nargs=-1, metavar="[RUN]...")
@click.option("--task", help="Only runs of this task.")
@click.option("--protocol", type=click.Choice(["strict", "paper"]), help="Only runs of this protocol.")
@click.option("--published", is_flag=True, help="Set the published numbers beside runs of the paper protocol.")
@click.option(
    "--to",
    "targets",
    multiple=True,
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write it too: .md, .csv, .tex, .json, .parquet or .html, by the suffix. May be given several times.",
)
@click.option(
    "--width",
    type=click.Choice(["column", "page"]),
    default="page",
    show_default=True,
    help="How wide the tables of a .tex file are: one column of a paper (table) or its page (table*).",
)
@options.as_json
def compare(
    runs: tuple[str, ...],
    task: str | None,
    protocol: str | None,
    published: bool,
    targets: tuple[Path, ...],
    width: Literal["column", "page"],
    as_json: bool,
) -> None:
    """The leaderboard: scored RUNs beside each other (all of results/), with the tests of each two models."""
    from runner.chain.compare import check_target, write_comparison
    from runner.chain.compare import compare as put_beside
    from runner.chain.runs import Workspace
    from runner.reporting.exports import exported
    from runner.reporting.leaderboard import brief_tables

    for path in targets:
        check_target(path)
    found = put_beside(Workspace(Path.cwd()), runs, task=task, protocol=protocol, published=published)
    if as_json:
        click.echo(exported(found, Path("table.json")).decode())
    else:
        show(*brief_tables(found))
    for remark in found.remarks:
        say(remark)
    for path in targets:
        write_comparison(found, path, width)
        say(f"Wrote {path}")
