import json
import subprocess
import sys

import pytest
from google_words import KEY, MODEL, NO_FILE, STATUS, batch, error
from stub_anthropic import NOON, Stub

from runner import providers
from runner.errors import RunnerError
from runner.providers.base import Gone, NotCreated, Unclear, Unreachable
from runner.providers.google import GoogleProvider, connect, venue_of

CREATE = f"POST /v1/models/{MODEL}:batchGenerateContent"
START = "POST /upload/v1/files"
LINES = b'{"key":"r1","request":{}}\n' * 100


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


@pytest.fixture
def batch_file(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_bytes(LINES)
    return path


# Uploads


def receives(stub, *, state="ACTIVE", **fields):
    """The stub takes an upload."""
    stub.say(START, 200, **{"x-goog-upload-url": f"{stub.base_url}/session?id=1", "x-goog-upload-status": "active"})
    file = {"name": "files/in", "state": state, **fields}
    stub.say("POST /session", 200, {"file": file}, **{"x-goog-upload-status": "final"})
    stub.say("GET /v1/files/in", 200, file)


def test_a_file_is_sent_by_the_resumable_protocol_and_the_key_only_to_its_start(stub, provider, batch_file):
    receives(stub)
    assert provider.upload(batch_file, "tag-1") == "files/in"
    start, chunk, _ = stub.calls
    assert json.loads(start.body)["file"]["display_name"] == "tag-1"
    assert start.headers["x-goog-upload-protocol"] == "resumable"
    assert start.headers["x-goog-upload-header-content-type"] == "application/jsonl"
    assert start.headers["x-goog-upload-header-content-length"] == str(len(LINES))
    assert chunk.body == LINES
    assert chunk.headers["x-goog-upload-command"] == "upload, finalize"
    assert start.headers["x-goog-api-key"] == KEY
    assert KEY not in str(chunk.headers)


def test_a_file_that_is_being_processed_is_waited_for(stub, provider, batch_file):
    receives(stub, state="PROCESSING")
    stub.say("GET /v1/files/in", 200, {"name": "files/in", "state": "ACTIVE"})
    assert provider.upload(batch_file, "tag-1") == "files/in"
    assert len(stub.asked("GET /v1/files/in")) == 2


def test_a_file_that_cannot_be_processed_is_refused(stub, provider, batch_file):
    receives(stub, state="FAILED", error={"code": 3, "message": f"no JSON, {KEY}"})
    with pytest.raises(NotCreated, match=r"no JSON, \*\*\*"):
        provider.upload(batch_file, "tag-1")


@pytest.mark.parametrize(
    ("status", "reply", "expected"),
    [
        (400, error(400, "INVALID_ARGUMENT"), NotCreated),
        (413, b"<html>", NotCreated),
        (400, error(400, "INVALID_ARGUMENT", "API key not valid."), Unreachable),
        (403, error(403, "PERMISSION_DENIED"), Unreachable),
        (429, error(429, "RESOURCE_EXHAUSTED"), Unreachable),
        (503, error(503, "UNAVAILABLE"), Unreachable),
        (200, b"", Unreachable),
    ],
)
def test_what_keeps_a_file_from_being_sent(stub, provider, batch_file, status, reply, expected):
    stub.say(START, status, reply)
    with pytest.raises(expected):
        provider.upload(batch_file, "tag-1")


@pytest.mark.parametrize("reply", [{}, {"file": None}, {"file": {}}, [], b"<"])
def test_an_odd_reply_to_an_upload_is_no_upload(stub, provider, batch_file, reply):
    stub.say(START, 200, **{"x-goog-upload-url": f"{stub.base_url}/session", "x-goog-upload-status": "active"})
    stub.say("POST /session", 200, reply, **{"x-goog-upload-status": "final"})
    with pytest.raises(Unreachable):
        provider.upload(batch_file, "tag-1")


# Creates


def test_a_job_is_made_of_the_file_under_our_tag(stub, provider):
    stub.say(CREATE, 200, batch(state="FROM_THE_FUTURE"))
    assert provider.create(MODEL, "files/in", "tag-1") == "batches/1"
    (call,) = stub.calls
    assert json.loads(call.body) == {"batch": {"displayName": "tag-1", "inputConfig": {"fileName": "files/in"}}}
    assert call.headers["x-goog-api-key"] == KEY


@pytest.mark.parametrize("status", [408, 409, 499, 500, 502, 503, 504, 307, 201])
def test_what_may_have_left_a_job_is_unclear_and_was_sent_once(stub, provider, status):
    stub.say(CREATE, status, error(status, "SOMEHOW"), location=f"{stub.base_url}/elsewhere")
    with pytest.raises(Unclear, match=str(status)):
        provider.create(MODEL, "files/in", "tag-1")
    assert len(stub.calls) == 1


@pytest.mark.parametrize("reply", [b"<html>", b"[]", b'{"name":null}', b""])
def test_an_answer_that_cannot_be_read_is_unclear(stub, provider, reply):
    stub.say(CREATE, 200, reply)
    with pytest.raises(Unclear):
        provider.create(MODEL, "files/in", "tag-1")
    assert len(stub.calls) == 1


def test_a_lost_answer_is_unclear(stub):
    stub.say(CREATE, 200, batch(), cut=True)
    stub.say(CREATE, 0)
    provider = GoogleProvider(stub.base_url, KEY, "google", timeout_seconds=0.3)
    for _ in range(2):
        with pytest.raises(Unclear):
            provider.create(MODEL, "files/in", "tag-1")
    assert len(stub.calls) == 2


def test_a_create_that_found_nobody_was_not_sent():
    with Stub() as plain:
        for url in ("http://127.0.0.1:9", "http://nowhere.invalid", plain.base_url.replace("http", "https")):
            with pytest.raises(Unreachable, match="The connection to google failed"):
                GoogleProvider(url, KEY, "google").create(MODEL, "files/in", "tag-1")
    assert plain.calls == []


def test_a_create_that_came_too_early_may_come_again(stub, provider):
    stub.say(CREATE, 425, error(425, "SOMEHOW"))
    with pytest.raises(NotCreated) as caught:
        provider.create(MODEL, "files/in", "tag-1")
    assert (caught.value.retry_later, caught.value.is_full) == (True, False)
    assert len(stub.calls) == 1


NOT_READY = "The File x1 is not in an ACTIVE state and usage is not allowed."
NO_MODEL = "models/gemini-0 is not found for API version v1, or is not supported for batchGenerateContent."
QUOTA = "You exceeded your current quota, please check your plan and billing details."
SPENT = "Your project has exceeded its monthly spending cap."


@pytest.mark.parametrize(
    ("status", "word", "message", "code", "waits", "is_full"),
    [
        (400, "INVALID_ARGUMENT", "Error on line 1: no such field: 'n'", "INVALID_ARGUMENT", False, False),
        (400, "FAILED_PRECONDITION", NOT_READY, "FAILED_PRECONDITION", True, False),
        (403, "PERMISSION_DENIED", NO_FILE, "PERMISSION_DENIED", True, False),
        (404, "NOT_FOUND", "Requested entity was not found.", "NOT_FOUND", True, False),
        (404, "NOT_FOUND", NO_MODEL, "NOT_FOUND", False, False),
        (429, "RESOURCE_EXHAUSTED", QUOTA, "RESOURCE_EXHAUSTED", True, True),
        (429, "RESOURCE_EXHAUSTED", SPENT, "billing_hard_limit_reached", False, False),
        (429, "RESOURCE_EXHAUSTED", "Your prepayment credits are depleted.", "insufficient_quota", False, False),
        (401, "UNAUTHENTICATED", "no", "billing_not_active", False, False),
        (403, "PERMISSION_DENIED", "no", "billing_not_active", False, False),
        (400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid one.", "billing_not_active", False, False),
    ],
)
def test_a_clear_no_is_told_in_the_words_of_the_provider(stub, provider, status, word, message, code, waits, is_full):
    stub.say(CREATE, status, error(status, word, f"{message} {KEY}"))
    with pytest.raises(NotCreated) as caught:
        provider.create(MODEL, "files/in", "tag-1")
    refusal = caught.value
    assert (refusal.code, refusal.retry_later, refusal.is_full) == (code, waits, is_full)
    assert message in refusal.sentence and str(status) in refusal.sentence
    assert KEY not in refusal.sentence
    assert len(stub.calls) == 1


ODD = [b"", b"<html>", b'{"error":7}', b'{"error":{"code":[],"message":{}}}', b"[[]]", b"{\xff\xe9}", b"[" * 99_999]


@pytest.mark.parametrize("body", ODD)
def test_an_odd_refusal_is_a_refusal_all_the_same(stub, provider, body):
    stub.say(CREATE, 422, body)
    with pytest.raises(NotCreated, match="no reason given"):
        provider.create(MODEL, "files/in", "tag-1")


# The rest


def test_cancelling_leaves_what_has_ended_as_it_is(stub, provider):
    stub.say("POST /v1/batches/1:cancel", 400, error(400, "FAILED_PRECONDITION"))
    provider.cancel("batches/1")
    with pytest.raises(Gone):
        provider.cancel("batches/2")


def test_a_file_that_cannot_be_deleted_is_no_error(stub, provider):
    stub.say("DELETE /v1/files/in", 200, {})
    for name in ("files/in", "files/none"):
        provider.discard(name)
    assert len(stub.calls) == 2


def test_the_environment_says_whose_account_and_which_tier(stub):
    with pytest.raises(RunnerError, match="GEMINI_API_KEY"):
        connect({})
    usual = connect({"GEMINI_API_KEY": KEY, "GOOGLE_API_KEY": "other"})
    assert (usual.venue, usual.names_jobs) == ("google", True)
    assert usual.account == connect({"GEMINI_API_KEY": KEY}).account != connect({"GOOGLE_API_KEY": "other"}).account
    limits = usual.limits(MODEL)
    assert (limits.queue_tokens, limits.max_jobs) == (3_000_000, 100)
    assert limits.max_bytes < 2_000_000_000
    assert connect({"GEMINI_API_KEY": KEY, "GEMINI_TIER": "3"}).limits(MODEL).queue_tokens == 1_000_000_000
    assert providers.tier_variable("google") == "GEMINI_TIER"
    with pytest.raises(RunnerError, match="1, 2, 3"):
        connect({"GEMINI_API_KEY": KEY, "GEMINI_TIER": "4"})
    elsewhere = {"GOOGLE_GEMINI_BASE_URL": "https://Gate.example.com/gemini", "GEMINI_API_KEY": KEY}
    assert venue_of(elsewhere) == connect(elsewhere).venue == "gate.example.com"
    assert connect(elsewhere).limits(MODEL).queue_tokens is None
    rehearsal = connect({}, base_url=stub.base_url, venue="emulator")
    assert (rehearsal.venue, rehearsal.account) != (usual.venue, usual.account)
    stub.say(STATUS, 200, batch())
    rehearsal.status("batches/1")


def test_nothing_is_said_of_keys_in_the_environment_that_are_not_taken(stub, batch_file):
    lines = (
        "import os, sys",
        "os.environ.update(GOOGLE_API_KEY='one', GEMINI_API_KEY='two', GOOGLE_GENAI_USE_VERTEXAI='true')",
        "from runner.providers.google import connect",
        "assert 'google.genai' not in sys.modules",
        "provider = connect(dict(os.environ, GEMINI_API_KEY='three', GOOGLE_GEMINI_BASE_URL=sys.argv[1]))",
        "provider.upload(__import__('pathlib').Path(sys.argv[2]), 'tag')",
    )
    receives(stub)
    command = [sys.executable, "-c", "\n".join(lines), stub.base_url, str(batch_file)]
    done = subprocess.run(command, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert stub.calls[0].headers["x-goog-api-key"] == "three"
