"""Frames of items whose rows correspond, and what their metrics differ by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import polars as pl

from runner.benchmarks.personaconvbench.strict.scoring.kinds import SEED, Kind
from runner.benchmarks.personaconvbench.strict.scoring.measures import by_presence, measured, missing, weight
from runner.metrics.effects import Contrast, effects
from runner.metrics.score import Effect

Aligned = Mapping[str, pl.DataFrame]
"""By name, frames with the same instances and samples in the same order; the first one has ``weight``."""

_PAIR = ["instance_id", "sample"]


def align(frames: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """The instances and samples that all frames have, weighted by what is left of each stratum."""
    if not frames:
        return {}
    each = [frame.select(_PAIR) for frame in frames.values()]
    common = pl.concat(each).group_by(_PAIR).len().filter(pl.col("len") == len(each)).select(_PAIR)
    return {
        name: frame.join(common, on=_PAIR, how="semi").sort(_PAIR).with_columns(weight())
        for name, frame in frames.items()
    }


def compare(
    frames: Aligned,
    contrasts: Sequence[Contrast],
    kind: Kind,
    metrics: Sequence[str],
    group: str,
    *,
    level: float,
    tested: bool,
) -> list[Effect]:
    """Every contrast of every metric that all frames have, on the rows that have it in all of them."""
    if not contrasts or next(iter(frames.values())).is_empty():
        return []
    lost = {metric for frame in frames.values() for metric in missing(frame, kind, metrics)}
    found: list[Effect] = []
    for names, there in by_presence(list(frames.values()), kind, [name for name in metrics if name not in lost]):
        used = {name: frame.filter(there) for name, frame in frames.items()}
        one = next(iter(used.values()))
        if one.is_empty():
            continue
        found += effects(
            contrasts,
            {name: measured(frame, kind, names) for name, frame in used.items()},
            one["weight"].to_numpy(),
            one["user"].to_numpy().astype(object),
            instances=one["instance_id"].n_unique(),
            classes=one["truth"].to_numpy().astype(object) if kind == "sign" else None,
            group=group,
            level=level,
            seed=SEED,
            tested=tested,
        )
    return found
