"""What a run's answers cost, setting by setting, and what was not paid for."""

from __future__ import annotations

import orjson
import polars as pl

from runner.chain.prices import price_at
from runner.chain.runs import Folders, Run
from runner.ledger import Ledger
from runner.pricing import MILLION
from runner.reporting.summary import Cost, Saving, Spent

_TOKENS = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")


def cost_of(ledger: Ledger, run: Run, folders: Folders, responses: pl.DataFrame) -> Cost:
    """Estimated, allowed, billed, and where it went."""
    promised = folders.asked / "estimate.json"
    estimate = orjson.loads(promised.read_bytes()) if promised.exists() else {}
    spent = ledger.spent(run=run.name)
    elsewhere = responses.filter(pl.col("bought_by") != run.name)
    reused = _usd(elsewhere)
    used = _used(folders, responses)
    return Cost(
        low_usd=estimate.get("low_usd"),
        mid_usd=estimate.get("mid_usd"),
        high_usd=estimate.get("high_usd"),
        bound_usd=estimate.get("bound_usd"),
        billed_usd=spent.billed_usd if spent.is_known else None,
        reused_usd=reused,
        by_setting=_by_setting(used),
        savings=(
            Saving("answers that earlier runs had paid for", reused),
            Saving("identical requests sent once", _usd(used.filter(~pl.col("request_id").is_first_distinct()))),
            Saving("input that the provider read from its cache", _cached(run, responses)),
        ),
        billed_is_bound=spent.is_bound,
        reused_is_bound=bool(elsewhere["cost_is_bound"].any()),
    )


def _used(folders: Folders, responses: pl.DataFrame) -> pl.DataFrame:
    """One row per request as it was asked, with what its answer took (all choices together)."""
    per_request = responses.group_by("request_id").agg(
        *(pl.col(name).sum() for name in _TOKENS),
        cost_usd=pl.when(pl.col("cost_usd").null_count() == 0).then(pl.col("cost_usd").sum()),
        answers=pl.len(),
        is_bound=pl.col("cost_is_bound").any(),
    )
    asked = [
        pl.read_parquet(path, columns=["setting", "request_id"])
        for path in sorted(folders.asked.glob("stage-*/requests.parquet"))
    ]
    return pl.concat(asked).join(per_request, on="request_id", how="inner", maintain_order="left")


def _by_setting(used: pl.DataFrame) -> tuple[Spent, ...]:
    totals = used.group_by("setting", maintain_order=True).agg(
        pl.col("answers").sum(),
        *(pl.col(name).sum() for name in _TOKENS),
        usd=pl.when(pl.col("cost_usd").null_count() == 0).then(pl.col("cost_usd").sum()),
        is_bound=pl.col("is_bound").any(),
    )
    return tuple(Spent(**row) for row in totals.iter_rows(named=True))


def _usd(rows: pl.DataFrame) -> float | None:
    return None if rows["cost_usd"].null_count() else float(rows["cost_usd"].sum())


def _cached(run: Run, responses: pl.DataFrame) -> float | None:
    """The discount on cached input, at the price of the first answer (of the shorter prompts' tier)."""
    tokens = int(responses["cached_tokens"].sum())
    at = responses["received_at"].min()
    if not tokens or at is None:
        return 0.0
    price = price_at(run, at)  # type: ignore[arg-type]
    return None if price is None else tokens * (price.base.input - price.base.cached_input) / MILLION
