"""Commands beside the chain: corpora, and the emulator by itself."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from runner.cli import options
from runner.cli.office import office
from runner.cli.printing import print_json, say, show


@click.group()
def data() -> None:
    """Corpora: fetch the published one, write a synthetic one, look into a file."""


@data.command()
@click.option("--revision", help="A commit or branch of the dataset.")
@options.as_json
def fetch(revision: str | None, as_json: bool) -> None:
    """Fetch the published dataset into data/ (research use only)."""
    from runner.chain.data import fetch as get

    with office(reads=True) as here:
        path = get(here.workspace, revision, say)
        if as_json:
            print_json({"path": str(path.relative_to(here.workspace.root)), "bytes": path.stat().st_size})
        say(f"The corpus is in {path.relative_to(here.workspace.root)}; commands find it there.")


@data.command()
@click.argument("path", type=click.Path(dir_okay=False, path_type=Path), default=Path("data/sample.jsonl"))
@click.option("--posts", type=click.IntRange(1), default=2000, show_default=True, help="How many.")
@click.option("--seed", type=int, default=7, show_default=True, help="Of every random choice.")
@click.option("--no-habits", is_flag=True, help="Authors without habits: nothing personal to find.")
@options.as_json
def sample(path: Path, posts: int, seed: int, no_habits: bool, as_json: bool) -> None:
    """Write a synthetic corpus to PATH (.json, .jsonl, .gz, .zst by its name)."""
    from runner.chain.data import write_sample

    write_sample(path, posts=posts, seed=seed, habits=not no_habits)
    if as_json:
        print_json({"path": str(path), "posts": posts, "bytes": path.stat().st_size})
    say(f"Wrote {posts:,} synthetic posts to {path} ({path.stat().st_size / 1e6:,.1f} MB).")


@data.command()
@click.argument("path", type=click.Path(path_type=Path))
@options.as_json
def check(path: Path, as_json: bool) -> None:
    """Say what a corpus file holds, what is unusable and why, and what each task would select."""
    from runner.chain.data import check as look
    from runner.chain.views import found_tables

    with office(reads=True) as here:
        found = look(here.workspace, path, say)
        if as_json:
            funnels = {task: asdict(selection.funnel) for task, selection in found.selections.items()}
            print_json({"found": found.facts, "strict": funnels})
            return
        show(*found_tables(str(path), found))


@click.command(context_settings={"ignore_unknown_options": True, "help_option_names": []}, add_help_option=False)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def emulator(arguments: tuple[str, ...]) -> None:
    """Serve the local batch service by itself, for clients of your own (--help lists its options)."""
    from runner.emulator.__main__ import main

    main(list(arguments))
