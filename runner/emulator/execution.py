"""A job's requests run and written down: output file, error file, bill.

The input is streamed and results go straight to disk, so that a file of 200 MB costs no memory. Nothing here
touches the database: the caller commits the outcome in one transaction, or it never happened.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from runner.emulator import draws
from runner.emulator.answering import PrefixCache, answer
from runner.emulator.tariff import Model
from runner.emulator.wire import Choice, Usage, Wire

BillRow = tuple[int, str, str, int, int, int, int, float]

SERVER_ERROR = {
    "error": {
        "message": "The server had an error while processing your request. Sorry about that!",
        "type": "server_error",
        "param": None,
        "code": "server_error",
    }
}


@dataclass(frozen=True)
class Plan:
    """What is to be run: ``answered`` requests (None = all), and what the rest ends as.

    ``faults`` maps a line fault to the 0-based lines that it hits; ``number`` is the job's.
    """

    number: int
    seed: int
    model: Model
    at: float
    plain: bool
    shuffle: bool
    all_failed: bool
    ending: str | None
    answered: frozenset[int] | None
    faults: dict[str, set[int]] = field(default_factory=dict)

    def hits(self, fault: str, line: int) -> bool:
        """Whether the fault is on this line."""
        return line in self.faults.get(fault, ())


@dataclass
class Outcome:
    """What running left: two unfinished files (None when nothing was written) and the bill's rows."""

    output: Path | None = None
    error: Path | None = None
    completed: int = 0
    failed: int = 0
    usage: Usage = field(default_factory=Usage)
    bill: list[BillRow] = field(default_factory=list)


class Lines:
    """A result file in the making: appended in order of execution, then laid out in the order of delivery."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._raw = path.with_suffix(".raw")
        self._file = self._raw.open("w+b")
        self._spans: list[tuple[int, int]] = []

    def add(self, line: bytes, copies: int = 1) -> None:
        """Write one line."""
        start = self._file.tell()
        self._file.write(line + b"\n")
        self._spans += [(start, len(line) + 1)] * copies

    def close(self, order: list[int] | None) -> Path | None:
        """The finished file, its lines in the given order; None when there is no line."""
        with self._file as raw:
            if self._spans and order is not None:
                with self._path.open("wb") as out:
                    for index in order:
                        start, size = self._spans[index]
                        raw.seek(start)
                        out.write(raw.read(size))
        if not self._spans:
            self._raw.unlink()
            return None
        if order is None:
            self._raw.replace(self._path)
        else:
            self._raw.unlink()
        return self._path

    def __len__(self) -> int:
        return len(self._spans)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, split at ``\\n`` only and without it; a last empty one is none."""
    with path.open("rb") as file:
        for line in file:
            yield line.rstrip(b"\r\n")


def run(plan: Plan, wire: Wire, source: Path, counts: array[int], folder: Path) -> Outcome:
    """Run a validated input file. ``counts`` are its prompts' tokens; files are made in ``folder``."""
    made = Outcome()
    files = {name: Lines(folder / f"{plan.number}.{name}.part") for name in ("output", "error")}
    cache = PrefixCache(plan.seed, plan.number)
    for index, line in enumerate(lines_of(source)):
        ask = wire.ask(line, plan.model, counts[index])
        salt = f"{plan.seed}.{plan.number}.{index}"
        if plan.answered is not None and index not in plan.answered:
            files["error"].add(orjson.dumps(wire.unanswered(ask.custom_id, plan.ending or "expired", salt)))
            continue
        if ask.refusal or plan.all_failed:
            status, body = (400, {"error": ask.refusal}) if ask.refusal else (500, SERVER_ERROR)
            made.failed += 1
            files["error"].add(orjson.dumps(wire.refused(ask.custom_id, status, body, salt)))
            continue
        made.completed += 1
        if plan.hits("missing_id", index):
            continue
        if plan.hits("status_zero", index):
            files["output"].add(orjson.dumps(wire.refused(ask.custom_id, 0, {}, salt)))
            continue
        choices, output, reasoning = answer(plan.seed, plan.number, ask, plan.model, plain=plan.plain)
        if plan.hits("u2028", index):
            choices = [Choice(with_separators(choice.text), choice.finish_reason) for choice in choices]
        usage = Usage(counts[index], cache.cached_tokens(ask, counts[index]), output, reasoning)
        made.bill.append(_billed(plan, ask.custom_id, usage))
        result = wire.answered(ask, plan.model, choices, usage, plan.at, salt)
        _deliver(files["output"], plan, index, ask.custom_id, result)
    made.usage = Usage(*(sum(int(row[column]) for row in made.bill) for column in (3, 4, 5, 6)))
    for name, lines in files.items():
        order = list(range(len(lines)))
        draws.stream(plan.seed, "shuffle", plan.number, name).shuffle(order)
        setattr(made, name, lines.close(order if plan.shuffle else None))
    return made


def with_separators(text: str) -> str:
    """The text with the three characters that look like line ends but are none: for spaces, or at its end."""
    head, *rest = text.split(" ", 3)
    ends = ("\u2028", "\u2029", "\x85")
    return head + "".join(end + word for end, word in zip(ends, rest, strict=False)) + "".join(ends[len(rest) :])


def _billed(plan: Plan, custom_id: str, usage: Usage) -> BillRow:
    usd = plan.model.usd(usage.input, usage.cached, usage.output)
    counts = (usage.input, usage.cached, usage.output, usage.reasoning)
    return (plan.number, custom_id, plan.model.name, *counts, usd)


def _deliver(file: Lines, plan: Plan, index: int, custom_id: str, result: dict[str, object]) -> None:
    """Write an answered line, with the line faults that a client must survive."""
    line = orjson.dumps(result)
    if plan.hits("unknown_id", index):
        file.add(orjson.dumps(result | {"custom_id": f"unknown-{custom_id}"}))
    if plan.hits("bad_line", index):
        line = line[: len(line) // 2]
    file.add(line, copies=2 if plan.hits("duplicate_line", index) else 1)
