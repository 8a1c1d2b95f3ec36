"""The one screen on which the demo ends: what came out, what it would have cost, and where to read on."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass

from runner.reporting.charts.names import metric_name
from runner.reporting.effects import difference
from runner.reporting.summary import ANSWERED_BY, REHEARSAL, Summary
from runner.reporting.tables import ALL, best_floor
from runner.reporting.words import count, estimate, figure, usd

WIDTH = 100
_EFFECTS = {"personal": "own history rather than a stranger's", "conversation": "the thread rather than none"}


@dataclass(frozen=True)
class Shown:
    """One task of the demo: its summary, the batches that it took, and its page as the user would open it."""

    summary: Summary
    batches: int
    page: str


def screen(shown: Sequence[Shown], width: int = WIDTH) -> str:
    """What the answers come from, a sentence of result per task, three of cost, the pages, and what comes next."""
    paragraphs = [
        REHEARSAL,
        ANSWERED_BY,
        *(result(each.summary) for each in shown),
        " ".join(costs(shown)),
    ]
    pages = [f"  {each.summary.task} {each.summary.title}: {each.page}" for each in shown]
    wrapped = [textwrap.fill(text, min(width, WIDTH), break_on_hyphens=False) for text in paragraphs]
    after = "Read on: README.md has the same with a real model; VERBOSE=1 shows every table here."
    return "\n".join(["", "\n\n".join(wrapped), "", "The reports, to open in a browser:", *pages, after])


def result(summary: Summary) -> str:
    """The primary metric beside its best floor, and what history and thread are worth (+ is better)."""
    row = next((row for row in summary.rows if row.metric == summary.primary and row.group == ALL), None)
    if row is None:
        return f"{summary.task} {summary.title}: {summary.explanation or 'no answer has been scored'}."
    said = f"{metric_name(row.metric)} {estimate(row.value, row.low, row.high)} in {row.setting}"
    best = best_floor(summary.floors, row.metric, ALL, row.setting)
    if best is not None:
        said += f" (best trivial predictor {figure(best.value)})"
    found = {
        effect.name: effect
        for effect in summary.effects
        if effect.kind == "main" and effect.metric == summary.primary and effect.group == ALL
    }
    worth = [
        f"{words} {difference(effect, effect.level)}"
        for name, words in _EFFECTS.items()
        if (effect := found.get(name)) is not None
    ]
    better = f"; worth (+ is better): {', '.join(worth)}" if worth else ""
    return f"{summary.task} {summary.title}: {said}{better}."


def costs(shown: Sequence[Shown]) -> list[str]:
    """What it would have cost against what had been said before, what was saved, and that nothing was paid."""
    cost = [each.summary.cost for each in shown]
    answers = sum(each.summary.requests.unique for each in shown)
    billed = _sum([each.billed_usd for each in cost])
    low, high, bound = (_sum([getattr(each, f"{name}_usd") for each in cost]) for name in ("low", "high", "bound"))
    saved = [_sum([each.savings[place].usd for each in cost]) for place in range(len(cost[0].savings))]
    why = [f"{one.why} {usd(sum_usd)}" for one, sum_usd in zip(cost[0].savings, saved, strict=True) if sum_usd]
    return [
        f"At the provider {count(answers)} requests in {sum(each.batches for each in shown)} batches would have cost "
        f"{usd(billed)}; the estimate had said {usd(low)} to {usd(high)}, the bound no more than {usd(bound)}.",
        f"That is the batch price, half of the usual one; saved besides: {', '.join(why) or 'nothing'}.",
        "Nothing was paid and nothing left this machine; a second `make demo` buys nothing and ends on this screen.",
    ]


def _sum(amounts: Sequence[float | None]) -> float | None:
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if len(known) == len(amounts) else None
