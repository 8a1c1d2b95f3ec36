"""What every benchmark is to the chain: tasks made of stages, over a corpus that only it understands.

A stage maps every live instance (and the answers of earlier stages) to requests, sends them as one round of
batches and parses the answers. One stage is a choice or a text against a reference; two are an answer and its
judge; n are a dialogue. Nothing here names a provider, a price or a benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import polars as pl

from runner.metrics.score import Score
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
    ``score`` and ``floors`` need. When nothing is left, ``frame`` is empty and ``explanation`` says why.
    """

    frame: pl.DataFrame
    funnel: Funnel
    explanation: str | None = None


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


@dataclass(frozen=True)
class Scored:
    """``items`` is one row per instance x setting x sample with what was computed for it; ``rows`` the table.

    ``signatures`` maps each metric's name to what produced it (library and version, tokenizer, smoothing, …).
    """

    items: pl.DataFrame
    rows: tuple[Score, ...]
    signatures: Mapping[str, str]


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

    def score(self, frame: pl.DataFrame) -> Scored:
        """Judge answers. ``frame`` has the instance columns and: setting, sample (0…), status, text, answer.

        Rows whose ``status`` is null are pending: excluded. All others are final; failed ones are counted.
        """
        ...

    def floors(self, frame: pl.DataFrame) -> tuple[Score, ...]:
        """Trivial predictors' values on the same instances, settings and weights (``Score.floor`` names them)."""
        ...


@dataclass(frozen=True)
class Benchmark:
    """A published evaluation. Each module or package of ``runner.benchmarks`` offers one as ``BENCHMARK``.

    ``load(source, folder)`` converts ``source`` into ``folder`` once (the folder appears only when whole) and
    opens it. The optional doors serve ``data``: ``fetch(folder)`` the published file, ``sample`` a synthetic
    one, ``check(corpus)`` lines that say what was found.
    """

    name: str
    tasks: tuple[Task, ...]
    load: Callable[[Path, Path], Corpus]
    check: Callable[[Corpus], dict[str, object]] | None = None
    fetch: Callable[..., Path] | None = None
    sample: Callable[..., Path] | None = None
    terms: str | None = None
