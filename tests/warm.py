"""``persona-runner`` in processes of their own, forked from one that has imported what commands import.

Each command has its own memory, folder, environment, signals and exit, as if it had been started, and so has the
emulator that it starts; only the second or two of importing, which are longer than most commands, are had once. What
is started anew: ``Place.start``.
"""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from multiprocessing import Pipe
from multiprocessing.connection import Connection, wait
from pathlib import Path
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
    "runner.emulator.registry",
    "runner.emulator.server",
    "runner.emulator.service",
    "scipy.sparse",
    "scipy.special",
)
"""What commands import, some of it only when they come to it."""


def start(arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Command:
    """Begin a command and do not wait for it; one at a time in each thread."""
    return _parent(os.getpid(), threading.get_ident()).begin(arguments, cwd, env)


def call(
    arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], timeout: float
) -> subprocess.CompletedProcess[str]:
    """As ``subprocess.run`` does it, with the output as text. Raises TimeoutExpired."""
    command = start(arguments, cwd=cwd, env=env)
    try:
        said = command.communicate(timeout)
    except subprocess.TimeoutExpired:
        command.kill()
        command.communicate()
        raise
    return subprocess.CompletedProcess(command.args, command.wait(), *said)


class Command:
    """A command that was forked: what tests need of a ``subprocess.Popen``."""

    def __init__(self, told: Connection[Any, Any], arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> None:
        self.args = [sys.executable, "-m", "runner", *arguments]
        self.returncode: int | None = None
        self._told = told
        # Pipes, not files: a command whose disk is full must be able to say so.
        pipes = [os.pipe() for _ in ("stdout", "stderr")]
        self._said = {end: b"" for end, _ in pipes}
        self._open = set(self._said)
        files = [f"/proc/{os.getpid()}/fd/{into}" for _, into in pipes]
        try:
            told.send({"arguments": arguments, "cwd": str(cwd), "env": dict(env), "files": files})
            self.pid: int = told.recv()
        except (EOFError, OSError) as trouble:
            raise RuntimeError("the process that forks is gone; why stands on stderr") from trouble
        for end, into in pipes:
            os.close(into)
            os.set_blocking(end, False)

    def poll(self) -> int | None:
        """The exit code, None while it runs."""
        if self.returncode is None and self._told.poll():
            self.returncode = self._told.recv()
        return self.returncode

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """All that it has said, when it has ended. Raises TimeoutExpired."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while self.poll() is None:
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            if not (ready := wait([self._told, *self._open], left)):
                raise subprocess.TimeoutExpired(self.args, timeout or 0.0)
            self._read([end for end in ready if isinstance(end, int)])
        self._read([*self._open])
        stdout, stderr = (said.decode() for said in self._said.values())
        return stdout, stderr

    def _read(self, ends: Sequence[int]) -> None:
        for end in ends:
            is_over = self.returncode is not None
            with suppress(BlockingIOError):
                while part := os.read(end, 1 << 16):
                    self._said[end] += part
                is_over = True
            if is_over:
                os.close(end)
                self._open.discard(end)

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)

    def wait(self) -> int:
        """The exit code, when it has ended."""
        self.communicate()
        assert self.returncode is not None
        return self.returncode


class Parent:
    """Our end of the process that forks. It ends when our end of the pipe does, so with us."""

    def __init__(self) -> None:
        self.pipe, other = Pipe()
        self._latest: Command | None = None
        subprocess.Popen(
            [sys.executable, "-m", "tests.warm", str(other.fileno())],
            cwd=ROOT,
            env={**os.environ, "OMP_NUM_THREADS": "1"},  # what forks has no threads that compute
            pass_fds=[other.fileno()],
            start_new_session=True,  # Ctrl-C is for pytest
        )
        other.close()

    def begin(self, arguments: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Command:
        """Have a command begun, when the one before has ended."""
        assert self._latest is None or self._latest.poll() is not None, "one at a time"
        self._latest = Command(self.pipe, arguments, cwd, env)
        return self._latest


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
        files = [os.open(os.devnull, os.O_RDONLY), *(os.open(name, os.O_WRONLY) for name in order["files"])]
        if not (pid := os.fork()):
            pipe.close()
            _become(order, files)
            return begin()
        for file in files:
            os.close(file)
        pipe.send(pid)
        pipe.send(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
    return None


def _next(pipe: Connection[Any, Any]) -> dict[str, Any] | None:
    try:
        order: dict[str, Any] = pipe.recv()
    except EOFError:
        return None
    return order


def _become(order: dict[str, Any], files: Sequence[int]) -> None:
    """A new command: its words, its folder, its environment, its files, its answer to Ctrl-C."""
    sys.argv = ["persona-runner", *order["arguments"]]
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["env"])
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in a shell's background
    subprocess.Popen = _Forking  # type: ignore[misc]


class _Forking(subprocess.Popen[bytes]):
    """What a forked command starts: the emulator goes on in a fork of it, all else as ever."""

    def __init__(self, command: Sequence[str], **options: Any) -> None:
        if [*command[1:3]] == ["-m", "runner.emulator"]:
            options["preexec_fn"] = lambda: _serve(command[3:], options["env"])
        super().__init__(command, **options)


def _serve(arguments: Sequence[str], env: Mapping[str, str]) -> None:
    """Be the emulator, in the child that would have been replaced by it."""
    from runner.emulator.__main__ import main as serve

    os.closerange(3, 1 << 12)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_IGN)  # as Python begins
    os.environ.clear()
    os.environ.update(env)
    sys.stdout, sys.stderr = (open(number, "w", buffering=1, closefd=False) for number in (1, 2))  # noqa: SIM115
    code = 1
    try:
        serve(arguments)
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
