"""Answers to read, one instance at a time: what the page's explorer holds, packed small."""

from __future__ import annotations

import base64
import gzip
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Literal

import orjson
import polars as pl

from runner.reporting.tables import LOWER_IS_BETTER

BUDGET = 6_000_000
"""Bytes that the packed answers and prompts may take in the page."""
PER_BLOCK = 20
"""Instances whose prompts are unpacked together: they share text, and a reader pages through neighbours."""
FAILED_EVERY = 4
"""Every so many places of the reading order go to an instance with a failed answer."""

_FEWEST_WORDS, _LONGEST_LINE = 3, 90

Grade = Literal["right", "wrong", "best", "middle", "worst", "failed"]
Value = str | float | bool | None
Prompt = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer. ``text`` is None where there is none; ``reason`` says why an answer could not be used.

    ``prompt`` is (role, content) as sent; ``values`` is all that was computed; ``bought_by`` the run that paid.
    """

    setting: str
    sample: int
    request_id: str
    prompt: Prompt
    text: str | None
    reason: str | None
    values: Mapping[str, Value]
    model_version: str | None
    bought_by: str | None


@dataclass(frozen=True, slots=True)
class Instance:
    """One instance with all its answers. ``place`` is its number in sample order."""

    place: int
    instance_id: str
    domain: str
    reference: str
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class Ruler:
    """How a single answer is graded: right or wrong where it is ``correct``, else by quarters of the whole run.

    ``column`` is the value that counts and None where there is none; ``low`` and ``high`` are its quartiles.
    """

    column: str | None
    lower_is_better: bool = False
    low: float | None = None
    high: float | None = None

    @property
    def grades(self) -> tuple[Grade, ...]:
        """The grades that answers can have, in the order in which a filter offers them."""
        if self.column is None:
            return ("middle", "failed")
        return ("right", "wrong", "failed") if self.column == "correct" else ("best", "middle", "worst", "failed")

    def score(self, answer: Answer) -> float | None:
        """The value that counts; of an error its size."""
        value = answer.values.get(self.column) if self.column else None
        if value is None or isinstance(value, str):
            return None
        return abs(float(value)) if self.lower_is_better else float(value)

    def grade(self, answer: Answer) -> Grade:
        """What could not be used is ``failed``, whatever value it counts with."""
        score = self.score(answer)
        if answer.reason is not None:
            return "failed"
        if self.column == "correct":
            return "right" if score else "wrong"
        if score is None or self.low is None or self.high is None or self.low == self.high:
            return "middle"
        small, large = ("best", "worst") if self.lower_is_better else ("worst", "best")
        return small if score <= self.low else large if score >= self.high else "middle"  # type: ignore[return-value]


@dataclass(frozen=True, slots=True)
class Explorer:
    """``rows`` and each of ``prompts`` are gzipped JSON in base64. ``shown`` of ``total`` instances are in them."""

    rows: str
    prompts: tuple[str, ...]
    shown: int
    total: int


def ruler(items: pl.DataFrame, primary: str) -> Ruler:
    """The column of ``items`` (all answers of the run) that stands for the primary metric, and its quartiles."""
    if "correct" in items.columns:
        return Ruler("correct")
    for column, lower in ((primary, primary in LOWER_IS_BETTER), ("log_error", True), ("error", True)):
        if column in items.columns:
            size = items[column].cast(pl.Float64).drop_nulls().drop_nans()
            size = size.abs() if lower else size
            return Ruler(column, lower, size.quantile(0.25), size.quantile(0.75))
    return Ruler(None)


def reading_order(ids: Sequence[str], failed: Collection[str]) -> Iterator[str]:
    """All of ``ids``, in their order, but every fourth place goes to the next one that is in ``failed``."""
    taken: set[str] = set()
    rest = (name for name in ids if name not in taken)
    failing = (name for name in ids if name in failed and name not in taken)
    for turn in count(1):
        found = (next(failing, None) if turn % FAILED_EVERY == 0 else None) or next(rest, None)
        if found is None:
            return
        taken.add(found)
        yield found


def pack(
    instances: Iterable[Instance],
    ruler: Ruler,
    total: int,
    budget: int = BUDGET,
    advance: Callable[[int], None] = lambda _: None,
) -> Explorer:
    """As many whole instances, first come first in, as ``budget`` bytes hold; at least one block of them.

    ``total`` is how many the run has. ``advance`` is told of every instance that was packed.
    """
    kept: list[dict[str, Any]] = []
    blocks: list[str] = []
    size = 0
    rest = iter(instances)
    while some := list(islice(rest, PER_BLOCK)):
        words = opening_words(some)
        rows = [{**_row(instance, len(blocks), ruler), "words": words[instance.instance_id]} for instance in some]
        prompts = _packed(_prompts(some))
        size += len(prompts) + len(_packed(rows))
        if blocks and size > budget:
            break
        kept += rows
        blocks.append(prompts)
        advance(len(some))
    kept.sort(key=lambda row: row["place"])
    head = {"grades": ruler.grades, "column": ruler.column, "lower": ruler.lower_is_better, "instances": kept}
    return Explorer(_packed(head), tuple(blocks), len(kept), total)


def opening_words(instances: Sequence[Instance]) -> dict[str, str]:
    """By what a reader can tell each of these instances from the others, by id.

    The first line of words that all its prompts have and no other's; else its reference, if that is words. Nothing
    where neither is.
    """
    lines = {instance.instance_id: _lines(instance) for instance in instances}
    often = Counter(line for own in lines.values() for line in set().union(*own))
    found = {}
    for instance in instances:
        own = lines[instance.instance_id]
        everywhere = set(own[0]).intersection(*own[1:]) if own else set()
        alone = (line for line in own[0] if line in everywhere and often[line] == 1) if own else ()
        candidates = (_without_tags(line) for line in (*alone, instance.reference))
        found[instance.instance_id] = next((line for line in candidates if len(line.split()) >= _FEWEST_WORDS), "")
    return found


def _lines(instance: Instance) -> list[list[str]]:
    """Of each prompt its lines."""
    prompts = {answer.request_id: answer.prompt for answer in instance.answers if answer.prompt}
    return [[line for _, content in prompt for line in content.split("\n")] for prompt in prompts.values()]


def _without_tags(line: str) -> str:
    line = " ".join(re.sub(r"</?[a-z][^<>]{0,40}>", " ", line).split())
    return line if len(line) <= _LONGEST_LINE else f"{line[: _LONGEST_LINE - 1]}…"


def _row(instance: Instance, block: int, ruler: Ruler) -> dict[str, Any]:
    return {
        "place": instance.place,
        "id": instance.instance_id,
        "domain": instance.domain,
        "reference": instance.reference,
        "block": block,
        "answers": [
            {
                "setting": answer.setting,
                "sample": answer.sample,
                "request": answer.request_id,
                "text": answer.text,
                "reason": answer.reason,
                "grade": ruler.grade(answer),
                "score": ruler.score(answer),
                "values": dict(answer.values),
                "version": answer.model_version,
                "bought": answer.bought_by,
            }
            for answer in instance.answers
        ],
    }


def _prompts(instances: Iterable[Instance]) -> dict[str, Any]:
    """Prompts as lists of line numbers: what they share stands once, however far apart (gzip sees 32 kB back)."""
    lines: dict[str, int] = {}
    prompts = {
        answer.request_id: [
            [role, [lines.setdefault(line, len(lines)) for line in content.split("\n")]]
            for role, content in answer.prompt
        ]
        for instance in instances
        for answer in instance.answers
    }
    return {"lines": list(lines), "prompts": prompts}


def _packed(content: object) -> str:
    return base64.b64encode(gzip.compress(_json(content), compresslevel=6, mtime=0)).decode()


def _json(content: object) -> bytes:
    try:
        return orjson.dumps(content)
    except orjson.JSONEncodeError:  # a lone surrogate, which no file can hold
        return orjson.dumps(_sound(content))


def _sound(content: Any) -> Any:
    if isinstance(content, str):
        return re.sub("[\ud800-\udfff]", "\ufffd", content)
    if isinstance(content, Mapping):
        return {_sound(key): _sound(value) for key, value in content.items()}
    return [_sound(item) for item in content] if isinstance(content, list | tuple) else content
