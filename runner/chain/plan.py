"""What should I buy? The sample that a budget pays for, or that a wanted half-width needs, for each model."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl

from runner import models, tokens
from runner.benchmarks import find_task
from runner.benchmarks.base import Context, Corpus, Selection, Task
from runner.chain.build import Wanted, asked_of, build_stage
from runner.chain.data import open_corpus
from runner.chain.pilots import class_of, find_pilot, paid_instances
from runner.chain.plan_basis import Effect, basis_of, effects_of, level_of, spread_of
from runner.chain.plan_cost import Costing, costing
from runner.chain.runs import Asked, Folders, Run, Workspace
from runner.errors import RunnerError
from runner.ledger import Ledger
from runner.metrics.effects import BALANCED
from runner.metrics.planning import Design, Spread, design, expected, smallest
from runner.reporting.plan_view import Candidate, Plan, Size, Width
from runner.reporting.words import count, usd

PREFIX = 200
"""Instances at the sample's beginning that are built to know what an instance costs."""
SIZES = (100, 300, 1_000, 3_000)
OPTIONS = {
    "min_history": "--min-history {}",
    "history_lag_days": "--history-lag {}",
    "label_balance": "--label-balance off",
    "match_length": "--match-length",
}
"""How the command line says a variant."""

Say = Callable[[str], None]


@dataclass(frozen=True)
class Goal:
    """What the sample is chosen by; neither: all there is. ``half_width`` is of the first effect (personal)."""

    budget_usd: float | None = None
    half_width: float | None = None


def plan(workspace: Workspace, ledger: Ledger, wanted: Sequence[Wanted], goal: Goal, now: datetime, say: Say) -> Plan:
    """The candidates ``wanted``, which differ in their model only, side by side. Reads and counts; asks nobody.

    Raises RunnerError for an unknown model, task or setting, a task without a nested sample, and an empty one.
    """
    first = wanted[0]
    benchmark, task = find_task(first.task, first.protocol)
    if not task.is_nested:
        raise RunnerError(
            f"Task {task.name} ({task.protocol}) has no nested sample: plan it under the strict protocol."
        )
    settings = _settings(task, first)
    corpus = open_corpus(workspace, benchmark, first.source, say)
    asked = [_asked(benchmark.name, task, one, settings, corpus, now) for one in wanted]
    say("Selecting instances.")
    selection = task.instances(corpus, asked[0].options)
    if selection.frame.is_empty():
        raise RunnerError(f"There is nothing to plan: {selection.explanation}", code="empty_selection", exit_code=1)
    sample = _Sample(selection, task.primary)
    return Plan(
        task=task.name,
        title=f"{task.name} {task.title}, {task.protocol} protocol",
        metric=task.primary,
        population=len(sample.frame),
        settings=settings,
        candidates=tuple(
            _candidate(workspace, ledger, task, one, each, sample, corpus, goal, now)
            for one, each in zip(wanted, asked, strict=True)
        ),
        notes=tuple(_notes(goal)),
    )


class _Sample:
    """The whole sample order, and what any beginning of it is worth; sizes are computed once for all models."""

    def __init__(self, selection: Selection, primary: str) -> None:
        self.frame, self.selection = selection.frame, selection
        kind = class_of(pl.col("reference") == "positive") if primary == BALANCED else pl.lit("all")
        self.rows = self.frame.select("instance_id", "user", "stratum", "stratum_size", kind.alias("class"))
        self.known: dict[int, Design] = {}

    def design(self, instances: int) -> Design:
        """Of the first so many instances, with the weights that they will have."""
        if instances not in self.known:
            rows = self.rows.head(instances)
            weight = rows.select(pl.col("stratum_size") / pl.len().over("stratum")).to_series()
            self.known[instances] = design(
                weight.to_numpy().astype(np.float64),
                rows["user"].to_numpy().astype(object),
                rows["class"].to_numpy().astype(object),
            )
        return self.known[instances]


def _candidate(
    workspace: Workspace,
    ledger: Ledger,
    task: Task,
    one: Wanted,
    asked: Asked,
    sample: _Sample,
    corpus: Corpus,
    goal: Goal,
    now: datetime,
) -> Candidate:
    level, look = level_of(workspace, asked)
    pilot = find_pilot(workspace, task, asked)
    classes = sample.rows["class"].unique().to_list()
    effects = effects_of(asked.settings, level)
    spreads = {name: spread_of(pilot, task.primary, coefficients, classes) for name, coefficients, _ in effects}
    price = _costing(workspace, ledger, task, asked, sample, corpus, now)
    paid = _paid(workspace, ledger, asked, sample)
    total = len(sample.frame)

    def size(instances: int) -> Size:
        planned = sample.design(instances)
        widths = tuple(_width(name, limit, planned, *spreads[name]) for name, _, limit in effects)
        to_buy = instances - int(paid[instances])
        return Size(instances, to_buy, *price.of(to_buy), planned.authors, widths)

    def reach(effect: Effect, half: float) -> int | None:
        name, _, limit = effect
        return smallest(total, lambda n: _width(name, limit, sample.design(n), *spreads[name]).half_width, half)

    reaching: tuple[tuple[str, int | None], ...] = ()
    chosen: int | None = total
    verdict = f"all that the corpus holds: {count(total)} instances"
    if goal.half_width is not None:
        reaching = tuple((effect[0], reach(effect, goal.half_width)) for effect in effects)
        name, chosen = reaching[0]
        verdict = f"±{goal.half_width:g} on {name} is expected from {count(chosen)} instances on"
        if chosen is None:
            verdict = f"the corpus does not hold enough for ±{goal.half_width:g} on {name}: {count(total)} instances"
    elif goal.budget_usd is not None:
        spent = ledger.spent(scope=asked.scope).total_usd
        chosen = _affordable(paid, price, goal.budget_usd - spent)
        verdict = _bought(chosen, total, int(paid[total]), goal.budget_usd, spent, price)
    shown = sorted({n for n in SIZES if n < total} | {total} | ({chosen} if chosen else set()))
    sizes = tuple(size(n) for n in shown)
    return Candidate(
        model=asked.model,
        venue=asked.venue,
        rests_on=basis_of(pilot, asked, all(is_assumed for _, is_assumed in spreads.values())),
        sizes=sizes,
        chosen=next((each for each in sizes if each.instances == chosen), None),
        verdict=verdict,
        command=_command(one, asked, chosen, goal) if chosen else None,
        reaching=reaching,
        notes=(look, *price.notes),
    )


def _width(name: str, level: float, planned: Design, known: Spread, is_assumed: bool) -> Width:
    found = expected(planned, known, level)
    if found is None:
        return Width(name, level, None, None, None, is_assumed, f"no interval: {planned.authors:.1f} effective authors")
    return Width(name, level, found.half_width, found.low, found.high, is_assumed)


def _paid(workspace: Workspace, ledger: Ledger, asked: Asked, sample: _Sample) -> Sequence[int]:
    """How many of the first n instances are paid for already, for every n from 0."""
    ids = paid_instances(workspace, ledger, asked)
    is_paid = sample.frame["instance_id"].is_in(ids.to_list()).to_numpy()
    return [0, *np.cumsum(is_paid).tolist()]


def _costing(
    workspace: Workspace, ledger: Ledger, task: Task, asked: Asked, sample: _Sample, corpus: Corpus, now: datetime
) -> Costing:
    """From the prefix, built as a run would build it, in a folder that is gone afterwards."""
    model = models.find_model(f"{asked.provider}/{asked.model}")
    counter = tokens.counter(model)
    context = Context(corpus, asked.options, counter.count, model.window_tokens)
    prefix = sample.frame.head(PREFIX)
    with TemporaryDirectory() as temporary:
        folders = Folders(Workspace(Path(temporary)), asked.name)
        written = build_stage(folders, 1, task, prefix, None, context, model, counter, asked)
        asks = pl.read_parquet(folders.requests(1)).unique("request_id", keep="first", maintain_order=True)
        bodies = pl.read_parquet(folders.bodies(1)).drop("body")
    bodies = bodies.join(asks.select("request_id", "setting", "n"), on="request_id", maintain_order="left")
    run = Run(
        asked, "", len(prefix), written.requests, written.unique, sample.selection.funnel, None, written.parameters,
        counter.name, counter.exact, model.assumptions, (), None, {}, now.isoformat(),
    )  # fmt: skip
    return costing(workspace, ledger, run, bodies, population=len(sample.frame), now=now)


def _affordable(paid: Sequence[int], price: Costing, left_usd: float) -> int | None:
    """The most instances whose high estimate is within the money; what is paid for already is free."""
    if price.of(1)[2] is None:
        return None
    few, many = 0, len(paid)
    while many - few > 1:
        middle = (few + many) // 2
        if (price.of(middle - paid[middle])[2] or 0.0) <= max(0.0, left_usd):
            few = middle
        else:
            many = middle
    return few or None


def _bought(instances: int | None, total: int, paid: int, budget_usd: float, spent_usd: float, price: Costing) -> str:
    one = price.of(1)
    if one[2] is None:
        return "no price is known, so no budget can be turned into instances"
    spent = f" ({usd(spent_usd)} are spent or held back)" if spent_usd else ""
    if instances is None:
        return f"{usd(budget_usd)}{spent} buys no whole instance: one costs up to {usd(one[2])}"
    what = "the whole sample" if instances == total else f"{count(instances)} whole instances"
    again = f", {count(paid)} of them paid for already" if paid else ""
    return f"{usd(budget_usd)}{spent} buys {what}{again}, by the high estimate"


def _command(one: Wanted, asked: Asked, instances: int, goal: Goal) -> str:
    """What buys it: the same variables again, or the same options where there is no variable for one."""
    said: dict[str, object] = {
        "MODEL": one.model, "TASK": one.task, "LIMIT": instances, "DATA": one.source, "SETTING": ",".join(one.settings),
        "SEED": one.seed, "SAMPLES": one.samples, "EFFORT": one.effort, "LOOKS": one.looks,
        "EMULATE": 1 if one.emulate else None, "AS_OF": one.as_of,
        "BUDGET": None if goal.budget_usd is None else f"{goal.budget_usd:g}",
    }  # fmt: skip
    given = {name: shlex.quote(str(value)) for name, value in said.items() if value}
    further = [OPTIONS[name].format(value) for name, value in one.variants.items()]
    further += [] if one.temperature else ["--no-temperature"]
    if not further:
        return " ".join(["make submit", *(f"{name}={value}" for name, value in given.items())])
    is_flag = given.pop("EMULATE", None) is not None
    options = [f"--{name.lower().replace('_', '-')} {value}" for name, value in given.items()]
    return " ".join(["persona-runner submit", *options, *["--emulate"] * is_flag, *further])


def _notes(goal: Goal) -> Sequence[str]:
    notes = [
        "half-widths are expected, [in brackets] the range that should hold 9 of 10 times (after pilots of 50 in "
        "simulations: 77 to 95 of 100, least for skewed scores of authors who differ much)",
        "? marks an assumption, where no pilot was scored (`make run PILOT=50`) or its answers did not vary",
        "every larger sample contains every smaller one: BUDGET=5 today and more tomorrow buys the difference only, "
        "and scoring again is a further look",
    ]
    if goal.budget_usd is not None:
        notes.append("`BUDGET` caps all that is bought of this task, model, protocol and corpus, earlier runs included")
    return notes


def _settings(task: Task, wanted: Wanted) -> tuple[str, ...]:
    unknown = [setting for setting in wanted.settings if setting not in task.settings]
    if unknown:
        raise RunnerError(
            f"A plan is of the settings {', '.join(task.settings)} of task {task.name}; leave out {', '.join(unknown)}."
        )
    return tuple(setting for setting in task.settings if setting in wanted.settings) or task.settings


def _asked(
    benchmark: str, task: Task, wanted: Wanted, settings: tuple[str, ...], corpus: Corpus, now: datetime
) -> Asked:
    """The run without a limit that ``build`` would make of it."""
    model = models.find_model(wanted.model, as_of=wanted.as_of or now.date())
    model.reasoning_allowance_of(wanted.effort)
    return asked_of(replace(wanted, limit=None), model, benchmark, task, settings, corpus)
