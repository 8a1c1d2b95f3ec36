"""Misbehaviour on demand. Each fault is one line here; where it bites, the code asks for it by name."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from runner.emulator import draws
from runner.emulator.store import Store


class Unit(StrEnum):
    """What a rate counts: one HTTP call, one job, or one answered line of a job (at least one of several)."""

    CALL = "call"
    JOB = "job"
    LINE = "line"


@dataclass(frozen=True, slots=True)
class Fault:
    """``rate`` is the share of units that are hit when the user names none.

    ``providers`` are those that it makes sense for (none = all). ``is_bounded`` spares every third unit, so that
    a patient client gets on whatever the rate; ``most`` is the most lines of one job.
    """

    name: str
    unit: Unit
    rate: float
    doc: str
    providers: tuple[str, ...] = ()
    is_bounded: bool = False
    most: int | None = None

    def applies_to(self, provider: str) -> bool:
        """Whether it makes sense for this provider."""
        return not self.providers or provider in self.providers


LIST_LAG_S = 45.0
LIST_LAG_LONG_S = 600.0
NOT_FOUND_S = 30.0
LATE_IDS_S = 120.0
QUOTA_HELD_S = 3 * 24 * 3600.0
OTHER_MODEL = "another-model-1"
STORM_CALLS = 5
STORM_EVERY = 25

OPENAI_LIKE = ("openai", "groq", "nebius", "deepinfra", "qwen", "together", "mistral")
UPLOADERS = (*OPENAI_LIKE, "google")
MAIN = ("openai", "anthropic", "google")
"""One of each protocol: for what the others share with them."""

FAULTS: dict[str, Fault] = {
    fault.name: fault
    for fault in (
        # Creates and uploads
        Fault("create_lost", Unit.CALL, 1.0, "The job is created, but the answer never arrives (cut or 500)."),
        Fault("create_429_made", Unit.CALL, 0.5, "The job is created, but the answer is 429.", (), True),
        Fault("create_500", Unit.CALL, 0.5, "Create answers 500 and no job exists.", (), True),
        Fault("spend_limit", Unit.CALL, 1.0, "Create answers that the account's limit of spending is reached."),
        Fault("file_not_ready", Unit.CALL, 0.5, "Create does not know the file just uploaded.", UPLOADERS, True),
        Fault("upload_reset_before", Unit.CALL, 0.5, "The connection is reset before an upload is read.", (), True),
        Fault("upload_reset_middle", Unit.CALL, 0.5, "The connection is reset in the middle of an upload.", (), True),
        Fault("upload_reset_after", Unit.CALL, 0.5, "An upload is stored, then the connection is reset.", (), True),
        # Any call
        Fault("storm_429", Unit.CALL, 1.0, f"{STORM_CALLS} calls of {STORM_EVERY} answer 429 with retry-after."),
        Fault("storm_429_silent", Unit.CALL, 1.0, f"{STORM_CALLS} calls of {STORM_EVERY} answer 429, no retry-after."),
        Fault("storm_5xx", Unit.CALL, 1.0, f"{STORM_CALLS} calls of {STORM_EVERY} answer 500, 502, 503 or 529."),
        # Downloads
        Fault("truncated_download", Unit.CALL, 0.5, "A file's body ends before its Content-Length.", (), True),
        Fault("length_too_small", Unit.CALL, 0.5, "A file's body ends early, as its Content-Length says.", (), True),
        Fault("length_too_large", Unit.CALL, 0.5, "A file's Content-Length promises more than there is.", (), True),
        Fault("slow_trickle", Unit.CALL, 0.5, "A file comes in small pieces, a second in all."),
        # A job's life
        Fault("list_lag", Unit.JOB, 1.0, f"A new job is in lists only after {LIST_LAG_S:.0f} s."),
        Fault("list_lag_long", Unit.JOB, 1.0, f"A new job is in lists only after {LIST_LAG_LONG_S:.0f} s."),
        Fault("not_found_after_create", Unit.JOB, 1.0, f"A new job is 404 for {NOT_FOUND_S:.0f} s."),
        Fault("late_file_ids", Unit.JOB, 1.0, f"An ended job names its results only {LATE_IDS_S:.0f} s later."),
        Fault("token_limit_exceeded", Unit.JOB, 1.0, "The queue is said to be full though it has room.", (), True),
        Fault("expired_partial", Unit.JOB, 1.0, "The job expires at its end with a part answered (and billed)."),
        Fault("expired_nothing", Unit.JOB, 1.0, "The job expires with not one answer, and no bill.", (), True),
        Fault("cancelled_partial", Unit.JOB, 1.0, "Somebody cancels the job half way; a part is answered and billed."),
        Fault("no_error_file", Unit.JOB, 1.0, "What an expired or cancelled job did not answer is in no file."),
        Fault("partially_succeeded", Unit.JOB, 1.0, "The job ends in the state PARTIALLY_SUCCEEDED.", ("google",)),
        Fault("quota_held", Unit.JOB, 1.0, "A cancelled job keeps its place in the queue for 3 days.", ("google",)),
        Fault("stuck", Unit.JOB, 1.0, "The job stays in progress, past its deadline, until it is cancelled.", (), True),
        Fault("cancel_stuck", Unit.JOB, 1.0, "A job that is cancelled stays in cancelling for good."),
        # A job's results
        Fault("error_file_empty_id", Unit.JOB, 1.0, 'error_file_id is "" instead of null on a clean job.', OPENAI_LIKE),
        Fault("all_failed", Unit.JOB, 1.0, "Every request fails with 500: no output file, nothing billed."),
        Fault("truncated_result", Unit.JOB, 1.0, "The result file itself ends in the middle of a line (all billed)."),
        Fault("empty_result", Unit.JOB, 0.5, "The result file is empty (all billed).", MAIN, True),
        Fault("blank_result", Unit.JOB, 0.5, "The result file holds blank lines only (all billed).", MAIN, True),
        Fault("html_result", Unit.JOB, 0.5, "The result file is a page of HTML (all billed).", MAIN, True),
        Fault("foreign_ids", Unit.JOB, 0.5, "All ids in the result file are others' (all billed).", MAIN, True),
        Fault("lost_lines", Unit.JOB, 0.5, "The result file lacks the second half of its lines (billed).", MAIN, True),
        Fault("crlf", Unit.JOB, 1.0, "Result lines end in CR LF."),
        Fault("shuffle", Unit.JOB, 1.0, "Result lines come in another order than the requests (default on)."),
        Fault("cold_cache", Unit.JOB, 1.0, "Nothing of the prompts is found in the cache, whatever was written."),
        # Single results
        Fault("u2028", Unit.LINE, 0.05, "Answers hold raw U+2028, U+2029 and U+0085, which are not line ends."),
        Fault("lone_surrogate", Unit.LINE, 0.05, "Answers hold the escape of half a surrogate pair."),
        Fault("huge_line", Unit.LINE, 0.05, "One result line of the job has 10 MB.", (), False, 1),
        Fault("duplicate_line", Unit.LINE, 0.05, "A result line comes twice (billed once)."),
        Fault("unknown_id", Unit.LINE, 0.05, "An extra result line has an id that nobody sent."),
        Fault("missing_id", Unit.LINE, 0.05, "A request is in no file (it was not run, nor billed)."),
        Fault("bad_line", Unit.LINE, 0.05, "A result line is cut off and cannot be parsed (billed)."),
        Fault("deep_line", Unit.LINE, 0.05, "A result line is nested 20,000 levels deep (billed)."),
        Fault("status_zero", Unit.LINE, 0.05, "A result line has status_code 0 (not billed).", OPENAI_LIKE),
        Fault("other_model", Unit.LINE, 0.2, f"An answer names another model, {OTHER_MODEL}, than was asked for."),
        Fault("filtered", Unit.LINE, 0.05, "A prompt is blocked, in the protocol's words (its input is billed)."),
        Fault("standard_tier", Unit.LINE, 0.2, "A row is served and billed at the standard price.", ("anthropic",)),
        Fault("body_as_text", Unit.LINE, 0.2, "A reply is the text of its JSON, as llama-stack writes it.", MAIN),
        Fault("odd_body", Unit.LINE, 0.05, "A reply is in a form that nobody knows (billed).", MAIN),
        Fault("no_choices", Unit.LINE, 0.05, "A reply holds no answer and no reason (billed).", MAIN),
        Fault("no_usage", Unit.LINE, 0.2, "A reply does not say what it used.", MAIN),
        Fault("odd_usage", Unit.LINE, 0.2, "Counts are negative, text, fractions, null, true or absurd in turn.", MAIN),
        Fault("mixed_endings", Unit.LINE, 0.2, "Single requests failed, expired or were cancelled (not billed)."),
    )
}


def described(fault: Fault) -> dict[str, object]:
    """What a user wants to know about a fault."""
    return {
        "unit": fault.unit,
        "default": fault.rate,
        "providers": fault.providers or "all",
        "is_bounded": fault.is_bounded,
        "doc": fault.doc,
    }


def parse(text: str) -> tuple[str, float]:
    """``NAME`` or ``NAME:RATE``; ValueError says what is wrong with it."""
    name, colon, number = text.partition(":")
    if name not in FAULTS:
        raise ValueError(f"unknown fault {name!r}; there are: {', '.join(FAULTS)}")
    try:
        rate = float(number) if colon else FAULTS[name].rate
    except ValueError:
        rate = math.nan
    if not 0 <= rate <= 1:
        raise ValueError(f"the rate of fault {name!r} must lie in 0..1, not {number!r}")
    return name, rate


class Faults:
    """The rates in force, kept in the state folder."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def rates(self) -> dict[str, float]:
        """Name to rate, of those in force."""
        return {"shuffle": 1.0, **self._store.setting("faults", {})}

    def put(self, rates: Mapping[str, float]) -> None:
        """Add to those in force; a rate of 0 switches one off, another rate begins to count its calls anew."""
        with self._store.transaction():
            known = self.rates()
            self._store.set_setting("faults", known | dict(rates))
            for name in rates:
                if rates[name] != known.get(name, 0.0):
                    self._store.set_setting(f"calls of {name}", 0)

    def strikes(self, name: str, provider: str) -> int:
        """The number of this call if it is hit, else 0; the count is kept, so that the next is another draw."""
        rate = self._rate(name, provider)
        if not rate:
            return 0
        calls = self._count(name)
        return calls if self._is_hit(FAULTS[name], rate, calls) else 0

    def storms(self, name: str, provider: str) -> int:
        """The place of this call in a storm, from 1, or 0: the first calls of each stretch that has one."""
        rate = self._rate(name, provider)
        if not rate:
            return 0
        stretch, call = divmod(self._count(name) - 1, STORM_EVERY)
        is_in = call < STORM_CALLS and draws.unit(self._store.seed, name, stretch) < rate
        return call + 1 if is_in else 0

    def of_job(self, provider: str, number: int) -> list[str]:
        """Which job faults the job of this number has."""
        return [
            name
            for name, rate in self.rates().items()
            if FAULTS[name].unit is Unit.JOB
            and FAULTS[name].applies_to(provider)
            and self._is_hit(FAULTS[name], rate, number)
        ]

    def of_lines(self, provider: str, number: int, lines: Sequence[int]) -> dict[str, set[int]]:
        """Which of a job's lines are hit by which fault: the rate's share, rounded up."""
        return {
            name: set(draws.stream(self._store.seed, name, number).sample(lines, _share(FAULTS[name], rate, lines)))
            for name, rate in self.rates().items()
            if FAULTS[name].unit is Unit.LINE and rate > 0 and FAULTS[name].applies_to(provider)
        }

    def _rate(self, name: str, provider: str) -> float:
        return self.rates().get(name, 0.0) if FAULTS[name].applies_to(provider) else 0.0

    def _is_hit(self, fault: Fault, rate: float, number: int) -> bool:
        if fault.is_bounded and number % 3 == 0:
            return False
        return draws.unit(self._store.seed, fault.name, number) < rate

    def _count(self, name: str) -> int:
        """The number of this call, from 1 on; kept, so that another process goes on counting."""
        with self._store.transaction():
            calls = int(self._store.setting(f"calls of {name}", 0)) + 1
            self._store.set_setting(f"calls of {name}", calls)
        return calls


def _share(fault: Fault, rate: float, lines: Sequence[int]) -> int:
    # A job of one line is spared unless all are hit, so that a client that asks again for what is missing gets on.
    share = math.ceil(rate * len(lines)) if len(lines) > 1 else int(rate) * len(lines)
    return share if fault.most is None else min(share, fault.most)
