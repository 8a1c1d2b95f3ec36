"""The strict protocol's numbers: answers to items (judge), items to the table, the effects and what beats what."""

from __future__ import annotations

from functools import partial

import polars as pl

from runner.benchmarks.base import Design, Judge, Scored
from runner.benchmarks.personaconvbench.strict.scoring.contrasts import MAIN, declared
from runner.benchmarks.personaconvbench.strict.scoring.effects import setting_effects
from runner.benchmarks.personaconvbench.strict.scoring.floors import constant_items
from runner.benchmarks.personaconvbench.strict.scoring.judge import judge, judge_embeddings
from runner.benchmarks.personaconvbench.strict.scoring.kinds import METRICS, PRIMARY, Kind, signatures
from runner.benchmarks.personaconvbench.strict.scoring.rivals import beats, versus
from runner.benchmarks.personaconvbench.strict.scoring.table import floor_rows, model_rows
from runner.metrics import embeddings

__all__ = ["METRICS", "PRIMARY", "REMARKS", "Kind", "family", "judges", "score", "signatures", "versus"]

REMARKS = (
    "An effect of history is worded own history rather than a comparable stranger's: a donor shares the subreddit or "
    "domain and the time, not the person, so it says nothing of history against none (the none arms do).",
    "The conversation effect is not pooled over tasks: in 3.1 and 3.2 the thread brings the parent message, in 3.3 "
    "it does not, since every prompt shows the message to be answered.",
    "Every answer counts: one that failed for good stands at its price in every value (see the signatures), and "
    "what is neither p nor interval of the declared family is exploratory.",
)


def judges(kind: Kind) -> tuple[Judge, ...]:
    """The judge of answers, and that of embeddings where they can be had."""
    answers = Judge("answers", partial(judge, kind=kind))
    if kind != "text" or embeddings.missing() is not None:
        return (answers,)
    return (answers, Judge("sbert", judge_embeddings, pooled=False))


def family(task: str, kind: Kind) -> tuple[str, ...]:
    """The confirmatory tests of a task whose whole 2 x 2 is asked."""
    return tuple(declared(task, effect.name, PRIMARY[kind]) for effect in MAIN)


def score(items: pl.DataFrame, kind: Kind, design: Design, task: str) -> Scored:
    """The table, the floors and the effects of the joined items of all final answers."""
    own, floors = items.filter(pl.col("floor").is_null()), items.filter(pl.col("floor").is_not_null())
    if own.is_empty():
        return Scored(signatures=signatures(kind))
    if kind == "text":
        own = own.with_columns(pl.col("recalled").fill_null(False))  # a failed answer recalls nothing
    floors = pl.concat([constant_items(own, kind), floors])
    return Scored(
        rows=tuple(model_rows(own, kind)),
        floors=tuple(floor_rows(floors, kind)),
        effects=(*setting_effects(own, kind, design, task), *beats(own, floors, kind, design)),
        signatures=signatures(kind),
    )
