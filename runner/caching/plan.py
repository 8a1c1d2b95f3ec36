"""The decision: for each group of prompts that begin alike, whether a breakpoint lowers the expected cost.

The first reader of a breakpoint writes what stands before it, each further one reads it with the expected share of hits
or else writes it again. Of that cost only the number of readers matters, per token: the gain of each stretch of a
prompt is decided by itself, from the widest group to the narrowest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import orjson
import polars as pl

from runner.caching.prefixes import Group, groups, shared_beginnings
from runner.caching.rules import Lifetime, Rules
from runner.pricing import Price, Rates, estimate_expr
from runner.reporting.words import count, usd
from runner.request import Hint, Mark

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MOST_MARKS = 4
"""Breakpoints of a request, at Anthropic and at OpenAI."""

LEAST_STEP = 512
"""Tokens that a further breakpoint must add: below, it is not worth one of the four."""


@dataclass(frozen=True)
class Caching:
    """What is told to the provider, and what that is expected to do.

    ``hints`` and the rows of ``expected`` (cached_tokens, cache_write_tokens and, of those, cache_write_long_tokens,
    as Float64) are in the order of the bodies; a hint is None where nothing is said. ``sharing`` requests begin like
    another with ``shared_tokens`` on average, in ``groups`` of which ``marked`` have a breakpoint (None where the
    provider caches by itself); ``sharing`` is None where that was not looked at, for a cache changes no price.
    ``saved_usd`` is of ``input_usd``, the input at its plain price; ``avoided_usd`` is what the provider would have
    taken for writing whole prompts had it not been told otherwise. ``basis`` is what the expectation rests on.
    """

    hints: tuple[Hint | None, ...]
    expected: pl.DataFrame
    sharing: int | None = 0
    shared_tokens: float = 0.0
    groups: int = 0
    marked: int | None = None
    input_usd: float = 0.0
    saved_usd: float = 0.0
    avoided_usd: float = 0.0
    basis: str = ""

    @property
    def sentence(self) -> str:
        """What was found and decided."""
        n = len(self.hints)
        if self.sharing is None:
            return "cache: reading from it costs what input costs: nothing to gain by it"
        if not self.sharing:
            said = f"cache: none of {count(n)} requests share a beginning that is long enough"
        else:
            said = (
                f"cache: {count(self.sharing)} of {count(n)} requests share beginnings of "
                f"{count(round(self.shared_tokens))} tokens on average"
            )
            if self.marked is not None:
                said += f"; breakpoints in {count(self.marked)} of {count(self.groups)} groups, where they pay"
            saving = f"expected saving {usd(self.saved_usd)} of {usd(self.input_usd)} for input"
            said += f"; {saving} ({self.basis})" if self.saved_usd > 0 else f"; nothing to gain by it ({self.basis})"
        if self.avoided_usd > 0:
            said += f"; {usd(self.avoided_usd)} for writing whole prompts are avoided"
        return said


def plan(bodies: Sequence[str], tokens: Sequence[int], price: Price | None, rules: Rules | None) -> Caching:
    """Decide for the requests of one file, given as ``Body.to_json`` in prefix order with their input tokens.

    A beginning is taken to have its share of the prompt's tokens. Nothing is told, and nothing expected, where no
    price or no rules are known, or where what a cache does changes no price.
    """
    import numpy as np

    if price is None or rules is None or not len(tokens):
        return Caching((None,) * len(tokens), _nothing(len(tokens)))
    if not matters(price):
        return Caching((None,) * len(tokens), _nothing(len(tokens)), sharing=None)
    shared = shared_beginnings(bodies)
    found = groups(shared)
    sizes = np.asarray(tokens, dtype=float)
    per_char = sizes / np.maximum(1, [each.chars for each in shared])
    with_last = np.array([each.with_last for each in shared], dtype=float)
    shares = np.maximum(with_last, np.append(with_last[1:], 0.0)) * per_char
    is_sharing = shares >= rules.from_tokens

    chosen = _chosen(found, per_char, sizes, price, rules)
    expected = np.zeros((3, len(sizes)))  # read, written, of that for an hour
    if rules.unasked:
        known = with_last * per_char // rules.step_tokens * rules.step_tokens
        expected[0] = np.where(known >= rules.from_tokens, known * rules.hits, 0.0)
    else:
        for stretch in chosen:
            _expect(expected, stretch)
    frame = pl.DataFrame(dict(zip(_nothing(0).columns, expected, strict=True)))
    plain = _usd(price, sizes, _nothing(len(sizes)))
    whole = frame.with_columns(
        cached_tokens=pl.lit(0.0),
        cache_write_tokens=pl.Series(np.where(sizes >= rules.from_tokens, sizes, 0.0)),
        cache_write_long_tokens=pl.lit(0.0),
    )
    return Caching(
        hints=_hints(bodies, chosen, rules),
        expected=frame,
        sharing=int(is_sharing.sum()),
        shared_tokens=float(shares[is_sharing].mean()) if is_sharing.any() else 0.0,
        groups=sum(group.end * per_char[group.start] >= rules.from_tokens for group in found),
        marked=None if rules.unasked else len(chosen),
        input_usd=plain,
        saved_usd=plain - _usd(price, sizes, frame),
        avoided_usd=_usd(price, sizes, whole) - plain if rules.writes_whole else 0.0,
        basis=rules.basis,
    )


def matters(price: Price) -> bool:
    """Whether a token that is read from the cache or written to it costs anything else than one that is not."""
    return any(
        {each.input, each.cached_input, each.cache_write, each.cache_write_long} != {each.input}
        for each in (price.base, price.long or price.base)
    )


@dataclass(frozen=True, slots=True)
class _Stretch:
    """What a group's breakpoint adds to those before it: so many tokens, kept for a lifetime."""

    group: Group
    tokens: float
    kept: Lifetime


def _chosen(
    found: Sequence[Group], per_char: NDArray[np.float64], sizes: NDArray[np.float64], price: Price, rules: Rules
) -> list[_Stretch]:
    """The groups where a breakpoint pays, an outer one before those within it.

    Where the provider caches unasked there is nothing to pay for: every stretch counts, for the key.
    """
    lifetimes = (Lifetime("5m", rules.hits),) if rules.unasked else rules.lifetimes
    chosen: list[_Stretch] = []
    around: list[tuple[_Stretch, float]] = []  # the stretches that the present group lies within, and where they end
    for group in found:
        while around and around[-1][0].group.stop <= group.start:
            around.pop()
        end = group.end * float(per_char[group.start])
        step = end - (around[-1][1] if around else 0.0)
        if end < rules.from_tokens or len(around) == MOST_MARKS or (around and step < LEAST_STEP):
            continue
        rates = _rates(price, float(sizes[group.start]))
        readers = group.stop - group.start
        # Fewer readers never favour the longer: what is kept longer stands first, as Anthropic demands.
        gains = [_gain(rates, kept, readers, is_free=rules.unasked) for kept in lifetimes]
        if max(gains) > 0:
            stretch = _Stretch(group, step, lifetimes[gains.index(max(gains))])
            chosen.append(stretch)
            around.append((stretch, end))
    return chosen


def _gain(rates: Rates, kept: Lifetime, readers: int, *, is_free: bool) -> float:
    """USD that a breakpoint saves per million tokens before it, over all its readers; negative where it costs."""
    write = rates.input if is_free else rates.cache_write_long if kept.ttl == "1h" else rates.cache_write
    again = kept.hits * rates.cached_input + (1 - kept.hits) * write
    return readers * rates.input - write - (readers - 1) * again


def _rates(price: Price, tokens: float) -> Rates:
    is_long = price.long_above_tokens is not None and tokens > price.long_above_tokens
    return price.long if is_long and price.long is not None else price.base


def _expect(expected: NDArray[np.float64], stretch: _Stretch) -> None:
    """Add one stretch to what is read, written, and written for an hour."""
    first, rest = stretch.group.start, slice(stretch.group.start + 1, stretch.group.stop)
    expected[0, rest] += stretch.kept.hits * stretch.tokens
    for row in (1, 2) if stretch.kept.ttl == "1h" else (1,):
        expected[row, first] += stretch.tokens
        expected[row, rest] += (1 - stretch.kept.hits) * stretch.tokens


def _hints(bodies: Sequence[str], chosen: Sequence[_Stretch], rules: Rules) -> tuple[Hint | None, ...]:
    marks: list[list[Mark]] = [[] for _ in bodies]
    keys: list[str | None] = [None] * len(bodies)
    for stretch in chosen:
        group = stretch.group
        members = range(group.start, group.stop)
        if rules.takes_key:
            key = _key(bodies[group.start], group.end)
            for place in members:
                keys[place] = key
        if not rules.unasked:
            mark = Mark(group.end, stretch.kept.ttl)
            for place in members:
                marks[place].append(mark)
    told = zip(marks, keys, strict=True)
    return tuple(
        Hint(tuple(each), key, rules.writes_whole) if each or key or rules.writes_whole else None for each, key in told
    )


def _key(body: str, end: int) -> str:
    """The same for all that begin alike, in whatever batch: the provider brings them to the same machine."""
    text = "".join(message["content"] for message in orjson.loads(body)["messages"])
    return hashlib.sha256(text[:end].encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _usd(price: Price, tokens: NDArray[np.float64], caching: pl.DataFrame) -> float:
    """The input's cost, request by request."""
    each = estimate_expr(
        price,
        input=pl.lit(pl.Series(tokens)),
        cached="cached_tokens",
        written="cache_write_tokens",
        written_long="cache_write_long_tokens",
        output=0,
    )
    return float(caching.select(each.sum()).item())


def _nothing(n: int) -> pl.DataFrame:
    names = ("cached_tokens", "cache_write_tokens", "cache_write_long_tokens")
    return pl.DataFrame({name: [0.0] * n for name in names}, schema=dict.fromkeys(names, pl.Float64()))
