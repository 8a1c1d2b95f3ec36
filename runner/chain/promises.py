"""What was promised when a run was approved: ``estimate.json``, kept for the comparison with the bill."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import orjson

from runner.chain.files import write_bytes
from runner.chain.runs import Folders, Run, Workspace
from runner.reporting.estimate_view import Estimate, EstimateColumn


@dataclass(frozen=True, slots=True)
class Promised:
    """Of one setting, or in total: requests to buy, tokens and dollars as expected, and the dollars' interval."""

    name: str
    to_buy: int
    input_tokens: int
    output_tokens: int | None
    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None


@dataclass(frozen=True, slots=True)
class Promise:
    """``widened`` is by what the interval had been stretched, because earlier ones had been too narrow."""

    total: Promised
    settings: tuple[Promised, ...]
    widened: float = 1.0


def keep(workspace: Workspace, run: Run, shown: Estimate) -> None:
    """Keep what was promised when the run was approved; a later look at the cost does not change it."""
    path = Folders(workspace, run.name).asked / "estimate.json"
    if path.exists() or shown.total.to_buy == 0:
        return
    total = shown.total
    promise = {
        "low_usd": total.low_usd,
        "mid_usd": total.mid_usd,
        "high_usd": total.high_usd,
        "bound_usd": shown.bound_usd,
        "widened": shown.widened,
        "total": asdict(_promised(total)),
        "settings": [asdict(_promised(column)) for column in shown.settings],
    }
    write_bytes(path, orjson.dumps(promise, option=orjson.OPT_INDENT_2))


def promise_of(workspace: Workspace, name: str) -> Promise | None:
    """What was promised of a run; None where nothing was, or only the dollars (an earlier version)."""
    path = Folders(workspace, name).asked / "estimate.json"
    raw: dict[str, Any] = orjson.loads(path.read_bytes()) if path.exists() else {}
    if "total" not in raw:
        return None
    settings = tuple(Promised(**each) for each in raw["settings"])
    return Promise(Promised(**raw["total"]), settings, raw["widened"])


def _promised(column: EstimateColumn) -> Promised:
    return Promised(
        column.name,
        column.to_buy,
        column.input_tokens,
        column.output_tokens,
        column.low_usd,
        column.mid_usd,
        column.high_usd,
    )
