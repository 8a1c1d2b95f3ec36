"""Answers that were served outside of their batch: billed as the provider bills them, counted, and told."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from runner import emulator
from runner.chain.estimate import estimate
from runner.chain.experience import experience
from runner.chain.files import write_frame
from runner.chain.promises import keep
from runner.chain.reconcile import reconcile
from runner.chain.runs import Run, Workspace
from runner.chain.stock import answers, attempts, parts, write_responses
from runner.cli.office import office
from runner.ledger import Ledger
from runner.reporting.reconcile_view import Reconciled, reconcile_table
from runner.request import RESPONSE_SCHEMA
from tests.place import Place

NOTHING = dict.fromkeys(
    "run_name protocol samples effort looks fresh as_of min_history history_lag match_length label_balance".split()
)
LATER = ["service_tier", "cache_write_long_tokens"]
"""Columns that parts of earlier versions lack."""


@dataclass(frozen=True)
class Bought:
    """Two runs of a nested sample; the provider served a part of the answers outside of the batches."""

    place: Place
    workspace: Workspace
    runs: tuple[Run, Run]

    def reconciled(self, ledger: Ledger, which: int) -> Reconciled:
        """A run's bill against its promise."""
        found = reconcile(self.workspace, ledger, self.runs[which])
        assert found is not None
        return found


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Bought:
    place = Place(tmp_path_factory.mktemp("outside"))
    emulator.start(place.emulator, seed=11, faults=["standard_tier:0.2"]).stop()
    runs = []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.root)
        for limit in (6, 12):
            chosen = {**NOTHING, "model": "claude-haiku-4-5", "task": "3.1", "data": str(corpus), "limit": limit}
            with office() as here:
                run = here.build({**chosen, "seed": 0, "settings": (), "no_temperature": False, "emulate": True})
                keep(here.workspace, run, estimate(here.workspace, here.ledger, run, here.now, here.limits(run)))
                here.submit(run, None, True, quiet=True)
                here.wait([run.name], 0.05)
            runs.append(run)
    return Bought(place, Workspace(place.root), (runs[0], runs[1]))


@pytest.fixture
def ledger(bought: Bought) -> Iterator[Ledger]:
    opened = Ledger(bought.workspace.ledger)
    yield opened
    opened.close()


def test_every_sum_is_the_providers_bill_to_the_cent(bought: Bought, ledger: Ledger) -> None:
    lines = bought.place.bill()["requests"]
    billed = {line["custom_id"]: line["usd"] for line in lines}
    assert len(billed) == len(lines)
    rows = bought.place.responses(bought.runs[1].name)
    told = dict(rows.select("request_id", "cost_usd").iter_rows())
    assert told == pytest.approx(billed, abs=1e-12), "answer by answer, of both runs"
    found = [bought.reconciled(ledger, which).total.billed_usd for which in (0, 1)]
    assert sum(each or 0 for each in found) == pytest.approx(sum(billed.values()), abs=1e-9)
    for run, usd in zip(bought.runs, found, strict=True):
        assert ledger.spent(run=run.name).billed_usd == pytest.approx(usd, abs=1e-9)


@pytest.mark.parametrize("which", [0, 1])
def test_the_comparison_says_how_many_rows_it_were_and_what_they_cost_more(
    bought: Bought, ledger: Ledger, which: int
) -> None:
    found = bought.reconciled(ledger, which)
    jobs = [job.job for job in ledger.jobs(run=bought.runs[which].name)]
    outside = bought.place.responses(bought.runs[which].name).filter(
        pl.col("job").is_in(jobs) & (pl.col("service_tier") == "standard")
    )
    assert 0 < outside.height < found.total.answers
    assert found.total.outside == outside.height
    assert sum(each.outside for each in found.settings) >= outside.height
    usd = {line["custom_id"]: line["usd"] for line in bought.place.bill()["requests"]}
    more = sum(usd[name] for name in outside["request_id"]) / 2  # Anthropic's batches are half price
    assert found.served.extra_usd == pytest.approx(more, abs=1e-9)
    assert (found.served.untold, found.served.other_tiers) == (0, ("standard",))
    (note,) = (note for note in reconcile_table(found).notes if "tier" in note)
    assert note.startswith(f"{outside.height} answers were not served at the batch tier (service tier")


@pytest.fixture
def aged(bought: Bought, ledger: Ledger, request: pytest.FixtureRequest) -> Iterator[set[str]]:
    """The parts of these runs (by number) as an earlier version wrote them; afterwards as they were."""
    names = {bought.runs[which].name for which in request.param}
    asked = bought.runs[1].asked
    stored = {path: path.read_bytes() for _, path in parts(bought.workspace, ledger, asked.venue, asked.model)}
    for job, path in parts(bought.workspace, ledger, asked.venue, asked.model):
        if job.run in names:
            write_frame(path, pl.read_parquet(path).drop(LATER))
            ledger.move(job, job.state, digests={})
    yield names
    for path, data in stored.items():
        path.write_bytes(data)
    write_responses(bought.workspace, ledger, bought.runs[1])


@pytest.mark.parametrize("aged", [{0}, {1}, {0, 1}], indirect=True)
def test_parts_of_an_earlier_version_are_read_beside_new_ones(bought: Bought, ledger: Ledger, aged: set[str]) -> None:
    venue, model = bought.runs[1].asked.venue, bought.runs[1].asked.model
    rows = bought.place.responses(bought.runs[1].name)
    read = answers(bought.workspace, ledger, venue, model, rows["request_id"])
    assert read.columns == [*RESPONSE_SCHEMA, "bought_by"]
    compared = [name for name in read.columns if name not in LATER]
    assert read.select(compared).sort("request_id").equals(rows.select(compared).sort("request_id"))
    silent = read.filter(pl.col("service_tier").is_null())
    assert set(silent["bought_by"]) == aged
    assert set(attempts(bought.workspace, ledger, venue, model, rows["request_id"]).values()) == {1}
    assert experience(bought.workspace, ledger, bought.runs[1]).height == rows.height
    for which, run in enumerate(bought.runs):
        found = bought.reconciled(ledger, which)
        assert found.total.billed_usd == pytest.approx(ledger.spent(run=run.name).billed_usd, abs=1e-9)
        untold = found.served.answers if run.name in aged else 0
        assert (found.served.untold, found.total.outside == 0) == (untold, run.name in aged)


@pytest.mark.slow
@pytest.mark.parametrize("aged", [{0, 1}], indirect=True)
def test_a_run_of_an_earlier_version_is_scored_reported_and_verified(bought: Bought, aged: set[str]) -> None:
    name = bought.runs[1].name
    for command in ("score", "report", "verify"):
        bought.place.call(command, "--run", name)
    assert bought.place.summary(name)["cost"]["billed_usd"] > 0
