"""Made-up runs for the tests of the reporting room."""

from collections.abc import Sequence

import numpy as np
import polars as pl

from runner.metrics.score import Effect, Score
from runner.reporting.jobs import JobView
from runner.reporting.summary import Cost, Failure, Look, Requests, Saving, Spent, Summary

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")
FEW = "no interval: fewer than 20 effective authors"
NASTY = "<script>alert(1)</script> a|b \x1b[31mred\x1b[0m \u202eback\nnext `code` </table>"


def score(setting: str, metric: str, value: float | None, **more: object) -> Score:
    fields = {"group": "all", "low": None, "high": None, "n": 480, "coverage": 1.0, **more}
    return Score(setting=setting, metric=metric, value=value, **fields)  # type: ignore[arg-type]


def scored_rows() -> list[Score]:
    rows = [score(name, "accuracy", 0.9 - 0.01 * i, low=0.85, high=0.94) for i, name in enumerate(SETTINGS)]
    rows += [
        score(name, "balanced_accuracy", 0.612 - 0.01 * i, low=0.551, high=0.667) for i, name in enumerate(SETTINGS)
    ]
    rows += [score(name, "mae", 123.4 + i, low=100.0, high=150.0) for i, name in enumerate(SETTINGS)]
    rows += [score(name, "balanced_accuracy", 0.7, group="domain=gaming", n=40, note=FEW) for name in SETTINGS]
    return rows


def majority_floors() -> list[Score]:
    note = "chosen on the sample"
    return [score(name, "balanced_accuracy", 0.5, floor="majority", note=note) for name in SETTINGS]


def summary(rows: Sequence[Score] | None = None, floors: Sequence[Score] | None = None, **changes: object) -> Summary:
    fields: dict[str, object] = {
        "run": "3.1__gpt-9__strict__ab12",
        "task": "3.1",
        "title": "score sign",
        "model": "gpt-9",
        "venue": "openai",
        "protocol": "strict",
        "corpus": "f00d",
        "state": "complete",
        "primary": "balanced_accuracy",
        "instances": 480,
        "cost": Cost(0.0042, 0.0105, 0.021, 0.0333, 0.0098, None),
        "requests": Requests(1920, 1875, 1610, {"ok": 1590, "refused": 12, "truncated": 8}),
        "failures": (Failure("p-conv", "unparsable", 4), Failure("np-conv", "unparsable", 3)),
        "funnel": (("replies", 120345), ("usable", 98000)),
        "funnel_notes": {"negatives": 144, "donor level": 0.81},
        "versions": {"runner": "0.1.0"},
        "signatures": {"mae": "numpy 2.4"},
        **changes,
    }
    rows = scored_rows() if rows is None else rows
    floors = majority_floors() if floors is None else floors
    return Summary(rows=tuple(rows), floors=tuple(floors), **fields)  # type: ignore[arg-type]


def job(batch: str = "batch-0001", **changes: object) -> JobView:
    fields: dict[str, object] = {
        "run": "3.1__gpt-9__strict__ab12",
        "state": "created",
        "total": 1000,
        "done": 812,
        "failed": 3,
        "tokens": 1_200_345,
        "usd": 0.42,
        "elapsed_s": 725.0,
        **changes,
    }
    return JobView(batch=batch, **fields)  # type: ignore[arg-type]


DOMAINS = ("AskHistorians", "gaming", "personalfinance", "relationship_advice", "science")
PRIMARY = {"sign": "balanced_accuracy", "value": "log_mae", "text": "rouge_l"}
_TASKS = {"sign": ("3.1", "score sign"), "value": ("3.2", "score value"), "text": ("3.3", "next text")}
_SIZES = {"sign": (0.64, 0.5), "value": (0.92, 1.3), "text": (0.19, 0.11)}


def effect(name: str, value: float | None, **more: object) -> Effect:
    fields: dict[str, object] = {
        "kind": "main",
        "metric": "balanced_accuracy",
        "group": "all",
        "low": None if value is None else value - 0.018,
        "high": None if value is None else value + 0.018,
        "level": 0.95,
        "n": 480,
        "authors": 118.4,
        **more,
    }
    return Effect(name=name, value=value, **fields)  # type: ignore[arg-type]


def effects(metric: str = "balanced_accuracy", **more: object) -> tuple[Effect, ...]:
    """A 2 x 2 in which own history helps, the thread is not shown to, and nothing is known of the third domain."""

    def main(name: str, value: float, p: float, p_holm: float) -> Effect:
        family = f"3.1: {name} effect on {metric}"
        return effect(name, value, **{"metric": metric, "p": p, "p_holm": p_holm, "family": family, **more})

    def other(name: str, value: float, **facts: object) -> Effect:
        return effect(name, value, **{"metric": metric, **more, **facts})

    return (
        main("personal", 0.031, 0.0004, 0.0012),
        main("conversation", 0.004, 0.41, 0.82),
        main("interaction", -0.006, 0.6, 0.82),
        other("p-conv - np-conv", 0.028, kind="simple", p=0.002),
        other("p-nonconv - np-nonconv", 0.034, kind="simple", p=0.001),
        other("p-conv - p-nonconv", 0.001, kind="simple", p=0.9),
        other("np-conv - np-nonconv", 0.007, kind="simple", p=0.3),
        other("personal", 0.009, group="no own reply visible", n=61),
        *(
            other("personal", 0.06 - 0.02 * place, group=f"domain={name}", low=None, high=None, note=FEW)
            if place == 2
            else other("personal", 0.06 - 0.02 * place, group=f"domain={name}")
            for place, name in enumerate(DOMAINS)
        ),
    )


def full_summary(kind: str = "sign", **changes: object) -> Summary:
    """A scored run with all that charts are made of: domains, floors, effects, tokens, savings, failures."""
    metric, (top, base) = PRIMARY[kind], _SIZES[kind]
    step, width = (top - base) / 8, abs(top - base) / 3

    def cell(setting: int, group: str, value: float, **more: object) -> Score:
        bounds = {} if group.endswith("personalfinance") else {"low": value - width, "high": value + width}
        return score(SETTINGS[setting], metric, value, group=group, coverage=0.985, **{**bounds, **more})

    rows = [cell(place, "all", top - place * step) for place in range(4)]
    for number, name in enumerate(DOMAINS):
        rows += [cell(place, f"domain={name}", top - (place + number) * step, n=96 - number) for place in range(4)]
    floors = [score("all", metric, base, floor="majority", note="chosen on the sample")]
    floors += [score("p-conv", metric, (top + base) / 2, floor="author's prior rate")]
    floors += [score("all", metric, base, group=f"domain={name}", floor="majority") for name in DOMAINS]
    return summary(
        rows,
        floors,
        **{
            "task": _TASKS[kind][0],
            "title": _TASKS[kind][1],
            "primary": metric,
            "effects": effects(metric),
            "look": Look(1, 0.05),
            "failures": (
                Failure("p-conv", "unparsable", 4),
                Failure("p-conv", "refused", 3),
                Failure("np-conv", "unparsable", 3),
                Failure("np-nonconv", "truncated", 7),
            ),
            "cost": Cost(
                0.0042,
                0.0105,
                0.021,
                0.0333,
                0.0098,
                0.002,
                by_setting=(
                    Spent("p-conv", 480, 1_210_000, 410_000, 9_800, 4_100, 0.0041),
                    Spent("p-nonconv", 480, 910_000, 300_000, 9_500, 4_000, 0.0032),
                    Spent("np-conv", 480, 1_180_000, 400_000, 9_700, 4_050, 0.0040),
                    Spent("np-nonconv", 480, 880_000, 290_000, 9_300, 3_900, 0.0031),
                ),
                savings=(
                    Saving("batch price instead of the list price", 0.0144),
                    Saving("identical requests sent once", 0.0006),
                    Saving("cached prompts", None),
                ),
            ),
            **changes,
        },
    )


def full_items(kind: str = "sign", instances: int = 480, seed: int = 0) -> pl.DataFrame:
    """Judged answers as scores.parquet holds them, one in twenty failed, with the rows of one floor."""
    dice, size = np.random.default_rng(seed), instances * 4
    place = np.repeat(np.arange(instances), 4)
    failed = dice.random(size) < 0.05
    frame = pl.DataFrame(
        {
            "instance_id": [f"i{number}" for number in place],
            "setting": list(SETTINGS) * instances,
            "sample": 0,
            "floor": pl.Series([None] * size, dtype=pl.String),
            "domain": [DOMAINS[number % 5] for number in place],
            "user": [f"u{number % 119}" for number in place],
            "stratum": [f"s{number % 3}" for number in place],
            "stratum_size": [(900, 300, 600)[number % 3] for number in place],
            "reason": pl.Series(np.where(failed, "unparsable", ""), dtype=pl.String).replace("", None),
        }
    )
    columns = {"sign": _sign, "value": _value, "text": _text}[kind](dice, place, failed)
    own = frame.with_columns(**{name: pl.Series(values) for name, values in columns.items()})
    floor = own.head(instances).with_columns(floor=pl.lit("copy the parent"), setting=pl.lit("all"), reason=None)
    return pl.concat([own, floor.with_columns(pl.col(pl.Float64) * 0.6)], how="vertical_relaxed")


def _sign(dice: np.random.Generator, place: np.ndarray, failed: np.ndarray) -> dict[str, np.ndarray]:
    truth = (place % 11) != 0
    said = np.where(dice.random(len(place)) < 0.8, truth, dice.random(len(place)) < 0.7)
    said = np.where(failed, ~truth, said)
    return {"predicted": np.where(said, "positive", "negative"), "correct": said == truth}


def _value(dice: np.random.Generator, place: np.ndarray, failed: np.ndarray) -> dict[str, np.ndarray]:
    each = np.random.default_rng(1).normal(1.5, 1.6, place.max() + 1)[place]
    truth = np.sign(each) * np.round(np.expm1(np.abs(each)) + 1)
    guess = 0.5 * each + dice.normal(0.8, 0.9, len(place))
    predicted = np.where(failed, -np.sign(truth) * 3, np.round(np.sign(guess) * np.expm1(np.abs(guess))))
    logs = np.sign(predicted) * np.log1p(abs(predicted)) - np.sign(truth) * np.log1p(abs(truth))
    return {"truth": truth, "predicted": predicted, "error": predicted - truth, "log_error": logs}


def _text(dice: np.random.Generator, place: np.ndarray, failed: np.ndarray) -> dict[str, np.ndarray]:
    close = {"rouge_l": dice.beta(2, 9, len(place)), "meteor": dice.beta(2, 7, len(place))}
    close |= {"sbert": dice.beta(4, 6, len(place))}
    return {name: np.where(failed, 0.0, values) for name, values in close.items()}
