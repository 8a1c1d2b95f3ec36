"""Estimates against the emulator's bill: python bench/estimates.py [RUNS] [FIRST_SEED].

Each seed gives a folder of its own with two runs of one model and task: a small one, estimated from stated ranges and
the provider's free counts (cold), and a larger one of the same nested sample, estimated from the answers of the small
one (warm). What the emulator draws per seed (tokenizer, framing, lengths, hits) is hidden from us; the bill is its own.
"""

from __future__ import annotations

import json
import os
import random
import sys
import tempfile
import urllib.request
from contextlib import redirect_stderr
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from runner import emulator
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.cli.commands import build
from runner.cli.office import office
from runner.models import find_model
from runner.reporting.table import Table, print_table
from runner.reporting.words import percent, usd

MODELS = ("gpt-4.1", "gpt-5.4-mini", "gpt-5.6-luna", "claude-sonnet-5", "gemini-2.5-pro", "gpt-5-mini")
TASKS = ("3.1", "3.2", "3.3")


@dataclass(frozen=True)
class Point:
    """One run: what was promised and what the emulator billed for it.

    ``assumes_thinking`` when nothing tells how much the model thinks: the widest of all assumptions.
    """

    name: str
    is_warm: bool
    knows_encoding: bool
    assumes_thinking: bool
    low: float
    mid: float
    high: float
    bound: float
    billed: float

    @property
    def is_inside(self) -> bool:
        return self.low <= self.billed <= self.high

    @property
    def width(self) -> float:
        return (self.high - self.low) / self.billed

    @property
    def error(self) -> float:
        return self.mid / self.billed - 1


def bill_usd(state: Path) -> float:
    """All that the emulator has billed in this folder."""
    with emulator.start(state) as running, urllib.request.urlopen(f"{running.base_url}/control/bill") as reply:
        return sum(float(line["usd"]) for line in json.load(reply)["requests"])


def two_runs(source: Path, model: str, task: str, sizes: tuple[int, int], seed: int) -> list[Point]:
    """Cold, then warm."""
    points: list[Point] = []
    before = 0.0
    state = Path.cwd() / "batches" / "emulator"
    emulator.start(state, seed=seed).stop()
    for is_warm, limit in enumerate(sizes):
        asked = ["--model", model, "--task", task, "--data", str(source), "--limit", str(limit), "--seed", str(seed)]
        chosen = build.make_context("build", [*asked, "--emulate"]).params
        with Path(os.devnull).open("w") as nowhere, redirect_stderr(nowhere), office() as here:
            run = here.build(chosen)
            shown = here.estimate(run)
            here.submit(run, None, True, quiet=True)
            here.wait([run.name], 0.05)
        after = bill_usd(state)
        total, bound = shown.total, shown.bound_usd
        assert total.low_usd is not None and total.mid_usd is not None and total.high_usd is not None
        assert bound is not None and total.to_buy
        name = f"{model} {task} seed {seed}, {total.to_buy} requests"
        money = (total.low_usd, total.mid_usd, total.high_usd, bound, after - before)
        assumes_thinking = find_model(model).reasoning and not is_warm
        points.append(Point(name, bool(is_warm), run.tokens_exact, assumes_thinking, *money))
        before = after
    return points


def main(runs: int = 12, first_seed: int = 1) -> None:
    """Every run, then what they come to."""
    points: list[Point] = []
    home = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        source = write_sample(Path(folder) / "sample.jsonl", posts=400)
        for number in range((runs + 1) // 2):
            seed = first_seed + number
            luck = random.Random(seed)
            sizes = (luck.randint(12, 25), luck.randint(30, 90))
            place = Path(folder) / str(seed)
            place.mkdir()
            os.chdir(place)
            points += two_runs(source, MODELS[number % len(MODELS)], luck.choice(TASKS), sizes, seed)
            os.chdir(home)
    rows = tuple(
        (
            point.name,
            "warm" if point.is_warm else "cold",
            usd(point.low),
            usd(point.mid),
            usd(point.high),
            usd(point.billed),
            f"{point.error:+.1%}",
            "yes" if point.is_inside else "NO",
        )
        for point in points
    )
    columns = ("run", "from", "low", "expected", "high", "billed", "error", "inside")
    groups = (
        ("all", points),
        ("cold", [point for point in points if not point.is_warm]),
        ("warm", [point for point in points if point.is_warm]),
        ("encoding known", [point for point in points if point.knows_encoding]),
        ("encoding known, warm", [point for point in points if point.knows_encoding and point.is_warm]),
        (
            "encoding known, no thinking assumed",
            [point for point in points if point.knows_encoding and not point.assumes_thinking],
        ),
    )
    notes = tuple(_said(name, chosen) for name, chosen in groups if chosen)
    print_table(
        Table("Estimates against the emulator's bill", columns, rows, notes, text_columns=(0, 1, 7)), sys.stdout
    )


def _said(name: str, points: list[Point]) -> str:
    under = sum(point.billed <= point.bound for point in points)
    inside = sum(point.is_inside for point in points)
    width = median(point.width for point in points)
    error = median(abs(point.error) for point in points)
    return (
        f"{name}: {under} of {len(points)} under the bound, {inside} inside the interval; median width "
        f"{width:.0%} of the bill, median error {percent(error)}"
    )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
