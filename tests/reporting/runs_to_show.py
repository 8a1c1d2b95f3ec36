"""Made-up runs for the tests of the reporting room."""

from collections.abc import Sequence

from runner.metrics.score import Score
from runner.reporting.jobs import JobView
from runner.reporting.summary import Cost, Failure, Requests, Summary

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
