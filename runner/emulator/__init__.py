"""A local batch service with the providers' protocols, limits and bills. It imports nothing of ours."""

from __future__ import annotations

import atexit
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import TracebackType

START_TIMEOUT_S = 20.0


class NotStarted(RuntimeError):
    """The server did not come up; the message is one sentence that says why."""


@dataclass(frozen=True)
class Running:
    """A server process of ours. Each provider is at ``base_url + "/<provider>"``, OpenAI at ``/openai/v1``."""

    base_url: str
    process: subprocess.Popen[bytes]

    def stop(self) -> None:
        """End the process (its state is safe at any moment)."""
        if self.process.stdin:
            self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        atexit.unregister(self.stop)

    def __enter__(self) -> Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start(
    state: Path,
    *,
    clock: str | None = None,
    seed: int | None = None,
    faults: Sequence[str] = (),
    tier: int | None = None,
    plain: bool = False,
    at: date | None = None,
) -> Running:
    """Serve a state folder in a process of its own, which dies with this one.

    ``faults`` are ``NAME`` or ``NAME:RATE`` and stay in the state folder, as all that is set here; what is not
    given stays as it was. The clock of a new folder begins ``at`` the first second of that day (UTC), today if
    None; that of an old one goes on from where it is. Raises NotStarted with the server's own words.
    """
    import urllib.request

    state = Path(state)
    state.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "runner.emulator", "--state", str(state), "--exit-with-stdin"]
    command += [f"--fault={fault}" for fault in faults]
    command += ["--clock", clock] if clock else []
    command += ["--seed", str(seed)] if seed is not None else []
    command += ["--tier", str(tier)] if tier else []
    command += ["--plain"] if plain else []
    command += ["--at", at.isoformat()] if at else []
    package = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, (package, os.environ.get("PYTHONPATH"))))
    log = state / "server.log"
    with log.open("ab") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C is for the caller; the server ends with its standard input
        )
    assert process.stdout
    first = process.stdout.readline().decode().strip()  # its address, or why it has none
    running = Running(first, process)
    atexit.register(running.stop)
    try:
        urllib.request.build_opener(urllib.request.ProxyHandler({})).open(
            f"{first}/control/clock", timeout=START_TIMEOUT_S
        ).close()
    except (OSError, ValueError) as error:
        running.stop()
        words = log.read_text(errors="replace").strip().splitlines()[-1:]
        why = first if first and not first.startswith("http") else " ".join(words) or str(error)
        raise NotStarted(f"The emulator did not start: {why}.") from error
    return running
