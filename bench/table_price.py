"""What the whole table costs, on the emulator's bill: python bench/table_price.py [POSTS] [SEEDS].

The three tasks in their four settings over a sample corpus, and 3.3 of the paper protocol with its ten samples, bought
in three ways: (a) one by one, at the price without batch, repeated requests and all, nothing read from a cache; (b) in
batches, as they come, setting after setting of instance after instance, telling the provider nothing; (c) ours: each
once (choices where the model gives them), packed as the chain packs them at the highest tier, each file in prefix order
and with hints. Lines and bill as in ``bills``; the lengths of answers are the emulator's own, thinking and all.
A task is built once, for the first model; the build's own adaptation makes of it what each other model is sent.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from operator import add
from pathlib import Path
from statistics import mean

import polars as pl
from bills import JOB, NOW, Line, Paid, bill, provider_of, read

from runner.benchmarks.personaconvbench.sample import write_sample
from runner.caching import PREFIX_ORDER, Caching, plan, rules_of
from runner.chain.batching import LINE_BYTES, MESSAGE_BYTES
from runner.chain.build import Wanted, build, for_model
from runner.chain.runs import Asked, Folders, Workspace
from runner.emulator import tokenizer
from runner.emulator.answering import answer, factor, prompt_tokens
from runner.emulator.wire import Ask
from runner.models import Model, find_model
from runner.packing import FIRST_BATCH, Items, pack
from runner.pricing import price
from runner.reporting.table import Table, print_table
from runner.request import Body, Hint, Request, RequestId, request_id
from runner.tokens import counter
from runner.venues import rehearsal

MODELS = ("openai/gpt-4.1", "anthropic/claude-sonnet-5", "google/gemini-2.5-pro")
TASKS = ("3.1", "3.2", "3.3")
COLUMNS = (
    "model", "requests", "different", "tokens in + out", "(a) one by one", "(b) batch", "(c) ours", "a / c", "b / c",
    "over seeds",
)  # fmt: skip


@dataclass(frozen=True)
class Basket:
    """What a task asks: each different body once, whose instance it is, and ``order``, the bodies as they come."""

    asked: Asked
    bodies: tuple[Body, ...]
    instances: tuple[str, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Bundle:
    """Requests to one model in some order, as columns; ``sizes`` are the bytes of their bodies."""

    names: list[RequestId]
    bodies: list[Body]
    sizes: list[int]
    instances: list[str]


@dataclass(frozen=True)
class Cost:
    """What one model costs for a task (or several), for each seed: ``theirs`` is (a) and (b), ``ours`` is (c)."""

    requests: int
    different: int
    theirs: list[Paid]
    ours: list[Paid]

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.requests + other.requests,
            self.different + other.different,
            list(map(add, self.theirs, other.theirs)),
            list(map(add, self.ours, other.ours)),
        )

    def row(self, model: str) -> tuple[str, ...]:
        ratios = [theirs.usd / ours.usd for theirs, ours in zip(self.theirs, self.ours, strict=True)]
        sync = [theirs.standard_usd / ours.usd for theirs, ours in zip(self.theirs, self.ours, strict=True)]
        tokens = [mean(getattr(paid, name) for paid in self.theirs) for name in ("input_tokens", "output_tokens")]
        return (
            model,
            f"{self.requests:,}",
            f"{self.different:,}",
            " + ".join(f"{each / self.requests:,.0f}" for each in tokens),
            *(f"${mean(usd):,.2f}" for usd in ([p.standard_usd for p in self.theirs], [p.usd for p in self.theirs])),
            f"${mean(paid.usd for paid in self.ours):,.2f}",
            f"{mean(sync):.2f}",
            f"{mean(ratios):.3f}",
            f"{min(ratios):.3f} to {max(ratios):.3f}",
        )


def built(workspace: Workspace, source: Path, task: str, protocol: str) -> Basket:
    """The requests of one task for the first model, by the chain."""
    wanted = Wanted(task, MODELS[0], str(source), protocol=protocol, emulate=True)
    run = build(workspace, wanted, NOW, lambda _: None)
    folders = Folders(workspace, run.name)
    once = pl.read_parquet(folders.bodies(1), columns=["request_id", "body", "instance"]).with_row_index("place")
    rows = pl.read_parquet(folders.requests(1), columns=["request_id"])
    order = rows.join(once.select("request_id", "place"), on="request_id", how="left", maintain_order="left")["place"]
    bodies = tuple(map(Body.from_json, once["body"]))
    return Basket(run.asked, bodies, tuple(once["instance"].cast(pl.String)), tuple(order))


def bundle(card: Model, basket: Basket, wanted: Iterable[tuple[int, Body, int]]) -> Bundle:
    """Of (place of the body, body, draw), what the model is sent."""
    asked = replace(basket.asked, model=card.id, provider=card.provider, venue=rehearsal(card.provider))
    made = Bundle([], [], [], [])
    for place, body, draw in wanted:
        for request in for_model(iter([Request("", "", body, draw)]), card, asked):
            text = request.body.to_json()
            made.names.append(request_id(asked.venue, card.id, request.draw, text))
            made.bodies.append(request.body)
            made.sizes.append(len(text.encode()))
            made.instances.append(basket.instances[place])
    return made


def as_they_come(basket: Basket) -> Iterator[tuple[int, Body, int]]:
    """Every row and every sample by itself."""
    for place in basket.order:
        body = basket.bodies[place]
        yield from ((place, replace(body, n=1), draw) for draw in range(body.n))


def in_files(card: Model, sent: Bundle, tokens: Sequence[int], *, is_ours: bool) -> tuple[tuple[int, ...], ...]:
    """Places file by file, under the provider's limits; ours with room for hints, the highest tier's queue, a pilot."""
    rules = rules_of(card.provider, card.id) if is_ours else None
    extra = LINE_BYTES + (rules.most_hint_bytes if rules else 0)
    sizes = [
        size + extra + MESSAGE_BYTES * len(body.messages) for size, body in zip(sent.sizes, sent.bodies, strict=True)
    ]
    packed = pack(
        Items(sizes, tokens, sent.instances if is_ours else sent.names),
        provider_of(card.provider).limits(card.id),
        queue_tokens=card.queue_tokens_of(card.tiers) if is_ours and card.tiers else None,
        first_batch_max=FIRST_BATCH if is_ours else None,
    )
    assert not packed.too_large
    return packed.batches


def billed(card: Model, sent: Bundle, file: Sequence[int], hints: Sequence[Hint | None], seeds: int) -> list[Paid]:
    """One file at the emulator."""

    def counts(seed: int, place: int, ask: Ask) -> tuple[int, int]:
        assert ask.model is not None
        per_token = factor(seed, card.provider, ask.model.name)
        _, output_tokens, _ = answer(seed, JOB, ask, ask.model, plain=False, per_token=per_token)
        return prompt_tokens(seed, ask.model.name, ask.messages, per_token), output_tokens

    lines = (
        Line(sent.names[place], body, sum(tokenizer.count(message.content) for message in body.messages), hint)
        for place, body, hint in zip(file, (sent.bodies[place] for place in file), hints, strict=True)
    )
    return bill(card, read(card, lines), seeds, counts)


def theirs(card: Model, basket: Basket, seeds: int) -> tuple[int, list[Paid]]:
    """(a) and (b): how many requests, and what they cost."""
    sent = bundle(card, basket, as_they_come(basket))
    files = in_files(card, sent, [0] * len(sent.names), is_ours=False)
    return len(sent.names), total(billed(card, sent, file, [None] * len(file), seeds) for file in files)


def ours(card: Model, basket: Basket, seeds: int) -> tuple[int, list[Paid], str]:
    """(c): how many requests, what they cost, and what caching decided."""
    sent = bundle(card, basket, ((place, body, 0) for place, body in enumerate(basket.bodies)))
    tokens = counter(card).count_bodies(sent.bodies)
    decided: list[Caching] = []
    paid: list[list[Paid]] = []
    for file in in_files(card, sent, tokens, is_ours=True):
        texts = [sent.bodies[place].to_json() for place in file]
        frame = pl.DataFrame({"place": file, "name": [sent.names[place] for place in file], "body": texts})
        frame = frame.sort("name").sort(PREFIX_ORDER, maintain_order=True)
        ordered = frame["place"].to_list()
        texts, sizes = frame["body"].to_list(), [tokens[place] for place in ordered]
        decided.append(plan(texts, sizes, price(card, NOW), rules_of(card.provider, card.id)))
        paid.append(billed(card, sent, ordered, decided[-1].hints, seeds))
    said = f"{card.id}: {len(paid)} files; {together(decided).sentence}"
    return len(sent.names), total(paid), said


def total(bills: Iterable[list[Paid]]) -> list[Paid]:
    """File by file to all of them, for each seed."""
    return [sum(seed, Paid()) for seed in zip(*bills, strict=True)]


def together(files: Sequence[Caching]) -> Caching:
    """What was decided for several files, as if for one."""
    first = replace(files[0], hints=tuple(chain.from_iterable(each.hints for each in files)))
    if first.sharing is None:
        return first
    sharing = sum(each.sharing or 0 for each in files)
    return replace(
        first,
        sharing=sharing,
        shared_tokens=sum((each.sharing or 0) * each.shared_tokens for each in files) / max(1, sharing),
        groups=sum(each.groups for each in files),
        marked=None if first.marked is None else sum(each.marked or 0 for each in files),
        input_usd=sum(each.input_usd for each in files),
        saved_usd=sum(each.saved_usd for each in files),
        avoided_usd=sum(each.avoided_usd for each in files),
    )


def show(title: str, costs: dict[str, Cost], said: Sequence[str]) -> None:
    rows = tuple(cost.row(model) for model, cost in costs.items())
    print_table(Table(title, COLUMNS, rows), sys.stdout)
    print(*said, "", sep="\n", flush=True)


def priced(workspace: Workspace, source: Path, task: str, protocol: str, seeds: int) -> dict[str, Cost]:
    """One task for every model, shown."""
    basket = built(workspace, source, task, protocol)
    costs: dict[str, Cost] = {}
    said = []
    for card in map(find_model, MODELS):
        requests, dear = theirs(card, basket, seeds)
        different, cheap, sentence = ours(card, basket, seeds)
        costs[card.id] = Cost(requests, different, dear, cheap)
        said.append(sentence)
    show(f"{task} ({protocol})", costs, said)
    return costs


def main(posts: int = 1_000, seeds: int = 2) -> None:
    """Print one table per task, and one of the three strict tasks together."""
    print(f"A sample corpus of {posts:,} posts; mean of {seeds} seeds.\n", flush=True)
    with tempfile.TemporaryDirectory() as name:
        source = write_sample(Path(name) / "sample.jsonl", posts=posts)
        first, *others = (priced(Workspace(Path(name)), source, task, "strict", seeds) for task in TASKS)
        whole = {model: sum((other[model] for other in others), cost) for model, cost in first.items()}
        show("All three tasks in their four settings (strict)", whole, ())
        priced(Workspace(Path(name)), source, "3.3", "paper", seeds)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
