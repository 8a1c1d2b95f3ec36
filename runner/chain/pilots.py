"""What earlier runs tell a plan: how scores vary, which look comes next, which instances are paid for already."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import polars as pl

from runner.benchmarks.base import Task
from runner.chain.runs import Asked, Folders, Run, Workspace, read_run, run_names
from runner.chain.stock import answered, held, request_ids
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.metrics.effects import BALANCED
from runner.metrics.planning import Spread, spread
from runner.reporting.summary import Summary
from runner.venues import is_rehearsal

FEWEST_INSTANCES = 20
"""A smaller pilot says less than the assumption."""
ONE_CLASS = "all"
_COLUMNS = ("instance_id", "setting", "sample", "user", "stratum", "stratum_size")


@dataclass(frozen=True, eq=False)
class Pilot:
    """The items of a scored run, one row per instance, with ``weight``, ``class`` and a score column per setting."""

    asked: Asked
    items: pl.DataFrame

    def spread_of(self, coefficients: Mapping[str, float]) -> Spread | None:
        """Of Σ coefficient · score over the instances that have all these settings; None where that tells nothing."""
        if not set(coefficients) <= set(self.items.columns):
            return None
        rows = self.items.drop_nulls(list(coefficients)).with_columns(
            weight=pl.col("stratum_size") / pl.len().over("stratum")
        )
        if rows.height < FEWEST_INSTANCES:
            return None
        value = pl.sum_horizontal(factor * pl.col(setting) for setting, factor in coefficients.items())
        return spread(
            rows.select(value).to_series().to_numpy(),
            rows["weight"].to_numpy(),
            rows["user"].to_numpy().astype(object),
            rows["class"].to_numpy().astype(object),
        )


def find_pilot(workspace: Workspace, task: Task, asked: Asked) -> Pilot | None:
    """The best scored run of the same task: this model's before others', this corpus' before others', the largest.

    A rehearsal tells nothing of a real run, nor a real one of a rehearsal.
    """
    found: list[tuple[tuple[bool, bool, bool, int], Pilot]] = []
    for other in _runs(workspace):
        path = Folders(workspace, other.name).scores
        if not path.exists() or not _is_alike(other.asked, asked):
            continue
        items = _items(pl.read_parquet(path), task.primary)
        if items is not None and items.height >= FEWEST_INSTANCES:
            likeness = (
                other.asked.model == asked.model,
                other.asked.corpus == asked.corpus,
                other.asked.effort == asked.effort,
            )
            found.append(((*likeness, items.height), Pilot(other.asked, items)))
    return max(found, key=lambda each: each[0])[1] if found else None


def looks_so_far(workspace: Workspace, asked: Asked) -> tuple[int, frozenset[int | None]]:
    """How often this sample was scored as a whole, and for how many looks those were planned."""
    number, plans = 0, set()
    for other in _runs(workspace):
        path = Folders(workspace, other.name).summary
        if other.asked.series == asked.series and path.exists():
            look = Summary.from_json(path.read_bytes()).look
            if look is not None:
                number = max(number, look.number)
                plans.add(other.asked.looks)
    return number, frozenset(plans)


def paid_instances(workspace: Workspace, ledger: Ledger, asked: Asked) -> pl.Series:
    """The instances of which all settings are answered or on their way, bought by any runs of this sample."""
    found = [pl.DataFrame(schema={"instance_id": pl.String(), "setting": pl.String()})]
    flying = held(workspace, ledger, asked.venue, asked.model)["request_id"]
    for other in _runs(workspace):
        if other.asked.series != asked.series:
            continue
        folders = Folders(workspace, other.name)
        have = answered(workspace, ledger, asked.venue, asked.model, request_ids(folders))
        taken = pl.concat([have, flying]).unique().implode()
        requests = pl.read_parquet(folders.requests(1), columns=["instance_id", "setting", "request_id"])
        whole = requests.group_by("instance_id", "setting").agg(pl.col("request_id").is_in(taken).all().alias("all"))
        found.append(whole.filter("all").drop("all"))
    paid = pl.concat(found).unique().filter(pl.col("setting").is_in(asked.settings)).group_by("instance_id").len()
    return paid.filter(pl.col("len") == len(asked.settings))["instance_id"]


def _runs(workspace: Workspace) -> Iterator[Run]:
    for name in run_names(workspace):
        try:
            yield read_run(workspace, name)
        except (RunnerError, ValueError, KeyError, TypeError):  # of another version: it tells nothing
            continue


def _is_alike(one: Asked, other: Asked) -> bool:
    """Whether the same is asked, in the same words, in earnest or in rehearsal like the other."""
    return all(
        getattr(one, name) == getattr(other, name) for name in ("benchmark", "task", "protocol", "version", "samples")
    ) and is_rehearsal(one.venue) == is_rehearsal(other.venue)


def _items(scores: pl.DataFrame, primary: str) -> pl.DataFrame | None:
    """One row per instance: the mean over its samples of the primary metric's score, a column per setting."""
    source, value = _score(primary)
    if not {*_COLUMNS, *source} <= set(scores.columns):
        return None
    kind = pl.lit(ONE_CLASS) if primary != BALANCED else class_of(pl.col("truth"))
    return (
        scores.with_columns(value=value.cast(pl.Float64), kind=kind)
        .rename({"kind": "class"})
        .pivot(
            "setting",
            index=["instance_id", "user", "stratum", "stratum_size", "class"],
            values="value",
            aggregate_function="mean",
            maintain_order=True,
        )
    )


def class_of(is_positive: pl.Expr) -> pl.Expr:
    """The name of a class of 3.1."""
    return pl.when(is_positive).then(pl.lit("positive")).otherwise(pl.lit("negative"))


def _score(primary: str) -> tuple[tuple[str, ...], pl.Expr]:
    """The columns of items that the primary metric is a mean of."""
    if primary == BALANCED:
        return ("correct", "truth"), pl.col("correct")
    if primary == "log_mae":
        return ("log_error",), pl.col("log_error").abs()
    return (primary,), pl.col(primary)
