"""A job's requests run and written down: result files and bill.

The input is streamed and results go straight to disk, so that a file of 200 MB costs no memory. Nothing here
touches the database: the caller commits the outcome in one transaction, or it never happened.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import orjson

from runner.emulator import draws
from runner.emulator.answering import answer, factor
from runner.emulator.caching import PrefixCache
from runner.emulator.faults import OTHER_MODEL
from runner.emulator.garbling import deep, garbled, huge, with_separators, with_surrogate
from runner.emulator.jobs import Job
from runner.emulator.odd_results import LINES, change_file, change_line
from runner.emulator.resultfile import ResultFile
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Ask, Choice, Usage, Wire

BillRow = tuple[int, str, str, int, int, int, int, int, float]


@dataclass(frozen=True)
class Plan:
    """What is to be run: ``answered`` requests (None = all), and what the rest ends as.

    ``ending`` is ``expired``, ``cancelled`` or ``failed``. ``line_faults`` maps a line fault to the 0-based
    lines that it hits.
    """

    job: Job
    seed: int
    at: float
    plain: bool
    ending: str = "expired"
    answered: frozenset[int] | None = None
    line_faults: dict[str, set[int]] = field(default_factory=dict)

    def hits(self, fault: str, line: int) -> bool:
        """Whether the fault is on this line."""
        return line in self.line_faults.get(fault, ())

    def ending_of(self, line: int) -> str | None:
        """What the line ends as without being run; None when it is run."""
        if self.answered is not None and line not in self.answered:
            return self.ending
        if "all_failed" in self.job.faults:
            return "failed"
        if self.hits("mixed_endings", line):
            return ("failed", "expired", "cancelled")[draws.integer(self.seed, "mixed", self.job.seq, line) % 3]
        return None


@dataclass
class Outcome:
    """What running left: two unfinished files (None when nothing was written), the counts, the bill's rows."""

    output: Path | None = None
    error: Path | None = None
    completed: int = 0
    failed: int = 0
    expired: int = 0
    cancelled: int = 0
    usage: Usage = field(default_factory=Usage)
    bill: list[BillRow] = field(default_factory=list)


def lines_of(path: Path) -> Iterator[bytes]:
    """The lines of a file, split at ``\\n`` only and without it; a last empty one is none."""
    with path.open("rb") as file:
        for line in file:
            yield line.rstrip(b"\r\n")


def run(plan: Plan, wire: Wire, source: Path, counts: array[int], folder: Path) -> Outcome:
    """Run a validated input. ``counts`` are its prompts' tokens; files are made in ``folder``."""
    running = Execution(plan, wire, folder)
    for index, line in enumerate(lines_of(source)):
        running.settle(index, wire.ask(line, plan.job, counts[index]), counts[index])
    return running.outcome()


class Execution:
    """The requests of one job, one after another, and what they have left so far."""

    def __init__(self, plan: Plan, wire: Wire, folder: Path) -> None:
        job, rules = plan.job, tariff(plan.job.provider).rules
        end = b"\r\n" if "crlf" in job.faults else b"\n"
        self._plan = plan
        self._wire = wire
        self._made = Outcome()
        self._cache = PrefixCache(plan.seed, job.seq, rules.cache, is_cold="cold_cache" in job.faults)
        self._output = ResultFile(folder / f"{job.seq}.output.part", end)
        self._error = self._output
        if not rules.one_result_file:
            self._error = ResultFile(folder / f"{job.seq}.error.part", end)

    def settle(self, index: int, ask: Ask, tokens: int) -> None:
        """Give one request its end: an answer, an error, or neither."""
        plan, wire, made = self._plan, self._wire, self._made
        salt = f"{plan.seed}.{plan.job.seq}.{index}"
        ending = plan.ending_of(index)
        if ending is None and ask.model is not None and not ask.refusal:
            made.completed += 1
            if plan.hits("status_zero", index):
                self._output.add(orjson.dumps(wire.refused(ask.custom_id, 0, None, salt)))
            elif not plan.hits("missing_id", index):
                self._answer(index, ask, ask.model, tokens, salt)
        elif ending is None:
            made.failed += 1
            self._error.add(orjson.dumps(wire.refused(ask.custom_id, 400, ask.refusal, salt)))
        elif ending == "failed":
            made.failed += 1
            self._error.add(orjson.dumps(wire.refused(ask.custom_id, 500, None, salt)))
        else:
            made.expired += ending == "expired"
            made.cancelled += ending == "cancelled"
            if "no_error_file" not in plan.job.faults:
                self._error.add(orjson.dumps(wire.unanswered(ask.custom_id, ending, salt)))

    def outcome(self) -> Outcome:
        """The finished files, with all that was counted."""
        made, is_one = self._made, self._error is self._output
        tokens, cached, output, reasoning, written = (sum(int(row[at]) for row in made.bill) for at in (3, 4, 5, 6, 7))
        made.usage = Usage(tokens, cached, output, reasoning, written)
        made.output = self._finish(self._output, "output", is_needed=is_one)
        made.error = None if is_one else self._finish(self._error, "error", is_needed=False)
        return made

    def _answer(self, index: int, ask: Ask, model: Model, tokens: int, salt: str) -> None:
        """Answer one request, put it on the bill, and write its line with the faults that a client must survive."""
        plan, number = self._plan, self._plan.job.seq
        per_token = factor(plan.seed, plan.job.provider, model.name)
        choices, output, reasoning = answer(plan.seed, number, ask, model, plain=plan.plain, per_token=per_token)
        if plan.hits("filtered", index):
            choices, output, reasoning = [Choice("", "filtered") for _ in choices], 0, 0
        cached, written, written_long = self._cache.use(ask, model, tokens)
        is_standard = plan.hits("standard_tier", index)
        usage = Usage(tokens, cached, output, reasoning, written, written_long, is_standard)
        rates = model.standard if is_standard and model.standard else model
        usd = rates.usd(tokens, cached, output, written, written_long)
        self._made.bill.append((number, ask.custom_id, model.name, tokens, cached, output, reasoning, written, usd))
        for fault, change in (("u2028", with_separators), ("lone_surrogate", with_surrogate), ("huge_line", huge)):
            if plan.hits(fault, index):
                choices = [replace(choice, text=change(choice.text)) for choice in choices]
        if plan.hits("other_model", index):
            ask = replace(ask, name=OTHER_MODEL)
        result = self._wire.answered(ask, choices, usage, plan.at, salt)
        if odd := next((fault for fault in LINES if plan.hits(fault, index)), None):  # one odd form a line
            result = change_line(result, odd, index)
        line = garbled(result)
        if plan.hits("unknown_id", index):
            stranger = replace(ask, custom_id=f"unknown-{ask.custom_id}"[:64])
            self._output.add(garbled(self._wire.answered(stranger, choices, usage, plan.at, salt)))
        if plan.hits("bad_line", index):
            line = line[: len(line) // 2]
        if plan.hits("deep_line", index):
            line = deep(line)
        self._output.add(line, copies=2 if plan.hits("duplicate_line", index) else 1)

    def _finish(self, file: ResultFile, name: str, *, is_needed: bool) -> Path | None:
        job, order = self._plan.job, None
        if "shuffle" in job.faults:
            order = list(range(len(file)))
            draws.stream(self._plan.seed, "shuffle", job.seq, name).shuffle(order)
        path = file.close(order, is_cut="truncated_result" in job.faults, is_needed=is_needed)
        if path is not None and name == "output":
            change_file(path, job.faults)
        return path
