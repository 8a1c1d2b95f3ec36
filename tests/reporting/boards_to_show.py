"""Made-up boards for the tests of comparisons."""

from __future__ import annotations

from dataclasses import replace

from runner.metrics.score import Effect, Score
from runner.reporting.comparison import Beside, Board, Comparison, Entry, best_first
from runner.reporting.summary import Cost, Requests, Summary
from tests.reporting.runs_to_show import SETTINGS, majority_floors, score, summary

PRIMARY = "balanced_accuracy"


def effect(name: str, value: float | None, low: float | None, high: float | None, **more: object) -> Effect:
    fields = {"kind": "main", "metric": PRIMARY, "group": "all", "level": 0.95, "n": 480, "authors": 120.0, **more}
    return Effect(name=name, value=value, low=low, high=high, **fields)  # type: ignore[arg-type]


def run(model: str, lead: float, *, over: float = 0.1, dollars: float | None = 2.0, **changes: object) -> Summary:
    """A run whose value on p-conv is ``lead``, falling by .01 in each further setting."""
    rows = [
        score(setting, PRIMARY, lead - 0.01 * i, low=lead - 0.05, high=lead + 0.05, coverage=1 - i / 100)
        for i, setting in enumerate(SETTINGS)
    ]
    rows.append(score("p-conv", "accuracy", 0.9, low=0.85, high=0.94))
    given: dict[str, object] = {
        "run": f"3.1__{model}__strict__ab12",
        "model": model,
        "cost": Cost(None, None, None, None, dollars, 0.0),
        "effects": (
            effect("personal", 0.031, 0.012, 0.05, p=0.001, p_holm=0.003, family="3.1: personal"),
            effect("p-conv - majority", over, over - 0.05, over + 0.05, kind="floor"),
        ),
        **changes,
    }
    return summary(rows=rows, **given)


def partial(model: str, lead: float) -> Summary:
    return run(model, lead, state="partial", requests=Requests(40, 40, 12, {"ok": 12}))


def pair(one: str, other: str, value: float, low: float, high: float, p: float, p_holm: float) -> Effect:
    family = f"model pairs on p-conv: {PRIMARY}"
    more = {"kind": "model", "group": "p-conv", "p": p, "p_holm": p_holm, "family": family}
    return effect(f"{one} - {other}", value, low, high, **more)


def board(*summaries: Summary, pairs: tuple[Effect, ...] = (), **changes: object) -> Board:
    entries = best_first([Entry(each.model, each) for each in summaries], "p-conv")
    made = Board("3.1 score sign · strict protocol · corpus f00d", PRIMARY, False, SETTINGS, entries, pairs)
    return replace(made, **changes)  # type: ignore[arg-type]


def two_models() -> Comparison:
    """A better and a worse model, tested against each other; a board of a rehearsal; a remark."""
    tested = (pair("gpt-9", "tiny-1", 0.1, 0.06, 0.14, 0.0004, 0.0004),)
    real = board(run("gpt-9", 0.7), run("tiny-1", 0.6, dollars=None), pairs=tested)
    rehearsed = board(run("gpt-9", 0.9, venue="emulator:openai"), is_rehearsal=True)
    return Comparison((real, rehearsed), remarks=("A run was left out.",))


def beside(*summaries: Summary, **changes: object) -> Beside:
    numbers = (
        ("GPT-9", "p-conv", "accuracy", 0.9122),
        ("GPT-9", "p-nonconv", "accuracy", 0.7862),
        ("Other-2", "p-conv", "accuracy", 0.6875),
    )
    return Beside(board(*summaries, **changes), "a table of 2025", numbers, ("F1 is of two kinds",))


def floors(*values: tuple[str, str, float]) -> tuple[Score, ...]:
    return (*majority_floors(), *(score(setting, PRIMARY, value, floor=name) for setting, name, value in values))
