import json
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
import zstandard
from stub_anthropic import BATCHES, NOON, Stub, batch, error

from runner import providers
from runner.errors import RunnerError
from runner.providers.anthropic import AnthropicProvider, connect, venue_of
from runner.providers.base import Gone, JobState, NotCreated, Unclear, Unreachable

KEY = "sk-ant-secret"
CREATE = f"POST {BATCHES}"
LIST = f"GET {BATCHES}"
RETRIEVE = f"GET {BATCHES}/msgbatch_1"
RESULTS = f"{RETRIEVE}/results"
LINES = b"".join(b'{"custom_id":"r%d","result":{"type":"expired"}}\n' % number for number in range(5000))
SAMPLED = b'{"custom_id":"a","params":{"model":"m","temperature":0.0}}'
PLAIN = '{"custom_id":"b","params":{"model":"m","messages":[{"content":"temperature \u2028 \\n , "}]}}'.encode()


@pytest.fixture
def stub():
    with Stub() as running:
        yield running


@pytest.fixture
def provider(stub):
    return AnthropicProvider(stub.base_url, KEY, "anthropic", timeout_seconds=5.0)


def created(provider, tmp_path, *lines, end=b"\n"):
    path = tmp_path / "batch.jsonl"
    path.write_bytes(b"\n".join(lines or (PLAIN,)) + end)
    return provider.create("m", path, "tag")


def content(path):
    with zstandard.open(path) as file:
        return file.read()


@pytest.mark.parametrize("end", [b"\n", b""])
def test_the_lines_of_the_file_are_the_requests_of_the_create(stub, provider, tmp_path, end):
    stub.say(CREATE, 200, batch())
    assert provider.upload(tmp_path, "tag") is None
    assert created(provider, tmp_path, PLAIN, SAMPLED, end=end) == "msgbatch_1"
    (call,) = stub.calls
    assert json.loads(call.body) == {"requests": [json.loads(PLAIN), json.loads(SAMPLED)]}
    assert call.headers["content-length"] == str(len(call.body))
    assert call.headers["transfer-encoding"] is None
    assert call.headers["content-type"] == "application/json"


@pytest.mark.parametrize("size", [1 << 16, (1 << 16) - 13, (1 << 16) - 1, (1 << 16) + 1, 1 << 17])
def test_no_byte_is_lost_where_a_piece_of_the_file_ends(stub, provider, tmp_path, size):
    stub.say(CREATE, 200, batch())
    frame = len(b'{"custom_id":""}\n')
    lines = [b'{"custom_id":"%s"}' % (b"x" * (size - frame)), b'{"custom_id":"last"}']
    created(provider, tmp_path, *lines)
    assert json.loads(stub.calls[0].body)["requests"] == [json.loads(line) for line in lines]


def test_only_lines_with_sampling_parameters_need_the_older_version(stub, provider, tmp_path):
    stub.say(CREATE, 200, batch())
    for lines in ((PLAIN,), (PLAIN, SAMPLED)):
        created(provider, tmp_path, *lines)
    assert [call.headers["anthropic-version"] for call in stub.calls] == ["2026-10-21", "2023-06-01"]


@pytest.mark.parametrize("headers", [{}, {"x-should-retry": "true", "retry-after": "0"}])
@pytest.mark.parametrize("status", [408, 409, 499, 500, 502, 504, 529, 307])
def test_what_may_have_left_a_batch_is_unclear_and_was_sent_once(stub, provider, tmp_path, status, headers):
    stub.say(CREATE, status, error("api_error"), location=f"{stub.base_url}{BATCHES}", **headers)
    with pytest.raises(Unclear) as caught:
        created(provider, tmp_path)
    assert len(stub.calls) == 1
    assert str(status) in str(caught.value)


@pytest.mark.parametrize("reply", [b"<html>", b"[]", b'{"id":null}', b""])
def test_an_answer_that_cannot_be_read_is_unclear(stub, provider, tmp_path, reply):
    stub.say(CREATE, 200, reply)
    with pytest.raises(Unclear):
        created(provider, tmp_path)
    assert len(stub.calls) == 1


def test_a_lost_answer_is_unclear(stub, tmp_path):
    stub.say(CREATE, 200, batch(), cut=True)
    stub.say(CREATE, 0)
    provider = AnthropicProvider(stub.base_url, KEY, "anthropic", timeout_seconds=0.3)
    for _ in range(2):
        with pytest.raises(Unclear):
            created(provider, tmp_path)
    assert len(stub.calls) == 2


def test_a_create_that_found_nobody_was_not_sent(tmp_path):
    with Stub() as plain:
        for url in ("http://127.0.0.1:9", "http://nowhere.invalid", plain.base_url.replace("http", "https")):
            with pytest.raises(Unreachable, match="The connection to anthropic failed"):
                created(AnthropicProvider(url, KEY, "anthropic"), tmp_path)
    assert plain.calls == []


def test_a_create_that_came_too_early_may_come_again(stub, provider, tmp_path):
    stub.say(CREATE, 425, error("too_early"))
    with pytest.raises(NotCreated) as caught:
        created(provider, tmp_path)
    assert (caught.value.retry_later, caught.value.is_full) == (True, False)
    assert len(stub.calls) == 1


@pytest.mark.parametrize(
    ("status", "kind", "message", "code", "expected", "waits"),
    [
        (400, "invalid_request_error", "requests.0.custom_id: no", None, "invalid_request_error", False),
        (401, "authentication_error", "invalid x-api-key", None, "authentication_error", False),
        (402, "billing_error", "pay", None, "billing_not_active", False),
        (403, "permission_error", "no", None, "permission_error", False),
        (413, "request_too_large", "too large", None, "request_too_large", False),
        (429, "rate_limit_error", "slow down", None, "rate_limit_error", True),
        (429, "rate_limit_error", "slow down", "ramp_limit_exceeded", "ramp_limit_exceeded", True),
        (429, "rate_limit_error", "spent", "enforced_spend_limit_reached", "billing_hard_limit_reached", False),
        (400, "invalid_request_error", "Your credit balance is too low to", None, "insufficient_quota", False),
        (400, "invalid_request_error", "You have reached your specified API usage limits. You will regain access on"
         " 2026-12-01", None, "billing_hard_limit_reached", False),
    ],
)  # fmt: skip
def test_a_clear_no_is_told_in_the_words_of_the_provider(
    stub, provider, tmp_path, status, kind, message, code, expected, waits
):
    stub.say(CREATE, status, error(kind, message, code), **{"x-should-retry": "true"})
    with pytest.raises(NotCreated) as caught:
        created(provider, tmp_path)
    refusal = caught.value
    assert (refusal.code, refusal.retry_later, refusal.is_full) == (expected, waits, waits)
    assert message in refusal.sentence and str(status) in refusal.sentence
    assert len(stub.calls) == 1


@pytest.mark.parametrize("body", [b"", b"<html>", b'{"error":7}', b'{"error":{"details":[],"type":3,"message":{}}}'])
def test_an_odd_refusal_is_a_refusal_all_the_same(stub, provider, tmp_path, body):
    stub.say(CREATE, 422, body)
    with pytest.raises(NotCreated, match="no reason given"):
        created(provider, tmp_path)


def test_a_file_that_cannot_be_sent_was_not_sent(stub, provider, tmp_path):
    with pytest.raises(NotCreated):
        provider.create("m", tmp_path / "absent", "tag")
    for bad in (b"", b"not json\n"):
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(NotCreated):
            provider.create("m", tmp_path / "bad", "tag")
    assert stub.calls == []


def test_the_list_is_read_to_its_end_by_the_raw_objects(stub, provider):
    first = batch("msgbatch_2", processing_status="in_progress", counts={"processing": 7})
    stub.say(LIST, 200, {"data": [first], "has_more": True, "first_id": "x", "last_id": "x"})
    stub.say(LIST, 200, {"data": [batch("msgbatch_1", results_url=5, created_at="soon")], "has_more": False})
    listing = provider.jobs(NOON - timedelta(days=2))
    assert [(job.provider_job, job.total) for job in listing.jobs] == [("msgbatch_2", 7), ("msgbatch_1", 0)]
    assert listing.at == NOON
    assert [parse_qs(call.query) for call in stub.calls] == [
        {"limit": ["1000"]},
        {"limit": ["1000"], "after_id": ["msgbatch_2"]},
    ]


def test_the_list_is_left_where_all_of_a_page_is_too_old(stub, provider):
    stub.say(LIST, 200, {"data": [batch()], "has_more": True})
    assert len(provider.jobs(NOON).jobs) == 1
    assert len(stub.calls) == 1


@pytest.mark.parametrize("reply", [{"data": [batch()], "has_more": True}, {"data": None}, {"data": [{}]}, [], b"<"])
def test_a_list_that_goes_nowhere_is_no_listing(stub, provider, reply):
    stub.say(LIST, 200, reply)
    with pytest.raises(Unreachable):
        provider.jobs(NOON - timedelta(days=2))


def test_status_says_what_stands_in_the_reply(stub, provider):
    stub.say(RETRIEVE, 200, batch(processing_status="canceling", counts={"processing": 9}))
    job = provider.status("msgbatch_1")
    assert (job.state, job.total, job.done, job.failed, job.is_cancelling) == (JobState.RUNNING, 9, None, None, True)
    assert job.at == NOON
    assert job.created_at == datetime(2026, 11, 20, 11, 0, 0, 123456, UTC)
    with pytest.raises(Gone):
        provider.status("msgbatch_2")


@pytest.mark.parametrize(("status", "is_refusal"), [(401, True), (403, True), (429, False), (500, False), (529, False)])
def test_a_poll_that_fails_is_asked_again_later_and_never_says_the_key(stub, provider, status, is_refusal):
    stub.say(RETRIEVE, status, error("some_error", f"your key {KEY} …"))
    with pytest.raises(Unreachable) as caught:
        provider.status("msgbatch_1")
    assert caught.value.is_refusal is is_refusal
    assert KEY not in str(caught.value) and "your key ***" in str(caught.value)
    assert KEY not in repr(provider) and KEY not in provider.account


def test_a_row_never_says_the_key(provider):
    said = {"type": f"odd {KEY}", "message": f"no {KEY}, " + "x" * (485 - len(KEY)) + KEY}
    line = json.dumps({"custom_id": "r", "result": {"type": "errored", "error": {"error": said}}})
    (row,) = provider.decode(line.encode())
    assert row.error_code == "odd ***"
    assert row.error_message.startswith("no ***, xx") and row.error_message.endswith("xx***…")


@pytest.mark.parametrize("where", ["{base}{path}", "{path}", "https://api.example.com{path}", "//127.0.0.1:1{path}"])
def test_results_are_asked_for_at_the_venue_only(stub, provider, tmp_path, where):
    path = RESULTS.removeprefix("GET ")
    stub.say(RETRIEVE, 200, batch(results_url=where.format(base=stub.base_url, path=path)))
    stub.say(RESULTS, 200, LINES)
    (kept,) = provider.fetch("msgbatch_1", tmp_path / "raw")
    assert kept.name == "msgbatch_1.output.jsonl.zst"
    assert content(kept) == LINES
    assert [call.operation for call in stub.calls] == [RETRIEVE, RESULTS]


def test_the_key_does_not_go_along_to_where_the_venue_sends_us(stub, provider, tmp_path):
    with Stub() as other:
        stub.say(RETRIEVE, 200, batch(results_url=RESULTS.removeprefix("GET ")))
        stub.say(RESULTS, 307, location=f"http://localhost:{other.server.server_port}/elsewhere")
        other.say("GET /elsewhere", 200, LINES)
        assert content(provider.fetch("msgbatch_1", tmp_path)[0]) == LINES
        (call,) = other.calls
        assert KEY not in str(call.headers)


def test_results_that_come_short_leave_nothing_and_are_fetched_again(stub, provider, tmp_path):
    stub.say(RETRIEVE, 200, batch(results_url=RESULTS.removeprefix("GET ")))
    stub.say(RESULTS, 200, LINES, cut=True)
    stub.say(RESULTS, 200, LINES)
    with pytest.raises(Unreachable):
        provider.fetch("msgbatch_1", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert content(provider.fetch("msgbatch_1", tmp_path)[0]) == LINES


def test_a_second_look_that_fails_leaves_nothing(stub, provider, tmp_path):
    stub.say(RETRIEVE, 200, batch(results_url=RESULTS.removeprefix("GET "), counts={"succeeded": 5000}))
    stub.say(RESULTS, 200, LINES[:70_000])
    stub.say(RESULTS, 200, LINES, cut=True)
    with pytest.raises(Unreachable):
        provider.fetch("msgbatch_1", tmp_path)
    assert len(stub.asked(RESULTS)) == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("end", [b"\n", b""])
def test_results_with_too_few_lines_are_looked_at_again_and_the_longest_is_kept(stub, provider, tmp_path, end):
    whole = LINES.removesuffix(b"\n") + end
    counts = {"succeeded": 4999, "expired": 1}
    stub.say(RETRIEVE, 200, batch(results_url=RESULTS.removeprefix("GET "), counts=counts))
    for short in (LINES[:70_000], whole, LINES[:90_000], LINES[:95_000], LINES[:80_000]):
        stub.say(RESULTS, 200, short)
    assert content(provider.fetch("msgbatch_1", tmp_path)[0]) == whole
    assert len(stub.asked(RESULTS)) == 2
    (kept,) = provider.fetch("msgbatch_1", tmp_path)
    assert content(kept) == LINES[:95_000]
    assert len(stub.asked(RESULTS)) == 5
    assert list(tmp_path.iterdir()) == [kept]


@pytest.mark.parametrize("url", [None, RESULTS.removeprefix("GET ")])
def test_results_that_are_not_there_are_lost_only_after_the_time_they_are_kept(stub, provider, tmp_path, url):
    stub.say(RETRIEVE, 200, batch(results_url=url))
    stub.now = datetime(2026, 12, 19, 11, 0, 0, tzinfo=UTC)
    with pytest.raises(Unreachable):
        provider.fetch("msgbatch_1", tmp_path)
    stub.now = datetime(2026, 12, 19, 11, 0, 1, tzinfo=UTC)
    with pytest.raises(Gone):
        provider.fetch("msgbatch_1", tmp_path)
    stub.now = NOON
    stub.say(RETRIEVE, 200, batch(results_url=url, archived_at="2026-11-20T11:30:00Z"))
    stub.replies[RETRIEVE].pop(0)
    with pytest.raises(Gone):
        provider.fetch("msgbatch_1", tmp_path)


@pytest.mark.parametrize("counts", [{"expired": 3}, {"canceled": 3}])
def test_a_batch_of_which_nothing_was_answered_may_have_no_results(stub, provider, tmp_path, counts):
    stub.say(RETRIEVE, 200, batch(counts=counts))
    assert provider.fetch("msgbatch_1", tmp_path) == []
    stub.replies.clear()
    stub.say(RETRIEVE, 200, batch(counts=counts | {"errored": 1}))
    with pytest.raises(Unreachable):
        provider.fetch("msgbatch_1", tmp_path)


def test_cancelling_leaves_what_has_ended_as_it_is(stub, provider):
    stub.say(f"POST {BATCHES}/msgbatch_1/cancel", 400, error("invalid_request_error", "has ended"))
    provider.cancel("msgbatch_1")
    with pytest.raises(Gone):
        provider.cancel("msgbatch_2")


def test_the_environment_says_whose_account_and_which_tier(stub):
    with pytest.raises(RunnerError, match="ANTHROPIC_API_KEY"):
        connect({})
    usual = connect({"ANTHROPIC_API_KEY": KEY})
    assert usual.venue == "anthropic"
    assert usual.names_jobs is False and usual.files() == ()
    assert providers.tier_variable("anthropic") == "ANTHROPIC_TIER"
    assert venue_of({"ANTHROPIC_BASE_URL": "https://Gate.example.com/anthropic"}) == "gate.example.com"
    with pytest.raises(RunnerError, match="start, build, scale"):
        connect({"ANTHROPIC_API_KEY": KEY, "ANTHROPIC_TIER": "4"})
    rehearsal = connect({}, base_url=stub.base_url, venue="emulator")
    assert (rehearsal.venue, rehearsal.account) != (usual.venue, usual.account)
    stub.say(RETRIEVE, 200, batch())
    rehearsal.status("msgbatch_1")


CHILD = """
import sys
from pathlib import Path
from runner.providers.anthropic import AnthropicProvider

def peak():
    return int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0]) * 1024

base_url, small, large, folder = sys.argv[1:]
provider = AnthropicProvider(base_url, "k", "anthropic")
provider.create("m", small, "t")
provider.fetch("msgbatch_small", Path(folder))
before = peak()
provider.create("m", large, "t")
provider.fetch("msgbatch_large", Path(folder))
print(peak() - before)
"""


def test_30_mb_there_and_back_in_flat_memory_and_past_a_proxy(stub, tmp_path):
    line = b'{"custom_id":"%s"}\n'
    large = b"".join(line % os.urandom(30_000).hex().encode() for _ in range(500))
    for name, lines in (("small", LINES), ("large", large)):
        (tmp_path / name).write_bytes(lines)
        stub.say(f"GET {BATCHES}/msgbatch_{name}", 200, batch(f"msgbatch_{name}", results_url=f"/{name}"))
        stub.say(f"GET /{name}", 200, lines)
    stub.say(CREATE, 200, batch())
    said = subprocess.run(
        [sys.executable, "-c", CHILD, stub.base_url, str(tmp_path / "small"), str(tmp_path / "large"), str(tmp_path)],
        env={**os.environ, "HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": ""},
        capture_output=True,
        text=True,
    )
    assert said.returncode == 0, said.stderr
    assert len(stub.asked(CREATE)[1].body) == len(large) + 14
    assert content(tmp_path / "msgbatch_large.output.jsonl.zst") == large
    assert int(said.stdout) < 10_000_000, f"{int(said.stdout):,} bytes"
