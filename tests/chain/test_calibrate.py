"""The provider's own count of a few prompts makes the first estimate true; without it nothing is lost."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from runner import emulator
from runner.chain.build import Wanted, build
from runner.chain.calibrate import FILE, SAMPLE, calibrate, counted
from runner.chain.estimate import estimate
from runner.chain.outlook import FEWEST
from runner.chain.runs import Folders, Run, Workspace
from runner.cli.office import Office
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.providers.counting import Count, counter_of
from runner.reporting.estimate_view import Estimate
from runner.request import Body
from tests.place import Place

MODELS = ("claude-sonnet-5", "gemini-2.5-pro")
NOBODY = "http://127.0.0.1:9"
Find = Callable[[], Count | None]


@cache
def counter_at(root: str, provider: str, venue: str) -> Count:
    found = counter_of(provider, {}, base_url=f"{root}/{provider}", venue=venue)
    assert found is not None
    return found


@dataclass(frozen=True)
class Desk:
    """A folder with its emulator, and the bodies that the provider was asked to count."""

    place: Place
    base_url: str
    here: Office
    corpus: Path
    asked: list[Body] = field(default_factory=list)

    def build(self, model: str = MODELS[0], **changes: object) -> Run:
        wanted = {"task": "3.1", "model": model, "source": str(self.corpus), "limit": 20, "emulate": True, **changes}
        return build(self.here.workspace, Wanted(**wanted), self.here.now, lambda _: None)  # type: ignore[arg-type]

    def estimate(self, run: Run) -> Estimate:
        return estimate(self.here.workspace, self.here.ledger, run, self.here.now)

    def calibrate(self, run: Run, find: Find | None = None) -> list[str]:
        """What is said; the count is the real one unless another is given."""
        said: list[str] = []
        calibrate(self.here.workspace, self.here.ledger, run, find or self.finder(run), said.append)
        return said

    def finder(self, run: Run, breaks_after: int = 10**6) -> Find:
        """The real counter at the emulator; after some requests nobody answers any more."""
        good, dead = (counter_at(root, run.asked.provider, run.asked.venue) for root in (self.base_url, NOBODY))
        numbers = count(1)

        def ask(model: str, body: Body) -> int:
            self.asked.append(body)
            return (good if next(numbers) <= breaks_after else dead)(model, body)

        return lambda: ask

    def bill(self) -> list[dict[str, Any]]:
        with urllib.request.urlopen(f"{self.base_url}/control/bill") as reply:
            return list(json.load(reply)["requests"])

    def sample(self, run: Run) -> pl.DataFrame:
        found = counted(self.here.workspace, run)
        assert found is not None
        return found

    def bodies(self, run: Run) -> pl.DataFrame:
        return pl.read_parquet(Folders(self.here.workspace, run.name).bodies(1))


@contextmanager
def opened(place: Place, corpus: Path) -> Iterator[Desk]:
    with emulator.start(place.emulator, seed=5) as running, closing(Ledger(Workspace(place.root).ledger)) as ledger:
        here = Office(Workspace(place.root), ledger, {}, ExitStack(), {None: running.base_url})
        yield Desk(place, running.base_url, here, corpus)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[Desk]:
    """Here nothing is ever bought."""
    with opened(Place(tmp_path_factory.mktemp("counted")), corpus) as desk:
        yield desk


@pytest.fixture
def desk(shared: Desk) -> Iterator[Desk]:
    shared.asked.clear()
    yield shared
    for path in shared.place.root.glob(f"batches/*/{FILE}"):
        path.unlink()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Iterator[Desk]:
    """Here each model's run is bought."""
    with opened(Place(tmp_path_factory.mktemp("bought")), corpus) as desk:
        yield desk


@pytest.mark.parametrize("model", MODELS)
def test_before_any_answer_the_estimate_knows_the_input_that_will_be_billed(shop: Desk, model: str) -> None:
    run = shop.build(model, limit=14)
    ids = set(shop.bodies(run)["request_id"])
    cold = shop.estimate(run).total
    (said,) = shop.calibrate(run)
    shown = shop.estimate(run)
    assert ids.isdisjoint(line["custom_id"] for line in shop.bill()), "a count is free"
    n = shop.sample(run).height
    assert f"to count the input tokens of {n} prompts, which costs nothing" in said
    assert f"corrected by the provider's own count of {n} prompts" in " ".join(shown.notes)
    shop.here.submit(run, None, True, quiet=True)
    shop.here.wait([run.name], 0.2)
    billed = [line for line in shop.bill() if line["custom_id"] in ids]
    warm, tokens = shown.total, sum(line["input_tokens"] for line in billed)
    assert len(billed) == warm.to_buy == run.unique
    assert warm.input_tokens == pytest.approx(tokens, rel=0.02)
    assert warm.input_tokens_low <= tokens <= warm.input_tokens_high
    assert warm.low_usd <= sum(line["usd"] for line in billed) <= warm.high_usd
    widths = [(each.input_tokens_high - each.input_tokens_low) / each.input_tokens for each in (cold, warm)]  # type: ignore[operator]
    assert widths[1] < widths[0] / 3
    (Folders(shop.here.workspace, run.name).asked / FILE).unlink()
    assert shop.calibrate(run) == [], "answers know better"
    assert "earlier answers of this model" in " ".join(shop.estimate(run).notes)


def test_a_sample_is_whole_instances_over_the_whole_run_with_every_setting(desk: Desk) -> None:
    run = desk.build(limit=60)
    desk.calibrate(run)
    found, bodies = desk.sample(run), desk.bodies(run)
    assert abs(found.height - SAMPLE) <= 4
    assert set(found["setting"]) == set(run.asked.settings)
    chosen = found["instance"].unique().sort()
    of_instances = bodies.filter(pl.col("instance").is_in(chosen.to_list()))
    assert sorted(of_instances["request_id"]) == sorted(found["request_id"])
    last = bodies["instance"].max()
    gaps = pl.concat([chosen, pl.Series([last], dtype=chosen.dtype)]).diff().drop_nulls()
    assert chosen[0] == 0 and gaps.max() <= 1.5 * last / chosen.len()  # type: ignore[operator]


def test_it_is_asked_once_for_a_run_and_for_every_other_of_its_model_and_task(desk: Desk) -> None:
    run, other = desk.build(), desk.build(limit=60)
    assert len(desk.calibrate(run)) == 1
    first = len(desk.asked)
    for again in (run, run, other):
        assert desk.calibrate(again) == []
    assert len(desk.asked) == first >= FEWEST
    assert "own count" in " ".join(desk.estimate(other).notes)
    task = desk.build(task="3.2")
    assert "own count" not in " ".join(desk.estimate(task).notes), "another task has other prompts"
    assert len(desk.calibrate(task)) == 1 and len(desk.asked) > first


def test_a_count_is_no_bill_one_percent_either_way_stays_open(desk: Desk) -> None:
    """Also where every prompt had the very same ratio, so that chance adds nothing."""
    run = desk.build()
    bodies = desk.bodies(run)
    rows = bodies.select("request_id", "instance", "tokens", setting=pl.lit("p-conv"), counted=pl.col("tokens") * 2)
    rows.write_parquet(Folders(desk.here.workspace, run.name).asked / FILE)
    total, ours = desk.estimate(run).total, int(bodies["tokens"].sum())
    found = (total.input_tokens_low, total.input_tokens, total.input_tokens_high)
    assert found == pytest.approx((1.98 * ours, 2 * ours, 2.02 * ours), rel=1e-4)


def test_several_draws_of_a_prompt_are_counted_as_one(desk: Desk) -> None:
    run = desk.build(samples=5)
    assert run.unique == 5 * desk.bodies(run)["body"].n_unique()
    desk.calibrate(run)
    assert len(set(desk.asked)) == len(desk.asked) == desk.sample(run).height >= FEWEST


@pytest.mark.parametrize("model", MODELS)
def test_where_nobody_counts_the_estimate_is_as_it_was_with_one_sentence(desk: Desk, model: str) -> None:
    run = desk.build(model)
    before = desk.estimate(run)
    asking, said = desk.calibrate(run, desk.finder(run, breaks_after=0))
    assert asking.startswith("Asking")
    assert "does without" in said and "The connection to" in said
    assert len(desk.asked) == 1, "one that fails speaks for all"
    after = desk.estimate(run)
    assert (after.total, after.notes) == (before.total, before.notes)


def test_a_key_that_is_none_is_one_sentence_and_a_missing_one_is_none(desk: Desk) -> None:
    run = desk.build()
    (said,) = desk.calibrate(run, lambda: counter_of("anthropic", {"ANTHROPIC_API_KEY": "two words"}))
    assert "does without" in said and "copy it again" in said
    assert desk.calibrate(run, lambda: counter_of("anthropic", {})) == []
    assert counted(desk.here.workspace, run) is None


@pytest.mark.parametrize("counts", [FEWEST - 1, FEWEST])
def test_less_than_twenty_counts_are_not_kept_and_twenty_are_enough(desk: Desk, counts: int) -> None:
    run = desk.build()
    said = " ".join(desk.calibrate(run, desk.finder(run, breaks_after=counts)))
    assert ("does without" in said) is (counts < FEWEST)
    assert ("own count of 20 prompts" in " ".join(desk.estimate(run).notes)) is (counts >= FEWEST)


def test_an_exact_count_and_a_run_of_few_prompts_need_nobody(desk: Desk) -> None:
    def never() -> Count | None:
        raise RunnerError("asked")

    assert desk.calibrate(desk.build("gpt-5.4-mini"), never) == []
    assert desk.calibrate(desk.build(limit=3), never) == []
