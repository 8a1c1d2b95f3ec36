"""What Azure does otherwise than OpenAI, as its documentation and its users' threads show it."""

from datetime import UTC, datetime, timedelta

import pytest
from stub_openai import Stub

from runner.errors import RunnerError
from runner.providers import connect, venue_of
from runner.providers.base import JobState, NotCreated
from runner.providers.lines import read_lines
from runner.providers.openai import OpenAIProvider
from runner.providers.openai_hosts import AZURE, ELSEWHERE, OPENAI
from runner.providers.openai_jobs import read_job
from runner.providers.openai_lines import decode_line
from runner.request import Status

KEY = "azure-hush0123456789"
URL = "https://Lab.openai.azure.com/openai/v1/"
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
FULL = (
    "The number of enqueued tokens has surpassed the configured limit of 30K for the deployment 'gpt-4.1-batch'. "
    "Please either increase the limit or try again once the current jobs have finished."
)


@pytest.fixture
def stub():
    with Stub() as running:
        yield running


def test_the_resource_is_the_venue_and_has_its_own_key():
    env = {"OPENAI_BASE_URL": URL, "OPENAI_API_KEY": "one"}
    assert venue_of("openai", env) == "lab.openai.azure.com"
    both = connect("openai", env | {"AZURE_OPENAI_API_KEY": "two"})
    assert both.account == connect("openai", {"OPENAI_BASE_URL": URL, "AZURE_OPENAI_API_KEY": "two"}).account
    assert both.account == connect("openai", {"OPENAI_BASE_URL": URL, "OPENAI_API_KEY": "two"}).account
    assert both.account != connect("openai", env).account
    assert both.limits("our-deployment").queue_tokens is None
    with pytest.raises(RunnerError, match="AZURE_OPENAI_API_KEY"):
        connect("openai", {"OPENAI_BASE_URL": URL})


def test_its_key_goes_nowhere_else():
    with pytest.raises(RunnerError, match=r"^OPENAI_API_KEY"):
        connect("openai", {"AZURE_OPENAI_API_KEY": "two"})


@pytest.mark.parametrize("path", ["", "/", "/openai", "/openai/deployments/x", "/v1"])
def test_a_url_that_is_not_of_the_v1_api_is_mended_in_the_sentence(path):
    env = {"OPENAI_BASE_URL": f"https://lab.openai.azure.com{path}", "OPENAI_API_KEY": KEY}
    with pytest.raises(RunnerError, match=r"set it to https://lab\.openai\.azure\.com/openai/v1\."):
        connect("openai", env)


def test_every_file_there_gets_an_end(stub, tmp_path):
    path = tmp_path / "in.jsonl"
    path.write_bytes(b'{"custom_id":"r","body":{"messages":[{"content":"x"}]}}\n')
    provider = OpenAIProvider(stub.base_url, KEY, "lab.openai.azure.com", tier=None, host=AZURE)
    file_id = provider.upload(path, "t")
    card = stub.files[file_id][0]
    assert card["expires_at"] - card["created_at"] == 14 * 24 * 3600
    batch = stub.batches[provider.create("our-deployment", file_id, "t")]
    assert batch["output_expires_after"] == {"anchor": "created_at", "seconds": 30 * 24 * 3600}


def test_a_server_that_only_speaks_the_dialect_is_sent_no_such_field(stub, tmp_path):
    stub.knows_expiry = False
    path = tmp_path / "in.jsonl"
    path.write_bytes(b"{}\n")
    with pytest.raises(NotCreated, match="Unknown form field"):
        OpenAIProvider(stub.base_url, KEY, "openai").upload(path, "t")
    elsewhere = OpenAIProvider(stub.base_url, KEY, "elsewhere", tier=None, host=ELSEWHERE)
    assert elsewhere.upload(path, "t") in stub.files
    by_name = connect("openai", {"OPENAI_BASE_URL": stub.base_url, "OPENAI_API_KEY": KEY})
    assert by_name.upload(path, "t") in stub.files


def test_a_server_of_open_models_may_think_aloud_and_openai_does_not():
    def text(host):
        provider = OpenAIProvider("http://127.0.0.1:9/v1", KEY, "v", host=host)
        choice = b'{"message":{"content":"<think>Hm.</think>Yes."},"finish_reason":"stop"}'
        (row,) = provider.decode(
            b'{"custom_id":"r","response":{"status_code":200,"body":{"choices":[' + choice + b"]}}}"
        )
        return row.text

    assert text(ELSEWHERE) == "Yes."
    assert text(AZURE) == text(OPENAI) == "<think>Hm.</think>Yes."


def test_the_empty_error_file_of_a_good_job_is_no_trouble(stub, tmp_path):
    job = stub.add_batch(
        status="completed",
        completed_at=stub.seconds(),
        output_file_id=stub.add_file(b'{"custom_id":"r"}\n'),
        error_file_id=stub.add_file(b""),
    )["id"]
    provider = OpenAIProvider(stub.base_url, KEY, "lab.openai.azure.com", tier=None, host=AZURE)
    assert [list(read_lines(path)) for path in provider.fetch(job, tmp_path)] == [[b'{"custom_id":"r"}'], []]


def test_a_full_queue_is_said_by_400_and_passes(stub):
    stub.faults["create"] = [f"400|{FULL}|token_limit_exceeded"]
    provider = OpenAIProvider(stub.base_url, KEY, "lab.openai.azure.com", tier=None, host=AZURE)
    with pytest.raises(NotCreated) as caught:
        provider.create("gpt-4.1-batch", "file-x", "t")
    no = caught.value
    assert (no.code, no.retry_later, no.is_full, no.learned_queue_tokens) == (
        "token_limit_exceeded",
        True,
        True,
        30_000,
    )


def test_a_job_in_its_words():
    """States in capitals, moments in ISO 8601, counts that are null, the end of a failure in ``completed_at``."""
    created = "2026-11-20T09:13:57.2491382+00:00"
    counts = {"total": None, "completed": None, "failed": None}
    new = read_job({"id": "b", "status": "Validating", "created_at": created, "request_counts": counts}, NOON)
    assert (new.state, new.total) == (JobState.RUNNING, None)
    assert new.created_at == datetime(2026, 11, 20, 9, 13, 57, 249138, tzinfo=UTC)
    error = {"code": "token_limit_exceeded", "message": FULL, "line": None, "param": None}
    failed = read_job(
        {
            "id": "b",
            "status": "failed",
            "completed_at": int(NOON.timestamp()),
            "failed_at": None,
            "errors": {"object": "list", "data": [error]},
            "request_counts": counts,
        },
        NOON,
    )
    assert (failed.state, failed.error_code, failed.learned_queue_tokens) == (
        JobState.FAILED,
        "token_limit_exceeded",
        30_000,
    )
    assert failed.retain_until == NOON + timedelta(days=30)


@pytest.mark.parametrize("code", ["duplicate_custom_id", "url_mismatch", "model_mismatch", "empty_file"])
def test_its_codes_of_a_refused_file_are_passed_on(code):
    job = read_job({"id": "b", "status": "failed", "errors": {"data": [{"code": code, "message": "No."}]}}, NOON)
    assert (job.state, job.error_code, job.error) == (JobState.FAILED, code, "No.")


def test_a_prompt_that_its_filter_stopped_is_filtered():
    line = b'{"custom_id":"r","response":{"status_code":400,"body":{"error":{"code":"content_filter"}}},"error":null}'
    assert [row.status for row in decode_line(line)] == [Status.FILTERED]
