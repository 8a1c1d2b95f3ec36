import gzip
import json
import tracemalloc
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from runner.benchmarks.personaconvbench.deepjson import dumps_deep, loads_deep
from runner.benchmarks.personaconvbench.opening import Tally, mend, mended
from runner.benchmarks.personaconvbench.reading import read_posts
from runner.errors import RunnerError

Post = dict[str, Any]
SHARED_FOLDER = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "plain": lambda data: data,
    "gzip": gzip.compress,
    "zstandard": zstandard.ZstdCompressor().compress,
    "two gzip members": lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:]),
    "two frames": lambda data: zstandard.compress(data[:9]) + zstandard.compress(data[9:]),
}


def grouped(posts: list[Post]) -> dict[str, list[Post]]:
    groups: dict[str, list[Post]] = {}
    for post in posts:
        groups.setdefault(post["author"], []).append(post)
    return groups


def written(posts: list[Post], form: str, **style: Any) -> bytes:
    if form == "lines":
        return "".join(json.dumps(post, **style) + "\n" for post in posts).encode()
    return (json.dumps(posts if form == "raw" else grouped(posts), **style) + "\n").encode()


def read(path: Path) -> tuple[list[Post], Tally]:
    tally = Tally()
    return [raw.post for raw in read_posts(path, tally)], tally


def deep(levels: int) -> str:
    nested = "".join(f'{{"body":"b{level}","score":1.5,"replies":[' for level in range(levels))
    return '{"title":"t","author":"a","comments":[' + nested + "]}" * levels + "]}"


POSTS = [
    {"title": "one", "author": "ann", "comments": [{"body": "a\u2028b", "replies": []}]},
    {"title": "two", "author": "ann", "content": "line\nline", "comments": []},
    {"title": "three", "author": "bob", "score": 12345678901234567890123, "comments": []},
]


@pytest.mark.parametrize("packing", PACKINGS)
@pytest.mark.parametrize("form", ["raw", "processed", "lines"])
def test_every_form_in_every_packing_reads_the_same_whatever_its_name(form: str, packing: str, tmp_path: Path) -> None:
    path = tmp_path / "posts"
    path.write_bytes(PACKINGS[packing](b"\xef\xbb\xbf" + written(POSTS, form, ensure_ascii=False)))
    found = list(read_posts(path, tally := Tally()))
    assert [(raw.owner, raw.post["title"]) for raw in found] == [("ann", "one"), ("ann", "two"), ("bob", "three")]
    assert found[0].post == POSTS[0]
    assert (tally.form, tally.posts) == (form, 3)
    assert tally.bytes_done == tally.bytes_total == path.stat().st_size


@pytest.mark.parametrize("name", ["x.json", "x.jsonl"])
@pytest.mark.parametrize("form", ["raw", "processed", "lines"])
def test_replies_nested_2000_deep_are_read_and_written_back(form: str, name: str, tmp_path: Path) -> None:
    post = deep(2000)
    path = tmp_path / name
    path.write_text({"raw": f"[{post}]", "processed": f'{{"a":[{post}]}}', "lines": f"{post}\n{post}\n"}[form])
    for raw in read_posts(path):
        assert dumps_deep(raw.post) == post
        assert dumps_deep(loads_deep(post)) == post


def test_one_line_may_hold_an_author_with_posts(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"ann":[{"title":"1"}],"bob":[{"title":"2"}]}\n\n{"title":"3","author":null}\n{"title":"4"}')
    owners = [(raw.owner, raw.post["title"]) for raw in read_posts(path)]
    assert owners == [("ann", "1"), ("bob", "2"), ("null", "3"), ("UNKNOWN_AUTHOR", "4")]


def test_members_that_are_no_posts_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('[1, null, {"id": 3}, {"title": "t"}, [], "x"]')
    posts, tally = read(path)
    assert posts == [{"title": "t"}]
    assert tally.noted == {"post is not an object": 4, "post has no title, content or comments": 1}


# Python writes and reads lone halves of surrogate pairs; through UTF-16 they become the replacement character.
JSON_TEXT = st.text(st.characters(), max_size=8) | st.text("\ud800\udbff\udc00\udfff\\u d8\"',", max_size=12)


@given(texts=st.lists(JSON_TEXT, max_size=4), form=st.sampled_from(["raw", "processed", "lines"]))
@example(texts=["\ud83d", "\udc00\ud83d\ude00", "\\\ud800", "\\\\ud800", '"score": NaN,'], form="raw")
@SHARED_FOLDER
def test_lone_surrogates_become_replacement_characters(texts: list[str], form: str, tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_bytes(written([{"title": "t", "author": "a", "comments": texts}], form))
    (post,), tally = read(path)
    expected = [text.encode("utf-16", "surrogatepass").decode("utf-16", "replace") for text in texts]
    assert post["comments"] == expected
    replaced = sum(
        after.count("\ufffd") - before.count("\ufffd") for before, after in zip(texts, expected, strict=True)
    )
    assert tally.noted.total() == replaced


@given(st.lists(JSON_TEXT | st.just(float("nan")), max_size=6), st.lists(st.integers(0, 400), max_size=8))
def test_mending_does_not_depend_on_where_a_stream_is_cut(values: list[object], cuts: list[int]) -> None:
    data = json.dumps([{"score": value, "other": value} for value in values]).encode()
    ends = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    chunks = [data[start:end] for start, end in pairwise(ends)]
    whole, streamed = Counter[str](), Counter[str]()
    assert b"".join(mended(iter(chunks), streamed)) == mend(data, whole)
    assert +streamed == +whole


def test_numbers_that_json_does_not_have_are_null_but_stay_in_texts(tmp_path: Path) -> None:
    for form in ("raw", "lines"):
        path = tmp_path / "x.json"
        text = '{"score": NaN, "x": -Infinity}, "score":NaN,'
        path.write_bytes(written([{"title": text, "author": "a", "score": float("nan"), "num": float("-inf")}], form))
        (post,), tally = read(path)
        assert post == {"title": text, "author": "a", "score": None, "num": None}
        assert tally.noted == {"NaN or infinity made null": 2}


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("ab\"\\é", max_size=3), inner, max_size=4),
)  # fmt: skip


@given(JSON_VALUES)
def test_the_deep_writer_writes_what_json_reads(value: object) -> None:
    wrapped = value
    for _ in range(300):  # beyond what orjson writes
        wrapped = [wrapped]
    assert dumps_deep(wrapped) == "[" * 300 + dumps_deep(value) + "]" * 300
    assert json.loads(dumps_deep(wrapped)[300:-300]) == value


WRONG = {
    "empty": (b"", "is empty"),
    "only spaces": (b" \n\n ", "is empty"),
    "a table": (b"title,url\nx,y\n", "begins with 'title,url'"),
    "a web page": (b"<!DOCTYPE html><html></html>", "begins with '<!DOCTYPE html>"),
    "a pointer": (b"version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "Git LFS pointer"),
    "utf-16": ('[{"title":"x"}]'.encode("utf-16"), "UTF-16"),
    "numbers": (b"[1, 2, 3]", "holds no posts"),
    "no posts": (b"[]", "holds no posts"),
    "no authors": (b"{}", "holds no posts"),
    "other records": (
        b'[{"id": 1}, {"id": 2}]',
        "title, content, comments are missing from all of its 2 entries",
    ),
    "other authors": (b'{"ann": [{"body": "x"}]}', "title, content, comments are missing"),
    "settings": (b'{"model": "x", "n": 3}', "the key 'model' holds no list of posts"),
    "a later key": (b'{"ann": [{"title": "x"}], "count": 3}', "the key 'count' holds no list of posts"),
    "truncated list": (b'[{"title": "x"}, {"title": "y", "com', "not whole JSON (parse error: premature EOF) after 1"),
    "truncated object": (b'{"ann": [{"title": "x"}', "not whole JSON"),
    "truncated line": (b'{"title": "x"}\n{"title": ', "line 2 is not whole JSON"),
    "two documents": (b'[{"title": "x"}]\n[{"title": "y"}]', "not whole JSON"),
    "bad utf-8": (b'[{"title": "\xff\xfe"}]', "save it as UTF-8"),
    "latin-1 list": ('[{"title": "café"}]'.encode("latin-1"), "the byte 0xE9 at byte 15"),
    "latin-1 author": ('{"rené": [{"title": "x"}]}'.encode("latin-1"), "save it as UTF-8"),
    "latin-1 line": ('{"title": "x"}\n{"title": "café"}'.encode("latin-1"), "the byte 0xE9 at line 2"),
    "latin-1 far on": (b'[{"title": "%s"}, {"title": "\xe9"}]' % ("é" * 10**6).encode(), "at byte 2,000,"),
    "bad gzip": (b"\x1f\x8b" + b"nonsense" * 9, "damaged gzip"),
    "cut gzip": (gzip.compress(b'[{"title": "x"}]' * 99)[:-9], "damaged gzip"),
    "cut zstandard": (zstandard.compress(b'{"title": "x"}\n' * 99)[:-3], "damaged zstandard"),
    "bad zstandard": (b"\x28\xb5\x2f\xfd" + b"\xff" * 40, "damaged zstandard"),
    "a zip": (b"PK\x03\x04\x00", "begins with"),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_wrong_file_is_refused_in_one_sentence(what: str, tmp_path: Path) -> None:
    data, phrase = WRONG[what]
    path = tmp_path / "corpus.json"
    path.write_bytes(data)
    with pytest.raises(RunnerError) as caught:
        read(path)
    assert phrase in caught.value.sentence and str(path) in caught.value.sentence
    assert "\n" not in caught.value.sentence and caught.value.sentence.endswith(".")


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nothing.json"):
        with pytest.raises(RunnerError, match="cannot be read"):
            read(path)


@pytest.mark.parametrize("form", ["raw", "processed", "lines"])
def test_memory_does_not_grow_with_the_file(form: str, tmp_path: Path) -> None:
    def peak(count: int) -> int:
        path = tmp_path / f"{count}.json"
        body = "words " * 300
        path.write_bytes(
            written([{"title": "t", "author": f"a{n}", "comments": [{"body": body}]} for n in range(count)], form)
        )
        tracemalloc.start()
        posts = sum(1 for _ in read_posts(path))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert posts == count
        return most

    assert peak(9000) < 1.3 * peak(3000)
