"""The command line: parse, call the chain, print. No logic of its own."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from contextlib import suppress
from pathlib import Path

import click

from runner.cli.commands import build, cancel, clean, collect, estimate, run, status, submit
from runner.cli.compare import compare
from runner.cli.demo import demo
from runner.cli.office import STOPPED
from runner.cli.plan import plan
from runner.cli.prices import prices
from runner.cli.rehearse import rehearse
from runner.cli.results import report, score, verify
from runner.cli.settle import accept, forget, give_up
from runner.cli.show import show
from runner.cli.tools import data, emulator
from runner.cli.venues import models, orphans
from runner.cli.wording import calls_make, refusal, worded
from runner.emulator import NotStarted
from runner.errors import RunnerError

DISK_FULL = ("No space left", "File too large", "Disk quota exceeded", "disk is full")


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="persona-runner")
def cli() -> None:
    """Evaluate language models on personalization benchmarks through the providers' batch APIs.

    build, estimate, submit, collect, score, report: every command decides what is already done, and the same
    command again goes on where it stopped.
    """


for command in (
    build,
    show,
    estimate,
    plan,
    rehearse,
    submit,
    collect,
    run,
    score,
    report,
    compare,
    verify,
    status,
    cancel,
    accept,
    give_up,
    forget,
    orphans,
    models,
    prices,
    clean,
    data,
    demo,
    emulator,
):
    cli.add_command(command)


def main() -> None:
    """Run a command. An error that a user can mend is one sentence and an exit code, never a traceback."""
    try:
        cli.main(standalone_mode=False)
    except RunnerError as error:
        _stop(error.sentence, error.exit_code)
    except click.ClickException as error:
        if calls_make():
            _stop(refusal(error), 2)
        error.show()
        sys.exit(2)
    except (KeyboardInterrupt, click.Abort):
        _stop(STOPPED, 130)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except NotStarted as error:
        _stop(f"{error} Nothing that was bought is lost; run it again.", 1)
    except sqlite3.Error as error:
        _stop(f"The ledger could not be read or written ({error}). Nothing that was bought is lost; run it again.", 1)
    except OSError as error:
        where = f" ({error.filename})" if error.filename else ""
        _stop(f"The system said: {error.strerror or error}{where}. Nothing that was bought is lost; run it again.", 1)
    except Exception as error:
        if any(words in str(error) for words in DISK_FULL):  # libraries have errors of their own for it
            _stop("The disk is full. Nothing that was bought is lost; make room and run it again.", 1)
        path = Path("batches") / "last-error.txt"
        with suppress(OSError):
            path.parent.mkdir(exist_ok=True)
            path.write_text(traceback.format_exc())
        _stop(f"This is a fault of persona-runner ({type(error).__name__}); what happened is in {path}.", 1)


def _stop(sentence: str, code: int) -> None:
    click.echo(worded(sentence), err=True)
    sys.exit(code)
