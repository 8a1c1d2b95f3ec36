"""The user's yes: what was shown is kept, and all that the run may ever cost is written down as its bound."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import polars as pl

from runner.chain.journal import Point, reached
from runner.chain.prices import bound_of, bound_price_at, with_bound
from runner.chain.promises import keep
from runner.chain.runs import Run, Workspace
from runner.chain.stock import room_usd, to_buy
from runner.errors import RunnerError
from runner.ledger import Approval, Ledger
from runner.reporting.estimate_view import Estimate
from runner.reporting.words import usd
from runner.venues import is_rehearsal


def approve(
    workspace: Workspace,
    ledger: Ledger,
    run: Run,
    shown: Estimate,
    budget_usd: float | None,
    ask: Callable[[str], bool],
    now: datetime,
    say: Callable[[str], None],
    pilot: int | None = None,
) -> bool:
    """Ask for what is to be bought and keep the answer. A rehearsal moves no money and is not asked about.

    With ``pilot`` it is a yes to so many of the first instances only; where those are bought nothing is asked.

    Raises RunnerError when a BUDGET cannot be kept or has no room left.
    """
    n, rest_usd, said = shown.total.to_buy, shown.bound_usd, ""
    if n and pilot is not None:
        n, rest_usd = _first(workspace, ledger, run, pilot, now)
        said = f" (a pilot: the first {pilot:,} instances)"
        say(f"The pilot: {n:,} requests of the first {pilot:,} instances, at most {usd(rest_usd)}.")
    before = ledger.approval(run.name)
    if not n and before is not None and not before.is_withdrawn:
        # Nothing new, but what comes back unanswered is bought again: under the latest word.
        ledger.approve(run.name, before.bound_usd, before.at, budget_usd or before.budget_usd, pilot)
    elif not n and before is None and shown.total.answered < shown.total.unique:
        # All of it flies in another run's jobs: a yes to nothing, so that this run is collected too.
        ledger.approve(run.name, 0.0, now, budget_usd, pilot)
    if not n:
        return True
    bound_usd = _bound(ledger, run, rest_usd, budget_usd)
    room = None if bound_usd is None else room_usd(ledger, run, Approval(run.name, bound_usd, now, budget_usd))
    if budget_usd is not None and room is not None and room <= 0:
        if before is not None and not before.is_withdrawn:  # a lower BUDGET binds an earlier yes too
            ledger.approve(run.name, before.bound_usd, before.at, budget_usd, before.instances)
        raise RunnerError(
            f"`BUDGET` {usd(budget_usd)} is used up: {usd(budget_usd - room)} is bought or held back for this task, "
            f"model, protocol and corpus; a higher `BUDGET` buys more."
        )
    if not is_rehearsal(run.asked.venue):
        most = "an unknown sum (no price is known)" if room is None else f"at most {usd(room)}"
        if not ask(f"Buy {n:,} requests{said} from {run.asked.venue} for {most}?"):
            return False
    keep(workspace, run, shown)
    ledger.approve(run.name, bound_usd, now, budget_usd, pilot)
    reached(Point.APPROVED)
    return True


def withdraw(workspace: Workspace, ledger: Ledger, run: Run, now: datetime, say: Callable[[str], None]) -> None:
    """Take the yes back: nothing more is sent, and the next advance cancels what is out and keeps what it answered.

    Raises RunnerError when the run was never approved.
    """
    with workspace.locked(say):
        if ledger.approval(run.name) is None:
            raise RunnerError(f"{run.name} was never approved, so nothing of it was sent.")
        ledger.withdraw(run.name, now)


def _first(workspace: Workspace, ledger: Ledger, run: Run, instances: int, now: datetime) -> tuple[int, float | None]:
    """How many requests of the first instances are still to be bought, and the bound on them."""
    wanted = to_buy(workspace, ledger, run, 1).filter(pl.col("instance") < instances)
    return wanted.height, bound_of(with_bound(wanted, bound_price_at(run, now)))


def _bound(ledger: Ledger, run: Run, rest_usd: float | None, budget_usd: float | None) -> float | None:
    """All that the run may ever cost: what it has cost, what it holds back, and the bound on the rest."""
    if rest_usd is None and budget_usd is not None:
        raise RunnerError(
            f"`BUDGET` cannot be kept: no price is known for {run.asked.model} at {run.asked.venue}; leave it out."
        )
    return None if rest_usd is None else ledger.spent(run=run.name).total_usd + rest_usd
