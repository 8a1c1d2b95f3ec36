"""Instances and answers by hand, in the shape that a judge gets them."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime

import polars as pl

from runner.benchmarks.base import Design, Scored
from runner.benchmarks.personaconvbench.strict import scoring
from runner.metrics.score import Effect, Score

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")
P, PN, NP, NN = SETTINGS


def instances(references: list[str], **columns: list) -> pl.DataFrame:
    n = len(references)
    common = {
        "instance_id": [f"i{i}" for i in range(n)],
        "reference": references,
        "domain": ["art"] * n,
        "user": [f"u{i}" for i in range(n)],
        "time": [datetime(2020, 1, 1, tzinfo=UTC)] * n,
        "stratum": ["art"] * n,
        "stratum_size": [n] * n,
        "own_visible": [0] * n,
    }
    return pl.DataFrame(common | columns)


def signs(references: list[str], **columns: list) -> pl.DataFrame:
    n = len(references)
    history = {"prior_positive_rate": [0.5] * n, "newest_own_score": [5] * n, "newest_donor_score": [-5] * n}
    return instances(references, **(history | columns))


def values(references: list[int], **columns: list) -> pl.DataFrame:
    n = len(references)
    history = {
        "score": references, "domain_median_abs_score": [10.0] * n, "domain_median_score": [8.0] * n,
        "prior_median_score": [6.5] * n, "newest_own_score": references, "newest_donor_score": [-4] * n,
    }  # fmt: skip
    return instances([str(value) for value in references], **(history | columns))


def texts(references: list[str], **columns: list) -> pl.DataFrame:
    names = ("parent_text", "newest_own_reply", "newest_donor_reply", "similar_own_reply", "similar_donor_reply")
    others = {
        name: pl.Series([[]] * len(references), dtype=pl.List(pl.String))
        for name in ("stranger_replies", "own_elsewhere")
    }
    return instances(references, **(dict.fromkeys(names, references) | others | columns))


def answered(
    frame: pl.DataFrame, answers: list[str | None], status: list[str] | str = "ok", setting: str = P, sample: int = 0
) -> pl.DataFrame:
    status = [status] * len(answers) if isinstance(status, str) else status
    return frame.with_columns(
        setting=pl.lit(setting),
        sample=pl.lit(sample, pl.Int32),
        request_id=pl.lit(f"{setting}/{sample}/") + pl.col("instance_id"),
        status=pl.Series(status, dtype=pl.String),
        text=pl.Series(answers, dtype=pl.String),
        answer=pl.Series(answers, dtype=pl.String),
    )


def no_prompts(ids: Collection[str]) -> Mapping[str, str]:
    raise AssertionError("no prompt is needed here")


def judged(frame: pl.DataFrame, kind: scoring.Kind) -> pl.DataFrame:
    return scoring.judges(kind)[0].judge(frame, no_prompts)


def own(frame: pl.DataFrame, kind: scoring.Kind) -> pl.DataFrame:
    return judged(frame, kind).filter(pl.col("floor").is_null())


def scored(frame: pl.DataFrame, kind: scoring.Kind, design: Design | None = None, task: str = "3.x") -> Scored:
    return scoring.score(judged(frame, kind), kind, design or Design(), task)


def row(rows: tuple[Score, ...], metric: str, **where: str | None) -> Score:
    where = {"setting": P, "group": "all"} | where
    (found,) = [r for r in rows if r.metric == metric and all(getattr(r, k) == v for k, v in where.items())]
    return found


def effect(effects: tuple[Effect, ...], name: str, metric: str, group: str = "all") -> Effect:
    (found,) = [e for e in effects if (e.name, e.metric, e.group) == (name, metric, group)]
    return found
