"""The provider's own count of some of a run's prompts, beside ours: it corrects an estimate before any answer is in."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import polars as pl

from runner.chain.batching import texts_of
from runner.chain.experience import experience
from runner.chain.files import write_frame
from runner.chain.outlook import FEWEST, seen
from runner.chain.runs import Folders, Run, Workspace, read_run
from runner.chain.stock import to_buy
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.providers.base import Unreachable
from runner.providers.counting import Count
from runner.request import Body

SAMPLE = 40
"""Prompts that are counted, about: they make whole instances, at least two."""
THREADS = 8
"""Of them that are asked for at once; the endpoints' limits are per minute."""
FILE = "counted.parquet"
"""``batches/<run>/counted.parquet``: request_id, setting, instance, tokens (ours), counted (theirs)."""


def calibrate(
    workspace: Workspace, ledger: Ledger, run: Run, find: Callable[[], Count | None], say: Callable[[str], None]
) -> None:
    """Have a sample of what is to be bought counted, once, where ours is no exact count and nothing better is known.

    ``find`` gives the provider's count, or None; it is called only when it is needed. Costs nothing and never fails:
    what goes wrong is one sentence, and the estimate does without.
    """
    if run.tokens_exact or counted(workspace, run) is not None:
        return
    if seen(experience(workspace, ledger, run), "input_tokens", "tokens") is not None:
        return
    sample = _sample(workspace, ledger, run)
    if sample.height < FEWEST:
        return
    try:
        count = find()
    except RunnerError as error:
        say(f"The estimate does without the provider's own count of input tokens: {error}")
        return
    if count is None:
        return
    say(f"Asking {run.asked.venue} to count the input tokens of {sample.height} prompts, which costs nothing.")
    counts, trouble = _ask(count, run.asked.model, sample["body"].to_list())
    found = sample.drop("body").with_columns(counted=pl.Series(counts, dtype=pl.Int64)).drop_nulls("counted")
    if found.height >= FEWEST:
        write_frame(Folders(workspace, run.name).asked / FILE, found)
    elif trouble:
        say(f"The estimate does without the provider's own count of input tokens: {trouble}")


def counted(workspace: Workspace, run: Run) -> pl.DataFrame | None:
    """What was counted of this run, else of the latest run like it; None where nothing was.

    With a ``cluster``, an instance of a run. Another way of counting on our side makes another ratio.
    """
    own = Folders(workspace, run.name).asked / FILE
    paths = sorted(workspace.batches.glob(f"*/{FILE}"), key=lambda path: (path != own, -path.stat().st_mtime_ns))
    for path in paths:
        if path == own or _is_like(workspace, path, run):
            name = pl.lit(path.parent.name)
            return pl.read_parquet(path).with_columns(cluster=pl.format("{}:{}", name, "instance"))
    return None


def _is_like(workspace: Workspace, path: Path, run: Run) -> bool:
    if not (path.parent / "run.json").exists():
        return False
    other = read_run(workspace, path.parent.name)
    return _question(other) == _question(run)


def _question(run: Run) -> tuple[str, ...]:
    asked = run.asked
    return asked.venue, asked.model, asked.task, asked.protocol, run.token_counter


def _sample(workspace: Workspace, ledger: Ledger, run: Run) -> pl.DataFrame:
    """Whole instances, evenly over the sample order, with every prompt of theirs once."""
    folders = Folders(workspace, run.name)
    asked = pl.read_parquet(folders.requests(1), columns=["request_id", "setting", "draw"])
    firsts = asked.filter(pl.col("draw") == pl.col("draw").min()).unique("request_id", keep="first")
    wanted = to_buy(workspace, ledger, run, 1).join(
        firsts.drop("draw"), on="request_id", how="inner", maintain_order="left"
    )
    instances = wanted["instance"].unique(maintain_order=True).to_list()
    n = min(len(instances), max(2, round(SAMPLE * len(instances) / max(1, wanted.height))))
    chosen = [instances[place * len(instances) // n] for place in range(n)]
    rows = wanted.filter(pl.col("instance").is_in(chosen)).select("request_id", "setting", "instance", "tokens")
    return rows.join(texts_of(folders, 1, rows).collect(), on="request_id", maintain_order="left")


def _ask(count: Count, model: str, bodies: list[str]) -> tuple[list[int | None], str | None]:
    """The counts, in order, None where there is none, and the first reason why. If the first fails, so would all."""

    def one(text: str) -> int | str:
        try:
            return count(model, Body.from_json(text))
        except (RunnerError, Unreachable) as error:
            return str(error)

    first = one(bodies[0])
    if isinstance(first, str):
        return [None] * len(bodies), first
    with ThreadPoolExecutor(THREADS) as pool:
        found = [first, *pool.map(one, bodies[1:])]
    troubles = [each for each in found if isinstance(each, str)]
    return [None if isinstance(each, str) else each for each in found], troubles[0] if troubles else None
