"""Message Batches, as Anthropic's own SDK sees them."""

import json
import urllib.request
from datetime import UTC, datetime, timedelta
from pathlib import Path

import anthropic
import pytest
from anthropic_shop import BATCHES, OLD, SAY, Shop, ask, call, counts

DAY_S = 86_400


@pytest.fixture(scope="module")
def shop(desk):
    return Shop(desk)


@pytest.fixture(scope="module")
def driven(desk, tmp_path_factory):
    """A server whose clock stands still until it is told to go on."""
    other = type(desk)(tmp_path_factory.mktemp("driven"), "driven", plain=True)
    yield Shop(other)
    other.close()


def test_each_request_gets_one_result_signed_by_the_emulator(shop):
    batch = shop.create(*(ask(f"r{number}") for number in range(20)))
    assert batch.id.startswith("msgbatch_") and batch.results_url is None
    assert batch.expires_at - batch.created_at == timedelta(days=1)
    batch = shop.finish(batch)
    assert counts(batch) == {"succeeded": 20}
    results = shop.results(batch)
    assert results.keys() == {f"r{number}" for number in range(20)}
    assert list(results) != sorted(results, key=lambda name: int(name[1:]))
    message = results["r7"].message
    assert message.id.startswith("msg_emulator_")
    assert (message.model, message.stop_reason) == ("claude-haiku-4-5-20251001", "end_turn")
    assert message.content[0].text
    assert message.usage.service_tier == "batch"


def test_counts_stand_still_until_the_whole_batch_has_ended(driven):
    batch = driven.create(*(ask(f"r{number}") for number in range(10)))
    for seconds in (0, 20, 60, 60):
        driven.desk.advance(seconds)
        running = driven.batches.retrieve(batch.id)
        assert (running.processing_status, counts(running)) == ("in_progress", {"processing": 10})
    status, body = call(driven, f"{BATCHES}/{batch.id}/results", **{"x-api-key": "k", **OLD})
    assert (status, body["error"]["type"]) == (404, "not_found_error")
    driven.desk.advance(1500)
    assert counts(driven.batches.retrieve(batch.id)) == {"succeeded": 10}


def test_neighbours_of_a_bad_request_are_answered_and_only_they_are_billed(shop):
    batch = shop.finish(shop.create(ask("good"), ask("bad", messages=[])))
    assert counts(batch) == {"succeeded": 1, "errored": 1}
    assert shop.bill(batch).keys() == {"good"}


def test_keys_and_versions(shop):
    key, version = {"x-api-key": "k"}, {"anthropic-version": "2026-10-21"}
    assert call(shop, BATCHES, **key, **version)[0] == 200
    assert call(shop, BATCHES, Authorization="Bearer k", **version)[0] == 200
    for headers in ({}, {"Authorization": "Bearer "}, {"Authorization": "Basic k"}):
        status, body = call(shop, BATCHES, **headers, **version)
        assert (status, body["type"], body["error"]["type"]) == (401, "error", "authentication_error")
    for headers in ({}, {"anthropic-version": "2024-01-01"}):
        status, body = call(shop, BATCHES, **key, **headers)
        assert (status, body["error"]["type"]) == (400, "invalid_request_error")
        assert body["error"]["message"].startswith("anthropic-version: ")


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "kind"),
    [
        ("GET", "/anthropic/v1/nothing", None, 404, "not_found_error"),
        ("GET", f"{BATCHES}/msgbatch_none", None, 404, "not_found_error"),
        ("POST", f"{BATCHES}/msgbatch_none/cancel", b"", 404, "not_found_error"),
        ("DELETE", f"{BATCHES}/msgbatch_none", None, 404, "not_found_error"),
        ("GET", f"{BATCHES}/msgbatch_none/results", None, 404, "not_found_error"),
        ("GET", f"{BATCHES}?limit=0", None, 400, "invalid_request_error"),
        ("GET", f"{BATCHES}?limit=1001", None, 400, "invalid_request_error"),
        ("GET", f"{BATCHES}?after_id=msgbatch_none", None, 404, "not_found_error"),
        ("POST", BATCHES, b'{"requests":[', 400, "invalid_request_error"),
        ("POST", BATCHES, b"\xff", 400, "invalid_request_error"),
        ("POST", BATCHES, {"requests": {}}, 400, "invalid_request_error"),
        ("POST", BATCHES, [], 400, "invalid_request_error"),
        ("POST", "/anthropic/v1/messages/count_tokens", b"[]", 400, "invalid_request_error"),
        ("POST", "/anthropic/v1/messages/count_tokens", {"model": "no", "messages": SAY}, 404, "not_found_error"),
    ],
)
def test_errors_come_in_the_envelope(shop, method, path, body, status, kind):
    found, envelope = call(shop, path, body, method, **{"x-api-key": "k", **OLD})
    assert (found, envelope["type"], envelope["error"]["type"]) == (status, "error", kind)


def test_more_than_100_000_requests_are_too_large(shop):
    one = b'{"custom_id":"%d","params":{"max_tokens":1}}'
    body = b'{"requests":[%s]}' % b",".join(one % number for number in range(100_001))
    status, envelope = call(shop, BATCHES, body, **{"x-api-key": "k", **OLD})
    assert (status, envelope["error"]["type"]) == (413, "request_too_large")


def test_the_list_is_newest_first_and_pages_both_ways(driven):
    made = [driven.create(ask()).id for _ in range(5)][::-1]
    assert [batch.id for batch in driven.batches.list()][:5] == made
    assert [batch.id for batch in driven.batches.list(limit=2)][:5] == made
    page = driven.batches.list(limit=2, after_id=made[1])
    assert ([batch.id for batch in page.data], page.has_more) == (made[2:4], True)
    assert (page.first_id, page.last_id) == (made[2], made[3])
    page = driven.batches.list(limit=2, before_id=made[3])
    assert ([batch.id for batch in page.data], page.has_more) == (made[1:3], True)
    page = driven.batches.list(limit=2, before_id=made[1])
    assert ([batch.id for batch in page.data], page.has_more) == (made[:1], False)


def test_cancelling_keeps_and_bills_what_was_answered_by_then(driven):
    batch = driven.create(*(ask(f"r{number}") for number in range(50)))
    driven.desk.advance(180)
    asked = driven.batches.cancel(batch.id)
    assert (asked.processing_status, counts(asked)) == ("canceling", {"processing": 50})
    assert asked.cancel_initiated_at == datetime.fromtimestamp(driven.desk.now(), UTC)
    assert driven.batches.cancel(batch.id).processing_status == "canceling"
    driven.desk.advance(180)
    done = driven.batches.retrieve(batch.id)
    answered = done.request_counts.succeeded
    assert counts(done) == {"succeeded": answered, "canceled": 50 - answered} and 0 < answered < 50
    results = driven.results(done)
    assert len(results) == 50 and {result.type for result in results.values()} == {"succeeded", "canceled"}
    assert driven.bill(done).keys() == {name for name, result in results.items() if result.type == "succeeded"}


def test_what_has_ended_cannot_be_cancelled(shop):
    done = shop.finish(shop.create(ask()))
    with pytest.raises(anthropic.BadRequestError, match="has ended"):
        shop.batches.cancel(done.id)


def test_what_expired_is_told_line_by_line_and_not_billed(shop):
    with shop.fault("expired_partial"):
        batch = shop.finish(shop.create(*(ask(f"r{number}") for number in range(20))))
    assert batch.ended_at - batch.created_at == timedelta(days=1)
    results = shop.results(batch)
    answered = {name for name, result in results.items() if result.type == "succeeded"}
    assert counts(batch) == {"succeeded": len(answered), "expired": 20 - len(answered)} and 0 < len(answered) < 20
    assert len(results) == 20 and {result.type for result in results.values()} == {"succeeded", "expired"}
    assert shop.bill(batch).keys() == answered


def test_endings_may_be_mixed(shop):
    with shop.fault("mixed_endings", 0.5):
        batch = shop.finish(shop.create(*(ask(f"r{number}") for number in range(40))))
        results = shop.results(batch)
    assert {result.type for result in results.values()} == {"succeeded", "errored", "expired", "canceled"}
    assert shop.bill(batch).keys() == {name for name, result in results.items() if result.type == "succeeded"}


def test_of_a_batch_that_was_never_run_every_request_expired(shop):
    with shop.fault("expired_nothing"):
        both = [shop.finish(shop.create(ask("a"), ask("b"))) for _ in range(2)]
    batch = next(each for each in both if counts(each) == {"expired": 2})  # every third batch is spared
    assert {result.type for result in shop.results(batch).values()} == {"expired"}
    assert shop.bill(batch) == {}


def test_only_what_has_ended_can_be_deleted(shop):
    batch = shop.create(ask())
    with pytest.raises(anthropic.BadRequestError):
        shop.batches.delete(batch.id)
    shop.finish(batch)
    assert shop.batches.delete(batch.id).type == "message_batch_deleted"
    assert batch.id not in {each.id for each in shop.batches.list()}
    with pytest.raises(anthropic.NotFoundError):
        shop.batches.retrieve(batch.id)


def test_results_are_kept_29_days_from_the_creation(driven):
    with driven.fault("expired_partial"):
        batch = driven.create(*(ask(f"r{number}") for number in range(4)))
    driven.desk.advance(29 * DAY_S - 60)
    kept = driven.batches.retrieve(batch.id)
    assert kept.archived_at is None and len(driven.results(kept)) == 4
    driven.desk.advance(60)
    gone = driven.batches.retrieve(batch.id)
    assert (gone.archived_at - gone.created_at, gone.results_url) == (timedelta(days=29), None)
    path = urllib.request.urlparse(kept.results_url).path
    assert call(driven, path, **{"x-api-key": "k", **OLD})[0] == 404


def test_a_full_queue_and_a_spent_budget_are_429s_that_can_be_told_apart(shop):
    before = len(list(shop.batches.list(limit=1000)))
    with shop.fault("token_limit_exceeded"), pytest.raises(anthropic.RateLimitError) as full:
        shop.create(ask())
    assert full.value.error_code is None and "500,000 batch requests" in full.value.api_message
    with shop.fault("spend_limit"), pytest.raises(anthropic.RateLimitError) as spent:
        shop.create(ask())
    assert spent.value.error_code == "enforced_spend_limit_reached"
    assert len(list(shop.batches.list(limit=1000))) == before


@pytest.mark.slow
def test_the_largest_batch_costs_little_memory_and_fills_half_of_the_queue(open_desk):
    shop = Shop(open_desk(tier=1, alone=True))
    headers = {"x-api-key": "k", "anthropic-version": "2026-10-21"}

    def create(text, number=100_000):
        line = json.dumps(ask("%d", messages=[{"role": "user", "content": text}])).encode()
        body = b'{"requests":[%s]}' % b",".join(line % each for each in range(number))
        return len(body), *call(shop, BATCHES, body, **headers)

    size, status, batch = create("international " * 170)
    assert 245e6 < size < 256e6
    assert (status, batch["request_counts"]["processing"]) == (200, 100_000)
    assert create("Hi.")[1] == 200
    assert create("Hi.", number=1)[1] == 429
    status, error = call(shop, BATCHES, b" " * 256_000_001, **headers)
    assert (status, error["error"]["type"]) == (413, "request_too_large")
    peak = Path(f"/proc/{shop.desk.server.process.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
    assert int(peak) < 200_000


def test_a_row_that_was_served_outside_of_the_batch_says_so_and_costs_twice_as_much(shop):
    asked = [ask(f"r{number}") for number in range(10)]
    with shop.fault("standard_tier", 0.3):
        batch = shop.finish(shop.create(*asked))
    tiers = {name: result.message.usage.service_tier for name, result in shop.results(batch).items()}
    assert sorted(tiers.values()) == ["batch"] * 7 + ["standard"] * 3
    for name, row in shop.bill(batch).items():
        in_batch = (row["input_tokens"] * 0.5 + row["output_tokens"] * 2.5) / 1e6
        assert row["usd"] == pytest.approx(in_batch * (2 if tiers[name] == "standard" else 1))
