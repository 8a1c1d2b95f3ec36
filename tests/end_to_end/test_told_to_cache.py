"""A batch as it is sent: its lines tell the provider what to cache, and its requests are the same."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import orjson
import polars as pl

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
