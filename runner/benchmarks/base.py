"""What every benchmark is to the chain: tasks made of stages, over a corpus that only it understands.

A stage maps every live instance (and the answers of earlier stages) to requests, sends them as one round of
batches and parses the answers. One stage is a choice or a text against a reference; two are an answer and its
judge; n are a dialogue. Nothing here names a provider, a price or a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from runner.metrics.score import Effect, Score
from runner.request import Request

Variant = str | int | float | bool


@dataclass(frozen=True)
class Options:
    """What the user chose of a task. ``variants`` holds a benchmark's own switches, already typed.

    ``settings`` are in the task's order; ``limit`` counts instances; ``samples`` answers per request.
    """

    settings: tuple[str, ...]
    limit: int | None = None
    seed: int = 0
    samples: int = 1
    variants: Mapping[str, Variant] = field(default_factory=dict)


@dataclass(frozen=True)
class Funnel:
    """How many items were left after each rule, in order, and what a reader must know about them."""

    steps: tuple[tuple[str, int], ...]
    notes: Mapping[str, float | int | str] = field(default_factory=dict)


@dataclass(frozen=True)
class Selection:
    """The instances to predict, in sample order (every prefix of it is a valid smaller sample).

    ``frame`` has ``instance_id`` (content hash), ``reference`` (string), ``domain``, ``user``,
    ``time`` (datetime, UTC), ``weight`` (sampling weight, mean 1), and whatever columns the task's stages,
    ``score`` and ``floors`` need. When nothing is left, ``frame`` is empty and ``explanation`` says why, and what
    would leave more. ``caution`` must stand over every table of just this sample.
    """

    frame: pl.DataFrame
    funnel: Funnel
    explanation: str | None = None
    caution: str | None = None


class Corpus(Protocol):
    """The loaded data of a benchmark; opaque to the chain."""

    @property
    def fingerprint(self) -> str:
        """Identity of the source file's content."""
        ...


@dataclass(frozen=True)
class Context:
    """What a stage may use beyond its instances; never a provider."""

    corpus: Corpus
    options: Options
    count_tokens: Callable[[str], int]
    window_tokens: int
    judge: str | None = None


class Stage(Protocol):
    """One round of batches."""

    @property
    def name(self) -> str:
        """A word for progress and folders' readers."""
        ...

    def requests(self, instances: pl.DataFrame, answers: pl.DataFrame | None, context: Context) -> Iterator[Request]:
        """The round's requests, in sample order: all settings of an instance, then the next instance.

        ``answers`` are those of earlier stages: instance_id, setting, sample, status, text, answer.
        Raises RunnerError when a prompt would break the protocol (a leak): nothing is written then.
        """
        ...

    def parse(self, text: str) -> str | None:
        """The answer in canonical form, or None when the text holds none."""
        ...

    @property
    def answer_tokens(self) -> tuple[int, int, int]:
        """What an answer takes on average without thinking: at least, expected, at most. Says an estimate only."""
        ...


Prompts = Callable[[Collection[str]], Mapping[str, str]]
"""The last message of each of these requests (by request_id), as it was sent. Dear: ask for few."""


@dataclass(frozen=True)
class Judge:
    """One way of looking at answers, an instance at a time: any partition of the instances can go to any process.

    ``judge(frame, prompts)`` maps final answers to *items*. ``frame`` has the instance columns and setting, sample
    (0…), request_id, status, text, answer, for whole instances: all settings and samples that are final. Items have
    instance_id, setting, sample, floor (null: the model's own) and numbers; a later judge of the same task gives
    more columns for the same keys. ``pooled`` is False for what uses all cores by itself.
    """

    name: str
    judge: Callable[[pl.DataFrame, Prompts], pl.DataFrame]
    pooled: bool = True


@dataclass(frozen=True)
class Design:
    """How the effects are tested: intervals of ``level`` (95 % but for looks at a growing sample).

    Tests are made where ``tested``; ``family`` holds the names that were declared at build.
    """

    level: float = 0.95
    tested: bool = True
    family: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scored:
    """The table: ``rows`` of the model, ``floors`` of trivial predictors, ``effects`` between settings and floors.

    A metric that could not be computed has rows without a value whose note says how to get it. ``signatures`` maps
    each metric's name to what produced it (library and version, tokenizer, smoothing, …).
    """

    rows: tuple[Score, ...] = ()
    floors: tuple[Score, ...] = ()
    effects: tuple[Effect, ...] = ()
    signatures: Mapping[str, str] = field(default_factory=dict)


class Task(Protocol):
    """One thing that a benchmark asks, under one protocol."""

    @property
    def name(self) -> str:
        """As the user types it: ``3.1``."""
        ...

    @property
    def title(self) -> str:
        """In words: ``score sign``."""
        ...

    @property
    def protocol(self) -> str:
        """``strict`` or ``paper``."""
        ...

    @property
    def version(self) -> str:
        """Of rules and prompts together; part of the run, so that changed words are a new run."""
        ...

    @property
    def settings(self) -> tuple[str, ...]:
        """Those asked for when the user names none, in the order of tables."""
        ...

    @property
    def all_settings(self) -> tuple[str, ...]:
        """Those and the optional arms."""
        ...

    @property
    def default_samples(self) -> int:
        """Answers per request unless the user says SAMPLES."""
        ...

    @property
    def primary(self) -> str:
        """Name of the primary metric."""
        ...

    @property
    def is_nested(self) -> bool:
        """Whether every beginning of a selection is a stratified sample of the whole, with ``stratum`` columns."""
        ...

    @property
    def caution(self) -> str | None:
        """A sentence that must stand over every table of this task, or None."""
        ...

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The rounds, in order."""
        ...

    def family(self, settings: tuple[str, ...]) -> tuple[str, ...]:
        """The confirmatory tests that these settings allow, declared at build before any answer is seen."""
        ...

    def instances(self, corpus: Corpus, options: Options) -> Selection:
        """Select and sample. Pure: the same corpus and options give the same frame."""
        ...

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Those that can work here, the first one always; their items are joined."""
        ...

    @property
    def remarks(self) -> tuple[str, ...]:
        """What a reader of this protocol's numbers has to know, sentence by sentence."""
        ...

    def score(self, items: pl.DataFrame, design: Design) -> Scored:
        """The table from the joined items of all final answers; failed ones are counted, pending ones are not there."""
        ...

    def versus(self, first: pl.DataFrame, second: pl.DataFrame, name: str, design: Design) -> tuple[Effect, ...]:
        """The items of one model less those of another on the instances that both have (``name``: ``<a> - <b>``)."""
        ...


@dataclass(frozen=True)
class Published:
    """A table that others printed: ``rows`` are (model, task, setting, metric, value), with source and warnings."""

    source: str
    protocol: str
    rows: tuple[tuple[str, str, str, str, float], ...]
    footnotes: tuple[str, ...]


@dataclass(frozen=True)
class Benchmark:
    """A published evaluation. Each module or package of ``runner.benchmarks`` offers one as ``BENCHMARK``.

    ``load(source, folder)`` converts ``source`` into ``folder`` once (the folder appears only when whole) and
    opens it. The optional doors serve ``data``: ``fetch(folder)`` the published file, ``sample`` a synthetic
    one, ``check(corpus)`` lines that say what was found, ``published()`` the numbers that its paper prints.
    """

    name: str
    tasks: tuple[Task, ...]
    load: Callable[[Path, Path], Corpus]
    check: Callable[[Corpus], dict[str, object]] | None = None
    fetch: Callable[..., Path] | None = None
    sample: Callable[..., Path] | None = None
    terms: str | None = None
    published: Callable[[], Published] | None = None
