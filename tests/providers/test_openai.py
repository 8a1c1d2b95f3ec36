import traceback
from datetime import UTC, datetime, timedelta

import pytest
from stub_openai import Stub

from runner.providers.base import Gone, JobState, NotCreated, Unclear, Unreachable
from runner.providers.lines import read_lines
from runner.providers.openai import OpenAIProvider
from runner.request import Body, Message, RequestId, Status

KEY = "sk-proj-hush0123456789"
MODEL = "gpt-4.1-mini"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.fixture
def stub():
    with Stub() as running:
        yield running


@pytest.fixture
def provider(stub):
    return OpenAIProvider(stub.base_url, KEY, "openai", timeout_seconds=1.0)


def shown(error):
    """Whatever a user or a log could see of it."""
    return "".join(traceback.format_exception(error)) + repr(error) + str(vars(error))


def batch_file(provider, folder, n=3):
    path = folder / "batch-0001.jsonl"
    bodies = [Body((Message("user", f"question {number}\u2028"),), 5, n=2) for number in range(n)]
    lines = [provider.encode(RequestId(f"r{number}"), MODEL, body) for number, body in enumerate(bodies)]
    path.write_bytes(b"\n".join(lines) + b"\n")
    return path


def test_the_whole_way_from_file_to_answers(stub, provider, tmp_path):
    path = batch_file(provider, tmp_path)
    file_id = provider.upload(path, "tag-1")
    card, content = stub.files[file_id]
    assert (card["filename"], card["purpose"], content) == ("tag-1.jsonl", "batch", path.read_bytes())
    assert card["expires_at"] - card["created_at"] == 14 * 24 * 3600

    job = provider.create(MODEL, file_id, "tag-1")
    assert stub.batches[job]["metadata"] == {"persona_runner": "tag-1"}
    assert (stub.batches[job]["endpoint"], "output_expires_after" in stub.batches[job]) == ("/v1/chat/completions", 0)
    states = [provider.status(job).state for _ in range(3)]
    assert states == [JobState.RUNNING, JobState.RUNNING, JobState.COMPLETED]
    assert (provider.status(job).total, provider.status(job).done) == (3, 3)

    (result,) = provider.fetch(job, tmp_path / "raw")
    rows = [row for line in read_lines(result) for row in provider.decode(line)]
    assert {(row.request_id, row.choice, row.status) for row in rows} == {
        (f"r{number}", choice, Status.OK) for number in range(3) for choice in (0, 1)
    }
    provider.discard(file_id)
    assert file_id not in stub.files


@pytest.mark.parametrize("fault", ["429", "500", "500 after", "drop"])
def test_an_upload_costs_nothing_and_is_sent_again_whole(stub, provider, tmp_path, fault):
    path = batch_file(provider, tmp_path)
    stub.faults["upload"] = [fault]
    assert stub.files[provider.upload(path, "t")][1] == path.read_bytes()
    assert stub.count("upload") == 2


@pytest.mark.parametrize(
    ("faults", "error"),
    [
        (["400|File is too large."], NotCreated),
        (["413"], NotCreated),
        (["404"], NotCreated),
        (["401"], Unreachable),
        (["429"] * 3, Unreachable),
        (["500"] * 3, Unreachable),
        (["garbage"], Unreachable),
    ],
)
def test_an_upload_that_fails(stub, provider, tmp_path, faults, error):
    stub.faults["upload"] = faults
    with pytest.raises(error):
        provider.upload(batch_file(provider, tmp_path), "t")


@pytest.mark.parametrize(
    "fault",
    ["500", "500 after", "503 after", "drop", "drop after", "hang after", "garbage", "408", "409", "499", "302"],
)
def test_a_create_that_may_have_worked_is_unclear_and_sent_once(stub, provider, fault):
    stub.faults["create"] = [fault]
    with pytest.raises(Unclear) as caught:
        provider.create(MODEL, "file-x", "tag-1")
    assert "hush" not in shown(caught.value)
    assert stub.count("create") == 1
    listing = provider.jobs(LONG_AGO)
    assert len(listing.jobs) == (fault.endswith(" after") or fault == "garbage")


def test_a_job_is_made_for_the_endpoint_of_its_model(stub, provider):
    assert stub.batches[provider.create("gpt-5-pro", "file-x", "t")]["endpoint"] == "/v1/responses"


FULL = "Enqueued token limit reached for gpt-4o in organization o. Limit: 90,000 enqueued tokens."


@pytest.mark.parametrize(
    ("fault", "is_full", "limit"),
    [
        (f"429|{FULL}|token_limit_exceeded", True, 90_000),
        (f"429|{FULL}", True, 90_000),
        ("429|Rate limit reached for batch creation|rate_limit_exceeded", True, None),
        ("429|You exceeded your current quota|insufficient_quota", False, None),
        ("429|Billing hard limit has been reached|billing_hard_limit_reached", False, None),
        ("400|Cannot find file file-x", False, None),
    ],
)
def test_a_full_queue_is_told_from_other_refusals_and_teaches_its_limit(stub, provider, fault, is_full, limit):
    stub.faults["create"] = [fault]
    with pytest.raises(NotCreated) as caught:
        provider.create(MODEL, "file-x", "t")
    assert (caught.value.is_full, caught.value.learned_queue_tokens) == (is_full, limit)


@pytest.mark.parametrize(
    ("fault", "code", "later"),
    [
        ("400|Invalid value.|invalid_value", "invalid_value", False),
        ("401|No such key.|invalid_api_key", "invalid_api_key", False),
        ("403", None, False),
        ("404|No such File object: file-x", None, True),
        ("400|Cannot find file file-x, or organization has no access", None, True),
        ("429|Enqueued token limit reached|token_limit_exceeded", "token_limit_exceeded", True),
        ("429|You exceeded your current quota|insufficient_quota", "insufficient_quota", False),
        ("429|You have no money left|billing_hard_limit_reached", "billing_hard_limit_reached", False),
        ("400|You have no money left|billing_hard_limit_reached", "billing_hard_limit_reached", False),
        ("429|No more this month|a_new_word|insufficient_quota", "a_new_word", False),
    ],
)
def test_a_clear_no_is_not_created_and_sent_once(stub, provider, fault, code, later):
    stub.faults["create"] = [fault]
    with pytest.raises(NotCreated) as caught:
        provider.create(MODEL, "file-x", "t")
    assert stub.count("create") == 1
    assert (caught.value.code, caught.value.retry_later) == (code, later)
    message = fault.split("|")[1] if "|" in fault else "scripted"
    assert message in caught.value.sentence


def test_without_any_connection_nothing_was_sent():
    with Stub() as gone:
        base_url = gone.base_url
    with pytest.raises(Unreachable):
        OpenAIProvider(base_url, KEY, "openai").create(MODEL, "file-x", "t")


def test_the_whole_list_is_read(stub, provider):
    for number in range(250):
        stub.add_batch(metadata={"persona_runner": f"tag-{number // 2}"})
    listing = provider.jobs(LONG_AGO)
    assert len({job.provider_job for job in listing.jobs}) == len(listing.jobs) == 250
    assert {job.provider_job for job in listing.jobs if job.tag == "tag-0"} == {"batch_000000", "batch_000001"}
    assert stub.count("list") == 3


def _made(stub, minutes_ago, tag=None):
    moment = int((NOON - timedelta(minutes=minutes_ago)).timestamp())
    stub.add_batch(created_at=moment, metadata={"persona_runner": tag} if tag else None)


def test_the_list_ends_only_after_a_page_that_is_wholly_too_old(stub, provider):
    _made(stub, 0, "t")  # on the third page, never reached
    for number in range(199):
        _made(stub, 900 - number)
    _made(stub, 0, "t")  # at the end of the first page, after 99 old ones
    for number in range(99):
        _made(stub, 600 - number)
    listing = provider.jobs(NOON - timedelta(hours=1))
    assert [job.provider_job for job in listing.jobs if job.tag == "t"] == ["batch_000200"]
    assert stub.count("list") == 2


def test_a_list_that_begins_with_the_oldest_is_read_to_its_end(stub, provider):
    _made(stub, 0, "t")  # the stub lists the last that was added first
    for number in range(150):
        _made(stub, 600 + number)
    listing = provider.jobs(NOON - timedelta(hours=1))
    assert [job.provider_job for job in listing.jobs if job.tag == "t"] == ["batch_000000"]


def test_the_clock_is_the_date_of_the_last_reply(stub, provider):
    stub.now = NOON
    stub.add_batch(metadata={"persona_runner": "t"})
    assert provider.jobs(LONG_AGO).at == NOON
    assert provider.status("batch_000000").at == NOON
    stub.now = NOON + timedelta(hours=3)
    assert provider.status("batch_000000").at == stub.now


@pytest.mark.parametrize("faults", [["500"] * 3, ["garbage"], ["no date"], ["", "500", "500", "500"], ["401"], ["404"]])
def test_half_a_list_is_no_list(stub, provider, faults):
    for _ in range(150):
        stub.add_batch()
    stub.faults["list"] = faults
    with pytest.raises(Unreachable):
        provider.jobs(LONG_AGO)


def test_a_list_that_does_not_advance_is_no_list(stub, provider):
    for _ in range(3):
        stub.add_batch()
    stub.list = lambda query: {"object": "list", "data": list(stub.batches.values()), "has_more": True}
    with pytest.raises(Unreachable):
        provider.jobs(LONG_AGO)


@pytest.mark.parametrize("faults", [["429"] * 3, ["500"] * 3, ["garbage"], ["no date"], ["401"], ["drop"] * 3])
def test_a_status_that_cannot_be_had_is_no_status(stub, provider, faults):
    stub.add_batch()
    stub.faults["retrieve"] = faults
    with pytest.raises(Unreachable):
        provider.status("batch_000000")


def test_a_status_is_asked_again_by_the_sdk(stub, provider):
    stub.add_batch()
    stub.faults["retrieve"] = ["429", "500"]
    assert provider.status("batch_000000").state is JobState.RUNNING


def test_an_unknown_job_is_gone(stub, provider, tmp_path):
    for ask in (provider.status, provider.cancel, lambda job: provider.fetch(job, tmp_path)):
        with pytest.raises(Gone):
            ask("batch_unknown")


def test_cancel_asks_and_leaves_what_is_over(stub, provider):
    stub.add_batch(status="in_progress")
    provider.cancel("batch_000000")
    assert stub.batches["batch_000000"]["status"] == "cancelling"
    stub.batches["batch_000000"]["status"] = "completed"
    provider.cancel("batch_000000")
    assert stub.batches["batch_000000"]["status"] == "completed"


@pytest.mark.parametrize("fault", ["404", "403"])
def test_a_file_that_cannot_be_deleted_is_no_error(stub, provider, fault):
    stub.faults["delete"] = [fault]
    provider.discard("file-x")
    assert stub.count("delete") == 1


@pytest.mark.parametrize("fault", ["500", "429", "drop"])
def test_a_delete_that_may_work_later_is_asked_again(stub, provider, fault):
    stub.faults["delete"] = [fault] * 3
    with pytest.raises(Unreachable):
        provider.discard("file-x")


ECHO = f"401|Incorrect API key provided: {KEY}.|invalid_api_key"


@pytest.mark.parametrize("fault", [ECHO, "garbage", f"400|{KEY}|{KEY}"])
def test_the_key_is_in_no_error(stub, provider, tmp_path, fault):
    stub.faults.update({operation: [fault] * 3 for operation in ("upload", "create", "list", "retrieve")})
    path = batch_file(provider, tmp_path)
    for ask in (
        lambda: provider.upload(path, "t"),
        lambda: provider.create(MODEL, "file-x", "t"),
        lambda: provider.jobs(LONG_AGO),
        lambda: provider.status("batch_000000"),
    ):
        with pytest.raises((NotCreated, Unclear, Unreachable)) as caught:
            ask()
        assert "hush" not in shown(caught.value)
        assert "openai" in str(caught.value)
