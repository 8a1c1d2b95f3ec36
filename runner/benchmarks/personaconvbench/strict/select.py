"""From a corpus to the instances of a strict task, in sample order, with the funnel."""

from __future__ import annotations

from typing import Literal, cast

import numpy as np
import polars as pl

from runner.benchmarks.base import Corpus, Funnel, Options, Selection
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.strict.columns import instance_frame, population
from runner.benchmarks.personaconvbench.strict.limits import Kind, Switches
from runner.benchmarks.personaconvbench.strict.rules import Eligible, eligible, why_none
from runner.benchmarks.personaconvbench.strict.sample import effective_n, sample_order, with_weights
from runner.benchmarks.personaconvbench.strict.threads import Threads, ready


def select(
    corpus: Corpus, options: Options, kind: Literal["sign", "value", "text"], *, all_scores: bool = False
) -> Selection:
    """The instances of 3.1 (``sign``), 3.2 (``value``; ``all_scores`` drops |score| >= 4) or 3.3 (``text``).

    3.1 and 3.2 get the same instances in the same order. Zero instances come with their explanation.
    """
    asked: Kind = "value-all" if kind == "value" and all_scores else kind
    return _select(corpus, options, asked)


def _select(corpus: Corpus, options: Options, kind: Kind) -> Selection:
    switches = Switches.of(options.variants)
    threads = ready(cast(PersonaCorpus, corpus))
    found = eligible(threads, kind, switches, options.seed)
    everybody = population(threads, found, kind)
    ordered = sample_order(everybody, balance=switches.label_balance, seed=options.seed)
    sample = with_weights(ordered.head(len(ordered) if options.limit is None else options.limit))
    frame = instance_frame(threads, found, sample, kind, options.seed)
    explanation = None if len(frame) else _why_none(found, kind, switches)
    return Selection(frame, Funnel(found.steps, _notes(threads, found, ordered, frame)), explanation)


def _why_none(found: Eligible, kind: Kind, switches: Switches) -> str:
    if len(found.rows):
        return "The limit is 0 instances."
    if switches.dev and dict(found.steps)["dev split"] == 0:
        return "There is no dev split: it needs posts by 200 authors or more."
    return why_none(found.steps, kind, switches)


def _notes(
    threads: Threads, found: Eligible, ordered: pl.DataFrame, frame: pl.DataFrame
) -> dict[str, float | int | str]:
    """What a reader must know about the population (first) and the sample that was taken."""
    notes: dict[str, float | int | str] = {
        "eligible": len(ordered),
        "eligible authors": ordered["user"].n_unique(),
        "eligible negatives": _negatives(ordered),
        "clock exclusions": found.clock,
        "edits cut": threads.edits_cut,
        "instances": len(frame),
    }
    if frame.is_empty():
        return notes
    per_author = frame["user"].value_counts()["count"]
    most_used = frame["donor"].value_counts(sort=True).row(0)
    notes |= {
        "authors": frame["user"].n_unique(),
        "effective authors": round(effective_n(per_author), 1),
        "negatives": _negatives(frame),
        "weights' effective n": round(effective_n(frame["weight"]), 1),
        "strata without an instance": ordered["stratum"].n_unique() - frame["stratum"].n_unique(),
        **{
            f"donor level {level}": round(float((frame["donor_level"] == level).mean() or 0), 4)  # type: ignore[arg-type]
            for level in range(3)
        },
        "donors": frame["donor"].n_unique(),
        "most-used donor": f"{most_used[0][:12]}: {most_used[1]} instances",
        "threads uncut": round(float((frame["thread_dropped"] == 0).mean() or 0), 4),  # type: ignore[arg-type]
        "with own replies visible": round(float((frame["own_visible"] > 0).mean() or 0), 4),  # type: ignore[arg-type]
        **{
            f"own vs donor, {what} (standardised difference)": _difference(frame, column)
            for what, column in (("length", "chars"), ("score", "scores"), ("age", "ages"))
        },
    }
    return notes


def _negatives(frame: pl.DataFrame) -> int:
    return int((frame["label"] == "negative").sum())


def _difference(frame: pl.DataFrame, column: str) -> float | str:
    """(mean own - mean donor) / root of the mean of the two variances, weighted, of the instances' item means."""
    means = frame.select(
        own=pl.col(f"own_{column}").list.mean(), donor=pl.col(f"donor_{column}").list.mean(), weight="weight"
    ).drop_nulls()
    if len(means) < 2:
        return "n/a"
    own, donor, weight = (means[name].to_numpy() for name in ("own", "donor", "weight"))
    center = [float(np.average(values, weights=weight)) for values in (own, donor)]
    variance = [
        float(np.average((values - mean) ** 2, weights=weight))
        for values, mean in zip((own, donor), center, strict=True)
    ]
    spread = float(np.sqrt(sum(variance) / 2))
    return round((center[0] - center[1]) / spread, 4) if spread else "n/a"
