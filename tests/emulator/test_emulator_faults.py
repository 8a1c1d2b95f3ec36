"""Each fault, seen by the real SDK; and what none of them may do: bill a request twice."""

import json
import urllib.error
from collections import Counter

import openai
import pytest

from runner.emulator.faults import FAULTS, parse


@pytest.fixture
def faulty(desk, request_line):
    """A desk with faults, and an ended batch of 40 requests."""

    def run(*faults):
        desk.control("faults", dict(map(parse, faults)))
        lines = [request_line(str(k), f"Write a whole sentence about {k}, please.") for k in range(40)]
        return desk, desk.finish(desk.create(lines))

    yield run
    desk.control("faults", {name: float(name == "shuffle") for name in FAULTS})


def lines_of(desk, file_id):
    return desk.raw(file_id).split(b"\n")[:-1]


def billed(desk, batch):
    counts = Counter(row["custom_id"] for row in desk.bill()["requests"] if row["job"] == batch.id)
    assert set(counts.values()) <= {1}
    return set(counts)


IDS = {str(k) for k in range(40)}


def test_create_lost(open_desk, request_line):
    desk = open_desk(faults=["create_lost"])
    for error in (openai.APIConnectionError, openai.InternalServerError):  # cut, and 500, in turn
        with pytest.raises(error):
            desk.create([request_line()], tag=error.__name__)
        found = [one for one in desk.client.batches.list() if one.metadata == {"tag": error.__name__}]
        assert len(found) == 1
        assert desk.finish(found[0]).status == "completed"


def test_create_500(open_desk, request_line):
    desk = open_desk(faults=["create_500:1"])
    with pytest.raises(openai.InternalServerError):
        desk.create([request_line()])
    assert desk.client.batches.list().data == []
    desk.control("faults", {"create_500": 0})
    assert desk.run([request_line()]).status == "completed"


def test_truncated_download(faulty):
    desk, batch = faulty("truncated_download:1")
    with pytest.raises(openai.APIConnectionError):
        desk.raw(batch.output_file_id)
    with desk.client.files.with_streaming_response.content(batch.output_file_id) as answer:
        size, got = int(answer.headers["content-length"]), 0
        with pytest.raises(Exception, match=r"incomplete|peer closed"):
            for chunk in answer.iter_bytes():
                got += len(chunk)
    assert got == size // 2
    desk.control("faults", {"truncated_download": 0})
    assert len(desk.raw(batch.output_file_id)) == size


def test_a_rate_hits_some_calls_and_spares_others(faulty):
    desk, batch = faulty("truncated_download:0.5")
    fates = []
    for _ in range(30):
        try:
            desk.raw(batch.output_file_id)
            fates.append(True)
        except openai.APIConnectionError:
            fates.append(False)
    assert 5 < sum(fates) < 25


def test_list_lag(open_desk, request_line):
    desk = open_desk(clock="driven", faults=["list_lag"])
    batch = desk.create([request_line()])
    assert desk.client.batches.list().data == []
    assert desk.client.batches.retrieve(batch.id)
    desk.advance(46)
    assert [one.id for one in desk.client.batches.list()] == [batch.id]


def test_two_lists_a_minute_apart_are_enough_against_lag(open_desk, request_line):
    desk = open_desk(faults=["list_lag"])
    desk.create([request_line()])
    assert [len(desk.client.batches.list().data) for _ in range(3)] == [0, 1, 1]


def test_not_found_after_create(open_desk, request_line):
    desk = open_desk(faults=["not_found_after_create"])
    batch = desk.create([request_line()])
    with pytest.raises(openai.NotFoundError):
        desk.client.batches.retrieve(batch.id)
    assert desk.finish(batch).status == "completed"


def test_late_file_ids(faulty):
    desk, batch = faulty("late_file_ids")
    assert (batch.status, batch.output_file_id) == ("completed", None)
    batch = desk.client.batches.retrieve(batch.id)
    assert len(desk.results(batch.output_file_id)) == 40


def test_expired_partial(faulty):
    desk, batch = faulty("expired_partial")
    assert batch.status == "expired"
    assert batch.expired_at == batch.created_at + 24 * 3600
    answered, rest = desk.results(batch.output_file_id), desk.results(batch.error_file_id)
    assert 0 < len(answered) == batch.request_counts.completed < 40
    assert set(answered) | set(rest) == IDS and not set(answered) & set(rest)
    for line in rest.values():
        assert line["response"] is None
        assert line["error"] == {
            "code": "batch_expired",
            "message": "This request could not be executed before the completion window expired.",
        }
    assert billed(desk, batch) == set(answered)


def test_error_file_empty_id(faulty):
    _, batch = faulty("error_file_empty_id")
    assert (batch.status, batch.error_file_id) == ("completed", "")


def test_all_failed(faulty):
    desk, batch = faulty("all_failed")
    assert (batch.status, batch.output_file_id) == ("completed", None)
    assert (batch.request_counts.completed, batch.request_counts.failed) == (0, 40)
    lines = desk.results(batch.error_file_id)
    assert set(lines) == IDS
    assert {line["response"]["status_code"] for line in lines.values()} == {500}
    assert billed(desk, batch) == set()


def test_stuck(open_desk, request_line):
    desk = open_desk(faults=["stuck"])
    batch = desk.create([request_line()])
    for _ in range(30):
        batch = desk.client.batches.retrieve(batch.id)
    assert batch.status == "in_progress"
    assert desk.now() > batch.expires_at
    desk.client.batches.cancel(batch.id)
    batch = desk.finish(batch)
    assert batch.status == "cancelled" and set(desk.results(batch.error_file_id)) == {"r"}


@pytest.mark.parametrize(("fault", "in_order"), [("shuffle", False), ("shuffle:0", True)])
def test_shuffle(faulty, fault, in_order):
    desk, batch = faulty(fault)
    ids = [json.loads(line)["custom_id"] for line in lines_of(desk, batch.output_file_id)]
    assert set(ids) == IDS
    assert (ids == [str(k) for k in range(40)]) is in_order


def test_u2028(faulty):
    desk, batch = faulty("u2028:1")
    raw = desk.raw(batch.output_file_id)
    assert len(desk.results(batch.output_file_id)) == 40
    assert len(raw.decode().splitlines()) > 40
    for character in "\u2028\u2029\x85":
        assert raw.decode().count(character) == 40


def test_duplicate_line(faulty):
    desk, batch = faulty("duplicate_line:0.1")
    counts = Counter(lines_of(desk, batch.output_file_id))
    assert sorted(counts.values()) == [1] * 36 + [2] * 4
    assert billed(desk, batch) == IDS


def test_unknown_id(faulty):
    desk, batch = faulty("unknown_id:0.1")
    strange = set(desk.results(batch.output_file_id)) - IDS
    assert len(strange) == 4
    assert billed(desk, batch) == IDS


def test_missing_id(faulty):
    desk, batch = faulty("missing_id:0.1")
    assert batch.request_counts.completed == 40 and batch.error_file_id is None
    answered = set(desk.results(batch.output_file_id))
    assert len(answered) == 36
    assert billed(desk, batch) == answered


def test_bad_line(faulty):
    desk, batch = faulty("bad_line:0.1")
    bad = []
    for line in lines_of(desk, batch.output_file_id):
        try:
            json.loads(line)
        except json.JSONDecodeError:
            bad.append(line)
    assert len(bad) == 4
    assert billed(desk, batch) == IDS


def test_status_zero(faulty):
    desk, batch = faulty("status_zero:0.1")
    codes = Counter(line["response"]["status_code"] for line in desk.results(batch.output_file_id).values())
    assert codes == {200: 36, 0: 4}
    assert len(billed(desk, batch)) == 36


def test_a_small_rate_still_hits_one_line(faulty):
    desk, batch = faulty("missing_id:0.001")
    assert len(desk.results(batch.output_file_id)) == 39


def test_every_fault_is_documented_and_tested_here(desk):
    assert all(name in globals() for name in (f"test_{fault}" for fault in FAULTS))
    assert all(fault["doc"].endswith(".") for fault in desk.control("faults").values())


@pytest.mark.parametrize("text", ["nothing", "u2028:2", "u2028:x", "u2028:-1", "u2028:nan"])
def test_unknown_faults_and_rates_are_refused(desk, text):
    with pytest.raises(ValueError):
        parse(text)
    name, _, rate = text.partition(":")
    before = desk.control("faults")
    with pytest.raises(urllib.error.HTTPError):
        desk.control("faults", {name: rate or 1})
    assert desk.control("faults") == before
