"""What the requests of a run are expected to take: input, output and cache hits, each with its interval and ground."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from runner.benchmarks import find_task
from runner.chain.batching import Shared
from runner.chain.calibrate import counted
from runner.chain.experience import experience, hits_seen
from runner.chain.outlook import Rate, Rates, Span, seen
from runner.chain.runs import Run, Workspace
from runner.ledger import Ledger
from runner.models import Model, find_model
from runner.reporting.words import count, percent

THINKING = Span(0.01, 0.05, 0.25)
"""Shares of the reasoning allowance that thinking takes on average: "some hundreds" of 8,000 (models.toml)."""
OVERHEAD = 2
"""Tokens by which a provider's framing of a chat may differ from the published one, either way, per request."""
BYTES_PER_TOKEN = (2.5, 5.0)
"""Between what the UTF-8 bytes of a token lie on average, over tokenizers and prose of today: an assumption."""
OTHER_ENCODING = Span(0.85, 1.0, 1.15)
"""The true count over ours where an encoding is only assumed."""
COUNTED_SLACK = 0.01
"""By what share a bill may lie off the provider's own count, either way. It "should be considered an estimate" and "may
differ by a small amount" (https://platform.claude.com/docs/en/build-with-claude/token-counting); 1 % is our guess."""


@dataclass(frozen=True)
class Ground:
    """What an estimate rests on. ``inputs`` (billed tokens per token of ours) and ``outputs`` (tokens per choice) are
    rates; ``hits`` is what the expected tokens from the cache are to be multiplied by. ``seen`` names those of
    ``in``, ``out`` and ``hits`` that come from earlier answers (``in`` also from the provider's own count of a
    sample); ``notes`` say what each comes from.
    """

    inputs: Rates
    outputs: Rates
    hits: Span
    seen: frozenset[str]
    notes: tuple[str, ...]


def ground(workspace: Workspace, ledger: Ledger, run: Run, wanted: pl.DataFrame, cache: Shared) -> Ground:
    """From earlier answers of the model where there are some, else from what is stated."""
    model = find_model(f"{run.asked.provider}/{run.asked.model}")
    rows = experience(workspace, ledger, run)
    alike = rows.filter("is_alike")
    inputs, input_note = _inputs(workspace, run, model, rows, alike, wanted)
    outputs, output_note = _outputs(run, model, alike)
    scales = cache.scales()
    hits, cache_note = Span(scales[0], 1.0, scales[1]), ""
    was_seen = {"in": inputs.are_seen, "out": outputs.are_seen, "hits": False}
    if cache.hits and float(cache.frame["cached_tokens"].sum()) > 0:
        per_token = inputs.every.span.mid
        known = hits_seen(workspace, ledger, run, per_token)
        units = float(cache.frame["cached_tokens"].sum()) * per_token / cache.scale
        if known is not None and units > 0:
            span = known.over(units)
            hits = Span(span.low / cache.scale, span.mid / cache.scale, span.high / cache.scale)
            cache_note = "cache hits: as in earlier batches of this model"
            was_seen["hits"] = True
        else:
            low, high = (scale * cache.hits for scale in scales)
            cache_note = f"cache hits assumed: {percent(cache.hits)}, between {percent(low)} and {percent(high)}"
        if cache.of < wanted.height:
            cache_note += f"; what prompts share was read from {count(cache.of)} of {count(wanted.height)}"
    elif cache.scale != 1:
        cache_note = f"cache: nothing is marked to be kept, for it would cost more than it saves ({cache.basis})"
    names = frozenset(name for name, is_seen in was_seen.items() if is_seen)
    return Ground(inputs, outputs, hits, names, tuple(filter(None, (input_note, output_note, cache_note))))


def _inputs(
    workspace: Workspace, run: Run, model: Model, rows: pl.DataFrame, alike: pl.DataFrame, wanted: pl.DataFrame
) -> tuple[Rates, str]:
    if run.tokens_exact:
        slack = OVERHEAD / max(1.0, float(wanted["tokens"].mean() or 1))  # type: ignore[arg-type]
        rate = Rate(Span(1 - slack, 1.0, 1 + slack))
        return _alike(run, rate), f"input tokens counted by {run.token_counter}"
    known = _by_setting(alike, run.asked.settings, "input_tokens", "tokens") or _by_setting(
        rows, run.asked.settings, "input_tokens", "tokens"
    )
    if known:
        n = count(alike.height if alike.height else rows.height)
        return known, f"input tokens: {run.token_counter}, corrected by {n} earlier answers of this model"
    sample = counted(workspace, run)
    known = None if sample is None else _by_setting(sample, run.asked.settings, "counted", "tokens")
    if sample is not None and known:
        note = f"corrected by the provider's own count of {count(sample.height)} prompts"
        return _loosened(known), f"input tokens: {run.token_counter}, {note}"
    if "UTF-8 bytes" in run.token_counter:
        most, least = (model.bytes_per_token / each for each in BYTES_PER_TOKEN)
        span = Span(min(1.0, least), 1.0, max(1.0, most))
    else:
        span = OTHER_ENCODING
    return _alike(run, Rate(span)), (
        f"input tokens: {run.token_counter}; the truth is taken to lie between {span.low:.2f} and {span.high:.2f} of "
        f"it until answers of this model are in"
    )


def _outputs(run: Run, model: Model, alike: pl.DataFrame) -> tuple[Rates, str]:
    known = _by_setting(alike, run.asked.settings, "output_tokens", "n")
    if known:
        return known, f"output tokens: as in {count(alike.height)} earlier answers of this model to this task"
    _, task = find_task(run.asked.task, run.asked.protocol)
    low, mid, high = task.stages[0].answer_tokens
    allowance = model.reasoning_allowance_of(run.asked.effort)
    span = Span(low + THINKING.low * allowance, mid + THINKING.mid * allowance, high + THINKING.high * allowance)
    said = f"output is an assumption until answers are in: {low:,} / {mid:,} / {high:,} tokens an answer"
    if allowance:
        said += (
            f", and for thinking {THINKING.low:.0%} / {THINKING.mid:.0%} / {THINKING.high:.0%} of the "
            f"{allowance:,} that are allowed"
        )
    return _alike(run, Rate(span)), said


def _alike(run: Run, rate: Rate) -> Rates:
    return Rates(dict.fromkeys(run.asked.settings, rate), rate)


def _loosened(rates: Rates) -> Rates:
    """What was counted, not billed: with COUNTED_SLACK on either side."""

    def loose(rate: Rate) -> Rate:
        low, mid, high = rate.span.low, rate.span.mid, rate.span.high
        return replace(rate, span=Span(low * (1 - COUNTED_SLACK), mid, high * (1 + COUNTED_SLACK)))

    return Rates({setting: loose(rate) for setting, rate in rates.each.items()}, loose(rates.every))


def _by_setting(rows: pl.DataFrame, settings: Sequence[str], amount: str, unit: str) -> Rates | None:
    """Each setting's own rate where it has been answered often enough, else that of all; None where there is none."""
    every = seen(rows, amount, unit)
    if every is None:
        return None
    return Rates({setting: seen(rows.filter(setting=setting), amount, unit) or every for setting in settings}, every)
