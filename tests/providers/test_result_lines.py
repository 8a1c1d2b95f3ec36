import json

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers import anthropic_lines, google_lines, openai_lines
from runner.providers.base import Unreachable
from runner.providers.lines import LONGEST_LINE, read_lines
from runner.providers.saving import paced

AWKWARD = ['{"t":"a\u2028b\u2029c\x85d\x0be"}'.encode(), b"{}", b"\xff\xfe", b"no \r inside"]


def written(folder, content, *, zst):
    path = folder / ("r.jsonl.zst" if zst else "r.jsonl")
    path.write_bytes(zstandard.compress(content) if zst else content)
    return path


@pytest.mark.parametrize("zst", [False, True])
def test_lines_end_at_the_line_feed_only(tmp_path, zst):
    content = b"\r\n".join(AWKWARD[:2]) + b"\n\n  \n" + b"\n".join(AWKWARD[2:])
    assert list(read_lines(written(tmp_path, content, zst=zst))) == AWKWARD


@given(lines=st.lists(st.binary().filter(lambda raw: b"\n" not in raw and raw.strip())))
def test_whatever_was_written_is_read(tmp_path_factory, lines):
    path = written(tmp_path_factory.mktemp("r"), b"\n".join(lines), zst=True)
    assert list(read_lines(path)) == [line.removesuffix(b"\r") for line in lines]


@pytest.mark.parametrize("zst", [False, True])
def test_a_line_of_10_mb_and_its_neighbours(tmp_path, zst):
    long = b"x" * 10_000_000
    assert list(read_lines(written(tmp_path, b"a\n" + long + b"\nb\n", zst=zst))) == [b"a", long, b"b"]


def test_frames_put_one_after_the_other_are_one_file(tmp_path):
    path = tmp_path / "r.zst"
    path.write_bytes(zstandard.compress(b"one\ntw") + zstandard.compress(b"o\n"))
    assert list(read_lines(path)) == [b"one", b"two"]


@pytest.mark.parametrize("harm", [lambda raw: raw[:-20], lambda raw: raw[:9] + b"????" + raw[13:]])
def test_a_damaged_file_never_passes_for_a_shorter_one(tmp_path, harm):
    content = b"".join(b'{"n":%d}\n' % number for number in range(5000))
    path = tmp_path / "r.zst"
    path.write_bytes(harm(zstandard.ZstdCompressor(write_checksum=True).compress(content)))
    with pytest.raises(RunnerError, match=r"r\.zst"):
        list(read_lines(path))


OPENAI = {"response": {"status_code": 200, "body": {"choices": [{"message": {"content": "HERE"}}]}}}
ANTHROPIC = {"result": {"type": "succeeded", "message": {"content": [{"type": "text", "text": "HERE"}]}}}
GOOGLE = {"response": {"candidates": [{"content": {"parts": [{"text": "HERE"}]}}]}}
HOSTS = [
    (openai_lines.decode_line, {"custom_id": "r1"} | OPENAI),
    (anthropic_lines.decode_line, {"custom_id": "r1"} | ANTHROPIC),
    (google_lines.decode_line, {"key": "r1"} | GOOGLE),
]
NUMBERS = ["NaN", "-Infinity", "1e999", "-1e999", "9" * 19, "9" * 20, "9" * 5000, f"-{'9' * 20}", "1.5"]
hosts = pytest.mark.parametrize(("decode", "entry"), HOSTS)


@hosts
@given(
    said=st.binary().map(lambda raw: raw.translate(None, b'"\\\n')),
    begun=st.text(min_size=1).map(lambda text: text.encode("utf-8", "surrogatepass")[:-1].translate(None, b'"\\\n')),
    number=st.sampled_from(NUMBERS),
    bom=st.sampled_from([b"", b"\xef\xbb\xbf"]),
)
def test_what_was_paid_for_is_read_whatever_bytes_its_answer_has(decode, entry, said, begun, number, bom):
    answer = said + begun + b"."
    line = json.dumps(entry | {"created": "NUMBER"}).replace('"NUMBER"', number).encode().replace(b"HERE", answer)
    (row,) = decode(bom + line)
    assert (row.request_id, row.text) == ("r1", answer.decode("utf-8", "replace"))


@hosts
@pytest.mark.parametrize("answer", [b"a\tb", b"nul \x00 nul", b"cut \xf0\x9f\x98", b"latin \xe9"])
def test_an_answer_of_raw_bytes(decode, entry, answer):
    (row,) = decode(json.dumps(entry).encode().replace(b"HERE", answer))
    assert row.text == answer.decode("utf-8", "replace")


@hosts
@given(share=st.floats(0.1, 0.99))
def test_a_line_that_was_cut_is_none(decode, entry, share):
    whole = json.dumps(entry).encode()
    for line in (whole[: int(len(whole) * share)], whole + b"\x00", b"\xef\xbb\xbf", b"[" * 99_999, b"[1]"):
        with pytest.raises(ValueError):
            decode(line)


@hosts
@pytest.mark.parametrize("levels", [180, 250, 1_020, 20_000])
def test_nesting_has_an_end_and_brackets_in_a_text_have_none(decode, entry, levels):
    deep = b"[" * levels + b"]" * levels
    line = json.dumps(entry | {"more": "MORE"}).encode()
    (row,) = decode(line.replace(b"HERE", b'\\"' + deep))
    assert row.text == '"' + deep.decode()
    if levels < 200:
        assert decode(line.replace(b'"MORE"', deep))[0].text == "HERE"
    else:
        with pytest.raises(ValueError, match="200 levels"):
            decode(line.replace(b'"MORE"', deep))


@hosts
def test_a_line_of_millions_of_values_is_not_made_objects_of(decode, entry):
    line = json.dumps(entry | {"more": "MORE"}).encode()
    with pytest.raises(ValueError, match="values"):
        decode(line.replace(b'"MORE"', b"[" + b"{}," * 2_000_000 + b"0]"))
    assert decode(line.replace(b"HERE", b"," * 2_000_000))[0].text == "," * 2_000_000


@hosts
@pytest.mark.parametrize("zst", [False, True])
def test_a_line_that_is_too_long_is_told_from_its_neighbours(tmp_path, decode, entry, zst):
    line = json.dumps(entry).encode()
    content = line + b"\n" + line + b" " * LONGEST_LINE + b"\n" + line
    first, long, last = read_lines(written(tmp_path, content, zst=zst))
    assert first == last == line
    assert len(long) < 100_000
    with pytest.raises(ValueError, match="64 MB"):
        decode(long)


def test_a_download_that_brings_next_to_nothing_is_given_up():
    seconds = iter(range(0, 10_000, 7))
    assert len(list(paced([b"x" * 65_536] * 100, lambda: next(seconds)))) == 100
    with pytest.raises(Unreachable):
        list(paced([b"x"] * 100, lambda: next(seconds)))
