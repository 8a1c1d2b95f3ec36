"""The six tasks: three questions, each under the strict and the paper protocol."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import cast

import polars as pl

from runner.benchmarks import answers
from runner.benchmarks.base import Context, Corpus, Design, Judge, Options, Scored, Selection
from runner.benchmarks.personaconvbench import paper, strict
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.paper.prompts import MAX_OUTPUT_TOKENS
from runner.benchmarks.personaconvbench.strict import scoring
from runner.benchmarks.personaconvbench.strict.limits import ANSWER_TOKENS
from runner.benchmarks.personaconvbench.strict.scoring import Kind
from runner.metrics.score import Effect
from runner.request import Request

TITLES: dict[Kind, str] = {"sign": "score sign", "value": "score value", "text": "next text"}


def _answer_tokens(kind: Kind, limit: int) -> tuple[int, int, int]:
    """A word is a token or a little more, a number one to some; a text may fill its limit."""
    if kind == "text":
        return 15, 60, limit
    return (1, 1, 3) if kind == "sign" else (1, 2, 6)


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

    @property
    def answer_tokens(self) -> tuple[int, int, int]:
        """By what is asked for."""
        return _answer_tokens(self.kind, ANSWER_TOKENS[self.kind])


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
    is_nested = True
    caution = None
    remarks = scoring.REMARKS

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
        return scoring.family(self.name, self.kind)

    def instances(self, corpus: Corpus, options: Options) -> Selection:
        """Strict selection and its nested sample."""
        return strict.select(cast(PersonaCorpus, corpus), options, self.kind, all_scores=self.all_scores)

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Answers, and for texts embeddings where they can be had."""
        return scoring.judges(self.kind)

    def score(self, items: pl.DataFrame, design: Design) -> Scored:
        """Every instance counted."""
        return scoring.score(items, self.kind, design, self.name)

    def versus(self, first: pl.DataFrame, second: pl.DataFrame, name: str, design: Design) -> tuple[Effect, ...]:
        """Two models on the same answers, setting by setting; p-conv is tested."""
        return tuple(scoring.versus(first, second, name, self.kind, design))


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

    @property
    def answer_tokens(self) -> tuple[int, int, int]:
        """By what is asked for."""
        return _answer_tokens(self.kind, MAX_OUTPUT_TOKENS[self.kind])


@dataclass(frozen=True)
class PaperTask:
    """The reference's evaluation, so that a number can stand beside the published table."""

    name: str
    kind: Kind

    protocol = "paper"
    version = paper.VERSION
    settings = paper.SETTINGS
    all_settings = paper.SETTINGS
    is_nested = False
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
        """The reference names none."""
        return paper.PRIMARY[self.kind]

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

    @property
    def judges(self) -> tuple[Judge, ...]:
        """Answers, and for texts embeddings where they can be had."""
        return paper.judges(self.kind)

    @property
    def remarks(self) -> tuple[str, ...]:
        """Every difference from the strict protocol."""
        return paper.remarks(self.kind)

    def score(self, items: pl.DataFrame, design: Design) -> Scored:
        """The reference's aggregation: failed answers leave the denominator. Nothing is tested."""
        return paper.score(items, self.kind, tested=design.tested)

    def versus(self, first: pl.DataFrame, second: pl.DataFrame, name: str, design: Design) -> tuple[Effect, ...]:
        """Two models on the answers that both gave, without tests."""
        return tuple(paper.versus(first, second, name, self.kind, design))


TASKS = (
    StrictTask("3.1", "sign"),
    StrictTask("3.2", "value"),
    StrictTask("3.2-all", "value", all_scores=True),
    StrictTask("3.3", "text"),
    PaperTask("3.1", "sign"),
    PaperTask("3.2", "value"),
    PaperTask("3.3", "text"),
)
