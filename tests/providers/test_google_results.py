import json
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs

import pytest
import zstandard
from google_words import KEY, NO_FILE, STATUS, batch, error
from stub_anthropic import NOON, Stub

from runner.providers.base import Gone, JobState, KeptFile, Unreachable
from runner.providers.google import GoogleProvider

LIST = "GET /v1/batches"
RESULTS = "GET /v1/files/batch-1:download"
LINES = b"".join(b'{"key":"r%d","error":{"code":13}}\n' % number for number in range(5000))


@pytest.fixture(scope="module")
def served():
    with Stub() as running:
        yield running, GoogleProvider(running.base_url, KEY, "google", timeout_seconds=5.0)


@pytest.fixture
def stub(served):
    served[0].calls.clear()
    served[0].replies.clear()
    served[0].now = NOON
    return served[0]


@pytest.fixture
def provider(served):
    return served[1]


def content(path):
    with zstandard.open(path) as file:
        return file.read()


# Lists


def test_the_whole_list_is_read_however_old_its_jobs_are(stub, provider):
    stub.say(LIST, 200, {"operations": [batch("batches/2", counts=(9, 0, 0))], "nextPageToken": "next"})
    stub.say(LIST, 200, {"operations": [batch(createTime="soon", inputConfig=5)]})
    listing = provider.jobs(NOON + timedelta(days=1))
    assert [(job.provider_job, job.tag, job.file_id, job.total) for job in listing.jobs] == [
        ("batches/2", "tag-1", "files/in", 9),
        ("batches/1", "tag-1", None, 5000),
    ]
    assert listing.at == NOON
    assert [parse_qs(call.query) for call in stub.calls] == [
        {"pageSize": ["100"]},
        {"pageSize": ["100"], "pageToken": ["next"]},
    ]


def test_an_empty_list_is_an_empty_object(stub, provider):
    stub.say(LIST, 200, {})
    stub.say("GET /v1/files", 200, {})
    assert provider.jobs(NOON).jobs == ()
    assert provider.files() == ()


@pytest.mark.parametrize(
    "reply", [{"operations": [batch()], "nextPageToken": "same"}, {"operations": {}}, {"operations": [{}]}, [], b"<"]
)
def test_a_list_that_goes_nowhere_is_no_listing(stub, provider, reply):
    stub.say(LIST, 200, reply)
    with pytest.raises(Unreachable):
        provider.jobs(NOON)


def test_only_files_of_batches_are_told(stub, provider):
    files = [
        {"name": "files/in", "displayName": "tag-1", "mimeType": "application/jsonl", "sizeBytes": "17"},
        {"name": "files/cat", "displayName": "cat", "mimeType": "image/png", "sizeBytes": "17"},
    ]
    stub.say("GET /v1/files", 200, {"files": files})
    assert provider.files() == (KeptFile("files/in", "tag-1", 17, None),)


# Polls


def test_a_poll_is_patient_with_the_moment_only(stub, provider):
    stub.say(STATUS, 503, error(503, "UNAVAILABLE"))
    stub.say(STATUS, 200, batch(state="RUNNING"))
    assert provider.status("batches/1").state is JobState.RUNNING
    assert len(stub.calls) == 2
    with pytest.raises(Gone):
        provider.status("batches/2")
    assert len(stub.calls) == 3


def test_patience_ends(stub, provider):
    stub.say(STATUS, 429, error(429, "RESOURCE_EXHAUSTED"))
    with pytest.raises(Unreachable, match="429"):
        provider.status("batches/1")
    assert len(stub.calls) == 3


@pytest.mark.parametrize(
    ("status", "word", "message", "is_refusal"),
    [
        (400, "INVALID_ARGUMENT", f"API key not valid: {KEY}.", True),
        (401, "UNAUTHENTICATED", f"bad key {KEY}", True),
        (403, "PERMISSION_DENIED", f"bad key {KEY}", True),
        (400, "INVALID_ARGUMENT", f"odd {KEY}", False),
    ],
)
def test_a_poll_that_fails_never_says_the_key(stub, provider, status, word, message, is_refusal):
    stub.say(STATUS, status, error(status, word, message))
    with pytest.raises(Unreachable) as caught:
        provider.status("batches/1")
    assert caught.value.is_refusal is is_refusal
    assert KEY not in str(caught.value) and "***" in str(caught.value)
    assert KEY not in repr(provider) and KEY not in provider.account


def test_jobs_and_rows_never_say_the_key(stub, provider):
    said = {"code": 3, "status": f"ODD {KEY}", "message": f"no {KEY}, " + "x" * (485 - len(KEY)) + KEY}
    stub.say(STATUS, 200, batch(state="FAILED") | {"error": said})
    stub.say(LIST, 200, {"operations": [batch(state="FAILED") | {"error": said}]})
    (row,) = provider.decode(json.dumps({"key": "r", "error": said}).encode())
    told = [(job.error_code, job.error) for job in (provider.status("batches/1"), *provider.jobs(NOON).jobs)]
    for code, sentence in (*told, (row.error_code, row.error_message)):
        assert code == "ODD ***"
        assert sentence.startswith("no ***, xx") and sentence.endswith("xx***…")


@pytest.mark.parametrize("reply", [{}, [], b"<"])
def test_an_odd_poll_is_asked_again_later(stub, provider, reply):
    stub.say(STATUS, 200, reply)
    with pytest.raises(Unreachable):
        provider.status("batches/1")


# Results


def test_results_are_downloaded_and_nothing_else_is_asked_of_their_file(stub, provider, tmp_path):
    stub.say(STATUS, 200, batch())
    stub.say(RESULTS, 200, LINES)
    (kept,) = provider.fetch("batches/1", tmp_path / "raw")
    assert kept.name == "batches_1.output.jsonl.zst"
    assert content(kept) == LINES
    assert [call.operation for call in stub.calls] == [STATUS, RESULTS]
    assert stub.calls[1].query == "alt=media"


def test_results_that_come_short_leave_nothing_and_are_fetched_again(stub, provider, tmp_path):
    stub.say(STATUS, 200, batch())
    stub.say(RESULTS, 200, LINES, cut=True)
    stub.say(RESULTS, 200, LINES)
    with pytest.raises(Unreachable):
        provider.fetch("batches/1", tmp_path)
    assert list(tmp_path.iterdir()) == []
    assert content(provider.fetch("batches/1", tmp_path)[0]) == LINES


@pytest.mark.parametrize("end", [b"\n", b"", b"\r\n"])
@pytest.mark.parametrize("short", [LINES[:70_000], LINES[:-3], LINES[: LINES.index(b"\n") + 1]])
def test_results_that_seem_short_are_looked_at_again(stub, provider, tmp_path, short, end):
    whole = LINES.removesuffix(b"\n") + end
    stub.say(STATUS, 200, batch(counts=(5000, 4998, 2)))
    for reply in (short, whole):
        stub.say(RESULTS, 200, reply)
    assert content(provider.fetch("batches/1", tmp_path)[0]) == whole
    assert len(stub.asked(RESULTS)) == 2


def test_of_results_that_stay_short_the_longest_is_kept(stub, provider, tmp_path):
    stub.say(STATUS, 200, batch())
    for size in (90_000, 95_000, 80_000):
        stub.say(RESULTS, 200, LINES[:size])
    (kept,) = provider.fetch("batches/1", tmp_path)
    assert content(kept) == LINES[:95_000]
    assert list(tmp_path.iterdir()) == [kept]


def test_the_key_does_not_go_along_to_where_the_venue_sends_us(stub, provider, tmp_path):
    with Stub() as other:
        stub.say(STATUS, 200, batch())
        stub.say(RESULTS, 307, location=f"http://localhost:{other.server.server_port}/elsewhere")
        other.say("GET /elsewhere", 200, LINES)
        assert content(provider.fetch("batches/1", tmp_path)[0]) == LINES
        (call,) = other.calls
        assert KEY not in str(call.headers)


@pytest.mark.parametrize(("hops", "arrives"), [(3, True), (4, False)])
def test_a_download_is_sent_on_three_times_at_most_and_the_key_stays_at_home(stub, provider, tmp_path, hops, arrives):
    with Stub() as other:
        elsewhere = f"http://localhost:{other.server.server_port}"
        stub.say(STATUS, 200, batch())
        stub.say(RESULTS, 302, location="/hop1")
        stub.say("GET /hop1", 302, location=f"{elsewhere}/hop2")
        other.say("GET /hop2", 302, location=f"{elsewhere}/hop3")
        other.say("GET /hop3", *((200, LINES) if hops == 3 else (302,)), location=f"{elsewhere}/hop4")
        other.say("GET /hop4", 200, LINES)
        if arrives:
            assert content(provider.fetch("batches/1", tmp_path)[0]) == LINES
        else:
            with pytest.raises(Unreachable):
                provider.fetch("batches/1", tmp_path)
        assert stub.asked("GET /hop1")[0].headers["x-goog-api-key"] == KEY
        assert [call.operation for call in other.calls] == ["GET /hop2", "GET /hop3"]
        assert KEY not in "".join(str(call.headers) for call in other.calls)


@pytest.mark.parametrize("place", ["output", "response"])
def test_results_that_come_inline_are_kept_as_lines(stub, provider, tmp_path, place):
    entries = [{"response": {"candidates": []}, "metadata": {"key": "r1"}}, {"error": {"code": 3}}]
    inline = {"inlinedResponses": {"inlinedResponses": entries}}
    operation = batch(output=inline if place == "output" else None)
    stub.say(STATUS, 200, operation | ({"response": inline} if place == "response" else {}))
    (kept,) = provider.fetch("batches/1", tmp_path)
    lines = content(kept).split(b"\n")
    assert [json.loads(line) for line in lines[:-1]] == entries and lines[-1] == b""
    (row,) = provider.decode(lines[0])
    assert row.request_id == "r1"


@pytest.mark.parametrize("state", ["EXPIRED", "FAILED", "CANCELLED"])
def test_a_job_that_ended_with_nothing_has_no_results(stub, provider, tmp_path, state):
    stub.say(STATUS, 200, batch(state=state, output=None))
    assert provider.fetch("batches/1", tmp_path) == []


def test_what_a_cancelled_job_has_answered_is_fetched(stub, provider, tmp_path):
    stub.say(STATUS, 200, batch(state="CANCELLED", counts=(9000, 5000, 0)))
    stub.say(RESULTS, 200, LINES)
    assert content(provider.fetch("batches/1", tmp_path)[0]) == LINES


def test_results_that_are_not_named_yet_are_fetched_later(stub, provider, tmp_path):
    stub.say(STATUS, 200, batch(output=None, endTime="2026-11-20T11:59:00Z"))
    with pytest.raises(Unreachable, match="yet"):
        provider.fetch("batches/1", tmp_path)


@pytest.mark.parametrize(("status", "word", "message"), [(404, "NOT_FOUND", "no"), (403, "PERMISSION_DENIED", NO_FILE)])
def test_results_are_lost_only_after_the_time_they_are_kept(stub, provider, tmp_path, status, word, message):
    stub.say(STATUS, 200, batch())
    stub.say(RESULTS, status, error(status, word, message))
    stub.now = datetime(2027, 1, 1, 11, 29, 59, tzinfo=UTC)
    with pytest.raises(Unreachable):
        provider.fetch("batches/1", tmp_path)
    stub.now = datetime(2027, 1, 1, 11, 30, tzinfo=UTC)
    with pytest.raises(Gone):
        provider.fetch("batches/1", tmp_path)
