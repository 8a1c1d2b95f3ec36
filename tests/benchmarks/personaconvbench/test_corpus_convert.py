import gzip
import json
import random
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.benchmarks.personaconvbench.convert import load
from runner.benchmarks.personaconvbench.corpus import COMMENTS, POSTS, PersonaCorpus
from runner.benchmarks.personaconvbench.deepjson import dumps_deep
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.errors import RunnerError

Post = dict[str, Any]


def comment(body: object, /, *replies: Post, **fields: Any) -> Post:
    time = "2020-01-02 00:00:00"
    return {"body": body, "author": "bob", "score": 1, "timestamp": time, "replies": list(replies), **fields}


def post(title: str, *comments: Post, **fields: Any) -> Post:
    where = {"url": "https://www.reddit.com/r/Art/comments/1/", "__sub__": "art"}
    when = {"score": 5, "author": "ann", "timestamp": "2020-01-01 00:00:00"}
    return {"title": title, "content": "text", **where, **when, "comments": list(comments), **fields}


def corpus_of(posts: object, folder: Path, name: str = "x.json") -> PersonaCorpus:
    source = folder / name
    source.write_text(json.dumps(posts))
    return load(source, folder / "corpora" / f"{name}-{len(list(folder.glob('corpora/*')))}")


def grouped(posts: list[Post]) -> dict[str, list[Post]]:
    """As Raw_Data_Process.py does it; the JSON writer makes a null key "null"."""
    groups: dict[Any, list[Post]] = {}
    for each in posts:
        groups.setdefault(each.get("author", "UNKNOWN_AUTHOR"), []).append(each)
    return groups


def identities(corpus: PersonaCorpus) -> Counter[tuple[object, ...]]:
    posts = corpus.posts(["post", "post_id", "owner", "author", "time", "duplicate"])
    comments = corpus.comments(["post", "comment_id", "author", "body", "score", "order", "parent", "comment"])
    parents = comments.select(parent=pl.col("comment").cast(pl.Int32), parent_id="comment_id")
    table = posts.join(comments, on="post", how="left", suffix="_reply").join(parents, on="parent", how="left")
    return Counter(table.drop("post", "parent", "comment").iter_rows())


def test_both_tables_hold_the_file_in_its_order(tmp_path: Path) -> None:
    first = post("One", comment("a", comment("b", comment("c")), comment("d")), comment("e"))
    second = post("Two", comment("f", author="[deleted]"), content="", url="https://i.redd.it/1.jpg", score="7")
    corpus = corpus_of([first, second], tmp_path)
    posts, comments = corpus.posts(), corpus.comments()
    assert dict(posts.schema) == POSTS and dict(comments.schema) == COMMENTS
    assert comments["body"].to_list() == list("abcdef")
    assert comments["comment"].to_list() == [0, 1, 2, 3, 4, 5]
    assert comments["parent"].to_list() == [-1, 0, 1, 0, -1, -1]
    assert comments["order"].to_list() == [1, 2, 3, 4, 5, 1]
    assert comments["post"].to_list() == [0, 0, 0, 0, 0, 1]
    assert comments["author"].to_list() == ["bob"] * 5 + [None]
    assert posts["subreddit"].to_list() == ["art", None]
    assert posts["score"].to_list() == [5, 7]
    assert posts["time"].to_list() == [datetime(2020, 1, 1, tzinfo=UTC)] * 2
    assert list(corpus.raw_posts()) == [("ann", first), ("ann", second)]
    assert corpus.fingerprint == corpus.folder.name


def test_all_forms_and_packings_of_a_corpus_give_the_same_identities(tmp_path: Path) -> None:
    plain = write_sample(tmp_path / "s.json", posts=70, seed=3)
    posts: list[Post] = json.loads(plain.read_bytes())
    posts += [post("nobody", comment("x"), comment("x")), post("null", comment("y"), author=None)]
    del posts[-2]["author"]
    random.Random(1).shuffle(posts)
    variants = {
        "raw.json": json.dumps(posts),
        "grouped.json": json.dumps(grouped(posts), indent=2, ensure_ascii=False),
        "lines.jsonl": "\n".join(json.dumps(each) for each in posts),
    }
    found = []
    for name, text in variants.items():
        for suffix, pack in {"": bytes, ".gz": gzip.compress, ".zst": zstandard.compress}.items():
            source = tmp_path / (name + suffix)
            source.write_bytes(pack(text.encode()))
            found.append(identities(load(source, tmp_path / f"folder-{name}{suffix}")))
    assert all(variant == found[0] for variant in found)
    assert {"UNKNOWN_AUTHOR", "null"} <= {str(owner) for _, owner, *_ in found[0]}


NAMES = st.sampled_from(["ann", "bob", "[deleted]", None])
BODIES = st.sampled_from(["yes", "Yes!", "no", "", None])
LEAVES = st.builds(lambda body, author: comment(body, author=author), BODIES, NAMES)
TREES = st.recursive(
    LEAVES, lambda inner: st.builds(lambda replies: comment("yes", *replies), st.lists(inner, max_size=3)), max_leaves=8
)


@given(trees=st.lists(TREES, min_size=1, max_size=4), leaves=st.lists(LEAVES, max_size=4), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_identities_are_unique_and_do_not_depend_on_the_order_of_siblings(
    trees: list[Post], leaves: list[Post], seed: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("order")
    shuffled = list(leaves)
    random.Random(seed).shuffle(shuffled)
    one, other = (corpus_of([post("t", *trees, comment("top", *order))], folder) for order in (leaves, shuffled))
    ids = one.comments()["comment_id"].to_list()
    assert len(set(ids)) == len(ids)
    assert sorted(ids) == sorted(other.comments()["comment_id"].to_list())


def test_an_identity_follows_content_and_nothing_else(tmp_path: Path) -> None:
    base = corpus_of([post("Title", comment("body", comment("reply")))], tmp_path)
    same = corpus_of(
        [
            post("before"),
            post("  title! ", comment("BODY.", comment("reply", score=9), score="3"), score=0, content=""),
        ],
        tmp_path,
    )
    assert same.posts()["post_id"][1] == base.posts()["post_id"][0]
    assert same.comments()["comment_id"].to_list() == base.comments()["comment_id"].to_list()
    for changed in (
        post("Other", comment("body", comment("reply"))),
        post("Title", comment("body", comment("reply")), author="eve"),
        post("Title", comment("body", comment("reply")), timestamp="2020-01-01 00:00:01"),
        post("Title", comment("other", comment("reply"))),
        post("Title", comment("body", comment("reply"), author="eve")),
    ):
        other = corpus_of([changed], tmp_path).comments()["comment_id"].to_list()
        assert not set(other) & set(base.comments()["comment_id"].to_list())


def test_the_same_instant_written_otherwise_is_the_same_post(tmp_path: Path) -> None:
    times = ["2020-01-01 00:00:00", "2020-01-01T01:00:00+01:00", 1577836800, "2020-01-01 00:00:01", None]
    corpus = corpus_of([post("t", timestamp=time) for time in times], tmp_path)
    assert corpus.posts()["duplicate"].to_list() == [False, True, True, False, False]
    assert corpus.about()["notes"]["post is a duplicate"] == 2


@pytest.mark.parametrize("form", ["raw", "processed", "lines"])
def test_a_thread_2000_deep_is_converted(form: str, tmp_path: Path) -> None:
    nested: Post = comment("bottom")
    for level in range(1999):
        nested = comment(f"level {level}", nested)
    text = dumps_deep(post("deep", nested))
    source = tmp_path / ("x.jsonl" if form == "lines" else "x.json")
    source.write_text({"raw": f"[{text}]", "processed": f'{{"ann":[{text}]}}', "lines": text}[form])
    corpus = load(source, tmp_path / "folder")
    assert corpus.about()["depth"] == 2000
    assert corpus.comments()["parent"].to_list() == list(range(-1, 1999))
    ((owner, raw),) = corpus.raw_posts()
    assert owner == "ann" and dumps_deep(raw) == text


def test_what_cannot_be_used_is_null_and_counted(tmp_path: Path) -> None:
    odd = [
        comment("ok"),
        comment("a", score=True),
        comment("b", score="12"),
        comment("c", score=None),
        comment("d", score="many"),
        comment("e", score=2.5),
        comment("f", timestamp="soon"),
        comment("[removed]", author=None),
        comment("  ", author="HelperBot"),
        comment("said\nEdit: thanks", author=7),
        {"body": "bare"},
        {**comment(5), "replies": "none"},
    ]
    corpus = corpus_of([post("t", *odd, None, "x"), post("", content="[deleted]", author=None), 3], tmp_path)
    assert corpus.comments()["score"].to_list() == [1, None, 12, None, None, 2, 1, 1, 1, 1, None, 1]
    assert corpus.about()["notes"] == {
        "comment author deleted or unknown": 3,
        "comment author is a bot": 1,
        "comment is not an object": 2,
        "comment score boolean": 1,
        "comment score is a numeric string": 1,
        "comment score null": 2,
        "comment score rounded": 1,
        "comment score unreadable": 1,
        "comment text cut at an edit": 1,
        "comment text deleted": 1,
        "comment text empty": 2,
        "comment time unreadable": 2,
        "comment without author": 1,
        "comment without score": 1,
        "comment without timestamp": 1,
        "post author deleted or unknown": 1,
        "post is not an object": 1,
        "post text deleted": 1,
        "post without usable title or text": 1,
        "replies are not a list": 1,
    }


def test_a_processed_file_may_name_its_author_only_as_the_key(tmp_path: Path) -> None:
    bare = post("t")
    del bare["author"]
    corpus = corpus_of({"ann": [bare], "UNKNOWN_AUTHOR": [bare], "null": [bare]}, tmp_path)
    assert corpus.posts()["author"].to_list() == ["ann", None, None]
    assert corpus.posts()["owner"].to_list() == ["ann", "UNKNOWN_AUTHOR", "null"]
    assert corpus.posts()["post_id"][0] == corpus_of([post("t")], tmp_path).posts()["post_id"][0]


def test_texts_that_unicode_forbids_are_stored_and_counted(tmp_path: Path) -> None:
    corpus = corpus_of([post("t\ud800", comment("x\udc00y\u2028z\u0000"), author="\ud83d\ude00")], tmp_path)
    assert corpus.posts()["title"].to_list() == ["t\ufffd"]
    assert corpus.posts()["author"].to_list() == ["😀"]
    assert corpus.comments()["body"].to_list() == ["x\ufffdy\u2028z\u0000"]
    assert corpus.about()["notes"]["lone surrogate made U+FFFD"] == 2


def test_many_row_groups_keep_the_order(tmp_path: Path) -> None:
    posts = [post(f"t{n}", *(comment(f"{n} {m}") for m in range(52)), author=f"a{n % 7}") for n in range(1000)]
    corpus = corpus_of(posts, tmp_path)
    comments = corpus.comments()
    assert corpus.posts()["title"].to_list() == [each["title"] for each in posts]
    assert comments["body"].to_list() == [f"{n} {m}" for n in range(1000) for m in range(52)]
    assert comments["comment"].to_list() == list(range(len(comments)))
    assert [raw["title"] for _, raw in corpus.raw_posts()] == [each["title"] for each in posts]


def test_a_folder_is_converted_once(tmp_path: Path) -> None:
    first = corpus_of([post("t")], tmp_path)
    again = load(tmp_path / "no longer there.json", first.folder)
    assert again.posts().equals(first.posts()) and again == first


def test_two_conversions_at_once_leave_one_whole_folder(tmp_path: Path) -> None:
    source = write_sample(tmp_path / "s.jsonl", posts=30)
    with ThreadPoolExecutor(4) as pool:
        corpora = list(pool.map(lambda _: load(source, tmp_path / "c" / "f"), range(4)))
    assert {len(corpus.posts()) for corpus in corpora} == {30}
    assert [path.name for path in (tmp_path / "c").iterdir()] == ["f"]


def test_nothing_is_left_of_a_conversion_that_fails_or_is_stopped(tmp_path: Path) -> None:
    source = tmp_path / "x.json"
    source.write_text(json.dumps([post("t"), post("u")])[:-5])
    with pytest.raises(RunnerError):
        load(source, tmp_path / "c" / "f")

    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    source.write_text(json.dumps([post("t"), post("u")]))
    with pytest.raises(KeyboardInterrupt):
        load(source, tmp_path / "c" / "f", stop)
    assert list((tmp_path / "c").iterdir()) == []


def test_progress_ends_at_the_size_of_the_file(tmp_path: Path) -> None:
    source = write_sample(tmp_path / "s.json.gz", posts=40)
    told: list[tuple[int, int]] = []
    load(source, tmp_path / "f", lambda done, total: told.append((done, total)))
    assert told == sorted(told) and told[-1] == (source.stat().st_size,) * 2
