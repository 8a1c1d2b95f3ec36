"""``persona-runner`` in processes of their own, forked from one that has imported what commands import.

Each command has its own memory, folder, environment, signals and exit, as if it had been started; only the second or
two of importing, which are longer than most commands, are had once. What is started anew: ``Place.start``.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any

ROOT = Path(__file__).parents[1]
LATER = (
    "anthropic",
    "anyio",
    "encodings.idna",
    "genai_prices.data",
    "genai_prices.data_snapshot",
    "google.genai",
    "h11",
    "httpcore2",
    "jinja2",
    "matplotlib.backends.backend_svg",
    "matplotlib.figure",
    "openai.resources",
    "runner.benchmarks.personaconvbench",
    "runner.chain.report",
    "runner.chain.score",
    "runner.chain.verify",
    "runner.cli",
    "scipy.sparse",
    "scipy.special",
)
"""What commands import, some of it only when they come to it."""


def call(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` does it, with the output as text. Raises TimeoutExpired."""
    with NamedTemporaryFile() as stdout, NamedTemporaryFile() as stderr:
        order = {"arguments": arguments, "cwd": str(cwd), "env": dict(env), "files": [stdout.name, stderr.name]}
        code = _parent(os.getpid(), threading.get_ident()).obey(order, timeout)
        said = (Path(file.name).read_text() for file in (stdout, stderr))
        return subprocess.CompletedProcess([sys.executable, "-m", "runner", *arguments], code, *said)


class Parent:
    """Our end of the process that forks. It ends when our end of the pipe does, so with us."""

    def __init__(self) -> None:
        self.pipe, other = Pipe()
        subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(other.fileno())],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # what forks has no threads that compute
            pass_fds=[other.fileno()],
            start_new_session=True,  # Ctrl-C is for pytest
        )
        other.close()

    def obey(self, order: Mapping[str, Any], timeout: float) -> int:
        """Have a command done, and tell how it ended."""
        try:
            self.pipe.send(order)
            pid: int = self.pipe.recv()
        except (EOFError, OSError) as end:
            raise RuntimeError("the process that forks is gone; why stands on stderr") from end
        is_hanging = not self.pipe.poll(timeout)
        if is_hanging:
            os.kill(pid, signal.SIGKILL)
        code: int = self.pipe.recv()
        if is_hanging:
            raise subprocess.TimeoutExpired([sys.executable, "-m", "runner", *order["arguments"]], timeout)
        return code


@cache
def _parent(process: int, thread: int) -> Parent:
    """One for each process and thread of the tests."""
    return Parent()


def main() -> None:
    """Import, then fork for each order from the pipe; tells the child's pid, and its exit code when it has ended."""
    from runner import models, tokens
    from runner.__main__ import main as begin

    for name in LATER:
        import_module(name)
    tokens.counter(models.find_model("gpt-4.1"))  # the vocabulary
    gc.freeze()  # or each child would look through all of it when it ends
    pipe: Connection[Any, Any] = Connection(int(sys.argv[1]))
    while order := _next(pipe):
        if not (pid := os.fork()):
            pipe.close()
            _become(order)
            return begin()
        pipe.send(pid)
        pipe.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return None


def _next(pipe: Connection[Any, Any]) -> dict[str, Any] | None:
    try:
        order: dict[str, Any] = pipe.recv()
    except EOFError:
        return None
    return order


def _become(order: dict[str, Any]) -> None:
    """A new command: its words, its folder, its environment, its files."""
    sys.argv = ["persona-runner", *order["arguments"]]
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, name in enumerate([os.devnull, *order["files"]]):
        file = os.open(name, os.O_RDWR)
        os.dup2(file, number)
        os.close(file)


if __name__ == "__main__":
    main()
