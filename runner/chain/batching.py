"""How what is to be bought will travel: in how many files and waves, and what neighbours will share in the cache."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from math import ceil

import polars as pl

from runner.caching import PREFIX_ORDER, Rules, matters, plan, rules_of
from runner.chain.queues import queue_of
from runner.chain.runs import Folders, Run
from runner.ledger import Ledger
from runner.packing import FIRST_BATCH, SAFE_SHARE, Items, pack
from runner.pricing import Price
from runner.providers.base import Limits

MOST_READ = 20_000
"""Bodies that are read to see what they share; of more, the first of the sample order speak for the rest."""
LINE_BYTES = 300
MESSAGE_BYTES = 60
"""By how much a line of a batch file, without hints, is at most longer than its body, and that for each message."""
HITS = (0.2, 0.98)
"""Between what shares of hits the truth is taken to lie: best effort, "30% to 98%" (Anthropic's batch page)."""
NAMES = ("cached_tokens", "cache_write_tokens", "cache_write_long_tokens")


@dataclass(frozen=True)
class Journey:
    """``blocks`` are the places of each file's requests, in sample order; ``waves`` of files follow each other.

    ``is_led`` when the first file is a small one that must come back before the rest is sent.
    """

    blocks: tuple[tuple[int, ...], ...]
    waves: int
    is_led: bool


def journey(ledger: Ledger, run: Run, folders: Folders, wanted: pl.DataFrame, limits: Limits, now: datetime) -> Journey:
    """The files that these requests make under the provider's limits, and the waves that the queue takes them in."""
    if wanted.is_empty():
        return Journey((), 0, False)
    queue = queue_of(ledger, run.asked.venue, None, run.asked.model, limits, now)
    is_led = not limits.is_own and _is_new(ledger, run)
    items = items_of(folders, 1, wanted, rules_of(run.asked.provider, run.asked.model))
    packed = pack(items, limits, queue_tokens=queue.most_tokens, first_batch_max=FIRST_BATCH if is_led else None)
    is_led = is_led and len(packed.batches) > 1
    loads = (
        (int(wanted["tokens"].sum()), int((queue.most_tokens or 0) * SAFE_SHARE)),
        (wanted.height, queue.most_requests),
        (len(packed.batches), queue.most_jobs),
    )
    waves = max([1, *(ceil(load / most) for load, most in loads if most)]) + is_led
    return Journey(packed.batches, min(waves, len(packed.batches)), is_led)  # each wave sends a file at least


def items_of(folders: Folders, stage: int, chosen: pl.DataFrame, rules: Rules | None) -> Items:
    """What packing wants to know of these requests: their lines' bytes at most, their tokens, their instances.

    What a line says of caching depends on its batch: the most that it can say is counted.
    """
    size = pl.col("body").str.len_bytes() + LINE_BYTES + (rules.most_hint_bytes if rules else 0)
    size += pl.col("body").str.count_matches('"role":', literal=True) * MESSAGE_BYTES
    sizes = texts_of(folders, stage, chosen).select("request_id", size=size)
    columns = chosen.lazy().join(sizes, on="request_id", how="left", maintain_order="left").collect()
    return Items(columns["size"].to_list(), columns["tokens"].to_list(), columns["instance"].cast(pl.String).to_list())


def texts_of(folders: Folders, stage: int, chosen: pl.DataFrame) -> pl.LazyFrame:
    """request_id and body of these requests; what lies far from their instances in sample order is not read."""
    first, last = chosen["instance"].min(), chosen["instance"].max()
    return (
        pl.scan_parquet(folders.bodies(stage))
        .filter(pl.col("instance").is_between(first, last))
        .select("request_id", "body")
        .join(chosen.select("request_id").lazy(), on="request_id", how="semi")
    )


def _is_new(ledger: Ledger, run: Run) -> bool:
    """Whether this model has never answered this task here: a small batch then goes ahead."""
    jobs = ledger.jobs(venue=run.asked.venue, model=run.asked.model)
    return not any(job.answered for job in jobs if job.run.split("__", 1)[0] == run.asked.task)


@dataclass(frozen=True)
class Shared:
    """Per request, what is expected of the cache (NAMES, in our tokens) at the share of hits of the rules.

    ``of`` says of how many requests the texts were read, ``scale`` by what the rules' hits differ from those of
    ``rules.toml`` and ``basis`` where they come from.
    """

    frame: pl.DataFrame
    of: int
    hits: float
    scale: float = 1.0
    basis: str = ""

    def scales(self) -> tuple[float, float]:
        """By what the tokens read may be multiplied: the fewest hits and the most."""
        return (HITS[0] / self.hits, HITS[1] / self.hits) if self.hits else (1.0, 1.0)


def shared(
    folders: Folders,
    wanted: pl.DataFrame,
    blocks: tuple[tuple[int, ...], ...],
    price: Price | None,
    rules: Rules | None,
) -> Shared:
    """What caching is expected to do, file by file as they will be sent; nothing where it changes no price."""
    nothing = wanted.select("request_id", *(pl.lit(0.0).alias(name) for name in NAMES))
    if price is None or rules is None or wanted.is_empty() or not matters(price):
        return Shared(nothing, wanted.height, 0.0)
    places = [(place, file) for file, block in enumerate(blocks or (range(wanted.height),)) for place in block]
    chosen = wanted[[place for place, _ in places[:MOST_READ]]].select(
        "request_id", "tokens", file=pl.Series([file for _, file in places[:MOST_READ]], dtype=pl.Int64)
    )
    texts = (
        pl.scan_parquet(folders.bodies(1)).select("request_id", "body").join(chosen.lazy(), on="request_id").collect()
    )
    frames = []
    for bodies in texts.partition_by("file"):
        ordered = bodies.sort("request_id").sort(PREFIX_ORDER, maintain_order=True)
        expected = plan(ordered["body"].to_list(), ordered["tokens"].to_list(), price, rules).expected
        frames.append(pl.concat([ordered.select("request_id", "tokens"), expected], how="horizontal"))
    known = pl.concat(frames)
    share = [float(known[name].sum()) / max(1, int(known["tokens"].sum())) for name in NAMES]
    frame = wanted.select("request_id", "tokens").join(
        known.drop("tokens"), on="request_id", how="left", maintain_order="left"
    )
    rest = [pl.col(name).fill_null(pl.col("tokens") * each) for name, each in zip(NAMES, share, strict=True)]
    return Shared(frame.with_columns(rest).drop("tokens"), known.height, _hits(rules), rules.scale, rules.basis)


def _hits(rules: Rules) -> float:
    return rules.hits if rules.unasked else max((each.hits for each in rules.lifetimes), default=0.0)
