"""What so many instances cost, from the first few of them: each request priced by itself, then extrapolated."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from math import sqrt

import polars as pl

from runner.chain.batching import Shared
from runner.chain.expecting import Ground, ground
from runner.chain.prices import bound_price_at, price_at, with_bound
from runner.chain.runs import Run, Workspace
from runner.ledger import Ledger
from runner.pricing import Price, estimate_expr

_Z = 1.645  # 90 %, two-sided, as in an estimate
_ENDS = (("mid", "mid"), ("low", "mid"), ("high", "mid"), ("mid", "low"), ("mid", "high"))
"""Of input and output: what is expected, and each of them moved alone."""

Usd = float | None


@dataclass(frozen=True)
class Costing:
    """``of(instances)`` is low, expected, high and bound in USD of so many further instances; None: no price."""

    of: Callable[[int], tuple[Usd, Usd, Usd, Usd]]
    notes: tuple[str, ...]


def costing(
    workspace: Workspace, ledger: Ledger, run: Run, bodies: pl.DataFrame, *, population: int, now: datetime
) -> Costing:
    """From the bodies of the prefix ``run``: request_id, tokens, input_bound, max_output, instance, setting, n.

    Input and output rest on what an estimate rests on. What moves the cost (input, output, and that a prefix is a
    sample) is taken to move by itself, as there. Prompts that a provider caches make it cheaper than that.
    """
    current = price_at(run, now)
    if current is None:
        return Costing(lambda n: (None, None, None, None), (f"price unknown: none is recorded for {run.asked.model}",))
    uncached = Shared(bodies.select("request_id"), bodies.height, 0.0)
    known = ground(workspace, ledger, run, bodies, uncached)
    bound = float(with_bound(bodies, bound_price_at(run, now))["bound_usd"].sum()) / run.instances

    def of(instances: int) -> tuple[Usd, Usd, Usd, Usd]:
        if instances <= 0:
            return 0.0, 0.0, 0.0, 0.0
        rows = _with_spans(bodies, known, instances / run.instances)
        each = rows.group_by("instance").agg(
            _usd(current, whole, out).sum().alias(f"{whole} {out}") for whole, out in _ENDS
        )
        mid, in_low, in_high, out_low, out_high = each.drop("instance").mean().row(0)
        deviation = float(each["mid mid"].std() or 0.0)  # type: ignore[arg-type]
        missing = max(0.0, 1 - run.instances / population)
        sampled = _Z * deviation / sqrt(run.instances) * sqrt(missing)
        below = sqrt((mid - in_low) ** 2 + (mid - out_low) ** 2 + sampled**2)
        above = sqrt((in_high - mid) ** 2 + (out_high - mid) ** 2 + sampled**2)
        return tuple(instances * usd for usd in (max(0.0, mid - below), mid, min(mid + above, bound), bound))  # type: ignore[return-value]

    said = f"cost by the first {run.instances:,} instances, without a provider's cache; price: {current}"
    assumed = (f"assumed: {current.assumed}",) if current.assumed else ()
    return Costing(of, (said, *assumed, *known.notes))


def _with_spans(bodies: pl.DataFrame, known: Ground, times: float) -> pl.DataFrame:
    """Input and output of each request, ``in_`` and ``out_`` low, mid and high, when so many times these are bought."""
    totals = list(bodies.group_by("setting").agg(pl.col("tokens", "n").sum()).iter_rows())
    inputs = known.inputs.over({setting: tokens * times for setting, tokens, _ in totals})
    outputs = known.outputs.over({setting: n * times for setting, _, n in totals})
    table = pl.DataFrame(
        [
            {
                "setting": setting,
                **{f"in_{end}": getattr(inputs[setting], end) for end in _SPAN},
                **{f"out_{end}": getattr(outputs[setting], end) for end in _SPAN},
            }
            for setting in inputs
        ]
    )
    joined = bodies.join(table, on="setting", how="left", maintain_order="left")
    return joined.with_columns(
        pl.col("^in_(low|mid|high)$") * pl.col("tokens"),
        *(pl.min_horizontal(pl.col(f"out_{end}") * pl.col("n"), "max_output").alias(f"out_{end}") for end in _SPAN),
    )


_SPAN = ("low", "mid", "high")


def _usd(price: Price, whole: str, output: str) -> pl.Expr:
    return estimate_expr(price, input=f"in_{whole}", cached=0.0, written=0.0, written_long=0.0, output=f"out_{output}")
