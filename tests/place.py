"""A folder to work in: the real command line in real processes, and the emulator's bill."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.request
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from runner import emulator
from runner.emulator.registry import HOSTS

HANGS_S = 90.0
"""No command of a test may take longer."""
KEYS = ("PERSONA_", "GEMINI_", "GOOGLE_", "AZURE_", *(f"{host.variable.partition('_')[0]}_" for host in HOSTS.values()))
"""How environment variables begin that hold keys, addresses and tiers."""


@dataclass(frozen=True)
class Place:
    """A user's folder. Commands run in real processes, with an environment that holds no key."""

    root: Path

    @property
    def emulator(self) -> Path:
        """The state folder of the emulator."""
        return self.root / "batches" / "emulator"

    def call(self, *arguments: str, check: bool = True, **env: str) -> subprocess.CompletedProcess[str]:
        """Run ``persona-runner`` here and wait for it; with ``check`` it must have gone well."""
        done = subprocess.run(
            self.command(*arguments),
            cwd=self.root,
            env=self.env(**env),
            capture_output=True,
            text=True,
            check=False,
            timeout=HANGS_S,
        )
        assert "Traceback" not in done.stderr, done.stderr
        if check:
            assert done.returncode == 0, f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        return done

    def start(self, *arguments: str, **env: str) -> subprocess.Popen[str]:
        """Start ``persona-runner`` here and do not wait."""
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

    def misbehave(self, *faults: str, seed: int | None = None) -> None:
        """Let the emulator have these faults (``NAME`` or ``NAME:RATE``) from now on."""
        emulator.start(self.emulator, faults=faults, seed=seed).stop()

    def advance(self, seconds: float) -> None:
        """Let so much time pass at the emulator."""
        with emulator.start(self.emulator) as running:
            data = json.dumps({"advance_s": seconds}).encode()
            urllib.request.urlopen(urllib.request.Request(f"{running.base_url}/control/clock", data)).close()

    def bill(self, day: str = "") -> dict[str, Any]:
        """The emulator's bill for all that was asked from this folder (as of a day): the ground truth about money."""
        with (
            emulator.start(self.emulator / day) as running,
            urllib.request.urlopen(f"{running.base_url}/control/bill") as reply,
        ):
            bill: dict[str, Any] = json.load(reply)
        return bill

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
