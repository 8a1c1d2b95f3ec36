"""What a run came to: the content of ``summary.json``, and the only thing that reports are made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

import orjson

from runner.errors import RunnerError
from runner.metrics.score import Effect, Score
from runner.venues import is_rehearsal

REHEARSAL = "EMULATOR — rehearsal, not a result"
ANSWERED_BY = (
    "No model was asked: the answers come from fixed rules inside the emulator that see only the prompt (usual score "
    "or most fitting reply of the history, mood and replies of the thread)."
)
"""What the answers of a rehearsal come from."""


@dataclass(frozen=True, slots=True)
class Spent:
    """What the answers of one setting took, whoever paid for them; an answer that settings share counts in each.

    ``usd`` is None where no price is known, and the most that it can be where ``is_bound``.
    """

    setting: str
    answers: int
    input_tokens: int
    cached_tokens: int
    output_tokens: int
    reasoning_tokens: int
    usd: float | None
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class Saving:
    """Dollars that were not paid, and why (``identical requests sent once``); None where they are not known."""

    why: str
    usd: float | None


@dataclass(frozen=True, slots=True)
class Look:
    """The ``number``-th scored look at this growing sample: tests at ``alpha``; None beyond ``planned`` looks."""

    number: int
    alpha: float | None
    planned: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Dollars; None where no price is known. ``reused_usd`` was paid by earlier runs and not again.

    ``billed_is_bound`` and ``reused_is_bound`` where some answers did not tell what they used, so that the sum is the
    most that it can be.
    """

    low_usd: float | None
    mid_usd: float | None
    high_usd: float | None
    bound_usd: float | None
    billed_usd: float | None
    reused_usd: float | None
    by_setting: tuple[Spent, ...] = ()
    savings: tuple[Saving, ...] = ()
    billed_is_bound: bool = False
    reused_is_bound: bool = False


@dataclass(frozen=True, slots=True)
class Requests:
    """Counts of instance x setting x draw; ``unique`` alone counts different requests.

    ``final`` are those that will not change any more; ``by_status`` counts them by how they ended.
    """

    total: int
    unique: int
    final: int
    by_status: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Failure:
    """``n`` final answers of a setting that could not be used, for one reason."""

    setting: str
    reason: str
    n: int


@dataclass(frozen=True)
class Summary:
    """One scored run.

    ``rows`` and ``floors`` are in the order of tables. ``caution`` stands over every table; ``explanation``
    says why there is nothing to show. ``funnel`` is (rule, items left) in order, ``funnel_notes`` what a
    reader must know about it. ``signatures`` maps a metric to what computed it. ``remarks`` are sentences on the
    protocol; ``repeat`` is what it takes to make the same numbers again (parameters, seed, instances, prices, …).
    ``other_models`` counts the answers that name a model which was not asked for, by its name.
    """

    run: str
    task: str
    title: str
    model: str
    venue: str
    protocol: str
    corpus: str
    state: Literal["complete", "partial"]
    primary: str
    instances: int
    rows: tuple[Score, ...]
    floors: tuple[Score, ...]
    cost: Cost
    requests: Requests
    failures: tuple[Failure, ...] = ()
    caution: str | None = None
    explanation: str | None = None
    funnel: tuple[tuple[str, int], ...] = ()
    funnel_notes: Mapping[str, float | int | str] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    effects: tuple[Effect, ...] = ()
    look: Look | None = None
    remarks: tuple[str, ...] = ()
    repeat: Mapping[str, str] = field(default_factory=dict)
    other_models: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_rehearsal(self) -> bool:
        """Whether an emulator answered: by the venue, or by the name with which it signs behind another one."""
        return is_rehearsal(self.venue) or "emulator" in self.versions.get("model as returned", "")

    @property
    def answered_by(self) -> str | None:
        """What the answers come from where no model gave them."""
        return ANSWERED_BY if self.is_rehearsal else None

    @property
    def marks(self) -> tuple[str, ...]:
        """What every heading of this run has to say first."""
        marks = [REHEARSAL] if self.is_rehearsal else []
        if self.state == "partial":
            marks.append(f"PARTIAL {self.requests.final:,} of {self.requests.total:,}")
        return tuple(marks)

    @property
    def heading(self) -> str:
        """Which run this is, in words: task, model, venue, protocol. ``marks`` come before it."""
        return f"{self.task} {self.title} · {self.model} at {self.venue} · {self.protocol}"

    @property
    def settings(self) -> tuple[str, ...]:
        """In the order in which rows, then floors, then failures name them."""
        named = [item.setting for items in (self.rows, self.floors, self.failures) for item in items]
        return tuple(dict.fromkeys(named))

    def to_json(self) -> str:
        """The text of ``summary.json``. A value that is not a number is written as null (undefined)."""
        raw = asdict(self)
        cost, requests = raw["cost"], raw["requests"]
        raw["cost"] = {
            "estimated_usd": {name: cost.pop(f"{name}_usd") for name in ("low", "mid", "high")},
            **cost,
        }
        raw["requests"] = {**requests.pop("by_status"), **requests}
        raw["funnel"] = {"steps": raw["funnel"], "notes": raw.pop("funnel_notes")}
        for row in raw["rows"]:
            del row["floor"]
        return orjson.dumps(raw, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE).decode()

    @classmethod
    def from_json(cls, text: str | bytes) -> Summary:
        """Read back what ``to_json`` wrote, equal in every field. Raises RunnerError for anything else."""
        try:
            return cls._from_raw(orjson.loads(text))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            why = f"{type(error).__name__}: {error}"
            raise RunnerError(
                f"The summary cannot be read ({why}): it was cut or written by another version; score again.",
                code="bad_summary",
            ) from error

    @classmethod
    def _from_raw(cls, raw: dict[str, Any]) -> Summary:
        funnel, requests = raw.pop("funnel"), raw.pop("requests")
        cost = raw.pop("cost")
        estimated = {f"{name}_usd": usd for name, usd in cost.pop("estimated_usd").items()}
        if raw["state"] not in ("complete", "partial"):
            raise ValueError(f"state is {raw['state']!r}")
        return cls(
            rows=tuple(Score(**row) for row in raw.pop("rows")),
            floors=tuple(Score(**row) for row in raw.pop("floors")),
            failures=tuple(Failure(**row) for row in raw.pop("failures")),
            effects=tuple(Effect(**row) for row in raw.pop("effects", ())),
            look=Look(**look) if (look := raw.pop("look", None)) else None,
            remarks=tuple(raw.pop("remarks", ())),
            cost=Cost(
                by_setting=tuple(Spent(**row) for row in cost.pop("by_setting", ())),
                savings=tuple(Saving(**row) for row in cost.pop("savings", ())),
                **estimated,
                **cost,
            ),
            requests=Requests(
                **{name: requests.pop(name) for name in ("total", "unique", "final")}, by_status=requests
            ),
            funnel=tuple((name, n) for name, n in funnel["steps"]),
            funnel_notes=funnel["notes"],
            **raw,
        )
