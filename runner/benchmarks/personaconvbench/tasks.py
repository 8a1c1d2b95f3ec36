"""The six tasks: three questions, each under the strict and the paper protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, cast

import polars as pl

from runner.benchmarks import answers
from runner.benchmarks.base import Context, Corpus, Options, Scored, Selection
from runner.benchmarks.personaconvbench import paper, scoring, strict
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.metrics.score import Score
from runner.request import Request

Kind = Literal["sign", "value", "text"]

TITLES: dict[Kind, str] = {"sign": "score sign", "value": "score value", "text": "next text"}
EFFECTS = ("personal", "conversation", "interaction")


@dataclass(frozen=True)
class StrictStage:
    """Ask once and read the answer with the one parser for all models."""

    kind: Kind
    name: str = "answer"

    def requests(self, instances: pl.DataFrame, answers: pl.DataFrame | None, context: Context) -> Iterator[Request]:
        """All settings of an instance together, checked on their final bytes."""
        return strict.requests(instances, context)

    def parse(self, text: str) -> str | None:
        """``positive``/``negative``, an integer, or a text."""
        if self.kind == "sign":
            return answers.parse_word(text)
        if self.kind == "value":
            number = answers.parse_integer(text)
            return None if number is None else str(number)
        return answers.clean_text_answer(text)


@dataclass(frozen=True)
class StrictTask:
    """A correct evaluation: see docs/how-it-works.md."""

    name: str
    kind: Kind
    all_scores: bool = False

    protocol = "strict"
    version = strict.VERSION
    settings = strict.SETTINGS
    all_settings = (*strict.SETTINGS, *strict.ARMS)
    default_samples = 1
    caution = None

    @property
    def title(self) -> str:
        """In words."""
        return TITLES[self.kind] + (" (all scores)" if self.all_scores else "")

    @property
    def primary(self) -> str:
        """The metric that the confirmatory tests use."""
        return scoring.PRIMARY[self.kind]

    @property
    def stages(self) -> tuple[StrictStage, ...]:
        """One round."""
        return (StrictStage(self.kind),)

    def family(self, settings: tuple[str, ...]) -> tuple[str, ...]:
        """The three effects of the 2 x 2, when all four of its settings are asked."""
        if not set(strict.SETTINGS) <= set(settings):
            return ()
        return tuple(f"{self.name}: {effect} effect on {self.primary}" for effect in EFFECTS)

    def instances(self, corpus: Corpus, options: Options) -> Selection:
        """Strict selection and its nested sample."""
        return strict.select(cast(PersonaCorpus, corpus), options, self.kind, all_scores=self.all_scores)

    def score(self, frame: pl.DataFrame) -> Scored:
        """Every instance counted."""
        return scoring.score(_weighted(frame), self.kind)

    def floors(self, frame: pl.DataFrame) -> tuple[Score, ...]:
        """What a trivial predictor reaches."""
        return scoring.floors(_weighted(frame), self.kind)


def _weighted(frame: pl.DataFrame) -> pl.DataFrame:
    """Weights N_h / n_h of the instances that are there, per setting, mean 1: any prefix of a sample is a sample."""
    taken = pl.col("instance_id").n_unique().over("setting", "stratum")
    raw = pl.col("stratum_size") / taken
    return frame.with_columns(weight=raw / raw.mean().over("setting"))


@dataclass(frozen=True)
class PaperStage:
    """The reference's one question."""

    kind: Kind
    name: str = "answer"

    def requests(self, instances: pl.DataFrame, answers: pl.DataFrame | None, context: Context) -> Iterator[Request]:
        """In the reference's order, with its leaks."""
        return paper.requests(instances, context)

    def parse(self, text: str) -> str | None:
        """As the reference's GPT evaluators read answers."""
        return paper.parse(self.kind, text)


@dataclass(frozen=True)
class PaperTask:
    """The reference's evaluation, so that a number can stand beside the published table."""

    name: str
    kind: Kind

    protocol = "paper"
    version = paper.VERSION
    settings = paper.SETTINGS
    all_settings = paper.SETTINGS
    caution = paper.CAUTION

    @property
    def title(self) -> str:
        """In words."""
        return TITLES[self.kind]

    @property
    def default_samples(self) -> int:
        """The GPT rows of the published table take the best of ten in 3.3."""
        return 10 if self.kind == "text" else 1

    @property
    def primary(self) -> str:
        """The reference names none; its tables begin with this one."""
        return {"sign": "accuracy", "value": "rmse", "text": "rouge_l"}[self.kind]

    @property
    def stages(self) -> tuple[PaperStage, ...]:
        """One round."""
        return (PaperStage(self.kind),)

    def family(self, settings: tuple[str, ...]) -> tuple[str, ...]:
        """No confirmatory tests: the protocol's settings do not differ in one factor only."""
        return ()

    def instances(self, corpus: Corpus, options: Options) -> Selection:
        """The reference's selection, in its order."""
        return paper.select(cast(PersonaCorpus, corpus), options, self.kind)

    def score(self, frame: pl.DataFrame) -> Scored:
        """The reference's aggregation: failed answers leave the denominator."""
        return paper.score(frame, self.kind)

    def floors(self, frame: pl.DataFrame) -> tuple[Score, ...]:
        """Trivial predictors under the same aggregation."""
        return paper.floors(frame, self.kind)


TASKS = (
    StrictTask("3.1", "sign"),
    StrictTask("3.2", "value"),
    StrictTask("3.2-all", "value", all_scores=True),
    StrictTask("3.3", "text"),
    PaperTask("3.1", "sign"),
    PaperTask("3.2", "value"),
    PaperTask("3.3", "text"),
)
