"""A folder to work in: the real command line in real processes, and the emulator's bill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from starlette.testclient import TestClient

from runner.emulator.faults import parse
from runner.emulator.registry import HOSTS
from runner.emulator.server import application
from runner.emulator.service import Service, open_service
from tests import warm

HANGS_S = 90.0
"""No command of a test may take longer."""
KEYS = ("PERSONA_", "GEMINI_", "GOOGLE_", "AZURE_", *(f"{host.variable.partition('_')[0]}_" for host in HOSTS.values()))
"""How environment variables begin that hold keys, addresses and tiers."""


def asked(corpus: Path, task: str = "3.1", limit: int = 16) -> list[str]:
    """What most tests ask the emulator."""
    return ["--model", "gpt-5.4-mini", "--task", task, "--data", str(corpus), "--limit", str(limit), "--emulate"]


@dataclass(frozen=True)
class Place:
    """A user's folder. Commands run in processes of their own, with an environment that holds no key."""

    root: Path

    @property
    def emulator(self) -> Path:
        """The state folder of the emulator."""
        return self.root / "batches" / "emulator"

    def call(self, *arguments: str, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        """Run ``persona-runner`` here and wait for it; with ``check`` it must have gone well."""
        done = warm.call(arguments, cwd=self.root, env=self.env(**env), timeout=HANGS_S)
        assert "Traceback" not in done.stderr, done.stderr
        if check:
            assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done

    def begin(self, *arguments: str, **env: str) -> warm.Command:
        """Begin ``persona-runner`` here and do not wait: one at a time."""
        return warm.start(arguments, cwd=self.root, env=self.env(**env))

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``persona-runner`` anew here and do not wait."""
        return subprocess.Popen(
            self.command(*arguments),
            cwd=self.root,
            env=self.env(**env),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def command(self, *arguments: str) -> list[str]:
        """The command line, in this interpreter."""
        return [sys.executable, "-m", "runner", *arguments]

    def env(self, **changes: str) -> dict[str, str]:
        """The environment without keys and base URLs."""
        clean = {name: value for name, value in os.environ.items() if not name.startswith(KEYS)}
        return {**clean, "COLUMNS": "160", **changes}

    def misbehave(self, *faults: str, seed: int | None = None, clock: str | None = None) -> None:
        """Let the emulator have these faults (``NAME`` or ``NAME:RATE``), this seed, this clock from now on."""
        service = self._service()
        service.faults.put(dict(map(parse, faults)))
        if seed is not None:
            service.store.set_setting("seed", seed)
        if clock:
            service.clock.set_mode(clock)

    def advance(self, seconds: float) -> None:
        """Let so much time pass at the emulator."""
        self._service().clock.advance(seconds)

    def jobs(self) -> list[dict[str, Any]]:
        """The emulator's jobs, oldest first."""
        jobs: list[dict[str, Any]] = self._control("jobs")["jobs"]
        return jobs

    def bill(self, day: str = "") -> dict[str, Any]:
        """The emulator's bill for all that was asked from this folder (as of a day): the ground truth about money."""
        bill: dict[str, Any] = self._control("bill", day)
        return bill

    def _service(self, day: str = "") -> Service:
        """The emulator's state, opened by this process as by one more server."""
        return open_service(self.emulator / day, {name: host.dialect.wire for name, host in HOSTS.items()})

    def _control(self, name: str, day: str = "") -> Any:
        return TestClient(application(self._service(day))).get(f"/control/{name}").json()

    def times_billed(self) -> Counter[str]:
        """How often each request was answered and billed."""
        return Counter(line["custom_id"] for line in self.bill()["requests"])

    def runs(self) -> list[str]:
        """Names of built runs."""
        return sorted(path.parent.name for path in (self.root / "batches").glob("*/run.json"))

    def has_results(self) -> bool:
        """Whether a run was scored here."""
        return any((self.root / "results").glob("*/summary.json"))

    def responses(self, run: str | None = None) -> pl.DataFrame:
        """``responses.parquet`` of a run (of the only one)."""
        name = run or self.runs()[0]
        return pl.read_parquet(self.root / "results" / name / "responses.parquet")

    def asked(self, run: str | None = None) -> set[str]:
        """The ids of everything that a run asks."""
        name = run or self.runs()[0]
        return set(pl.read_parquet(self.root / "batches" / name / "stage-1" / "bodies.parquet")["request_id"])

    def summary(self, run: str | None = None) -> dict[str, Any]:
        """``summary.json`` of a run (of the only one)."""
        name = run or self.runs()[0]
        summary: dict[str, Any] = json.loads((self.root / "results" / name / "summary.json").read_text())
        return summary
