"""The emulator in a thread of the tests' process: still HTTP, without the second that a process of its own takes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from pathlib import Path

import uvicorn

from runner.emulator.faults import parse
from runner.emulator.registry import HOSTS
from runner.emulator.server import KEEP_ALIVE_S, application
from runner.emulator.service import Service, open_service


@dataclass(frozen=True)
class Serving:
    """A server, as ``runner.emulator.Running`` is one."""

    base_url: str
    server: uvicorn.Server
    thread: threading.Thread

    def stop(self) -> None:
        """End it; connections that clients hold are cut."""
        self.server.should_exit = self.server.force_exit = True
        self.thread.join()


def start(
    state: Path,
    *,
    clock: str | None = None,
    seed: int | None = None,
    faults: Sequence[str] = (),
    tier: int | None = None,
    plain: bool = False,
    at: date | None = None,
) -> Serving:
    """Serve a state folder: arguments as those of ``runner.emulator.start``."""
    service = open_service(state, {name: host.dialect.wire for name, host in HOSTS.items()})
    if at:
        service.clock.begin(datetime.combine(at, time.min, UTC).timestamp())
    _set(service, seed=seed, tier=tier, plain=plain or None)
    if clock:
        service.clock.set_mode(clock)
    service.faults.put(dict(map(parse, faults)))
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.bind(("127.0.0.1", 0))
    listener.listen(128)
    server = uvicorn.Server(
        uvicorn.Config(
            application(service),
            log_level="warning",
            date_header=False,
            server_header=False,
            lifespan="off",
            timeout_keep_alive=KEEP_ALIVE_S,
        )
    )
    thread = threading.Thread(target=server.run, args=([listener],), daemon=True)
    thread.start()
    return Serving(f"http://127.0.0.1:{listener.getsockname()[1]}", server, thread)


def _set(service: Service, **settings: object) -> None:
    for key, value in settings.items():
        if value is not None:
            service.store.set_setting(key, value)
