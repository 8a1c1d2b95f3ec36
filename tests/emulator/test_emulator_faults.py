"""Each fault of jobs and lines, seen by the real SDK; and what none of them may do: bill a request twice."""

import json
import re
import urllib.error
from collections import Counter
from pathlib import Path

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


def test_list_lag(open_desk, request_line):
    desk = open_desk(clock="driven", faults=["list_lag"])
    batch = desk.create([request_line()])
    assert desk.client.batches.list().data == []
    assert desk.client.batches.retrieve(batch.id)
    desk.advance(46)
    assert [one.id for one in desk.client.batches.list()] == [batch.id]


def test_list_lag_long(open_desk, request_line):
    desk = open_desk(clock="driven", faults=["list_lag_long"])
    batch = desk.create([request_line()])
    desk.advance(100)
    assert desk.client.batches.list().data == []
    desk.advance(3600)
    assert [one.id for one in desk.client.batches.list()] == [batch.id]


def test_two_lists_a_minute_apart_are_enough_against_lag(open_desk, request_line):
    desk = open_desk(faults=["list_lag"])
    desk.create([request_line()])
    assert [len(desk.client.batches.list().data) for _ in range(3)] == [0, 1, 1]


def test_not_found_after_create(desk, faulty, request_line):
    desk.control("faults", {"not_found_after_create": 1})
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


@pytest.mark.parametrize(("fault", "ending"), [("expired_partial", "expired"), ("cancelled_partial", "cancelled")])
def test_no_error_file(faulty, fault, ending):
    desk, batch = faulty(fault, "no_error_file")
    assert (batch.status, batch.error_file_id) == (ending, None)
    answered = set(desk.results(batch.output_file_id))
    assert 0 < len(answered) < 40
    assert billed(desk, batch) == answered


@pytest.mark.parametrize("more", [(), ("no_error_file",)])
def test_expired_nothing(faulty, more):
    ended = [faulty("expired_nothing", *more) for _ in range(4)]
    desk, batches = ended[0][0], [batch for _, batch in ended]
    assert {batch.status for batch in batches[:3]} == {"expired", "completed"}  # never three in a row
    assert batches[3].status == batches[0].status
    for batch in batches:
        if batch.status == "expired":
            assert batch.request_counts.model_dump() == {"total": 40, "completed": 0, "failed": 0}
            assert batch.output_file_id is None
            assert (batch.error_file_id is None) is bool(more)
            assert set(desk.results(batch.error_file_id)) == (set() if more else IDS)
            assert billed(desk, batch) == set()


def test_cancelled_partial(faulty):
    desk, batch = faulty("cancelled_partial")
    assert batch.status == "cancelled" and batch.cancelled_at > batch.cancelling_at
    answered, rest = desk.results(batch.output_file_id), desk.results(batch.error_file_id)
    assert 0 < len(answered) < 40 and set(answered) | set(rest) == IDS
    assert {line["error"]["code"] for line in rest.values()} == {"batch_cancelled"}
    assert billed(desk, batch) == set(answered)


def test_token_limit_exceeded(faulty):
    batches = [faulty("token_limit_exceeded")[1] for _ in range(3)]
    assert sorted(batch.status for batch in batches) == ["completed", "failed", "failed"]
    error = next(batch.errors.data[0] for batch in batches if batch.errors)
    assert error.code == "token_limit_exceeded"
    assert "Limit: 15,000,000,000 enqueued tokens" in error.message


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


def test_truncated_result(faulty):
    desk, batch = faulty("truncated_result")
    *whole, last = desk.raw(batch.output_file_id).split(b"\n")
    assert len(whole) == 20
    assert json.loads(whole[-1])
    with pytest.raises(json.JSONDecodeError):
        json.loads(last)
    assert billed(desk, batch) == IDS


def spoiled(faulty, fault):
    """A batch with a fault that spares every third."""
    for _ in range(2):
        desk, batch = faulty(f"{fault}:1")
        if any(job["id"] == batch.id and fault in job["faults"] for job in desk.control("jobs")["jobs"]):
            break
    return desk, batch


def test_empty_result(faulty):
    desk, batch = spoiled(faulty, "empty_result")
    assert (desk.raw(batch.output_file_id), batch.request_counts.completed) == (b"", 40)
    assert billed(desk, batch) == IDS


def test_blank_result(faulty):
    desk, batch = spoiled(faulty, "blank_result")
    assert desk.raw(batch.output_file_id).strip() == b""
    assert billed(desk, batch) == IDS


def test_html_result(faulty):
    desk, batch = spoiled(faulty, "html_result")
    assert desk.raw(batch.output_file_id).startswith(b"<html>")
    assert billed(desk, batch) == IDS


def test_foreign_ids(faulty):
    desk, batch = spoiled(faulty, "foreign_ids")
    assert set(desk.results(batch.output_file_id)) == {f"other-{name}" for name in IDS}
    assert billed(desk, batch) == IDS


def test_lost_lines(faulty):
    desk, batch = spoiled(faulty, "lost_lines")
    assert (len(desk.results(batch.output_file_id)), batch.request_counts.completed) == (20, 40)
    assert billed(desk, batch) == IDS


def bodies(desk, batch):
    assert billed(desk, batch) == IDS
    return [line["response"]["body"] for line in desk.results(batch.output_file_id).values()]


def test_body_as_text(faulty):
    texts = [body for body in bodies(*faulty("body_as_text:0.1")) if isinstance(body, str)]
    assert len(texts) == 4
    assert all(json.loads(text)["choices"] for text in texts)


def test_odd_body(faulty):
    assert sum("choices" not in body for body in bodies(*faulty("odd_body:0.1"))) == 4


def test_no_choices(faulty):
    assert sum(body["choices"] == [] for body in bodies(*faulty("no_choices:0.1"))) == 4


def test_no_usage(faulty):
    assert sum("usage" not in body for body in bodies(*faulty("no_usage:0.1"))) == 4


def test_odd_usage(faulty):
    counts = [body["usage"]["prompt_tokens"] for body in bodies(*faulty("odd_usage:0.5"))]
    odd = [count for count in counts if type(count) is not int or not 0 < count < 10**6]
    assert len(odd) == 20
    assert len(set(map(repr, odd))) > 1


@pytest.mark.parametrize("faults", [(), ("cold_cache:1",)])
def test_cold_cache(open_desk, request_line, faults):
    desk = open_desk(faults=faults)
    prompt = "The same long beginning. " * 400
    batch = desk.run([request_line(str(k), f"{prompt} {k}", model="gpt-4.1") for k in range(20)])
    replies = [line["response"]["body"] for line in desk.results(batch.output_file_id).values()]
    read = sum(reply["usage"]["prompt_tokens_details"]["cached_tokens"] for reply in replies)
    assert (read == 0) is bool(faults)


def test_crlf(faulty):
    desk, batch = faulty("crlf")
    lines = desk.raw(batch.output_file_id).split(b"\r\n")
    assert len(lines) == 41 and not any(b"\r" in line or b"\n" in line for line in lines)


def test_lone_surrogate(faulty):
    desk, batch = faulty("lone_surrogate:0.1")
    texts = [
        json.loads(line)["response"]["body"]["choices"][0]["message"]["content"]
        for line in lines_of(desk, batch.output_file_id)
    ]
    assert sum(text.endswith("\ud83d") for text in texts) == 4


def test_deep_line(faulty):
    desk, batch = faulty("deep_line:0.1")
    deep = [line for line in lines_of(desk, batch.output_file_id) if b"[" * 20_000 in line]
    assert len(deep) == 4
    assert billed(desk, batch) == IDS


def test_huge_line(faulty):
    desk, batch = faulty("huge_line:1")
    sizes = sorted(map(len, lines_of(desk, batch.output_file_id)))
    assert sizes[-2] < 10_000 < 9_999_000 < sizes[-1] < 10_010_000
    assert sum(row["output_tokens"] for row in desk.bill()["requests"] if row["job"] == batch.id) < 40 * 50


def test_filtered(faulty):
    desk, batch = faulty("filtered:0.1")
    choices = [row["response"]["body"]["choices"][0] for row in desk.results(batch.output_file_id).values()]
    blocked = [choice for choice in choices if choice["finish_reason"] == "content_filter"]
    assert len(blocked) == 4 and {choice["message"]["content"] for choice in blocked} == {""}
    rows = [row for row in desk.bill()["requests"] if row["job"] == batch.id]
    assert sum(row["output_tokens"] == 0 for row in rows) == 4
    assert all(row["usd"] > 0 for row in rows)


def test_other_model(faulty):
    desk, batch = faulty("other_model:0.1")
    named = Counter(row["response"]["body"]["model"] for row in desk.results(batch.output_file_id).values())
    assert (len(named), named["another-model-1"]) == (2, 4)
    assert billed(desk, batch) == IDS


def test_mixed_endings(faulty):
    desk, batch = faulty("mixed_endings:0.5")
    answered, rest = desk.results(batch.output_file_id), desk.results(batch.error_file_id)
    assert (batch.status, len(answered), len(rest)) == ("completed", 20, 20)
    ends = Counter((line["error"] or {}).get("code", "failed") for line in rest.values())
    assert set(ends) == {"failed", "batch_expired", "batch_cancelled"}
    assert batch.request_counts.failed == ends["failed"]
    assert billed(desk, batch) == set(answered)
    job = next(job for job in desk.control("jobs")["jobs"] if job["id"] == batch.id)
    assert (job["expired"], job["cancelled"]) == (ends["batch_expired"], ends["batch_cancelled"])


def test_duplicates_come_in_order_too(faulty):
    desk, batch = faulty("duplicate_line:0.1", "shuffle:0")
    assert len(lines_of(desk, batch.output_file_id)) == 44


def test_a_small_rate_still_hits_one_line(faulty):
    desk, batch = faulty("missing_id:0.001")
    assert len(desk.results(batch.output_file_id)) == 39


def test_every_fault_is_documented_and_tested():
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_emulator_*.py"))
    for name, fault in FAULTS.items():
        assert re.search(rf'def test_{name}\(|"{name}[":]', tests), f"no test of {name}"
        assert fault.doc.endswith(".")


@pytest.mark.parametrize("text", ["nothing", "u2028:2", "u2028:x", "u2028:-1", "u2028:nan"])
def test_unknown_faults_and_rates_are_refused(desk, text):
    with pytest.raises(ValueError):
        parse(text)
    name, _, rate = text.partition(":")
    before = desk.control("faults")
    with pytest.raises(urllib.error.HTTPError):
        desk.control("faults", {name: rate or 1})
    assert desk.control("faults") == before
