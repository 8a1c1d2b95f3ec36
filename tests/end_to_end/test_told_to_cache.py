"""A batch as it is sent: its lines tell the provider what to cache, and its requests are the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import orjson
import polars as pl
import pytest

from tests.place import Place


def test_the_lines_sent_tell_of_caching_and_stand_in_prefix_order(place: Place, corpus: Path) -> None:
    asked = ["--model", "gpt-5.6-luna", "--task", "3.1", "--data", str(corpus), "--limit", "6", "--emulate"]
    done = place.call("submit", *asked, "--as-of", "2026-11-20", "--yes")
    assert "for writing whole prompts are avoided" in done.stdout + done.stderr
    (stage,) = (place.root / "batches").glob("3.1__*/stage-1")
    lines = [orjson.loads(line) for line in (stage / "batch-0001.jsonl").read_bytes().splitlines()]
    assert all(line["body"]["prompt_cache_options"] == {"mode": "explicit"} for line in lines)
    bodies = dict(pl.read_parquet(stage / "bodies.parquet").select("request_id", "body").iter_rows())
    texts = []
    for line in lines:
        (message,) = line["body"]["messages"]
        content = message["content"]
        texts.append(content if isinstance(content, str) else "".join(part["text"] for part in content))
        assert orjson.loads(bodies[line["custom_id"]])["messages"][0]["content"] == texts[-1]
    assert all(before <= after for before, after in pairwise(orjson.dumps(text) for text in texts))
    ids = pl.read_parquet(stage / "batch-0001.ids.parquet")["request_id"].to_list()
    assert ids == [line["custom_id"] for line in lines]


@pytest.mark.parametrize("is_cold", [True, False])
def test_what_the_first_batch_read_decides_what_the_next_one_is_told(place: Place, corpus: Path, is_cold: bool) -> None:
    place.misbehave(*["cold_cache:1"] * is_cold, seed=5)  # else nine of ten reads find what they look for
    asked = ["--model", "claude-sonnet-5", "--task", "3.1", "--data", str(corpus), "--limit", "8", "--samples", "10"]
    place.call("run", *asked, "--setting", "p-nonconv", "--emulate")
    (stage,) = (place.root / "batches").glob("3.1__*/stage-1")
    first, second = (stage / f"batch-000{number}.jsonl" for number in (1, 2))
    assert b"cache_control" in first.read_bytes()
    assert (b"cache_control" in second.read_bytes()) is not is_cold
    shown = place.call(
        "estimate", *asked[:-3], "20", "--samples", "10", "--setting", "p-nonconv", "--emulate", "--json"
    )
    total = orjson.loads(shown.stdout)["total"]
    assert (not total["cached_tokens"]) is is_cold
