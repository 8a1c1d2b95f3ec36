"""The synthetic corpus: the same bytes for the same arguments, and a planted effect that can be taken away."""

import gzip
import json
import math
import random
import re
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard

from runner.benchmarks.personaconvbench.clean import is_person, is_usable, normalise
from runner.benchmarks.personaconvbench.convert import load
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.errors import RunnerError

POSTS = 700


@pytest.fixture(scope="module")
def corpora(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, PersonaCorpus]:
    folder = tmp_path_factory.mktemp("sample")
    return {
        habits: load(write_sample(folder / f"{habits}.json", posts=POSTS, habits=habits), folder / f"f-{habits}")
        for habits in (True, False)
    }


def replies(corpus: PersonaCorpus) -> pl.DataFrame:
    """Usable, scored, timed comments by people, with their post's owner and subreddit."""
    posts = corpus.posts(["post", "author", "subreddit", "duplicate"]).rename({"author": "op"})
    table = (
        corpus.comments().join(posts, on="post").filter(~pl.col("duplicate")).drop_nulls(["author", "time", "score"])
    )
    usable = [is_usable(body) and is_person(author) for body, author in table.select("body", "author").iter_rows()]
    return table.filter(pl.Series(usable)).sort("time")


def test_equal_arguments_give_equal_bytes_and_the_name_decides_the_packing(tmp_path: Path) -> None:
    first, again = (write_sample(tmp_path / name, posts=40).read_bytes() for name in ("a.json", "b.json"))
    assert first == again
    assert first != write_sample(tmp_path / "c.json", posts=40, seed=8).read_bytes()
    posts = json.loads(first)
    assert len(posts) == 40
    lines = write_sample(tmp_path / "d.jsonl", posts=40).read_bytes()
    assert [json.loads(line) for line in lines.split(b"\n")[:-1]] == posts
    for _ in range(2):
        assert gzip.decompress(write_sample(tmp_path / "e.json.gz", posts=40).read_bytes()) == first
        packed = write_sample(tmp_path / "f.jsonl.zst", posts=40).read_bytes()
        assert zstandard.ZstdDecompressor().decompressobj().decompress(packed) == lines
    assert (
        write_sample(tmp_path / "g.gz", posts=3).read_bytes() == write_sample(tmp_path / "h.gz", posts=3).read_bytes()
    )
    assert {path.name[0] for path in tmp_path.iterdir()} == set("abcdefgh")


def test_an_empty_sample_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RunnerError, match="at least 1"):
        write_sample(tmp_path / "x.json", posts=0)


def test_it_looks_like_the_published_file(corpora: dict[bool, PersonaCorpus]) -> None:
    posts = corpora[True].posts()
    assert len(posts) == POSTS and posts["domain"].n_unique() == 10
    assert posts["subreddit"].drop_nulls().n_unique() >= 20
    comments = corpora[True].comments()
    assert 15 < len(comments) / len(posts) < 30  # published: 20.3
    assert corpora[True].about()["depth"] >= 30
    notes = corpora[True].about()["notes"]
    for oddity in (
        "comment author deleted or unknown",
        "comment author is a bot",
        "comment score is a numeric string",
        "comment score null",
        "comment text cut at an edit",
        "comment text deleted",
        "comment time unreadable",
        "post is a duplicate",
    ):
        assert 0 < notes[oddity] < 0.05 * len(comments), oddity
    bodies = comments["body"].str.join("\n").item()
    for sign in ("\u2028", "😂", "\n\n", "> ", " u/", "u/", "](https://", "Edit: "):
        assert sign in bodies
    assert not re.search(r"\ba (?:absurd|elegant|obvious|efficient|arrogant|unfair|expensive|honest)\b", bodies)


def test_strict_finds_replies_with_a_history(corpora: dict[bool, PersonaCorpus]) -> None:
    table = replies(corpora[True])
    strong = table.filter((pl.col("author") == pl.col("op")) & (pl.col("score").abs() >= 4))
    assert 0.15 <= (strong["score"] < 0).mean() <= 0.25  # type: ignore[operator]
    elsewhere = history_of(table)
    eligible = sum(
        len(before(elsewhere, author, time, post)) >= 3
        for author, time, post in strong.select("author", "time", "post").iter_rows()
    )
    assert eligible > 0.8 * len(strong) > 2 * POSTS


def test_paper_finds_posts_by_its_rules(corpora: dict[bool, PersonaCorpus]) -> None:
    table = replies(corpora[True])
    by_owner = table.filter(pl.col("author") == pl.col("op"))
    kept = (
        table.group_by("post").agg(people=pl.col("author").n_unique())
        .join(by_owner.group_by("post").agg(own=pl.len(), top=pl.col("score").abs().max()), on="post")
        .filter((pl.col("people") >= 4) & (pl.col("own") >= 3) & (pl.col("top") >= 4))
    )  # fmt: skip
    assert len(kept) > 0.35 * POSTS


def test_without_habits_only_texts_and_scores_change(corpora: dict[bool, PersonaCorpus]) -> None:
    def shape(corpus: PersonaCorpus) -> Counter[tuple[object, ...]]:
        posts = corpus.posts(["post", "owner", "domain", "url"])
        return Counter(corpus.comments().join(posts, on="post").select("owner", "domain", "url", "post").iter_rows())

    assert shape(corpora[True]) == shape(corpora[False])
    shares = [(replies(corpus)["score"] < 0).mean() for corpus in corpora.values()]
    assert shares[0] == pytest.approx(shares[1], abs=0.03)
    levels = [replies(corpus)["score"].abs().log1p().mean() for corpus in corpora.values()]
    assert levels[0] == pytest.approx(levels[1], abs=0.1)


Item = tuple[datetime, int, str, int]


def history_of(table: pl.DataFrame) -> dict[str, list[Item]]:
    found: dict[str, list[Item]] = defaultdict(list)
    for author, *item in table.select("author", "time", "score", "body", "post").iter_rows():
        found[author].append(tuple(item))
    return found


def before(history: dict[str, list[Item]], author: str, time: datetime, post: int) -> list[Item]:
    """The author's newest eight texts in other posts, a week older or more."""
    return [item for item in history[author] if item[0] <= time - timedelta(days=7) and item[3] != post][-8:]


def guesses(table: pl.DataFrame) -> Iterator[tuple[int, str, dict[str, list[Item]]]]:
    """Each strong reply of an owner with the histories of its author and of a stranger of its subreddit."""
    history, rng = history_of(table), random.Random(5)
    members = {name: sorted(set(group["author"])) for (name,), group in table.group_by("subreddit")}
    strong = table.filter((pl.col("author") == pl.col("op")) & (pl.col("score").abs() >= 4)).drop_nulls("subreddit")
    for author, time, post, score, body, place in strong.select(
        "author", "time", "post", "score", "body", "subreddit"
    ).iter_rows():
        own = before(history, author, time, post)
        strangers = [name for name in rng.sample(members[place], min(60, len(members[place]))) if name != author]
        other = next((h for name in strangers if len(h := before(history, name, time, post)) >= len(own)), None)
        if len(own) >= 3 and other:
            yield score, body, {"own": own, "stranger's": other[-len(own) :]}


def signed_log(score: float) -> float:
    return math.copysign(math.log1p(abs(score)), score)


def measured(table: pl.DataFrame) -> dict[str, dict[str, float]]:
    """Balanced accuracy of the sign, error of the score and share of known words, by whose history tells."""
    right: dict[str, dict[bool, list[bool]]] = defaultdict(lambda: defaultdict(list))
    errors, words = defaultdict(list), defaultdict(list)
    for score, body, histories in guesses(table):
        for whose, items in histories.items():
            negative = sum(item[1] < 0 for item in items) > 0.3 * len(items)
            right[whose][score < 0].append(negative == (score < 0))
            errors[whose].append(abs(statistics.median(signed_log(item[1]) for item in items) - signed_log(score)))
            text, known = set(normalise(body).split()), set(normalise(" ".join(item[2] for item in items)).split())
            words[whose].append(len(text & known) / len(text))
    return {
        whose: {
            "sign": statistics.mean(statistics.mean(group) for group in right[whose].values()),
            "error": statistics.mean(errors[whose]),
            "words": statistics.mean(words[whose]),
        }
        for whose in right
    }


UNKIND = ("wrong", "stop", "waste", "lazy", "nonsense", "tired", "clearly", "falls")


@pytest.mark.parametrize("habits", [True, False])
def test_what_others_say_in_the_thread_predicts(corpora: dict[bool, PersonaCorpus], habits: bool) -> None:
    table = replies(corpora[habits])
    unkind = pl.col("body").str.to_lowercase().str.contains_any(list(UNKIND))
    mood = table.filter(pl.col("author") != pl.col("op")).group_by("post").agg(mood=unkind.mean(), n=pl.len())
    strong = table.filter((pl.col("author") == pl.col("op")) & (pl.col("score").abs() >= 4))
    found = strong.join(mood.filter(pl.col("n") >= 5), on="post")
    heated = pl.col("mood") >= found["mood"].quantile(0.85)
    shares = [found.filter(each).select((pl.col("score") < 0).mean()).item() for each in (heated, ~heated)]
    assert shares[0] > shares[1] + 0.15


def test_own_history_predicts_and_a_strangers_does_not(corpora: dict[bool, PersonaCorpus]) -> None:
    found = measured(replies(corpora[True]))
    assert found["own"]["sign"] > 0.7 and abs(found["stranger's"]["sign"] - 0.5) < 0.08
    assert found["own"]["error"] < 0.8 * found["stranger's"]["error"]
    assert found["own"]["words"] > found["stranger's"]["words"] + 0.08


def test_without_habits_own_history_is_worth_no_more(corpora: dict[bool, PersonaCorpus]) -> None:
    found: dict[str, Any] = measured(replies(corpora[False]))
    assert abs(found["own"]["sign"] - found["stranger's"]["sign"]) < 0.07
    assert found["own"]["error"] == pytest.approx(found["stranger's"]["error"], rel=0.06)
    assert found["own"]["words"] == pytest.approx(found["stranger's"]["words"], abs=0.04)
