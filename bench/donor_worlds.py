"""Corpora in which nobody has habits: a reply's score depends on its subreddit and its time, never on its author.

People write in one subreddit, around one time of their lives. So their own history tells their replies' scores, and
a stranger's from another subreddit or year does not: only a donor who stands in for subreddit and time makes the
personal effect zero, as it is.

What the donor cannot do: an own history of fewer than 8 items is all that its author has written so far, the donor's
the most recent of perhaps more, so the donor's is some weeks fresher. Where moods change within months this counts
slightly against the own history.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import numpy.typing as npt
import polars as pl

from runner.benchmarks.personaconvbench.corpus import COMMENTS, POSTS
from runner.benchmarks.personaconvbench.strict.columns import population
from runner.benchmarks.personaconvbench.strict.limits import Switches
from runner.benchmarks.personaconvbench.strict.rules import eligible
from runner.benchmarks.personaconvbench.strict.sample import sample_order, with_weights
from runner.benchmarks.personaconvbench.strict.threads import prepare
from runner.metrics.regression import signed_log

Floats = npt.NDArray[np.float64]

AUTHORS = 400
POSTS_EACH = 4
SUBREDDITS = ("nature/trees", "craft/wood")
DENSE_YEARS, THIN_YEARS = 2.0, 12.0
"""How long the corpus lasts: 100 or 17 people a year in each subreddit, where moods change within 9 to 24 months."""
ACTIVE_YEARS = 0.35
"""Standard deviation of the times of one person's posts."""
_BEGAN = datetime(2015, 1, 1, tzinfo=UTC).timestamp()
_YEAR = 365.25 * 86_400


@dataclass(frozen=True, eq=False)
class Answered:
    """The selected instances, and what each history that could be shown says about them.

    ``signs`` and ``logs`` (n,) are means of the signs and signed logs of the scores shown, by whose history it is:
    ``own``, ``donor``, or that of ``anybody``, which is no donor at all.
    """

    score: Floats
    weights: Floats
    users: npt.NDArray[np.object_]
    signs: dict[str, Floats]
    logs: dict[str, Floats]


class _Scores:
    """P(score > 0) and the size of scores by subreddit and time: two waves per subreddit, drawn once per corpus."""

    def __init__(self, random: np.random.Generator) -> None:
        self.random = random
        self.level = random.normal(0.4, 0.8, len(SUBREDDITS))
        self.size = random.normal(2.5, 0.5, len(SUBREDDITS))
        self.period = random.uniform(1.5, 4, len(SUBREDDITS))
        self.phase = random.uniform(0, 2 * np.pi, len(SUBREDDITS))

    def draw(self, place: int, year: float) -> int:
        wave = float(np.sin(2 * np.pi * year / self.period[place] + self.phase[place]))
        positive = self.random.random() < 1 / (1 + np.exp(-(self.level[place] + 1.2 * wave)))
        size = 4 + int(self.random.exponential(np.exp(self.size[place] + 0.7 * wave)))
        return size if positive else -size


def donor_world(seed: int, years: float) -> Answered:
    """One corpus, selected by the strict protocol's own code, donors and all."""
    random = np.random.default_rng(seed)
    threads = prepare(*_corpus(random, years))
    found = eligible(threads, "sign", Switches(), seed)
    sample = with_weights(sample_order(population(threads, found, "sign"), balance=True, seed=seed))
    rows, users = sample["row"].to_list(), sample["user"].to_numpy().astype(object)
    scores, pairs, of_item = threads.comments.score, found.pairs, found.items.row
    shown = {
        "own": [scores[of_item[pairs[row].own]] for row in rows],
        "donor": [scores[of_item[pairs[row].donor.items]] for row in rows],
    }
    shown["anybody"] = [shown["own"][other] for other in _of_others(users, random)]
    return Answered(
        score=scores[rows],
        weights=sample["weight"].to_numpy(),
        users=users,
        signs={who: _means([np.sign(items) for items in histories]) for who, histories in shown.items()},
        logs={who: _means([signed_log(items) for items in histories]) for who, histories in shown.items()},
    )


def _means(histories: list[Floats]) -> Floats:
    return np.array([items.mean() for items in histories])


def _of_others(users: npt.NDArray[np.object_], random: np.random.Generator) -> list[int]:
    """For each instance the number of any instance by somebody else."""
    found = random.integers(0, len(users), len(users))
    while (same := users[found] == users).any():
        found[same] = random.integers(0, len(users), int(same.sum()))
    return [int(other) for other in found]


def _corpus(random: np.random.Generator, years: float) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Posts and comments as the converter would have written them."""
    scores = _Scores(random)
    home = random.integers(0, len(SUBREDDITS), AUTHORS)
    life = random.uniform(0, years, AUTHORS)
    posts: list[dict[str, object]] = []
    comments: list[dict[str, object]] = []

    def comment(parent: int, author: int, place: int, year: float) -> int:
        number = len(comments)
        comments.append(
            {
                "comment": number, "comment_id": _hash("comment", number, int(random.integers(1 << 62))),
                "post": len(posts) - 1, "parent": parent, "order": number, "author": _name(author),
                "body": f"thought {number} of it", "score": scores.draw(place, year), "time": _time(year),
            }
        )  # fmt: skip
        return number

    for author in range(AUTHORS):
        # Whoever lives in the subreddit at the time comes by.
        near = np.flatnonzero((home == home[author]) & (np.abs(life - life[author]) < 2 * ACTIVE_YEARS))
        near = near[near != author]
        for year in random.normal(life[author], ACTIVE_YEARS, POSTS_EACH).tolist():
            place = int(home[author])
            number = len(posts)
            domain, _, subreddit = SUBREDDITS[place].partition("/")
            posts.append(
                {
                    "post": number, "post_id": _hash("post", number, int(random.integers(1 << 62))),
                    "author": _name(author), "title": f"matter {number}", "content": f"about {number}",
                    "domain": domain, "subreddit": subreddit, "time": _time(year), "duplicate": False,
                }
            )  # fmt: skip
            for visitor in random.choice(near, min(2, len(near)), replace=False).tolist():
                said = comment(-1, visitor, place, year + 0.001)
                comment(said, author, place, year + 0.002)
    return (
        pl.DataFrame(posts, schema={name: POSTS[name] for name in posts[0]}),
        pl.DataFrame(comments, schema={name: COMMENTS[name] for name in comments[0]}),
    )


def _name(author: int) -> str:
    return f"person_{author}x"


def _hash(*parts: object) -> str:
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:24]


def _time(year: float) -> datetime:
    return datetime.fromtimestamp(_BEGAN + year * _YEAR, UTC)
