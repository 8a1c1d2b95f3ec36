import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers.lines import read_lines

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
