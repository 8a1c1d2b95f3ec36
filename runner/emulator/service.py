"""The parts of a running service, put together once and handed to the protocols."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from runner.emulator.faults import Faults
from runner.emulator.files import FileStore
from runner.emulator.jobs import Jobs
from runner.emulator.life import Life
from runner.emulator.protocols.openai_lines import OpenAILines
from runner.emulator.store import Clock, Store


@dataclass(frozen=True)
class Service:
    """Everything that lives in one state folder."""

    store: Store
    clock: Clock
    faults: Faults
    files: FileStore
    jobs: Jobs
    life: Life


def open_service(folder: Path) -> Service:
    """The service whose state lies in ``folder`` (made if absent)."""
    store = Store(folder)
    clock, faults, files = Clock(store), Faults(store), FileStore(store)
    jobs = Jobs(store, clock, faults)
    life = Life(store, clock, faults, files, jobs, {"openai": OpenAILines()})
    return Service(store, clock, faults, files, jobs, life)
