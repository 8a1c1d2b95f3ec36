"""The whole way at Google, over HTTP, against the emulator, and what becomes of it under each fault."""

import json
import urllib.request
from datetime import UTC, datetime

import pytest

import runner.emulator
from runner.providers import connect
from runner.providers.base import Gone, JobState, NotCreated, Unclear, Unreachable
from runner.providers.lines import read_lines
from runner.request import Body, Message, RequestId, Status

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)
FLASH = "gemini-2.5-flash"


@pytest.fixture(scope="module")
def emulator(tmp_path_factory):
    at = datetime(2026, 11, 20, tzinfo=UTC).date()
    with runner.emulator.start(tmp_path_factory.mktemp("emulator"), clock="auto", tier=1, at=at) as running:
        yield running


@pytest.fixture(scope="module")
def provider(emulator):
    return connect("google", {}, base_url=f"{emulator.base_url}/google", venue="emulator")


@pytest.fixture
def control(emulator):
    def ask(name, body=None):
        data = None if body is None else json.dumps(body).encode()
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(urllib.request.Request(f"{emulator.base_url}/control/{name}", data)) as answer:
            return json.loads(answer.read())

    return ask


@pytest.fixture
def fault(control):
    """Switch faults on until the test ends."""
    put = set()

    def switch(**rates):
        put.update(rates)
        control("faults", rates)

    yield switch
    control("faults", dict.fromkeys(put, 0))


@pytest.fixture
def send(provider, tmp_path):
    """Upload and create a batch of n requests; its job and their ids."""

    def go(prefix, n=5, model=FLASH, effort=None, limit=600):
        ids = [f"{prefix}{number}" for number in range(n)]
        turns = (Message("system", "Be brief."), Message("user", "Is it more than 2? \u2028 Yes or no."))
        lines = [provider.encode(RequestId(one), model, Body(turns, limit, effort=effort)) for one in ids]
        path = tmp_path / f"{prefix}.jsonl"
        path.write_bytes(b"\n".join(lines) + b"\n")
        return provider.create(model, provider.upload(path, f"tag-{prefix}"), f"tag-{prefix}"), set(ids)

    return go


@pytest.fixture
def collect(provider, tmp_path):
    """Poll until the job has ended; the status and the rows."""

    def go(job):
        for _ in range(9):
            status = provider.status(job)
            if status.state.has_ended:
                paths = fetched(job)
                return status, [row for path in paths for line in read_lines(path) for row in provider.decode(line)]
        raise AssertionError("it never ends")

    def fetched(job):
        for _ in range(9):
            try:
                return provider.fetch(job, tmp_path / "raw")
            except Unreachable:
                continue
        raise AssertionError("it never comes")

    return go


@pytest.mark.parametrize(
    ("model", "effort"),
    [
        (FLASH, None),
        ("gemini-2.5-pro", None),
        ("gemini-2.5-pro", "low"),
        ("gemini-2.5-flash-lite", "high"),
        ("gemini-3-flash-preview", "minimal"),
        ("gemini-3.1-pro-preview", None),
        ("gemini-3.5-flash-lite", "medium"),
        ("gemini-3.6-flash", "high"),
        ("gemini-3.8-flash", "low"),
    ],
)
def test_every_model_takes_what_we_send(send, collect, control, model, effort):
    before = len(control("bill")["requests"])
    job, ids = send(f"m{model}{effort}", model=model, effort=effort, limit=30_000)
    status, rows = collect(job)
    assert (status.state, status.total, status.done, status.failed) == (JobState.COMPLETED, 5, 5, 0)
    assert {row.request_id for row in rows} == ids
    assert {row.status for row in rows} == {Status.OK}
    assert all("emulator" in row.model_version for row in rows)
    billed = {each["custom_id"]: each for each in control("bill")["requests"][before:]}
    for row in rows:
        counts = (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens)
        names = ("input_tokens", "cached_tokens", "output_tokens", "reasoning_tokens")
        assert counts == tuple(billed[row.request_id][name] for name in names)


def test_a_job_is_found_by_its_tag_and_its_file(provider, send, collect):
    job, _ = send("found")
    listed = next(each for each in provider.jobs(LONG_AGO).jobs if each.provider_job == job)
    file = next(each for each in provider.files() if each.name == "tag-found")
    assert (listed.tag, listed.file_id, listed.state) == ("tag-found", file.file_id, JobState.RUNNING)
    status, _ = collect(job)
    assert status.created_at is not None and status.retain_until is not None
    assert (status.retain_until - status.at).days >= 41
    provider.discard(file.file_id)
    assert file not in provider.files()
    provider.cancel(job)  # has ended
    with pytest.raises(Gone):
        provider.status("batches/none")


def test_a_lost_answer_is_unclear_and_the_job_is_in_the_list(provider, send, fault):
    fault(create_lost=1.0)
    for number in (1, 2):  # the answer is cut off, or an error
        with pytest.raises(Unclear):
            send(f"lost{number}")
    tags = [job.tag for job in provider.jobs(LONG_AGO).jobs]
    assert tags.count("tag-lost1") == tags.count("tag-lost2") == 1


def test_a_file_that_is_not_ready_and_a_full_queue_may_pass(send, fault):
    fault(file_not_ready=1.0)
    with pytest.raises(NotCreated) as caught:
        send("early")
    assert (caught.value.retry_later, caught.value.is_full) == (True, False)
    fault(file_not_ready=0.0, token_limit_exceeded=1.0)
    with pytest.raises(NotCreated) as caught:
        send("full")
    assert (caught.value.retry_later, caught.value.is_full) == (True, True)
    fault(token_limit_exceeded=0.0, spend_limit=1.0)
    with pytest.raises(NotCreated) as caught:
        send("spent")
    assert (caught.value.retry_later, caught.value.code) == (False, "billing_hard_limit_reached")


@pytest.mark.parametrize(
    "name", ["late_file_ids", "truncated_download", "length_too_small", "length_too_large", "slow_trickle", "crlf",
             "u2028", "lone_surrogate", "duplicate_line"],
)  # fmt: skip
def test_no_answer_is_lost_on_its_way(send, collect, fault, name):
    fault(**{name: 1.0})
    job, ids = send(name, n=9)
    status, rows = collect(job)
    assert status.state is JobState.COMPLETED
    assert {row.request_id for row in rows if row.status is Status.OK} == ids


def test_what_was_not_answered_is_told_apart(send, collect, fault):
    fault(partially_succeeded=1.0)
    job, ids = send("partly", n=10)
    status, rows = collect(job)
    assert status.state is JobState.COMPLETED and status.done + status.failed == 10 and status.failed
    assert {row.request_id for row in rows} == ids
    assert sum(row.status is Status.FAILED for row in rows) == status.failed
    fault(partially_succeeded=0.0, filtered=0.4)
    _, rows = collect(send("blocked", n=10)[0])
    assert sum(row.status is Status.FILTERED for row in rows) == 4
    fault(filtered=0.0, all_failed=1.0)
    status, rows = collect(send("nothing")[0])
    assert (status.state, status.done, {row.status for row in rows}) == (JobState.COMPLETED, 0, {Status.FAILED})


def test_an_expired_and_a_cancelled_job_leave_nothing_and_cost_nothing(provider, send, collect, fault, control):
    before = len(control("bill")["requests"])
    fault(expired_partial=1.0)
    status, rows = collect(send("late")[0])
    assert (status.state, status.error_code, rows) == (JobState.EXPIRED, "DEADLINE_EXCEEDED", [])
    fault(expired_partial=0.0)
    job, _ = send("stopped")
    provider.cancel(job)
    status, rows = collect(job)
    assert (status.state, rows) == (JobState.CANCELLED, [])
    assert len(control("bill")["requests"]) == before


def test_a_file_of_another_shape_is_refused_for_good(provider, tmp_path):
    path = tmp_path / "flat.jsonl"
    path.write_text('{"key":"a","request":{"contents":[],"temperature":0}}\n')
    with pytest.raises(NotCreated, match=r"Error on line 1: .*'temperature'") as caught:
        provider.create(FLASH, provider.upload(path, "flat"), "flat")
    assert caught.value.retry_later is False
    with pytest.raises(NotCreated, match="gemini-0 is not found") as caught:
        provider.create("gemini-0", "files/none", "none")
    assert caught.value.retry_later is False
    with pytest.raises(NotCreated, match="may not exist") as caught:
        provider.create(FLASH, "files/none", "none")
    assert caught.value.retry_later is True
