"""Does a run's interval come out as wide as ``plan`` promised? Simulated runs, with the spread known and from pilots.

python bench/plans.py [--runs 500] [--pilot 50] [--jobs 1]
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import numpy.typing as npt
from calibration import PERSONAL, SETTINGS, Answers, answers

from runner.metrics import classification
from runner.metrics.effects import BALANCED, Measured, effects
from runner.metrics.planning import RANGE, Spread, design, expected, spread
from runner.metrics.statistic import mean
from runner.reporting.table import Table, print_table

SIZES = (300, 1_000)
HABIT = 0.5
CLUSTERED = (0.0, 0.5, 1.0)
"""How much authors differ in the simulated corpora."""
METRICS = (BALANCED, "log_mae")
LEVEL = 0.975
REPLICATES = 999
AUTHORS = 600
_SIGNS = np.array([0.5, 0.5, -0.5, -0.5])


@dataclass(frozen=True)
class Outcome:
    """One simulated run: the promised half-widths (known spread; pilot) over the one obtained, and its range."""

    metric: str
    size: int
    clustered: float
    known: float
    pilot: float | None
    is_inside: bool | None


def shuffled(seed: int, clustered: float) -> Answers:
    """A corpus in a sample order."""
    whole = answers(seed, AUTHORS, planted=HABIT, clustered=clustered)
    return _rows(whole, np.random.default_rng(seed).permutation(len(whole.users)))


def _rows(a: Answers, rows: npt.NDArray[np.intp]) -> Answers:
    return Answers(
        a.positive[rows], a.weights[rows], a.users[rows], a.correct[:, rows], a.log_error[:, rows],
        a.expected_correct[:, rows], a.expected_log_error[:, rows],
    )  # fmt: skip


def contrast(a: Answers, metric: str) -> npt.NDArray[np.float64]:
    """The personal effect of each instance."""
    scores: npt.NDArray[np.float64] = _SIGNS @ (a.correct if metric == BALANCED else -a.log_error)
    return scores


def classes(a: Answers, metric: str) -> npt.NDArray[np.object_]:
    """What the means are taken inside."""
    return a.positive.astype(object) if metric == BALANCED else np.full(len(a.users), "all", dtype=object)


def learnt(a: Answers, metric: str) -> Spread | None:
    """The spread as a pilot of these rows shows it."""
    return spread(contrast(a, metric), a.weights, a.users, classes(a, metric))


@cache
def known(metric: str, clustered: float) -> Spread:
    """The spread in the population: of 100,000 authors."""
    found = learnt(answers(2**31, 100_000, planted=HABIT, clustered=clustered), metric)
    assert found is not None
    return found


def obtained(a: Answers, metric: str) -> float | None:
    """Half of the interval that a run of these answers prints."""
    measured = {
        setting: {
            metric: Measured(classification.statistics(a.positive, a.positive == (right > 0))[BALANCED])
            if metric == BALANCED
            else Measured(mean(error), None, -1.0)
        }
        for setting, right, error in zip(SETTINGS, a.correct, a.log_error, strict=True)
    }
    (effect,) = effects(
        [PERSONAL], measured, a.weights, a.users, instances=len(a.users), level=LEVEL, tested=False,
        replicates=REPLICATES,
    )  # fmt: skip
    return None if effect.low is None or effect.high is None else (effect.high - effect.low) / 2


def simulated(task: tuple[int, float, int]) -> list[Outcome]:
    """Both metrics at all sizes of one corpus."""
    return list(_outcomes(*task))


def _outcomes(seed: int, clustered: float, pilot: int) -> Iterator[Outcome]:
    whole = shuffled(seed, clustered)
    for size in SIZES:
        bought = _rows(whole, np.arange(size))
        for metric in METRICS:
            planned = design(bought.weights, bought.users, classes(bought, metric))
            truth = expected(planned, known(metric, clustered), LEVEL)
            got = obtained(bought, metric)
            seen = learnt(_rows(whole, np.arange(pilot)), metric)
            if truth is None or got is None:
                continue
            after = None if seen is None else expected(planned, seen, LEVEL)
            yield Outcome(
                metric, size, clustered, truth.half_width / got,
                None if after is None else after.half_width / got,
                None if after is None else after.low <= got <= after.high,
            )  # fmt: skip


def line(found: list[Outcome]) -> tuple[str, ...]:
    """Ratios of promised over obtained, and how often the range held."""
    one = found[0]
    piloted = [outcome for outcome in found if outcome.pilot is not None]
    near = np.mean([abs((outcome.pilot or 0.0) - 1) <= 0.2 for outcome in piloted])
    inside = np.mean([bool(outcome.is_inside) for outcome in piloted])
    return (
        one.metric,
        f"{one.clustered:g}",
        f"{one.size:,}",
        f"{len(found):,}",
        f"{np.mean([outcome.known for outcome in found]):.3f}",
        f"{np.mean([outcome.pilot for outcome in piloted if outcome.pilot is not None]):.3f}",
        f"{near:.1%}",
        f"{inside:.1%}",
        f"{len(found) - len(piloted):,}",
    )


def main() -> None:
    """Print one table; ``--runs`` corpora are shared out over the kinds of clustering."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--runs", type=int, default=500)
    parser.add_argument("--pilot", type=int, default=50, help="instances of the pilot")
    parser.add_argument("--jobs", type=int, default=1)
    asked = parser.parse_args()
    for threads in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[threads] = "1"
    tasks = [(seed, CLUSTERED[seed % len(CLUSTERED)], asked.pilot) for seed in range(1, asked.runs + 1)]
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        found = [outcome for outcomes in pool.map(simulated, tasks, chunksize=5) for outcome in outcomes]
    groups: dict[tuple[str, float, int], list[Outcome]] = {}
    for outcome in found:
        groups.setdefault((outcome.metric, outcome.clustered, outcome.size), []).append(outcome)
    ratios = [outcome.known for outcome in found]
    near = [abs(outcome.pilot - 1) <= 0.2 for outcome in found if outcome.pilot is not None]
    notes = (
        f"All: promised over obtained {np.mean(ratios):.3f} with the spread known (wanted: .9 to 1.1); after a pilot "
        f"of {asked.pilot}, {np.mean(near):.1%} within 20 % (wanted: 80 %).",
        f"Half-widths of the personal effect's interval of level {LEVEL}; {REPLICATES} replicates; the range "
        f"promises {RANGE:.0%}.",
    )
    columns = (
        "metric", "authors differ", "instances", "runs", "known: ratio", "pilot: ratio", "within 20 %", "in range",
        "pilot said nothing",
    )  # fmt: skip
    rows = tuple(line(groups[key]) for key in sorted(groups))
    print_table(Table(f"Plans over {asked.runs} simulated corpora", columns, rows, notes), sys.stdout)


if __name__ == "__main__":
    main()
