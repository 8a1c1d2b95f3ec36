import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiktoken import Encoding

from runner.models import find_model
from runner.request import Body, Message
from runner.tokens import Counter, counter

ROOT = Path(__file__).parent.parent
TOOL = ROOT / "tools" / "vocabulary.py"
O200K_FILE = "fb374d419588a4632f3f557e76b4b70aebbca790"

# The patterns of tiktoken's public encodings (tiktoken_ext/openai_public.py): how text is cut before it is merged.
O200K = "|".join(
    [
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?",
        r"\p{N}{1,3}",
        r" ?[^\s\p{L}\p{N}]+[\r\n/]*",
        r"\s*[\r\n]+",
        r"\s+(?!\S)",
        r"\s+",
    ]
)
CL100K = (
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"
    r"\s+(?!\S)|\s"
)

# A vocabulary of our own: every byte, and merges that would cross the places where texts are cut if they could.
MERGES = [
    b"\n\n",
    b"\nA",
    b"\n\nA",
    b".\n",
    b".\n\n",
    b" \n",
    b"\n ",
    b"  ",
    b" a",
    b"aB",
    b"ab",
    b"\n\na",
    b"\r\n",
    b"\n\n\n",
    b"\n/",
    b"\n-",
]
RANKS = {bytes([value]): value for value in range(256)} | {merge: 256 + rank for rank, merge in enumerate(MERGES)}
SPECIAL = {"<|endoftext|>": 1_000}
ENCODINGS = [
    Encoding(name, pat_str=pattern, mergeable_ranks=RANKS, special_tokens=SPECIAL, explicit_n_vocab=None)
    for name, pattern in (("like-o200k", O200K), ("like-cl100k", CL100K))
]
BYTEWISE = Encoding("bytes", pat_str=O200K, mergeable_ranks={bytes([v]): v for v in range(256)}, special_tokens=SPECIAL)

fragments = ["\n\n", "\n\n\n", "\n", "\r\n", " ", "\t", "\u00a0", "\u2028", *"aAbB1./'-é中"]
texts = st.lists(st.sampled_from(fragments), max_size=20).map("".join)
wild = st.text(st.characters(codec=None), max_size=40)  # lone surrogates too
messages = st.builds(Message, st.sampled_from(["system", "user", "assistant"]), wild)
bodies = st.builds(Body, st.lists(messages, max_size=4).map(tuple), st.just(10))


@pytest.mark.parametrize("encoding", ENCODINGS, ids=lambda encoding: encoding.name)
@given(text=texts)
def test_a_count_is_that_of_the_whole_text(encoding: Encoding, text: str) -> None:
    assert Counter("test", exact=True, encoding=encoding).count(text) == len(encoding.encode_ordinary(text))


def test_the_name_of_a_special_token_is_counted_as_text() -> None:
    text = "a <|endoftext|> b"
    assert Counter("test", exact=True, encoding=BYTEWISE).count(text) == len(text)


def test_a_body_has_three_tokens_per_message_its_role_its_content_and_three_for_the_reply() -> None:
    body = Body((Message("system", "abcd"), Message("user", "0123456789")), 5)
    counter = Counter("test", exact=True, encoding=BYTEWISE)
    assert counter.count_body(body) == (3 + len("system") + 4) + (3 + len("user") + 10) + 3


def test_many_bodies_are_counted_each_and_in_order() -> None:
    counter = Counter("test", exact=True, encoding=ENCODINGS[0])
    many = [Body((Message("user", "a1 " * length + "\n\nA shared end"),), 5) for length in range(1_000)]
    assert counter.count_bodies(iter(many)) == [counter.count_body(body) for body in many]
    assert Counter("test", exact=False).count_bodies(many) == [
        Counter("test", exact=False).count_body(body) for body in many
    ]


@given(bodies)
def test_nothing_can_be_counted_above_the_bound(body: Body) -> None:
    for encoding in (*ENCODINGS, BYTEWISE):
        counted = Counter("test", exact=True, encoding=encoding)
        assert counted.count_body(body) < counted.bound_body(body)
        for unsure in (Counter("test", exact=False), Counter("test", exact=False, encoding=encoding)):
            assert counted.count_body(body) < unsure.bound_body(body)


@given(wild, st.sampled_from([2.5, 4.0]))
def test_an_estimate_is_a_share_of_the_bytes_and_never_zero_for_a_text(text: str, share: float) -> None:
    estimate = Counter("test", exact=False, bytes_per_token=share).count(text)
    assert share * estimate >= len(text.encode("utf-8", "surrogatepass")) > share * (estimate - 1)


@pytest.mark.parametrize(
    ("name", "bytes_per_token"),
    [("claude-haiku-4-5", 3.5), ("claude-opus-5", 2.7), ("gemini-2.5-pro", 4), ("deepseek-r1", 3.3), ("mistral", 4)],
)
def test_a_model_without_a_public_tokenizer_is_estimated_by_its_bytes_and_says_so(
    name: str, bytes_per_token: float
) -> None:
    model = find_model(name)
    estimate = counter(model)
    assert not estimate.exact
    assert estimate.name == f"estimate: UTF-8 bytes / {bytes_per_token}, no tokenizer is known for {model.id}"
    assert estimate.count("a" * 10_000) == pytest.approx(10_000 / bytes_per_token, abs=1)


def test_the_newer_tokenizer_of_claude_gives_about_30_percent_more_tokens() -> None:
    older, newer = (counter(find_model(name)).count("a" * 100_000) for name in ("claude-opus-4-6", "claude-opus-4-7"))
    assert newer / older == pytest.approx(1.3, abs=0.01)


# What depends on the network and the vocabulary runs in a process of its own: both are asked for once.

COUNT = """
from runner.models import find_model
from runner.tokens import counter
counted = counter(find_model("gpt-4o-mini"))
print(counted.name, counted.exact, counted.count("four letters each"), sep="|")
"""


def python(arguments: list[str], proxy: str, **environment: str) -> subprocess.CompletedProcess[str]:
    no_proxy = dict.fromkeys(("no_proxy", "NO_PROXY"), "")
    proxies = dict.fromkeys(("https_proxy", "HTTPS_PROXY", "http_proxy", "HTTP_PROXY"), proxy)
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **no_proxy, **proxies, "PYTHONPATH": str(ROOT), **environment},
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )


NOBODY = "http://127.0.0.1:1"


@pytest.mark.parametrize("there", [None, b"spoilt"], ids=["no file", "a spoilt file"])
def test_without_a_vocabulary_there_is_an_estimate_that_says_so(tmp_path: Path, there: bytes | None) -> None:
    if there is not None:
        (tmp_path / O200K_FILE).write_bytes(there)
    done = python(["-c", COUNT], NOBODY, TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert (done.returncode, done.stderr) == (0, "")
    name, exact, count = done.stdout.strip().split("|")
    assert name.startswith("estimate: UTF-8 bytes / 4")
    assert (exact, count) == ("False", "5")


@pytest.mark.slow
def test_a_network_that_never_answers_is_not_waited_for(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        done = python(["-c", COUNT], f"http://127.0.0.1:{silent.getsockname()[1]}", TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert done.returncode == 0
    assert done.stdout.startswith("estimate:")


def test_a_model_whose_encoding_is_assumed_or_unknown_is_never_called_exact(tmp_path: Path) -> None:
    code = """
from dataclasses import replace
from runner.models import find_model
from runner.tokens import counter
model = find_model("gpt-6-luna")
for each in (model, replace(model, encoding=None)):
    print(counter(each).exact, counter(each).name.split(":")[0])
"""
    done = python(["-c", code], NOBODY)
    assert done.stdout.splitlines() == ["False estimate", "False estimate"], done.stderr


def test_no_vocabulary_to_be_had_is_one_plain_line_and_no_failure(tmp_path: Path) -> None:
    folder = tmp_path / "vocabulary"
    done = python([str(TOOL), str(folder)], NOBODY, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert (done.returncode, done.stdout) == (0, "")
    assert len(done.stderr.splitlines()) == 1
    assert "estimated" in done.stderr
    assert list(folder.iterdir()) == []


def test_a_file_with_another_hash_is_not_taken_from_a_package(tmp_path: Path) -> None:
    info = "llama_index_core-9.9.9.dist-info"
    with zipfile.ZipFile(tmp_path / "llama_index_core-9.9.9-py3-none-any.whl", "w") as wheel:
        wheel.writestr(f"llama_index/core/_static/tiktoken_cache/{O200K_FILE}", b"IQ== 0\n")
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: llama-index-core\nVersion: 9.9.9\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    folder = tmp_path / "vocabulary"
    done = python([str(TOOL), str(folder)], NOBODY, PIP_NO_INDEX="1", PIP_FIND_LINKS=str(tmp_path))
    assert done.returncode == 0
    assert "o200k_base" in done.stderr
    assert list(folder.iterdir()) == []


def test_the_names_are_those_that_tiktoken_looks_for(tmp_path: Path) -> None:
    """It throws away a file with the wrong hash under the right name."""
    code = f"""
import sys, tiktoken
from pathlib import Path
sys.path.insert(0, {str(TOOL.parent)!r})
from vocabulary import VOCABULARIES
for encoding, (name, _) in VOCABULARIES.items():
    path = Path({str(tmp_path)!r}, name)
    path.write_bytes(b"spoilt")
    try:
        tiktoken.get_encoding(encoding)
    except OSError:
        print(encoding, path.exists())
"""
    done = python(["-c", code], NOBODY, TIKTOKEN_CACHE_DIR=str(tmp_path))
    assert done.stdout.splitlines() == ["o200k_base False", "cl100k_base False"], done.stderr
