"""The Makefile as a user meets it, without anything being done: ``make -n``."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]


def make(*words: str, **env: str) -> subprocess.CompletedProcess[str]:
    """``make`` in this checkout, which only prints what it would do."""
    clean = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    command = ["make", "-n", "--no-print-directory", *words]
    return subprocess.run(command, cwd=ROOT, env={**clean, **env}, capture_output=True, text=True)


@cache
def targets() -> tuple[str, ...]:
    """Those that call our command line."""
    text = (ROOT / "Makefile").read_text()
    return tuple(re.findall(r"^([a-z-]+):.*##.*\n\t@\$\(RUNNER\)", text, re.M))


@cache
def taken(target: str) -> tuple[str, ...]:
    """The variables that a target takes, as it says itself when it is given another."""
    refused = make(target, "NOBODY=1")
    assert refused.returncode == 2
    said = refused.stderr.partition("; it takes ")[2].partition(".  Stop")[0]
    return () if "no variables" in said else tuple(said.split())


def called(target: str, *given: str) -> list[str]:
    """The words behind ``persona-runner`` of what a target calls."""
    done = make(target, *given)
    assert done.returncode == 0, done.stderr
    (line,) = re.findall(r"/persona-runner (.*)$", done.stdout.replace("\\\n", " "), re.M)
    return shlex.split(line)
