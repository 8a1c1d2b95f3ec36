"""How often do the strict protocol's test and interval err? Thousands of corpora whose truth is known.

python bench/calibration.py [--corpora 2000] [--jobs 2]

Not called statistics.py: the standard library has a module of this name, and a script's folder comes first.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from multiprocessing import get_context
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import numpy.typing as npt
from donor_worlds import DENSE_YEARS, THIN_YEARS, donor_world

from runner.metrics import classification
from runner.metrics.effects import BALANCED, Contrast, Measured, effects
from runner.metrics.regression import signed_log
from runner.metrics.score import Effect
from runner.metrics.statistic import mean
from runner.reporting.table import Table, print_table

Floats = npt.NDArray[np.float64]

SETTINGS = ("p-conv", "p-nonconv", "np-conv", "np-nonconv")
PERSONAL = Contrast("personal", "main", dict(zip(SETTINGS, (0.5, 0.5, -0.5, -0.5), strict=True)))
METRICS = (BALANCED, "log_mae")
REPLICATES, DRAWS = 999, 999
EFFECTIVE_AUTHORS = (20, 50, 100, 300)
NULL_AUTHORS = 140


@dataclass(frozen=True, eq=False)
class Answers:
    """What a model said about n instances in each setting, and what was to be expected of it (4, n)."""

    positive: npt.NDArray[np.bool_]
    weights: Floats
    users: npt.NDArray[np.object_]
    correct: Floats
    log_error: Floats
    expected_correct: Floats
    expected_log_error: Floats


def answers(seed: int, authors: int, *, planted: float = 0.0, clustered: float = 0.0) -> Answers:
    """Authors with 1 to 10 instances, 30 % of them negative and of smaller weight.

    ``planted`` is the effect of the own history on the logit of a right answer and, less is better, on the log of
    the error. ``clustered`` is how much authors differ: in difficulty, in their share of negatives, and in the
    effect itself (symmetrically about the planted one).
    """
    random = np.random.default_rng(seed)
    who = np.repeat(np.arange(authors), random.integers(1, 11, authors))
    n = len(who)
    positive = random.random(n) < _logistic(0.85 + clustered * random.normal(size=authors)[who])
    ease = clustered * random.normal(size=authors)[who] + random.normal(size=n) * 0.5
    habit = planted * (1 + clustered * random.normal(size=authors)[who])
    strange = clustered * random.normal(size=authors)[who] * 0.4
    own, thread = np.array([1.0, 1, 0, 0])[:, None], np.array([1.0, 0, 1, 0])[:, None]
    push = own * habit + (own - 0.5) * strange + 0.2 * thread
    chance = _logistic(0.6 + 0.5 * positive + ease + push)
    size = 1 - 0.3 * ease - 0.5 * push
    return Answers(
        positive=positive,
        weights=np.where(positive, 1.25, 0.45),
        users=np.array([f"u{author:05}" for author in range(authors)], dtype=object)[who],
        correct=(random.random((4, n)) < chance).astype(np.float64),
        log_error=np.exp(size + 0.5 * random.normal(size=(4, n))),
        expected_correct=chance,
        expected_log_error=np.exp(size + 0.5**2 / 2),
    )


def _logistic(x: Floats) -> Floats:
    return 1 / (1 + np.exp(-x))


@cache
def truth(planted: float, clustered: float) -> Mapping[str, float]:
    """The personal effect in the population of all authors, by expectation over 300,000 of them."""
    everybody = answers(-1 % 2**32, 300_000, planted=planted, clustered=clustered)
    signs = np.array([0.5, 0.5, -0.5, -0.5])
    gain, less = signs @ everybody.expected_correct, -(signs @ everybody.expected_log_error)
    positive, weights = everybody.positive, everybody.weights
    return {
        BALANCED: float((gain[positive].mean() + gain[~positive].mean()) / 2),
        "log_mae": float(np.average(less, weights=weights)),
    }


def judged(
    positive: npt.NDArray[np.bool_], correct: Floats, log_error: Floats, weights: Floats, users: object, seed: int
) -> dict[str, Effect]:
    """The personal effect on both metrics, as a run is scored."""
    measured = {
        setting: {
            BALANCED: Measured(
                classification.statistics(positive, positive == (right > 0))[BALANCED], right.astype(np.float64)
            ),
            "log_mae": Measured(mean(error), error, -1.0),
        }
        for setting, right, error in zip(SETTINGS, correct, log_error, strict=True)
    }
    found = effects(
        [PERSONAL], measured, weights, np.asarray(users, dtype=object), instances=len(weights),
        classes=positive.astype(object), seed=seed, replicates=REPLICATES, draws=DRAWS,
    )  # fmt: skip
    return {effect.metric: effect for effect in found}


def plain(seed: int, authors: int, planted: float, clustered: float) -> dict[str, Effect]:
    """The effect in one corpus of ``answers``."""
    a = answers(seed, authors, planted=planted, clustered=clustered)
    return judged(a.positive, a.correct, a.log_error, a.weights, a.users, seed)


def donors(seed: int, years: float, stranger: str) -> dict[str, Effect]:
    """The effect in one corpus without habits, of a model that answers with the mean of the history it is shown."""
    world = donor_world(seed, years)
    shown = ["own", "own", stranger, stranger]
    positive, log_truth = world.score > 0, signed_log(world.score)
    correct = np.array([(world.signs[who] > 0) == positive for who in shown]).astype(np.float64)
    log_error = np.array([np.abs(world.logs[who] - log_truth) for who in shown])
    return judged(positive, correct, log_error, world.weights, world.users, seed)


@dataclass(frozen=True)
class Row:
    """One kind of corpus: ``make(seed)``, its true effects, how many of them, and where the rates should lie."""

    kind: str
    make: Callable[[int], dict[str, Effect]]
    true: Mapping[str, float]
    corpora: int
    band: str


ZERO = dict.fromkeys(METRICS, 0.0)
FALSE, COVERS, REPORTED = "4–6 %", "93.5–96.5 %", "reported"


def rows(corpora: int) -> list[Row]:
    """Null corpora first, then those with an effect."""
    fewer = max(1, corpora // 10)
    nulls = [
        Row("no habits", partial(plain, authors=NULL_AUTHORS, planted=0.0, clustered=0.0), ZERO, corpora, FALSE),
        Row("no habits, clustered", partial(plain, authors=NULL_AUTHORS, planted=0.0, clustered=1.0), ZERO, corpora,
            FALSE),
        Row("no habits, subreddits and eras", partial(donors, years=DENSE_YEARS, stranger="donor"), ZERO, corpora,
            FALSE),
        Row("— thinly populated", partial(donors, years=THIN_YEARS, stranger="donor"), ZERO, fewer, REPORTED),
        Row("— anybody instead of the donor", partial(donors, years=DENSE_YEARS, stranger="anybody"), ZERO, fewer,
            "far off"),
    ]  # fmt: skip
    planted = truth(0.5, 1.0)
    return nulls + [
        Row(
            f"a habit, about {effective} effective authors",
            partial(plain, authors=round(effective * 1.45), planted=0.5, clustered=1.0),
            planted,
            corpora,
            COVERS if effective >= 100 else REPORTED,
        )
        for effective in EFFECTIVE_AUTHORS
    ]


def line(row: Row, metric: str, found: list[Effect]) -> tuple[str, ...]:
    """Shares of corpora with their Monte-Carlo standard errors; those without an interval are left out and counted."""
    bounded = [effect for effect in found if effect.low is not None and effect.high is not None]
    tested = [effect.p for effect in found if effect.p is not None]
    true = row.true[metric]
    covers = [float((e.low or 0.0) <= true <= (e.high or 0.0)) for e in bounded]
    values = [effect.value for effect in found if effect.value is not None]
    return (
        row.kind,
        metric,
        f"{len(bounded):,} of {len(found):,}",
        f"{np.mean([effect.authors for effect in found]):.0f}",
        f"{np.mean(values):+.4f} ({true:+.4f})",
        _share([float(p <= 0.05) for p in tested]),
        _share(covers),
        row.band,
    )


def _share(yes: list[float]) -> str:
    if not yes:
        return "n/a"
    share = float(np.mean(yes))
    return f"{share:.1%} ± {100 * np.sqrt(share * (1 - share) / len(yes)):.1f}"


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--corpora", type=int, default=2_000, help="of each kind; a tenth where an error is expected")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    for threads in ("POLARS_MAX_THREADS", "OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
        os.environ[threads] = "1"  # of the workers, which are as many as there are cores
    lines: list[tuple[str, ...]] = []
    with ProcessPoolExecutor(asked.jobs, mp_context=get_context("spawn")) as pool:
        for row in rows(asked.corpora):
            found = list(pool.map(row.make, range(1, row.corpora + 1), chunksize=5))
            lines += [line(row, metric, [effects_of[metric] for effects_of in found]) for metric in METRICS]
            print(*lines[-2], *lines[-1], sep=" | ", file=sys.stderr)
    columns = (
        "kind of corpus",
        "metric",
        "with interval",
        "G_eff",
        "mean effect (true)",
        "p ≤ .05",
        "95 % covers",
        "band",
    )
    notes = (
        f"{REPLICATES} replicates, {DRAWS} draws; ± one Monte-Carlo standard error.",
        "Without habits, p ≤ .05 and intervals without 0 are false: 4–6 % each (covers: 94–96 %).",
        "Where few people write in a subreddit at a time, the nearest donors are of other eras: part of what eras do "
        "remains in the personal effect. A run prints how own and donor histories differ in score and age.",
    )
    title = "Errors of the personal effect's test and interval"
    print_table(Table(title, columns, tuple(lines), notes, text_columns=(0, 1)), sys.stdout)


if __name__ == "__main__":
    main()
