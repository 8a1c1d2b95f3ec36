"""What prompt caches save, on the emulator's bill: python bench/caching.py [POSTS] [SEEDS].

Two workloads: 20 questions on each of 50 contexts of 32,000 tokens, and the 2 x 2 settings of the sample corpus. Three
ways to buy them: (a) one by one, at the price without batch, repeated requests and all, nothing read from a cache;
(b) in a batch, as they come, telling the provider nothing; (c) ours: each once, in prefix order, with hints. The lines
are those of the providers' modules; the emulator's protocol reads them and its caches and tariff bill them, without
its server, for SEEDS draws of what we cannot know (hits, tokenizer). Answers are taken to have 30 tokens. The
emulator's caches forget nothing within a job: what the order alone is worth is not in these figures.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path
from statistics import mean

import polars as pl
from bills import NOW, Line, bill, read

from runner.benchmarks.base import Context, Options
from runner.benchmarks.personaconvbench import convert, strict
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.caching import PREFIX_ORDER, plan, rules_of
from runner.emulator import tokenizer
from runner.emulator.answering import factor
from runner.emulator.tariff import tariff
from runner.emulator.wire import Ask
from runner.models import find_model
from runner.pricing import cost, price, standard_price
from runner.reporting.table import Table, print_table
from runner.request import Body, Hint, Message, request_id
from runner.tokens import counter

MODELS = (
    "anthropic/claude-sonnet-5",
    "openai/gpt-4.1",
    "openai/gpt-5.4-mini",
    "openai/gpt-5.6-luna",
    "google/gemini-2.5-pro",
)
ANSWER = 30
LIMIT = 9_000
CONTEXTS, QUESTIONS, CONTEXT_TOKENS = 50, 20, 32_000


@dataclass(frozen=True)
class Asked:
    """A request and the tokens of its texts as the emulator's tokenizer counts them."""

    body: Body
    tokens: int


def shared_contexts() -> list[Asked]:
    """As they come: question after question, not context after context."""
    luck = random.Random(7)
    syllables = "ba de fi go lu ma ne po ri su ta ve".split()
    words = ["".join(luck.choices(syllables, k=luck.randint(1, 3))) for _ in range(4_000)]
    asked: list[list[Asked]] = []
    for number in range(CONTEXTS):
        lines, tokens = [f"Conversation {number}."], 0
        while tokens < CONTEXT_TOKENS:
            lines.append(" ".join(luck.choices(words, k=60)).capitalize() + ".")
            tokens += tokenizer.count(lines[-1]) + 1
        context = "\n\n".join(lines) + "\n\n"
        questions = [
            f"Question {each}: what would this person say of {luck.choice(words)}?" for each in range(QUESTIONS)
        ]
        asked.append([Asked(_body(context + each), tokens + tokenizer.count(each)) for each in questions])
    return [each for turn in zip(*asked, strict=True) for each in turn]


def two_by_two(posts: int) -> list[Asked]:
    """Task 3.1 of the sample corpus in its settings, instance after instance."""
    with tempfile.TemporaryDirectory() as name:
        corpus = convert.load(write_sample(Path(name) / "sample.jsonl", posts=posts), Path(name) / "corpus")
        selection = strict.select(corpus, Options(strict.SETTINGS), "sign")
        context = Context(corpus, Options(strict.SETTINGS), len, 10**7)
        bodies = [request.body for request in strict.requests(selection.frame, context)]
    return [Asked(_body(body.messages[-1].content), tokenizer.count(body.messages[-1].content)) for body in bodies]


def _body(text: str) -> Body:
    return Body((Message("user", text),), LIMIT, None)


def one_by_one(model: str, asked: Sequence[Asked]) -> float:
    """(a), by the price without batch that we know."""
    card = find_model(model)
    paid = standard_price(card, NOW)
    assert paid is not None
    low, high = tariff(card.provider).rules.tokens_per_token
    sizes = [ceil(each.tokens * (low + high) / 2) for each in asked]
    return sum(cost(paid, size, 0, ANSWER, 0) for size in sizes)


def billed(model: str, asked: Sequence[Asked], hints: Sequence[Hint | None], seeds: int) -> list[float]:
    """What one batch of these lines costs at the emulator, for each seed."""
    card = find_model(model)

    def counts(seed: int, place: int, ask: Ask) -> tuple[int, int]:
        return ceil(asked[place].tokens * factor(seed, card.provider, card.id)), ANSWER

    lines = (
        # the same luck in any order
        Line(request_id("emulator", card.id, 0, each.body.to_json()), each.body, each.tokens, hint)
        for each, hint in zip(asked, hints, strict=True)
    )
    return [paid.usd for paid in bill(card, read(card, lines), seeds, counts)]


def in_prefix_order(asked: Sequence[Asked]) -> list[Asked]:
    """Each once, those that begin alike together."""
    once = list({each.body.to_json(): each for each in asked}.items())
    frame = pl.DataFrame({"body": [text for text, _ in once], "place": range(len(once))})
    return [once[place][1] for place in frame.sort(PREFIX_ORDER, maintain_order=True)["place"]]


def main(posts: int = 600, seeds: int = 8) -> None:
    """Print one table per workload."""
    for name, asked in (("shared contexts", shared_contexts()), ("2 x 2 of the sample", two_by_two(posts))):
        ours = in_prefix_order(asked)
        rows, said = [], []
        for model in MODELS:
            card = find_model(model)
            tokens = counter(card).count_bodies([each.body for each in ours])
            texts = [each.body.to_json() for each in ours]
            caching = plan(texts, tokens, price(card, NOW), rules_of(card.provider, card.id))
            a = one_by_one(model, asked)
            b, c = billed(model, asked, [None] * len(asked), seeds), billed(model, ours, caching.hints, seeds)
            ratios = [theirs / mine for theirs, mine in zip(b, c, strict=True)]
            spread = f"{min(ratios):.2f} to {max(ratios):.2f}"
            figures = (f"${a:.2f}", f"${mean(b):.2f}", f"${mean(c):.2f}", f"{a / mean(c):.2f}", f"{mean(ratios):.2f}")
            rows.append((card.id, *figures, spread))
            said.append(f"{card.id}: {caching.sentence}")
        columns = ("model", "(a) one by one", "(b) batch", "(c) ours", "a / c", "b / c", "over seeds")
        size = sum(each.tokens for each in ours) / len(ours)
        title = f"{name}: {len(asked):,} requests, {len(ours):,} different, {size:,.0f} tokens each, {seeds} seeds"
        print_table(Table(title, columns, tuple(rows)), sys.stdout)
        print("\n".join(said), end="\n\n")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
