"""The bill against the promise: to the cent, setting by setting, and what past intervals teach the next one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import emulator
from runner.chain.estimate import estimate
from runner.chain.promises import keep, promise_of
from runner.chain.reconcile import FEWEST_RUNS, history, reconcile, stretch
from runner.chain.runs import Folders, Run, Workspace
from runner.cli.office import office
from runner.ledger import Ledger
from runner.reporting.estimate_view import Estimate
from runner.reporting.reconcile_view import PastEstimate
from tests.place import Place

NOTHING = dict.fromkeys(
    "run_name protocol samples effort looks fresh as_of min_history history_lag match_length label_balance".split()
)
MODEL, TASK = "gpt-5.6-luna", "3.3"


@dataclass(frozen=True)
class Bought:
    """Two runs of a nested sample, the second estimated from the first one's answers; both were bought and billed."""

    place: Place
    workspace: Workspace
    runs: tuple[Run, Run]
    shown: tuple[Estimate, Estimate]
    billed: tuple[float, float]


@pytest.fixture(scope="module")
def bought(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Bought:
    place = Place(tmp_path_factory.mktemp("reconciled"))
    emulator.start(place.emulator, seed=12).stop()
    runs, shown, billed = [], [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place.root)
        for limit in (10, 22):
            chosen = {**NOTHING, "model": MODEL, "task": TASK, "data": str(corpus), "limit": limit, "seed": 0}
            with office() as here:
                run = here.build({**chosen, "settings": (), "no_temperature": False, "emulate": True})
                shown.append(estimate(here.workspace, here.ledger, run, here.now, here.limits(run)))
                keep(here.workspace, run, shown[-1])
                here.submit(run, None, True, quiet=True)
                here.wait([run.name], 0.05)
            runs.append(run)
            billed.append(sum(line["usd"] for line in place.bill()["requests"]) - sum(billed))
    return Bought(place, Workspace(place.root), (runs[0], runs[1]), (shown[0], shown[1]), (billed[0], billed[1]))


@pytest.fixture
def ledger(bought: Bought) -> Iterator[Ledger]:
    opened = Ledger(bought.workspace.ledger)
    yield opened
    opened.close()


@pytest.mark.parametrize("which", [0, 1])
def test_what_is_said_to_be_billed_is_the_providers_bill_setting_by_setting(
    bought: Bought, ledger: Ledger, which: int
) -> None:
    run, shown = bought.runs[which], bought.shown[which]
    found = reconcile(bought.workspace, ledger, run)
    assert found is not None and found.is_finished
    assert found.total.billed_usd == pytest.approx(bought.billed[which], abs=1e-9)
    assert sum(each.billed_usd or 0 for each in found.settings) == pytest.approx(bought.billed[which], abs=1e-9)
    assert [each.name for each in found.settings] == list(run.asked.settings)
    assert (found.total.promised, found.total.answers) == (shown.total.to_buy, shown.total.to_buy)
    assert (found.total.mid_usd, found.total.promised_input) == (shown.total.mid_usd, shown.total.input_tokens)
    assert found.total.unmetered == 0
    lines = {line["custom_id"]: line for line in bought.place.bill()["requests"]}
    own = [job.job for job in ledger.jobs(run=run.name)]
    rows = bought.place.responses(run.name).filter(pl.col("job").is_in(own))
    assert found.total.input_tokens == sum(lines[name]["input_tokens"] for name in rows["request_id"])
    assert found.total.output_tokens == sum(lines[name]["output_tokens"] for name in rows["request_id"])


def test_the_bill_stays_under_the_bound_and_inside_the_interval_which_answers_have_narrowed(bought: Bought) -> None:
    for shown, billed in zip(bought.shown, bought.billed, strict=True):
        assert shown.total.low_usd <= billed <= shown.total.high_usd <= shown.bound_usd  # type: ignore[operator]
    cold, warm = ((each.total.high_usd - each.total.low_usd) / each.total.mid_usd for each in bought.shown)  # type: ignore[operator]
    assert warm < cold / 2
    assert any("output tokens: as in" in note for note in bought.shown[1].notes)


def test_the_history_has_a_row_per_finished_run(bought: Bought, ledger: Ledger) -> None:
    rows = history(bought.workspace, ledger)
    assert [row.run for row in rows] == [run.name for run in bought.runs]
    assert [row.billed_usd for row in rows] == pytest.approx(bought.billed, abs=1e-9)
    assert all(row.is_inside for row in rows)


def test_a_run_that_lacks_answers_is_no_lesson_and_one_without_a_promise_is_not_compared(
    bought: Bought, ledger: Ledger
) -> None:
    run = bought.runs[0]
    path = Folders(bought.workspace, run.name).asked / "estimate.json"
    promised = path.read_bytes()
    more = replace(bought.shown[0], total=replace(bought.shown[0].total, to_buy=10_000))
    try:
        path.unlink()
        assert reconcile(bought.workspace, ledger, run) is None
        keep(bought.workspace, run, more)
        found = reconcile(bought.workspace, ledger, run)
        assert found is not None and not found.is_finished
        assert run.name not in [row.run for row in history(bought.workspace, ledger)]
    finally:
        path.write_bytes(promised)


def test_a_promise_is_kept_as_it_was_first_made(bought: Bought) -> None:
    run, shown = bought.runs[0], bought.shown[0]
    keep(bought.workspace, run, replace(shown, total=replace(shown.total, mid_usd=99.0)))
    promise = promise_of(bought.workspace, run.name)
    assert promise is not None
    assert promise.total.mid_usd == shown.total.mid_usd
    assert [each.high_usd for each in promise.settings] == [each.high_usd for each in shown.settings]


PAST = st.builds(
    lambda mid, below, above, billed, widened: PastEstimate(
        "r", "openai", mid - below * widened, mid, mid + above * widened, billed, widened
    ),
    st.floats(1, 10),
    st.floats(0.01, 0.3),
    st.floats(0.01, 0.3),
    st.floats(0.5, 12),
    st.floats(1, 3),
)


@given(st.lists(PAST, min_size=FEWEST_RUNS, max_size=40))
def test_with_the_stretch_nine_of_ten_past_bills_would_have_been_inside(past: list[PastEstimate]) -> None:
    factor = stretch(past, "openai")
    assert factor >= 1

    def holds(row: PastEstimate, by: float) -> bool:
        below, above = ((row.mid_usd - row.low_usd) / row.widened, (row.high_usd - row.mid_usd) / row.widened)
        return row.mid_usd - below * by * 1.000001 <= row.billed_usd <= row.mid_usd + above * by * 1.000001

    wanted = ceil(0.9 * len(past))
    assert sum(holds(row, factor) for row in past) >= wanted
    assert factor == 1 or sum(holds(row, factor * 0.999) for row in past) < wanted, "no wider than is needed"


@given(st.lists(PAST, max_size=FEWEST_RUNS - 1), st.lists(PAST, min_size=FEWEST_RUNS, max_size=10))
def test_few_runs_teach_nothing_and_rehearsals_never_teach_a_real_run(
    few: list[PastEstimate], many: list[PastEstimate]
) -> None:
    rehearsals = [replace(row, venue="emulator:openai") for row in many]
    assert stretch([*few, *rehearsals], "openai") == 1
    assert stretch([*few, *rehearsals], "emulator:google") == stretch(many, "openai")


def test_an_interval_without_width_that_missed_does_not_make_the_next_one_endless() -> None:
    missed = [PastEstimate("r", "openai", 1.0, 1.0, 1.0, 2.0)] * 3
    wide = [PastEstimate("r", "openai", 0.9, 1.0, 1.1, 1.2)] * 3
    assert stretch([*missed, *wide], "openai") == pytest.approx(2.0)
