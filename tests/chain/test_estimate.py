"""What is said before money moves: never above the bound, learned from earlier answers, and honest where it assumes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from math import ceil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.chain.build import Wanted, build
from runner.chain.estimate import estimate
from runner.chain.outlook import seen
from runner.chain.runs import Folders, Run, Workspace
from runner.ledger import Ledger, State
from runner.providers.base import Limits
from runner.request import RESPONSE_SCHEMA
from tests.ledger_rows import a_job

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
LIMITS = Limits(50_000, 200_000_000, None, 1_000_000)
MODELS = ("gpt-4.1", "gpt-5.4-mini", "claude-sonnet-5", "gemini-2.5-pro")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One corpus, converted once; nothing is ever bought here."""
    return tmp_path_factory.mktemp("estimates")


@pytest.fixture
def workspace(folder: Path) -> Workspace:
    return Workspace(folder)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    opened = Ledger(tmp_path / "ledger.sqlite")
    yield opened
    opened.close()


def built(workspace: Workspace, corpus: Path, model: str = "gpt-5.4-mini", **changes: object) -> Run:
    wanted = Wanted(**{"task": "3.1", "model": model, "source": str(corpus), "limit": 12, "emulate": True, **changes})  # type: ignore[arg-type]
    return build(workspace, wanted, NOW, lambda _: None)


def answered(
    workspace: Workspace,
    ledger: Ledger,
    run: Run,
    per_token: float,
    output: list[int],
    name: str = "one",
    **job: object,
) -> None:
    """All of a run's requests, answered and billed as given."""
    bodies = pl.read_parquet(Folders(workspace, run.name).bodies(1))
    outputs = [output[place % len(output)] for place in range(bodies.height)]
    rows = bodies.select(
        "request_id",
        choice=0,
        status=pl.lit("ok"),
        input_tokens=(pl.col("tokens") * per_token).round(),
        cached_tokens=0,
        output_tokens=pl.Series(outputs),
    )
    missing = [pl.lit(None).alias(column) for column in RESPONSE_SCHEMA if column not in rows.columns]
    part = workspace.root / f"{ledger.__hash__()}-{name}.parquet"
    rows.with_columns(missing).select(list(RESPONSE_SCHEMA)).cast(RESPONSE_SCHEMA).write_parquet(part)  # type: ignore[arg-type]
    facts = {"venue": run.asked.venue, "model": run.asked.model, "run": run.name, "batch": 1, "n": rows.height}
    facts |= {"state": State.CLOSED, "intended_at": NOW, "answered": rows.height, "part": part.name}
    ledger.intend(a_job(name, **{"reserved_usd": 1.0, **facts, **job}))


@pytest.mark.parametrize("model", MODELS)
def test_low_is_under_expected_under_high_under_the_bound_in_every_column(
    workspace: Workspace, ledger: Ledger, corpus: Path, model: str
) -> None:
    shown = estimate(workspace, ledger, built(workspace, corpus, model), NOW, LIMITS)
    for column in (*shown.settings, shown.total):
        assert 0 < column.low_usd < column.mid_usd < column.high_usd <= shown.bound_usd  # type: ignore[operator]
    totals = [sum(getattr(each, name) for each in shown.settings) for name in ("mid_usd", "to_buy", "input_tokens")]
    assert totals[0] == pytest.approx(shown.total.mid_usd)
    assert totals[1:] == [shown.total.to_buy, pytest.approx(shown.total.input_tokens, abs=4)]


def test_what_peers_would_pay_is_more_without_batch_and_without_dedupe(
    workspace: Workspace, ledger: Ledger, corpus: Path
) -> None:
    run = built(workspace, corpus, "gpt-4.1")
    path = Folders(workspace, run.name).requests(1)
    asked = pl.read_parquet(path)
    try:
        pl.concat([asked, asked.with_columns(instance_id=pl.lit("twin"))]).write_parquet(path)
        total = estimate(workspace, ledger, run, NOW, LIMITS).total
    finally:
        asked.write_parquet(path)
    assert total.mid_usd is not None
    assert (total.requests, total.unique) == (2 * asked.height, asked.height)
    assert total.repeated_usd == pytest.approx(2 * total.mid_usd)
    assert total.standard_usd == pytest.approx(2 * total.mid_usd), "a batch is half the price"


def test_the_count_of_a_known_encoding_is_exact_and_of_another_a_range_that_is_said(
    workspace: Workspace, ledger: Ledger, corpus: Path
) -> None:
    run = built(workspace, corpus)
    ours = int(pl.read_parquet(Folders(workspace, run.name).bodies(1))["tokens"].sum())
    known = estimate(workspace, ledger, run, NOW).total
    assert known.input_tokens == ours
    assert known.input_tokens_high - known.input_tokens_low <= 4 * known.to_buy + 2  # type: ignore[operator]
    shown = estimate(workspace, ledger, built(workspace, corpus, "claude-sonnet-5"), NOW)
    assert shown.total.input_tokens_high > 1.05 * shown.total.input_tokens > shown.total.input_tokens_low  # type: ignore[operator]
    assert any("the truth is taken to lie between" in note for note in shown.notes)


def test_earlier_answers_of_the_model_set_what_a_token_counts_and_how_long_an_answer_is(
    workspace: Workspace, ledger: Ledger, corpus: Path
) -> None:
    model = "gemini-2.5-pro"
    run = built(workspace, corpus, model, limit=20)
    cold = estimate(workspace, ledger, run, NOW)
    earlier = built(workspace, corpus, model)
    answered(workspace, ledger, earlier, 1.25, [90, 100, 110])
    warm = estimate(workspace, ledger, run, NOW)
    assert 0 < warm.total.answered == earlier.unique, "a nested sample: what was bought is not bought again"
    bodies = pl.read_parquet(Folders(workspace, run.name).bodies(1))
    done = pl.read_parquet(Folders(workspace, earlier.name).bodies(1))["request_id"]
    ours = int(bodies.filter(~pl.col("request_id").is_in(done.implode()))["tokens"].sum())
    assert warm.total.input_tokens == pytest.approx(1.25 * ours, rel=1e-3)
    assert warm.total.output_tokens == pytest.approx(100 * warm.total.to_buy, rel=0.03)
    assert warm.total.output_tokens_low < 100 * warm.total.to_buy < warm.total.output_tokens_high
    widths = [(each.high_usd - each.low_usd) / each.mid_usd for each in (cold.total, warm.total)]  # type: ignore[operator]
    assert widths[1] < widths[0] / 5
    assert not any("assumption until" in note for note in warm.notes)


@pytest.mark.parametrize("what", ["effort", "task", "venue"])
def test_answers_to_another_effort_task_or_venue_say_nothing_of_the_output(
    workspace: Workspace, ledger: Ledger, corpus: Path, what: str
) -> None:
    run = built(workspace, corpus, "gemini-2.5-pro", limit=20)
    other = {"effort": {"effort": "low"}, "task": {"task": "3.2"}, "venue": {}}[what]
    earlier = built(workspace, corpus, "gemini-2.5-pro", **other)
    answered(workspace, ledger, earlier, 1.0, [5_000], **({"venue": "google"} if what == "venue" else {}))
    shown = estimate(workspace, ledger, run, NOW)
    assert shown.total.output_tokens < 2_000 * shown.total.to_buy  # type: ignore[operator]
    assert any("assumption until" in note for note in shown.notes)


def test_batches_that_read_nothing_from_the_cache_make_the_next_estimate_expect_nothing(
    workspace: Workspace, ledger: Ledger, corpus: Path
) -> None:
    run = built(workspace, corpus, "gpt-5-mini", limit=80)
    cold = estimate(workspace, ledger, run, NOW, LIMITS)
    assert cold.total.cached_tokens > 0  # type: ignore[operator]
    assert cold.total.mid_usd < cold.total.uncached_usd  # type: ignore[operator]
    answered(workspace, ledger, built(workspace, corpus, "gpt-5-mini", limit=60), 1.0, [1])
    warm = estimate(workspace, ledger, run, NOW, LIMITS)
    assert warm.total.cached_tokens == 0
    assert warm.total.mid_usd == warm.total.uncached_usd
    assert any("cache hits: as in earlier batches" in note for note in warm.notes)


def test_a_few_answers_are_not_taken_for_a_rule(workspace: Workspace, ledger: Ledger, corpus: Path) -> None:
    run = built(workspace, corpus, "gemini-2.5-pro")
    few = built(workspace, corpus, "gemini-2.5-pro", limit=4)
    answered(workspace, ledger, few, 1.0, [3])
    assert any("assumption until" in note for note in estimate(workspace, ledger, run, NOW).notes)


def test_a_queue_makes_waves_and_a_first_small_batch_one_more(
    workspace: Workspace, ledger: Ledger, corpus: Path
) -> None:
    run = built(workspace, corpus, limit=20)
    total = int(pl.read_parquet(Folders(workspace, run.name).bodies(1))["tokens"].sum())
    one = estimate(workspace, ledger, run, NOW, LIMITS)
    assert (one.batches, one.waves) == (2, 2), "the first fifty requests go ahead"
    queue = total // 5
    several = estimate(workspace, ledger, run, NOW, replace(LIMITS, queue_tokens=queue))
    assert several.batches is not None and several.waves == min(ceil(total / queue) + 1, several.batches)
    other = built(workspace, corpus, limit=4, seed=9)
    answered(workspace, ledger, other, 1.0, [1])
    led = estimate(workspace, ledger, run, NOW, LIMITS)
    assert (led.batches, led.waves) == (1, 1), "the model has answered this task before"
    small = estimate(workspace, ledger, run, NOW, replace(LIMITS, max_requests=10))
    assert small.batches == ceil(small.total.to_buy / 10 / 0.8) and small.waves == 1, "whole instances: eight of ten"


def test_where_no_price_is_known_no_dollar_is_named(workspace: Workspace, ledger: Ledger, corpus: Path) -> None:
    wanted = Wanted("3.1", "gpt-4.1", str(corpus), limit=4, env={"OPENAI_BASE_URL": "http://localhost:8000/v1"})
    shown = estimate(workspace, ledger, build(workspace, wanted, NOW, lambda _: None), NOW, LIMITS)
    total = shown.total
    assert {total.low_usd, total.mid_usd, total.high_usd, total.standard_usd, total.repeated_usd} == {None}
    assert shown.bound_usd is None
    assert any(note.startswith("price unknown") for note in shown.notes)


def test_nothing_to_buy_costs_nothing(workspace: Workspace, ledger: Ledger, corpus: Path) -> None:
    run = built(workspace, corpus)
    answered(workspace, ledger, run, 1.0, [1])
    shown = estimate(workspace, ledger, run, NOW, LIMITS)
    total = shown.total
    assert (total.to_buy, total.low_usd, total.mid_usd, total.high_usd, shown.bound_usd) == (0, 0, 0, 0, 0)
    assert total.answered == total.unique == run.unique
    assert (shown.batches, shown.waves) == (0, 0)


@given(st.lists(st.integers(1, 500), min_size=20, max_size=60), st.floats(0.5, 3), st.integers(1, 10**6))
def test_what_never_varied_has_no_width(units: list[int], ratio: float, further: int) -> None:
    frame = pl.DataFrame({"unit": units, "cluster": [str(i // 2) for i in range(len(units))]}).with_columns(
        amount=pl.col("unit") * ratio
    )
    rate = seen(frame, "amount", "unit")
    assert rate is not None
    span = rate.over(further)
    assert span.low == pytest.approx(ratio) == pytest.approx(span.high)


def test_an_interval_of_what_was_seen_holds_nine_sums_of_ten() -> None:
    """Lengths that vary by instance and by answer; 30 instances seen, 60 to come."""
    luck = np.random.default_rng(5)
    inside = 0
    for _ in range(300):
        sizes = luck.exponential(200, (90, 1)) * luck.lognormal(0, 0.4, (90, 4))
        first = pl.DataFrame({"amount": sizes[:30].ravel(), "unit": 1, "cluster": np.repeat(np.arange(30), 4)})
        rate = seen(first, "amount", "unit")
        assert rate is not None
        span = rate.over(240)
        inside += span.low <= sizes[30:].mean() <= span.high
    assert 0.85 <= inside / 300 <= 0.95
