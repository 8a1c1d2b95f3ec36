"""The paper protocol: the published selection, settings, texts, parsing and aggregation, its leaks included.

A number made here can stand beside the published table; what it means is limited by ``KNOWN_LEAKS``. The
prompts are our own words around the same information, in the same order and with the same cuts. Choices that
the published scripts leave to chance are seeded. What they crash on (epoch timestamps) is no candidate here.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from runner.benchmarks.base import Context, Options, Selection
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.paper.answers import parse
from runner.benchmarks.personaconvbench.paper.frame import SETTINGS, Kind
from runner.benchmarks.personaconvbench.paper.leaks import CAUTION, KNOWN_LEAKS
from runner.benchmarks.personaconvbench.paper.posts import Posts
from runner.benchmarks.personaconvbench.paper.prompts import requests_from
from runner.benchmarks.personaconvbench.paper.published import published
from runner.benchmarks.personaconvbench.paper.remarks import remarks
from runner.benchmarks.personaconvbench.paper.rivals import PRIMARY, versus
from runner.benchmarks.personaconvbench.paper.scoring import METRICS, judges, score
from runner.benchmarks.personaconvbench.paper.select_scores import select_scores
from runner.benchmarks.personaconvbench.paper.select_texts import select_texts
from runner.request import Request

VERSION = "paper-1"
"""Of rules and words together."""

__all__ = [
    "CAUTION",
    "KNOWN_LEAKS",
    "METRICS",
    "PRIMARY",
    "SETTINGS",
    "VERSION",
    "Kind",
    "judges",
    "parse",
    "published",
    "remarks",
    "requests",
    "score",
    "select",
    "versus",
]


def select(corpus: PersonaCorpus, options: Options, kind: Kind) -> Selection:
    """The reference's targets in its order; ``limit`` takes the first of them, as its scripts do."""
    posts = Posts.of(corpus)
    return select_texts(posts, options) if kind == "text" else select_scores(posts, options, kind)


def requests(instances: pl.DataFrame, context: Context) -> Iterator[Request]:
    """One user message per instance and setting that it belongs to; nothing else is sent."""
    assert isinstance(context.corpus, PersonaCorpus)
    return requests_from(Posts.of(context.corpus), instances, context)
