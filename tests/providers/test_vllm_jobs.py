"""Reading what an engine left, wherever it was cut off."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.providers.vllm_jobs import Job, answered, answers_all, last_words, make, read

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)


def line(number: int, text: str) -> bytes:
    body = {"choices": [{"index": 0, "message": {"content": text}, "finish_reason": "stop"}]}
    return orjson.dumps({"custom_id": f"r{number}", "response": {"status_code": 200, "body": body}, "error": None})


def job(folder: Path, n: int) -> Job:
    (folder / "batch").write_bytes(b"".join(line(number, "?") + b"\n" for number in range(n)))
    return make(folder / "tag", folder / "batch", "m", "here", is_elsewhere=True, now=NOON)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.text(st.characters(codec="utf-8") | st.sampled_from("\r\x85\u2028\u2029")), max_size=5), st.floats(0, 1)
)
def test_wherever_the_output_is_cut_exactly_the_whole_lines_count(texts, share):
    lines = [line(number, text) for number, text in enumerate(texts)]
    whole = b"".join(each + b"\n" for each in lines)
    size = round(len(whole) * share)
    with tempfile.TemporaryDirectory() as folder:
        cut = job(Path(folder), len(texts))
        cut.output.write_bytes(whole[:size])
        found = list(answered(cut))
        assert found == lines[: len(found)]
        ends = [sum(len(each) + 1 for each in lines[: number + 1]) - 1 for number in range(len(lines))]
        assert len(found) == sum(end <= size for end in ends), "a line without its feed is whole, a part of one is not"
        assert answers_all(cut) == (len(found) == len(texts))


def test_a_job_reads_back_as_it_was_made(tmp_path):
    made = job(tmp_path, 3)
    assert read(made.folder) == made
    assert made.total == 3
    assert make(made.folder, tmp_path / "batch", "other", "there", is_elsewhere=False, now=NOON) == made
    assert read(tmp_path) is None


def test_the_requests_stay_with_the_job(tmp_path):
    made = job(tmp_path, 3)
    (tmp_path / "batch").unlink()
    assert [orjson.loads(each)["custom_id"] for each in made.input.read_bytes().splitlines()] == ["r0", "r1", "r2"]


@pytest.mark.parametrize("content", [b"", b"{", b"null", b"[]", b'{"total": "x", "created_at": {}}'])
def test_an_odd_description_stops_nothing(tmp_path, content):
    made = job(tmp_path, 3)
    (made.folder / "job.json").write_bytes(content)
    assert read(made.folder) is None or read(made.folder).total == 0


@pytest.mark.parametrize(
    ("log", "words"),
    [
        (b"", "it said nothing"),
        (b"INFO loading\nINFO bye\n\n", "INFO bye"),
        (b"Traceback\nValueError: Invalid request on line 3\n", "ValueError: Invalid request on line 3"),
        (
            b"\x1b[1;36m(EngineCore pid=7)\x1b[0;0m torch.OutOfMemoryError: CUDA out of memory\n"
            b"/x.py:254: UserWarning: y\n  warnings.warn('resource_tracker')\n",
            "OutOfMemoryError: CUDA out of memory",
        ),
        (b"x" * 50_000 + b"\nKilled \xff\n", "Killed \ufffd"),
    ],
)
def test_the_last_words_are_the_last_error(tmp_path, log, words):
    made = job(tmp_path, 1)
    made.log.write_bytes(log)
    assert last_words(made) == words
