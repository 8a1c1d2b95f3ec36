"""Who writes in the synthetic corpus: communities, and people with habits."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from runner.benchmarks.personaconvbench.sample_words import (
    ADJECTIVES,
    CLOSERS,
    EMOJI,
    ENDS,
    NAME_BACK,
    NAME_FRONT,
    OPENERS,
    PLAIN,
    TOPICS,
)

_SHARED = 16  # of a domain's 24 noun phrases, how many each of its two communities uses


@dataclass(frozen=True)
class Community:
    """A subreddit: its domain, its words, how high and how often below zero its scores are."""

    name: str
    domain: str
    nouns: tuple[str, ...]
    level: float  # mean of ln|score|
    grumpy: float  # factor on everybody's share of negative scores


@dataclass(frozen=True)
class Habit:
    """How somebody writes and is received. The shares are probabilities; ``level`` is ln|score| over the place's."""

    openers: tuple[str, ...]
    closers: tuple[str, ...]
    adjectives: tuple[str, ...]
    templates: tuple[str, ...]
    nouns: tuple[float, ...]  # favourite places in whatever noun list the community has, 0…1
    emoji: tuple[str, ...]
    end: str
    sentences: float
    opens: float
    closes: float
    shows_emoji: float
    lower_case: bool
    negative: float
    level: float


def communities(seed: int) -> tuple[Community, ...]:
    """Two for each of the ten published domains."""
    found = []
    for domain, (names, phrases) in TOPICS.items():
        nouns = tuple(phrase.strip() for phrase in phrases.split(","))
        for name, own in zip(names, (nouns[:_SHARED], nouns[-_SHARED:]), strict=True):
            rng = Random(f"{seed}/community/{name}")
            found.append(Community(name, domain, own, rng.gauss(2.1, 0.35), rng.uniform(0.7, 1.3)))
    return tuple(found)


@lru_cache(maxsize=8192)
def habit_of(seed: int, person: str) -> Habit:
    """The habits that belong to a name: the same wherever and whenever it writes."""
    rng = Random(f"{seed}/habit/{person}")
    contrarian = rng.random() < 0.25
    return Habit(
        openers=tuple(rng.sample(OPENERS, 2)),
        closers=tuple(rng.sample(CLOSERS, 2)),
        adjectives=tuple(rng.sample(ADJECTIVES, 4)),
        templates=tuple(rng.sample(PLAIN, 6)),
        nouns=tuple(rng.random() for _ in range(3)),
        emoji=tuple(rng.sample(EMOJI, 2)),
        end=rng.choice(ENDS),
        sentences=math.exp(rng.gauss(0.75, 0.5)),
        opens=rng.choice((0.0, 0.3, 0.8)),
        closes=rng.choice((0.0, 0.2, 0.6)),
        shows_emoji=rng.choice((0.0, 0.0, 0.1, 0.6)),
        lower_case=rng.random() < 0.12,
        negative=rng.uniform(0.5, 0.8) if contrarian else rng.uniform(0.01, 0.1),
        level=rng.gauss(0.0, 0.7),
    )


def name_of(number: int) -> str:
    """A user name that no other number has: ``quiet_otter_17``."""
    front, rest = number % len(NAME_FRONT), number // len(NAME_FRONT)
    return f"{NAME_FRONT[front]}_{NAME_BACK[(rest + 5 * front) % len(NAME_BACK)]}_{rest}"


@dataclass(frozen=True)
class Population:
    """Regulars, who write for years in one community and sometimes in a second, and strangers passing by."""

    seed: int
    communities: tuple[Community, ...]
    regulars: tuple[tuple[str, ...], ...]  # by community; everybody stands in two of them

    def regular(self, community: int, rng: Random) -> str:
        """One of the community's own, the first of the list more often than the last."""
        members = self.regulars[community]
        return members[int(len(members) * rng.random() ** 1.3)]

    def passer_by(self, rng: Random, posts: int) -> str:
        """Somebody of the many who write once or twice."""
        return name_of(1_000_000 + rng.randrange(4 * posts + 50))


def population(seed: int, posts: int) -> Population:
    """About one regular for seven posts, as published, and never too few for a history and a stranger."""
    places = communities(seed)
    if posts < 400:  # few posts in twenty places would leave nobody with a history
        places = places[:: max(2, 2 * len(places) // max(2, posts // 10))] or places[:1]
    members: list[list[str]] = [[] for _ in places]
    rng = Random(f"{seed}/population")
    for number in range(max(12 * len(places), posts // 7)):
        home = number % len(places)
        second = rng.randrange(len(places))
        members[home].append(name_of(number))
        if second != home:
            members[second].append(name_of(number))
    return Population(seed, places, tuple(tuple(group) for group in members))
