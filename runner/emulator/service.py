"""The parts of a running service, put together once and handed to the protocols."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from runner.emulator.admission import Admission
from runner.emulator.faults import Faults
from runner.emulator.files import FileStore
from runner.emulator.jobs import Jobs
from runner.emulator.life import Life
from runner.emulator.store import Clock, Store
from runner.emulator.wire import Wire


@dataclass(frozen=True)
class Service:
    """Everything that lives in one state folder."""

    store: Store
    clock: Clock
    faults: Faults
    files: FileStore
    jobs: Jobs
    admission: Admission
    life: Life


def open_service(folder: Path, wires: Mapping[str, Wire]) -> Service:
    """The service whose state lies in ``folder`` (made if absent); ``wires`` by provider."""
    store = Store(folder)
    clock, faults, files = Clock(store), Faults(store), FileStore(store)
    jobs = Jobs(store, clock, faults)
    admission = Admission(store, clock, faults, files, jobs, wires)
    life = Life(store, clock, faults, files, jobs, admission, wires)
    return Service(store, clock, faults, files, jobs, admission, life)
