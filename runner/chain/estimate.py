"""What a run would cost, before any money moves: counts, tokens, low / expected / high, and a bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from math import sqrt

import polars as pl

from runner.chain.batching import journey, shared
from runner.chain.expecting import Ground, ground
from runner.chain.experience import rules_as_seen
from runner.chain.outlook import Rates
from runner.chain.prices import bound_price_at, price_at, with_bound
from runner.chain.reconcile import history, stretch
from runner.chain.runs import Folders, Run, Workspace
from runner.chain.stock import answered, out, request_ids, to_buy
from runner.ledger import Ledger
from runner.models import find_model
from runner.pricing import Price, estimate_expr, standard_price
from runner.providers.base import Limits
from runner.reporting.estimate_view import Estimate, EstimateColumn
from runner.venues import is_rehearsal, rehearsed_day

SOON_DAYS = 60
"""From so many days before its end on a model's shut-down is spoken of."""


def estimate(workspace: Workspace, ledger: Ledger, run: Run, now: datetime, limits: Limits | None = None) -> Estimate:
    """Per setting and in total. Tokens and dollars are of what is still to be bought.

    ``limits`` are the provider's for this model and tier; without them nothing is said of files and time.
    """
    folders = Folders(workspace, run.name)
    dearest = bound_price_at(run, now)
    wanted = with_bound(to_buy(workspace, ledger, run, 1), dearest)
    asked = pl.read_parquet(folders.requests(1))
    ids = request_ids(folders)
    have = answered(workspace, ledger, run.asked.venue, run.asked.model, ids)
    bought = out(workspace, ledger, run, ids)
    current = price_at(run, now)
    travel = None if limits is None else journey(ledger, run, folders, wanted, limits, now)
    rules = rules_as_seen(workspace, ledger, run, now)
    cache = shared(folders, wanted, travel.blocks if travel else (), current, rules)
    known = ground(workspace, ledger, run, wanted, cache)
    widened = stretch(history(workspace, ledger), run.asked.venue)
    firsts = asked.unique("request_id", keep="first", maintain_order=True).select("request_id", "setting", "n")
    rows = wanted.join(firsts, on="request_id", maintain_order="left").join(
        cache.frame, on="request_id", maintain_order="left"
    )
    reckoning = _Reckoning(rows, have, bought.not_sent, known, current, _standard(run, now), bool(cache.hits), widened)
    priced = wanted["bound_usd"].null_count() == 0 and current is not None
    return Estimate(
        title=f"{run.asked.task} · {run.asked.model} at {run.asked.venue} · {run.asked.protocol}, "
        f"{run.instances:,} instances",
        venue=run.asked.venue,
        settings=tuple(reckoning.column(each, asked.filter(setting=each)) for each in run.asked.settings),
        total=reckoning.column("total", asked),
        bound_usd=float(wanted["bound_usd"].sum()) if priced else None,
        bound_assumes=dearest.assumed if dearest and priced else None,
        notes=(
            *(f"{n:,} in flight in {name}" for name, n in bought.elsewhere.items()),
            *_notes(run, current, known, now, widened),
        ),
        caution=run.caution,
        batches=len(travel.blocks) if travel else None,
        waves=travel.waves if travel else None,
        widened=widened,
    )


def _standard(run: Run, now: datetime) -> Price | None:
    """The price without batch, where the batch's is known."""
    if price_at(run, now) is None:
        return None
    day = rehearsed_day(run.asked.venue)
    at = datetime.combine(day, time(12), UTC) if day else now
    return standard_price(find_model(f"{run.asked.provider}/{run.asked.model}"), at)


@dataclass(frozen=True)
class _Reckoning:
    """What every column is made of. ``rows`` are the requests to buy, each with the first setting that asks it."""

    rows: pl.DataFrame
    have: pl.Series
    not_sent: pl.Series
    known: Ground
    price: Price | None
    standard: Price | None
    is_cached: bool
    widened: float

    def column(self, name: str, asked: pl.DataFrame) -> EstimateColumn:
        """Counts, tokens and money of what one setting, or all, asks."""
        copies = asked.group_by("request_id").agg(copies=pl.len())
        mine = self.rows.join(copies, on="request_id", maintain_order="left")
        mine = _with_spans(_with_spans(mine, "in", "tokens", self.known.inputs), "out", "n", self.known.outputs)
        mine = mine.with_columns(pl.min_horizontal(f"out_{end}", "max_output") for end in ("low", "mid", "high"))
        sums = mine.select(pl.col("^(in|out)_.*$").sum()).row(0, named=True)
        read = pl.col("cached_tokens") * self.known.hits.mid * pl.col("in_mid") / pl.col("tokens")
        money = self._money(mine)
        return EstimateColumn(
            name=name,
            requests=asked.height,
            unique=copies.height,
            answered=int(copies["request_id"].is_in(self.have.implode()).sum()),
            to_buy=mine.height,
            not_sent=int(copies["request_id"].is_in(self.not_sent.implode()).sum()),
            input_tokens=round(sums["in_mid"]),
            input_tokens_low=round(sums["in_low"]),
            input_tokens_high=round(sums["in_high"]),
            cached_tokens=round(mine.select(read.sum()).item()) if self.is_cached else None,
            output_tokens=round(sums["out_mid"]),
            output_tokens_low=round(sums["out_low"]),
            output_tokens_high=round(sums["out_high"]),
            **money,
        )

    def _money(self, mine: pl.DataFrame) -> dict[str, float | None]:
        """Per request, never on the sum: long prompts have a price of their own.

        What chance does to input, output and hits is independent: the root of the sum of squares. What is only
        assumed of them may be wrong in the same direction: the sum.
        """
        names = ("low_usd", "mid_usd", "high_usd", "standard_usd", "repeated_usd", "uncached_usd")
        if self.price is None:
            return dict.fromkeys(names)
        price, hits = self.price, self.known.hits
        each = {
            "mid": _usd(price, "in_mid", "out_mid", hits.mid),
            "in_low": _usd(price, "in_low", "out_mid", hits.mid),
            "in_high": _usd(price, "in_high", "out_mid", hits.mid),
            "out_low": _usd(price, "in_mid", "out_low", hits.mid),
            "out_high": _usd(price, "in_mid", "out_high", hits.mid),
            "hits_low": _usd(price, "in_mid", "out_mid", hits.high),
            "hits_high": _usd(price, "in_mid", "out_mid", hits.low),
            "uncached": _usd(price, "in_mid", "out_mid", None),
            "bound": pl.col("bound_usd"),
        }
        each["repeated"] = each["mid"] * pl.col("copies")
        if self.standard is not None:
            each["standard"] = _usd(self.standard, "in_mid", "out_mid", hits.mid)
        usd = mine.select(expression.sum().alias(name) for name, expression in each.items()).row(0, named=True)
        mid = usd["mid"]
        below = {name: mid - usd[f"{name}_low"] for name in ("in", "out", "hits")}
        above = {name: usd[f"{name}_high"] - mid for name in ("in", "out", "hits")}
        return {
            "low_usd": max(0.0, mid - self._half(below)),
            "mid_usd": mid,
            "high_usd": max(mid, min(mid + self._half(above), usd["bound"])),
            "standard_usd": usd.get("standard"),
            "repeated_usd": usd["repeated"],
            "uncached_usd": usd["uncached"],
        }

    def _half(self, sides: Mapping[str, float]) -> float:
        chance = sqrt(sum(max(0.0, side) ** 2 for name, side in sides.items() if name in self.known.seen))
        return self.widened * (
            chance + sum(max(0.0, side) for name, side in sides.items() if name not in self.known.seen)
        )


def _with_spans(mine: pl.DataFrame, name: str, unit: str, rates: Rates) -> pl.DataFrame:
    """Columns ``<name>_low``, ``_mid`` and ``_high``: what each request takes, at its setting's rate."""
    units = mine.group_by("setting").agg(pl.col(unit).sum())
    spans = rates.over({setting: float(total) for setting, total in units.iter_rows()})
    table = pl.DataFrame(
        [(setting, span.low, span.mid, span.high) for setting, span in spans.items()],
        schema={"setting": pl.String, **{f"{name}_{end}": pl.Float64 for end in ("low", "mid", "high")}},
        orient="row",
    )
    return mine.join(table, on="setting", how="left", maintain_order="left").with_columns(
        pl.col(f"^{name}_(low|mid|high)$") * pl.col(unit)
    )


def _usd(price: Price, whole: str, output: str, hits: float | None) -> pl.Expr:
    """Dollars per request, with ``hits`` times the expected reads of the cache; None: nothing read, nothing written.

    What is read more often is written less often, where it is written at all.
    """
    if hits is None:
        return estimate_expr(price, input=whole, cached=0.0, written=0.0, written_long=0.0, output=output)
    per_token = pl.col(whole) / pl.col("tokens")
    more = pl.col("cached_tokens") * (hits - 1)
    return estimate_expr(
        price,
        input=whole,
        cached=pl.col("cached_tokens") * hits * per_token,
        written=(pl.col("cache_write_tokens") - more).clip(0) * (pl.col("cache_write_tokens") > 0) * per_token,
        written_long=(pl.col("cache_write_long_tokens") - more).clip(0)
        * (pl.col("cache_write_long_tokens") > 0)
        * per_token,
        output=output,
    )


def _notes(run: Run, current: Price | None, known: Ground, now: datetime, widened: float) -> Sequence[str]:
    notes = [known.notes[0]]
    if current is None:
        notes.append(
            f"price unknown: none is recorded for {run.asked.model} at {run.asked.venue}; no bound can be given, and "
            f"`BUDGET` cannot hold"
        )
    else:
        notes.append(f"price: {current}")
    notes.extend(known.notes[1:])
    if widened > 1:
        notes.append(f"the interval is {widened:.2f} times as wide as computed: earlier ones held too few bills")
    notes.extend(_farewell(run, now))
    notes.extend(f"assumed: {assumption}" for assumption in run.assumptions)
    return notes


def _farewell(run: Run, now: datetime) -> Sequence[str]:
    """A word about a model that is shut down soon: what is not answered by then can be bought no more."""
    if is_rehearsal(run.asked.venue) and rehearsed_day(run.asked.venue):
        return ()
    model = find_model(f"{run.asked.provider}/{run.asked.model}")
    left = None if model.retires is None else (model.retires - now.date()).days
    if left is None or left > SOON_DAYS:
        return ()
    instead = f" (its successor: {model.successor})" if model.successor else ""
    return (
        f"{model.id} is shut down on {model.retires}, in {left} days: what is not answered by then cannot be bought"
        f"{instead}",
    )
