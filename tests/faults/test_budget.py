"""BUDGET is never exceeded, whatever the provider does and wherever a process dies; and then the run can go on.

A run is bought under a budget that is too little for it and, when nothing moves any more, under one that is enough.
After every command the emulator's bill is within the budget in force, and so is what the ledger counts and holds back.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path
from subprocess import TimeoutExpired

import polars as pl
import pytest

from runner.ledger import Ledger
from tests.faults import evidence
from tests.faults.cells import AGAIN, PROTOCOLS, Verdict, furnish, judged, last_line
from tests.faults.crash import PER_BATCH
from tests.faults.deeds import Deed, befall
from tests.faults.storms import storm
from tests.place import Place

UNFORESEEN = ("standard_tier",)
"""A fault that makes a bill higher than the price that was agreed on: no bound holds then."""
DELAYS = ("storm_429", "storm_5xx")
"""Faults that take minutes of waiting, and change little else: ``make test`` does without."""
OTHERS = {"anthropic": "claude-haiku-4-5", "google": "gemini-2.5-flash-lite"}
"""Models that do not think (a bound that allows for it is never used up), and that live longer than a storm."""
INSTANCES = 10
"""Of four requests each."""
LOOKS = 1
"""Single looks under each budget, before one command waits for all that still moves."""
UNPRICED = ("qwen",)
"""Where no price is known there is no bound, and a budget is refused."""
MAIN = ("openai", "anthropic")
"""Of each of them ``make test`` has one storm: one that names its jobs, and one that does not."""
SEEDS = range(1, 11)


@dataclass(frozen=True)
class Purse:
    """One cell: a protocol and the seed of its storm. With an even seed every short command is killed once."""

    protocol: str
    seed: int

    def __str__(self) -> str:
        return f"{self.protocol}-{self.seed}{'-killed' if self.is_killed else ''}"

    @property
    def is_killed(self) -> bool:
        """Whether processes are killed."""
        return self.seed % 2 == 0

    @property
    def is_quick(self) -> bool:
        """Whether ``make test`` has it."""
        return self.protocol in MAIN and self.seed == SEEDS[0]

    @property
    def faults(self) -> list[str]:
        """All weathers at once, but for what no bound can foresee."""
        left_out = UNFORESEEN + DELAYS * self.is_quick
        return [each for each in storm(self.protocol, self.seed).faults if not each.startswith(left_out)]


def _cells() -> Iterator[object]:
    for protocol in sorted(set(PROTOCOLS) - set(UNPRICED)):
        for seed in SEEDS:
            cell = Purse(protocol, seed)
            yield pytest.param(cell, id=str(cell), marks=() if cell.is_quick else pytest.mark.slow)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("cell", list(_cells()))
def test_a_budget_is_never_exceeded_in_a_storm(tmp_path: Path, converted: Path, cell: Purse) -> None:
    verdict = _bought(cell, tmp_path / "place", converted)
    assert verdict.complaints == ()
    assert (verdict.double_payments, verdict.lost_answers) == (0, 0)


def test_a_batch_that_may_have_been_created_holds_its_money_back(tmp_path: Path, converted: Path) -> None:
    place = furnish(tmp_path / "place", converted)
    place.call("run", *_asked("openai", converted, 2), "--yes")  # or else a first small batch has to come back
    place.misbehave("create_lost:1", "list_lag:1")
    asked = _asked("openai", converted, INSTANCES)
    rest = json.loads(place.call("estimate", *asked, "--json").stdout)["bound_usd"]
    budget = evidence.provider(place).usd + rest / 3
    place.call("submit", *asked, "--budget", repr(budget), "--yes")
    for wait in ([], [], ["--wait", "--poll", "0.05"]):
        place.call("collect", *wait)
        assert list(_beyond(place, budget)) == []


def test_only_what_may_be_written_to_a_cache_is_bounded_by_the_price_of_writing(
    tmp_path: Path, converted: Path
) -> None:
    """Of prompts that share no beginning that Anthropic keeps, less than half of what was held back for each."""
    place = furnish(tmp_path / "place", converted)
    asked = _asked("anthropic", converted, 30)
    shown = json.loads(place.call("estimate", *asked, "--json").stdout)
    assert shown["bound_usd"] < 5 * shown["total"]["mid_usd"]
    budget = 1.5 * shown["total"]["mid_usd"]
    place.call("submit", *asked, "--budget", repr(budget), "--yes")
    place.call("collect", "--wait", "--poll", "0.05")
    assert list(_beyond(place, budget)) == []
    assert json.loads(place.call("status", "--run", place.runs()[0], "--json").stdout)["runs"][0]["complete"]
    assert len(place.jobs()) <= 5
    sent = b"".join(path.read_bytes() for path in (place.root / "batches").glob("*/stage-1/batch-*.jsonl"))
    assert b"cache_control" not in sent


def test_what_is_told_to_be_kept_was_bounded_by_the_price_of_writing_it(tmp_path: Path, converted: Path) -> None:
    place = furnish(tmp_path / "place", converted)
    asked = [
        "--model",
        "claude-sonnet-4-5",
        "--task",
        "3.1",
        "--data",
        str(converted),
        "--limit",
        "8",
        "--samples",
        "8",
    ]
    place.call("run", *asked, "--emulate", "--yes")
    stage = place.root / "batches" / place.runs()[0] / "stage-1"
    marked = {
        json.loads(line)["custom_id"]
        for path in stage.glob("batch-*.jsonl")
        for line in path.read_text().split("\n")
        if "cache_control" in line
    }
    bodies = pl.read_parquet(stage / "bodies.parquet").filter(pl.col("request_id").is_in(list(marked)))
    assert marked and bodies["beginning"].is_not_null().all()
    evidence_of = evidence.provider(place)
    ledger = Ledger(place.root / "batches" / "ledger.sqlite")
    reserved = sum(job.reserved_usd or 0.0 for job in ledger.jobs())
    ledger.close()
    assert evidence_of.usd <= reserved


def _asked(protocol: str, corpus: Path, instances: int) -> list[str]:
    model = OTHERS.get(protocol, PROTOCOLS[protocol].model)
    return ["--model", model, "--task", "3.1", "--data", str(corpus), "--limit", str(instances), "--emulate"]


def _bought(cell: Purse, root: Path, corpus: Path) -> Verdict:
    """Buy under one budget after the other, and tell what speaks against it."""
    place = furnish(root, corpus)
    asked = _asked(cell.protocol, corpus, INSTANCES)
    luck = random.Random(cell.seed) if cell.is_killed else None

    def work() -> Iterator[str]:
        place.misbehave(*cell.faults, seed=cell.seed)
        shown = json.loads(place.call("estimate", *asked, "--json").stdout)
        little, enough = _budgets(shown["bound_usd"], shown["total"]["mid_usd"])
        if (yield from _spends_until_complete(place, asked, little, luck)):
            yield f"${little:.6f} were enough for everything, so that nothing is proven"
        for _ in range(AGAIN):
            if (yield from _spends_until_complete(place, asked, enough, luck)):
                _tidy(place)
                place.call("score", "--run", place.runs()[0])
                return
        yield "it is never complete"

    return judged(work, place)


def _tidy(place: Place) -> None:
    """Collect until nothing is open: an input file whose removal failed is removed then."""
    for _ in range(AGAIN):
        if not json.loads(place.call("collect", "--json").stdout)["runs"]:
            return


def _budgets(bound: float, expected: float) -> tuple[float, float]:
    """What is too little for the run, and what three attempts of all of it cannot use up.

    A third of the bound would be enough for everything where the bound is far above what is expected.
    """
    return min(bound / 3, 0.6 * expected), 4 * bound


def _spends_until_complete(
    place: Place, asked: list[str], budget: float, luck: random.Random | None
) -> Generator[str, None, bool]:
    """Do what a user does under one budget, until nothing moves; a command that takes too long is killed."""
    is_complete = False
    for words in (
        ["submit", *asked, "--budget", repr(budget), "--yes"],
        *LOOKS * [["collect", "--deadline", "20h"]],
        ["collect", "--deadline", "20h", "--wait", "--poll", "0.05", "--json"],
    ):
        if luck and "--wait" not in words:
            befall(place, words, luck.choice(PER_BATCH), Deed.KILLED)
            yield from _beyond(place, budget)
        try:
            done = place.call(*words, check=False)
        except TimeoutExpired:
            yield from _beyond(place, budget)
            continue
        yield from _beyond(place, budget)
        if done.returncode not in (0, 1) and "BUDGET" not in done.stderr:
            yield f"{words[0]} ended with {done.returncode}: {last_line(done.stderr)}"
        # What a storm leaves of a batch of one or two.
        if withheld := re.search(r"accept --job ([\w.-]+)", done.stderr):
            place.call("accept", "--job", withheld[1], "--yes", check=False)
            yield from _beyond(place, budget)
        if "--json" in words:
            is_complete = all(run["complete"] for run in json.loads(done.stdout)["runs"])
    return is_complete


def _beyond(place: Place, budget: float) -> Iterator[str]:
    """What is over the budget, at the provider or in the ledger, and what the ledger does not know of."""
    billed = evidence.provider(place).usd
    ledger = Ledger(place.root / "batches" / "ledger.sqlite")
    spent = ledger.spent()
    ledger.close()
    if billed > budget:
        yield f"${billed:.9f} were billed of a budget of ${budget:.9f}"
    if spent.total_usd > budget + evidence.CENT_FRACTION:
        yield f"${spent.billed_usd:.9f} counted and ${spent.reserved_usd:.9f} held back are over ${budget:.9f}"
    if billed > spent.total_usd + evidence.CENT_FRACTION:
        yield f"the ledger counts and holds back ${spent.total_usd:.9f}, but ${billed:.9f} were billed"
