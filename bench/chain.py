"""Our own work against a floor, in one run: ``make bench``. Ratios mean something; seconds are this machine's.

python bench/chain.py [REQUESTS] [POSTS]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import orjson
import polars as pl

from runner.benchmarks.base import Context, Options
from runner.benchmarks.personaconvbench import convert, strict
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.chain.collect import read_results
from runner.metrics import text
from runner.packing import Items, pack
from runner.providers.openai import OpenAIProvider
from runner.reporting.table import Table, print_table
from runner.request import Body, Message, request_id

PROVIDER = OpenAIProvider("http://127.0.0.1:9/v1", "none", "openai")
WORDS = "the model was asked what this person would say and said it in other words than expected".split()


@contextmanager
def clock(seconds: list[float]) -> Iterator[None]:
    """Append the seconds that the block took."""
    began = time.perf_counter()
    yield
    seconds.append(time.perf_counter() - began)


def timed(work: Callable[[], object]) -> float:
    """Seconds of one call, the best of three."""
    seconds: list[float] = []
    for _ in range(3):
        with clock(seconds):
            work()
    return min(seconds)


def encode(folder: Path, bodies: list[Body]) -> tuple[float, float]:
    """Batch lines written by the provider's encoder, against orjson writing the same dictionaries."""
    ids = [request_id("openai", "gpt-4.1", 0, body.to_json()) for body in bodies]
    lines = [orjson.loads(PROVIDER.encode(name, "gpt-4.1", body)) for name, body in zip(ids, bodies, strict=True)]

    def ours() -> None:
        with (folder / "ours.jsonl").open("wb") as file:
            file.writelines(PROVIDER.encode(i, "gpt-4.1", b) + b"\n" for i, b in zip(ids, bodies, strict=True))

    def floor() -> None:
        with (folder / "floor.jsonl").open("wb") as file:
            file.writelines(orjson.dumps(line) + b"\n" for line in lines)

    return timed(ours), timed(floor)


def read(folder: Path, n: int) -> tuple[float, float]:
    """A result file read, decoded and reconciled with what was asked, against orjson reading its lines."""
    path = folder / "results.jsonl"
    names = [request_id("openai", "gpt-4.1", 0, str(i)) for i in range(n)]
    usage = {"prompt_tokens": 900, "completion_tokens": 40, "total_tokens": 940}
    message = {"role": "assistant", "content": " ".join(WORDS * 8)}
    body = {"model": "m", "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    with path.open("wb") as file:
        for name in names:
            line = {"id": "b", "custom_id": name, "response": {"status_code": 200, "body": body}, "error": None}
            file.write(orjson.dumps(line) + b"\n")

    def floor() -> None:
        with path.open("rb") as file:
            for line in file:
                orjson.loads(line)

    expected = frozenset(map(str, names))
    return timed(lambda: read_results(PROVIDER, [path], expected)), timed(floor)


def rouge(pairs: int) -> tuple[float, float]:
    """ROUGE-1 and ROUGE-L of 60-word pairs with BLEU left out on neither side: ours against rouge_score."""
    from rouge_score.rouge_scorer import RougeScorer

    frame = pl.DataFrame(
        {
            "reference": [" ".join((WORDS * 4)[i % 9 :][:60]) + f" {i}" for i in range(pairs)],
            "answer": [" ".join((WORDS * 4)[i % 5 :][:60]) + f" {i // 2}" for i in range(pairs)],
        }
    )
    scorer = RougeScorer(["rouge1", "rougeL"], use_stemmer=True)
    peer = timed(lambda: [scorer.score(reference, answer) for reference, answer in frame.iter_rows()])
    return timed(lambda: text.score_pairs(frame)), peer


def main(requests: int = 20_000, posts: int = 1_000) -> None:
    """Print one table."""
    rows: list[tuple[str, str, str, str]] = []

    def say(what: str, ours: float, floor: float | None, against: str) -> None:
        ratio = f"{ours / floor:.2f} x {against}" if floor else against
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
        rows.append((what, f"{ours:.2f} s", ratio, f"{peak:,} MB"))

    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        bodies = [Body((Message("user", " ".join(WORDS * 35) + str(i)),), 16) for i in range(requests)]
        say(f"write {requests:,} request lines of 3 kB", *encode(folder, bodies), "orjson writing them")
        say(f"read {requests:,} result lines", *read(folder, requests), "orjson reading them")
        say("1,000 text pairs: ROUGE-1, ROUGE-L, BLEU, METEOR", *rouge(1_000), "rouge_score without BLEU")
        items = Items([3_000] * requests, [700] * requests, [str(i // 4) for i in range(requests)])
        limits = PROVIDER.limits("gpt-4.1")
        say(f"pack {requests:,} requests", timed(lambda: pack(items, limits, queue_tokens=None)), None, "no peer")
        seconds: list[float] = []
        source = write_sample(folder / "sample.jsonl", posts=posts)
        with clock(seconds):
            corpus = convert.load(source, folder / "corpus")
        say(f"convert a corpus of {posts:,} posts", seconds[-1], None, f"{source.stat().st_size / 1e6:.0f} MB")
        for kind in ("sign", "text"):
            options = Options(strict.SETTINGS)
            with clock(seconds):
                selection = strict.select(corpus, options, kind)
            say(f"strict selection, {kind}", seconds[-1], None, f"{selection.frame.height:,} instances")
            with clock(seconds):
                count = sum(1 for _ in strict.requests(selection.frame, Context(corpus, options, len, 10**7)))
            say(f"strict prompts, {kind}", seconds[-1], None, f"{count:,} prompts, each checked")
    now = datetime.now(UTC)
    print_table(Table(f"Our own work, {now:%Y-%m-%d}", ("work", "time", "against", "peak"), tuple(rows)), sys.stdout)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
