"""Who answers, with which key and limits; what the hosts' own words mean."""

import json
import threading
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers import connect, venue_of
from runner.providers.base import JobState, NotCreated, Unreachable
from runner.providers.openai_jobs import read_job
from runner.request import Body, Message, RequestId, Status

NOON = datetime(2026, 11, 21, 12, tzinfo=UTC)
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
KEY = "gsk-hush0123456789"
KEYS = {
    "groq": "GROQ_API_KEY",
    "nebius": "NEBIUS_API_KEY",
    "deepinfra": "DEEPINFRA_API_KEY",
    "together": "TOGETHER_API_KEY",
    "qwen": "DASHSCOPE_API_KEY",
    "mistral": "MISTRAL_API_KEY",
}


@pytest.mark.parametrize("name", KEYS)
def test_a_host_is_its_own_venue_at_home_and_another_elsewhere(name):
    env = {KEYS[name]: KEY, "OPENAI_BASE_URL": "http://gpu.example/v1", "OPENAI_API_KEY": "sk-other"}
    assert venue_of(name, env) == connect(name, env).venue == name
    moved = env | {KEYS[name].replace("_API_KEY", "_BASE_URL"): "http://me:hush@gpu.example:9/v1"}
    assert venue_of(name, moved) == connect(name, moved).venue == f"{name}@gpu.example:9", (
        "one gateway may stand for several"
    )
    assert connect(name, env).account != connect(name, env | {KEYS[name]: KEY + "x"}).account
    assert "hush" not in repr(connect(name, moved)) + connect(name, moved).account


@pytest.mark.parametrize(
    ("name", "url"),
    [
        ("together", "https://api.together.ai/v1"),
        ("nebius", "https://api.studio.nebius.com/v1/"),
        ("groq", "https://api.groq.com:443/openai/v1"),
    ],
)
def test_a_service_with_two_names_is_one_venue(name, url):
    assert venue_of(name, {f"{name.upper()}_BASE_URL": url}) == name


def test_the_mainland_of_qwen_is_another_venue():
    mainland = "https://dashscope.aliyuncs.com/compatible-mode/v1"
    assert venue_of("qwen", {"DASHSCOPE_BASE_URL": mainland}) == "qwen@dashscope.aliyuncs.com"


@pytest.mark.parametrize("name", KEYS)
def test_a_missing_key_is_named(name):
    with pytest.raises(RunnerError, match=rf"{KEYS[name]}.*EMULATE=1"):
        connect(name, {"OPENAI_API_KEY": KEY})


@pytest.mark.parametrize("name", KEYS)
def test_a_base_url_that_is_none_is_said_by_its_variable_without_its_password(name):
    variable = KEYS[name].replace("_API_KEY", "_BASE_URL")
    with pytest.raises(RunnerError, match=variable) as caught:
        venue_of(name, {variable: "http://me:hush@host:port/v1"})
    assert "hush" not in str(caught.value)


def test_either_key_of_deepinfra():
    one, other = (connect("deepinfra", {name: KEY}) for name in ("DEEPINFRA_API_KEY", "DEEPINFRA_TOKEN"))
    assert one.account == other.account


@pytest.mark.parametrize(
    ("name", "requests", "megabytes"),
    [
        ("groq", 50_000, 100),
        ("nebius", 5_000_000, 10_000),
        ("deepinfra", 50_000, 200),
        ("together", 50_000, 100),
        ("qwen", 50_000, 500),
        ("mistral", 100_000, 512),
    ],
)
def test_documented_limits(name, requests, megabytes):
    limits = connect(name, {KEYS[name]: KEY}).limits("some-model")
    assert limits.max_requests == requests
    assert megabytes * 0.98e6 < limits.max_bytes < megabytes * 1e6
    assert limits.max_jobs == (500 if name == "nebius" else None)
    assert limits.queue_tokens == (30_000_000_000 if name == "together" else None)
    assert limits.queue_requests == (1_000_000 if name == "mistral" else None)
    assert limits.max_line_bytes == (6_000_000 if name == "qwen" else None)


@pytest.mark.parametrize(
    ("name", "keys"),
    [
        ("groq", {"custom_id", "method", "url", "body"}),
        ("together", {"custom_id", "body"}),
        ("mistral", {"custom_id", "body"}),
    ],
)
def test_lines_carry_what_the_host_knows(name, keys):
    provider = connect(name, {KEYS[name]: KEY})
    line = json.loads(provider.encode(RequestId("r1"), "some-model", Body((Message("user", "Hi\u2028"),), 7)))
    assert line.keys() == keys
    assert line["body"]["messages"] == [{"role": "user", "content": "Hi\u2028"}]
    assert line["body"].get("model") == (None if name == "mistral" else "some-model")
    assert line["body"]["temperature"] == 0


@pytest.mark.parametrize(
    ("word", "state"),
    [
        ("COMPLETED", JobState.COMPLETED),
        ("succeeded", JobState.COMPLETED),
        ("canceled", JobState.CANCELLED),
        ("CANCELED", JobState.CANCELLED),
        ("CANCELLED", JobState.CANCELLED),
        ("EXPIRED", JobState.EXPIRED),
        ("FAILED", JobState.FAILED),
        ("IN_PROGRESS", JobState.RUNNING),
        ("VALIDATING", JobState.RUNNING),
        ("queued", JobState.RUNNING),
        (None, JobState.RUNNING),
    ],
)
def test_states_in_other_words(word, state):
    assert read_job({"id": "j", "status": word, "output_file_id": "f"}, NOON).state is state


TOGETHER_JOB = {
    "id": "01234567-8901",
    "input_file_id": "file-in",
    "status": "COMPLETED",
    "created_at": "2026-11-21T09:00:00Z",
    "completed_at": "2026-11-21T12:30:00+01:00",
    "progress": 100.0,
    "output_file_id": "file-out",
}


def test_a_job_of_together():
    job = read_job(TOGETHER_JOB, NOON)
    assert (job.state, job.file_id, job.tag, job.total, job.done) == (JobState.COMPLETED, "file-in", None, None, None)
    assert job.created_at == NOON - timedelta(hours=3)
    assert job.retain_until == NOON - timedelta(minutes=30) + timedelta(days=30)


def test_where_nothing_is_counted_an_end_without_files_is_too_early():
    bare = TOGETHER_JOB | {"output_file_id": None}
    assert read_job(bare, NOON - timedelta(minutes=20)).state is JobState.RUNNING
    assert read_job(bare, NOON).state is JobState.COMPLETED
    assert read_job(bare | {"error_file_id": "e"}, NOON - timedelta(minutes=20)).state is JobState.COMPLETED
    failed = read_job(bare | {"status": "FAILED", "error": "no model"}, NOON - timedelta(minutes=20))
    assert (failed.state, failed.error) == (JobState.FAILED, "no model")


@given(st.text() | st.integers() | st.none() | st.lists(st.text()))
def test_odd_times_are_absent(value):
    assert read_job(TOGETHER_JOB | {"created_at": value}, NOON).provider_job == "01234567-8901"


def line_of(message, finish_reason="stop"):
    usage = {"prompt_tokens": 9, "completion_tokens": 70}
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish_reason}
    body = {"model": "m", "choices": [choice], "usage": usage}
    return json.dumps({"custom_id": "r", "response": {"status_code": 200, "body": body}}).encode()


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>The user may like it.</think>\n\nyes"},
        {"content": "yes", "reasoning_content": "The user may like it."},
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "The user may like it."}]},
                {"type": "text", "text": "yes"},
            ]
        },
    ],
)
@pytest.mark.parametrize("name", KEYS)
def test_however_thoughts_come_the_answer_is_without_them_and_paid_as_told(name, message):
    (row,) = connect(name, {KEYS[name]: KEY}).decode(line_of(message))
    assert (row.text, row.status) == ("yes", Status.OK)
    assert (row.input_tokens, row.output_tokens) == (9, 70)


@pytest.mark.parametrize(
    ("reason", "status"),
    [("stop", Status.OK), ("length", Status.TRUNCATED), ("model_length", Status.TRUNCATED), ("error", Status.FAILED)],
)
def test_how_an_answer_of_mistral_ended(reason, status):
    (row,) = connect("mistral", {"MISTRAL_API_KEY": KEY}).decode(line_of({"content": "ye"}, reason))
    assert row.status is status


def test_an_error_line_of_together_is_read():
    provider = connect("together", {"TOGETHER_API_KEY": KEY})
    line = {"custom_id": "r", "error": {"message": "Invalid model specified", "code": "invalid_model"}}
    (row,) = provider.decode(json.dumps(line).encode())
    assert (row.status, row.error_code) == (Status.FAILED, "invalid_model")
    assert row.error_message == "Invalid model specified"


class Recorder:
    """A server that answers everything with one body, and keeps what it was asked."""

    def __init__(self, reply, status=200):
        self.asked = []
        recorder = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                self.rfile.read(int(self.headers.get("Content-Length") or 0))
                recorder.asked.append((self.path, dict(self.headers)))
                body = json.dumps(reply).encode()
                self.send_response_only(status)
                self.send_header("retry-after-ms", "1")
                self.send_header("Date", format_datetime(NOON, usegmt=True))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            do_POST = do_GET  # noqa: N815

            def log_message(self, *words):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *ending):
        self.server.shutdown()
        self.server.server_close()

    def connect(self, name):
        return connect(name, {}, base_url=f"http://127.0.0.1:{self.server.server_port}", venue="emulator")


def entries(n):
    return [{"id": f"batch_{number}", "status": "completed", "created_at": 1_795_000_000} for number in range(n)]


@pytest.mark.parametrize(
    ("name", "reply"),
    [("groq", {"object": "list", "data": entries(150)}), ("together", entries(150))],
)
def test_a_list_without_pages_is_read_once_and_whole(name, reply):
    with Recorder(reply) as server:
        assert len(server.connect(name).jobs(LONG_AGO).jobs) == 150
        assert len(server.asked) == 1


@pytest.mark.parametrize("name", ["nebius", "deepinfra", "qwen", "mistral"])
def test_a_list_that_gives_the_same_page_for_ever_is_no_list(name):
    with Recorder({"data": entries(100), "has_more": True}) as server, pytest.raises(Unreachable):
        server.connect(name).jobs(LONG_AGO)


@pytest.mark.parametrize("name", ["nebius", "deepinfra", "qwen"])
def test_a_short_list_from_a_server_without_cursors_is_whole(name):
    with Recorder({"object": "list", "data": entries(99)}) as server:
        assert len(server.connect(name).jobs(LONG_AGO).jobs) == 99
    with Recorder({"object": "list", "data": entries(100)}) as server, pytest.raises(Unreachable):
        server.connect(name).jobs(LONG_AGO)


def test_together_says_where_the_very_same_file_is_already(tmp_path):
    path = tmp_path / "batch.jsonl"
    path.write_bytes(b"{}\n")
    with Recorder({"file_id": "file-known", "error": {"message": "It exists."}}, 409) as server:
        assert server.connect("together").upload(path, "t") == "file-known"
        assert {asked for asked, _ in server.asked} == {"/v1/files/upload"}
    with Recorder({"error": {"message": "A conflict."}}, 409) as server, pytest.raises(Unreachable, match="A conflict"):
        server.connect("together").upload(path, "t")


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        ({"detail": "Not for you"}, "Not for you"),
        (
            {"detail": [{"loc": ["body", "model"], "msg": "Field required"}, {"msg": "and more"}]},
            "Field required and more",
        ),
        (
            {"object": "error", "message": "Invalid model", "type": "invalid_model", "code": 1500},
            r"Invalid model \(1500\)",
        ),
        ({"object": "error", "message": {"detail": [{"msg": "Extra inputs"}]}}, "Extra inputs"),
        ([], "no reason given"),
    ],
)
def test_a_refusal_is_told_in_the_words_of_the_host(reply, words):
    with Recorder(reply, 422) as server, pytest.raises(NotCreated, match=words) as caught:
        server.connect("mistral").create("m", "f", "t")
    assert caught.value.retry_later is False


@pytest.mark.parametrize("name", KEYS)
def test_no_other_host_learns_of_an_organisation_at_openai(name, monkeypatch):
    monkeypatch.setenv("OPENAI_ORG_ID", "org-hush")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-hush")
    with Recorder({"object": "list", "data": [], "total": 0, "has_more": False}) as server:
        server.connect(name).files()
        assert server.asked
        assert not any("hush" in value for _, headers in server.asked for value in headers.values())
