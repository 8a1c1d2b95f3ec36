"""The provider and the emulator, through the real SDK."""

import json
import urllib.request
from contextlib import contextmanager
from datetime import UTC, date, datetime

import pytest

import runner.emulator
from runner.models import all_models
from runner.providers.anthropic import connect
from runner.providers.base import Gone, JobState, NotCreated, Unclear, Unreachable
from runner.providers.lines import read_lines
from runner.request import Body, Message, Status, request_id

MODEL = "claude-sonnet-4-6"
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


class Site:
    """A server, and what it says beside the protocol."""

    def __init__(self, server, folder):
        self.url = server.base_url
        self.folder = folder
        self.provider = connect({}, base_url=f"{server.base_url}/anthropic", venue="emulator")

    def control(self, name, body=None):
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/control/{name}", data)) as reply:
            return json.loads(reply.read())

    @contextmanager
    def fault(self, name, rate=1.0):
        self.control("faults", {name: rate})
        try:
            yield
        finally:
            self.control("faults", {name: 0})

    def create(self, bodies):
        """A batch of ``(model, body)``; its id at the provider and the ids of its requests, in order."""
        ids = [request_id("emulator", model, number, body.to_json()) for number, (model, body) in enumerate(bodies)]
        path = self.folder / "batch.jsonl"
        lines = [self.provider.encode(name, *body) for name, body in zip(ids, bodies, strict=True)]
        path.write_bytes(b"\n".join(lines) + b"\n")
        assert self.provider.upload(path, "tag") is None
        return self.provider.create(MODEL, path, "tag"), ids

    def finish(self, job):
        for _ in range(9):
            status = self.provider.status(job)
            if status.state.has_ended:
                return status
        raise AssertionError("it does not end")

    def rows(self, job):
        lines = [line for path in self.provider.fetch(job, self.folder) for line in read_lines(path)]
        rows = [row for line in lines for row in self.provider.decode(line)]
        assert len(rows) == len({row.request_id for row in rows})
        return {row.request_id: row for row in rows}

    def run(self, bodies):
        job, ids = self.create(bodies)
        self.finish(job)
        rows = self.rows(job)
        return [rows[name] for name in ids]

    def listed(self):
        return [job.provider_job for job in self.provider.jobs(LONG_AGO).jobs]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    with runner.emulator.start(tmp_path_factory.mktemp("state"), clock="auto", plain=True) as server:
        yield Site(server, tmp_path_factory.mktemp("files"))


def say(number=0, **fields):
    messages = (Message("system", "Be brief."), Message("user", f"Say {number} things."))
    return Body(messages, fields.pop("max_output_tokens", 60), **fields)


def test_a_batch_goes_all_the_way_and_its_rows_say_what_was_billed(site):
    job, ids = site.create([(MODEL, say(number)) for number in range(30)])
    (found,) = [each for each in site.provider.jobs(LONG_AGO).jobs if each.provider_job == job]
    assert (found.total, found.state) == (30, JobState.RUNNING)
    status = site.finish(job)
    assert (status.state, status.total, status.done, status.failed) == (JobState.COMPLETED, 30, 30, 0)
    rows = site.rows(job)
    assert rows.keys() == set(ids)
    bill = {row["custom_id"]: row for row in site.control("bill")["requests"] if row["job"] == job}
    for name, row in rows.items():
        assert (row.status, row.finish_reason) == (Status.OK, "end_turn") and row.text
        assert "emulator" in row.model_version
        told = (row.input_tokens, row.cached_tokens, row.cache_write_tokens, row.output_tokens, row.reasoning_tokens)
        keys = ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")
        assert told == tuple(bill[name][key] for key in keys)


def test_no_model_of_the_registry_refuses_what_is_sent_to_it(site, tmp_path):
    def bodies(models):
        efforts = [(model, effort) for model in models for effort in (None, *model.efforts)]
        return [
            (m.id, say(top_p=0.9, effort=e, max_output_tokens=60 + m.reasoning_allowance_of(e))) for m, e in efforts
        ]

    ours = [model for model in all_models() if model.provider == "anthropic"]
    current = [model for model in ours if model.retires is None or model.retires > date(2026, 11, 21)]
    assert len(current) > 10
    then = date(2025, 10, 1)
    with runner.emulator.start(tmp_path / "then", clock="auto", plain=True, at=then) as server:
        retired = Site(server, tmp_path).run(list(bodies(model for model in ours if model not in current)))
    assert len(retired) >= 5
    for row in (*site.run(list(bodies(current))), *retired):
        assert (row.status, row.error_message) == (Status.OK, None)


def test_a_thinking_model_thinks_within_its_allowance_and_says_its_answer_only(site):
    rows = site.run([("claude-opus-5-5", say(number, max_output_tokens=8060)) for number in range(8)])
    assert sum(row.reasoning_tokens for row in rows) > 0
    assert all(row.text and row.output_tokens > row.reasoning_tokens for row in rows)


@pytest.mark.parametrize("times", [1, 2])
def test_a_create_whose_answer_is_lost_is_unclear_and_found_in_the_list(site, times):
    before = site.listed()
    with site.fault("create_lost"):
        for _ in range(times):  # the first is cut off, the second a 500
            with pytest.raises(Unclear):
                site.create([(MODEL, say())] * 1)
    new = [job for job in site.provider.jobs(LONG_AGO).jobs if job.provider_job not in before]
    assert [job.total for job in new] == [1] * times


@pytest.mark.parametrize("fault", ["create_500", "upload_reset_before", "upload_reset_middle"])
def test_a_create_that_broke_off_before_it_happened_is_unclear_and_not_in_the_list(site, fault):
    before = site.listed()
    with site.fault(fault), pytest.raises(Unclear):
        site.create([(MODEL, say(number)) for number in range(2000)])
    assert site.listed() == before


def test_a_full_queue_waits_and_a_spent_limit_does_not(site):
    before = site.listed()
    with site.fault("token_limit_exceeded"), pytest.raises(NotCreated) as full:
        site.create([(MODEL, say())])
    assert (full.value.retry_later, full.value.is_full) == (True, True)
    with site.fault("spend_limit"), pytest.raises(NotCreated) as spent:
        site.create([(MODEL, say())])
    assert (spent.value.retry_later, spent.value.code) == (False, "billing_hard_limit_reached")
    assert spent.value.sentence.startswith("emulator answered 429: Your organization has reached")
    assert site.listed() == before


def test_a_batch_that_is_not_there_yet_is_gone_and_comes(site):
    with site.fault("not_found_after_create"):
        job, _ = site.create([(MODEL, say())])
    with pytest.raises(Gone):
        site.provider.status(job)
    assert site.finish(job).state is JobState.COMPLETED


def test_results_that_are_named_late_are_fetched_late(site):
    with site.fault("late_file_ids"):
        job, ids = site.create([(MODEL, say())])
        site.finish(job)
        for _ in range(2):
            try:
                assert site.rows(job).keys() == set(ids)
                return
            except Unreachable:
                continue
    raise AssertionError("they never come")


@pytest.mark.parametrize("fault", ["truncated_download", "length_too_large"])
def test_a_download_that_comes_short_is_not_taken(site, fault):
    job, ids = site.create([(MODEL, say(number)) for number in range(20)])
    site.finish(job)
    with site.fault(fault), pytest.raises(Unreachable):
        site.rows(job)
    assert site.rows(job).keys() == set(ids)


def test_a_download_that_is_short_as_it_says_is_looked_at_again(site):
    job, ids = site.create([(MODEL, say(number)) for number in range(20)])
    site.finish(job)
    with site.fault("length_too_small"):
        assert site.rows(job).keys() == set(ids)


@pytest.mark.parametrize(
    ("fault", "status"), [("expired_partial", Status.EXPIRED), ("cancelled_partial", Status.CANCELLED)]
)
def test_a_batch_that_ends_half_way_brings_its_answers_and_says_of_the_rest_why(site, fault, status):
    with site.fault(fault):
        job, ids = site.create([(MODEL, say(number)) for number in range(20)])
    ended = site.finish(job)
    assert (ended.state, ended.total) == (JobState.COMPLETED, 20)
    rows = site.rows(job)
    answered = {name for name, row in rows.items() if row.status is Status.OK}
    assert rows.keys() == set(ids) and 0 < len(answered) == ended.done < 20
    assert {row.status for row in rows.values()} == {Status.OK, status}
    assert {row["custom_id"] for row in site.control("bill")["requests"] if row["job"] == job} == answered


def test_a_batch_that_is_stuck_is_cancelled(site):
    with site.fault("stuck"):
        job = site.create([(MODEL, say(number)) for number in range(3)])[0]
    for _ in range(30):
        assert site.provider.status(job).state is JobState.RUNNING
    site.provider.cancel(job)
    assert site.finish(job).state is JobState.CANCELLED
    assert {row.status for row in site.rows(job).values()} == {Status.CANCELLED}
    site.provider.cancel(job)


@pytest.mark.parametrize("fault", ["u2028", "lone_surrogate", "crlf", "mixed_endings", "filtered", "huge_line"])
def test_odd_result_lines_are_all_read(site, fault):
    with site.fault(fault, 0.5):
        job, ids = site.create([(MODEL, say(number)) for number in range(12)])
        site.finish(job)
    rows = site.rows(job)
    assert rows.keys() == set(ids)
    assert all(row.text for row in rows.values() if row.status is Status.OK)
    if fault == "filtered":
        assert Status.REFUSED in {row.status for row in rows.values()}
