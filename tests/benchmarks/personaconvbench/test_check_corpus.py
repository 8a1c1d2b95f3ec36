import json
from pathlib import Path

import pytest

from runner.benchmarks.personaconvbench.check import check
from runner.benchmarks.personaconvbench.convert import load


def test_a_corpus_is_described_for_people(tmp_path: Path) -> None:
    reply = {"body": "x", "author": "bob", "score": "3", "timestamp": "2020-01-03 00:00:00", "replies": []}
    bot = {**reply, "author": "AutoModerator", "replies": [{**reply, "author": "cy", "timestamp": "2021-05-06"}]}
    posts = [
        {"title": "a", "author": "ann", "timestamp": "2019-01-01", "__sub__": "art", "comments": [reply, bot]},
        {"title": "b", "author": "bob", "timestamp": "2019-02-01", "__sub__": "art", "comments": [reply]},
        {"title": "c", "author": None, "timestamp": None, "__sub__": None, "comments": []},
    ]
    for each, name in zip(posts, ("Art", "art", None), strict=True):
        each.update(url=f"https://www.reddit.com/r/{name}/" if name else "", content="", score=1)
    source = tmp_path / "x.json"
    source.write_text(json.dumps(posts))
    found = check(load(source, tmp_path / "f"))
    assert found["form"] == f"raw (a list of posts), {source.stat().st_size:,} bytes"
    assert (found["posts"], found["comments"], found["deepest reply"]) == (3, 4, 2)
    assert (found["post authors"], found["comment authors"], found["authors"]) == (2, 2, 3)
    assert found["domains"] == "art 2; none 1"
    assert found["subreddits"] == "art 2; none 1"
    assert (found["first text"], found["last text"]) == ("2019-01-01", "2021-05-06")
    assert found["note: comment score is a numeric string"] == 4
    assert found["note: comment author is a bot"] == 1


@pytest.mark.parametrize("time", [None, "never"])
def test_a_corpus_with_nothing_to_count_is_described_too(time: object, tmp_path: Path) -> None:
    source = tmp_path / "x.jsonl"
    source.write_text(json.dumps({"title": "t", "timestamp": time, "comments": []}))
    found = check(load(source, tmp_path / "f"))
    assert (found["first text"], found["subreddits"], found["authors"]) == ("unknown", "none 1", 0)
