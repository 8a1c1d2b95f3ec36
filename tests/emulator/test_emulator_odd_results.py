"""Results that arrive, were billed, and cannot be read or are not whole; seen by the real SDK."""

import json
from collections import Counter

import pytest

N = 20


@pytest.fixture
def ended(open_desk, request_line):
    """The result file of a batch under a fault that always strikes, every request of which was billed once."""

    def run(fault):
        desk = open_desk(faults=[fault])
        lines = [request_line(str(k), f"Write a whole sentence about {k}, please.") for k in range(N)]
        batch = desk.finish(desk.create(lines))
        billed = Counter(row["custom_id"] for row in desk.bill()["requests"] if row["job"] == batch.id)
        assert (batch.status, batch.request_counts.completed) == ("completed", N)
        assert billed == dict.fromkeys(map(str, range(N)), 1)
        return desk.raw(batch.output_file_id)

    return run


@pytest.mark.parametrize("fault", ["empty_result:1", "blank_result:1", "html_result:1"])
def test_a_result_file_without_a_single_answer(ended, fault):
    assert b"custom_id" not in ended(fault)


def test_foreign_ids(ended):
    rows = [json.loads(line) for line in ended("foreign_ids:1").splitlines()]
    assert len(rows) == N and not {row["custom_id"] for row in rows} & set(map(str, range(N)))


def test_lost_lines(ended):
    rows = [json.loads(line) for line in ended("lost_lines:1").splitlines()]
    assert 0 < len({row["custom_id"] for row in rows}) == len(rows) < N


def bodies(raw):
    return [json.loads(line)["response"]["body"] for line in raw.splitlines()]


def test_body_as_text(ended):
    assert all(json.loads(body)["choices"] for body in bodies(ended("body_as_text:1")))


@pytest.mark.parametrize("fault", ["odd_body:1", "no_choices:1"])
def test_a_reply_without_an_answer_that_can_be_read(ended, fault):
    assert not any(isinstance(body, dict) and body.get("choices") for body in bodies(ended(fault)))


def test_no_usage(ended):
    assert not any(body.get("usage") for body in bodies(ended("no_usage:1")))


def test_odd_usage(ended):
    counts = [(body.get("usage") or {}).get("prompt_tokens") for body in bodies(ended("odd_usage:1"))]
    assert not any(type(count) is int and 0 < count < 10_000 for count in counts)


def test_list_lag_long(open_desk, request_line):
    desk = open_desk(clock="driven", faults=["list_lag_long"])
    batch = desk.create([request_line()])
    desk.advance(100)
    assert desk.client.batches.list().data == []
    desk.advance(3600)
    assert [one.id for one in desk.client.batches.list()] == [batch.id]


@pytest.mark.parametrize("faults", [(), ("cold_cache:1",)])
def test_cold_cache(open_desk, request_line, faults):
    desk = open_desk(faults=faults)
    prompt = "The same long beginning. " * 400
    lines = [request_line(str(k), f"{prompt} {k}", model="gpt-4.1") for k in range(N)]
    replies = bodies(desk.raw(desk.finish(desk.create(lines)).output_file_id))
    read = sum(reply["usage"]["prompt_tokens_details"]["cached_tokens"] for reply in replies)
    assert (read == 0) is bool(faults)
