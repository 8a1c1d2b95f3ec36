"""Gemini's service: the life of a batch, as Google's own SDK and plain HTTP meet it."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from google import genai
from google.genai import errors, types
from google_desk import DAY_S, FLASH, answered, ask, create, ended, results, row, sdk, upload


@pytest.fixture(scope="module")
def client(desk: Any) -> genai.Client:
    return sdk(desk.server.base_url)


@pytest.fixture
def call(desk: Any) -> Callable[..., Any]:
    return partial(ask, desk.server.base_url)


@pytest.fixture
def fault(desk: Any) -> Iterator[Callable[..., None]]:
    """Faults in force until the test ends."""
    put: set[str] = set()

    def switch(**rates: float) -> None:
        put.update(rates)
        desk.control("faults", rates)

    yield switch
    desk.control("faults", dict.fromkeys(put, 0))


def test_from_pending_to_succeeded(client: Any, call: Any, desk: Any) -> None:
    job = create(client, [row("a"), row("b")])
    assert (job.state.name, job.display_name, job.model) == ("JOB_STATE_PENDING", "tag", f"models/{FLASH}")
    job = client.batches.get(name=job.name)
    assert job.state.name == "JOB_STATE_RUNNING"
    job = ended(client, job)
    assert job.state.name == "JOB_STATE_SUCCEEDED" and job.done
    lines = results(client, job)
    assert lines.keys() == {"a", "b"}
    response = types.GenerateContentResponse.model_validate(lines["a"]["response"])
    assert response.text
    assert "emulator" in (response.model_version or "")
    assert response.candidates and response.candidates[0].finish_reason == "STOP"
    usage, billed = response.usage_metadata, desk.bill()["requests"][-1]
    assert usage and usage.prompt_token_count == billed["input_tokens"]
    assert usage.candidates_token_count == billed["output_tokens"]
    raw = call("GET", f"/v1/{job.name}")[1]
    assert raw["metadata"]["batchStats"] == {
        "requestCount": "2",
        "successfulRequestCount": "2",
        "failedRequestCount": "0",
        "pendingRequestCount": "0",
    }
    assert raw["metadata"]["inputConfig"]["fileName"].startswith("files/")
    assert raw["metadata"]["output"]["responsesFile"] == raw["response"]["responsesFile"] == job.dest.file_name
    assert raw["done"] is True


def test_the_bill_by_hand(client: Any, desk: Any) -> None:
    before = len(desk.bill()["requests"])
    text = "The same long beginning of every prompt. " * 400
    rows = [row(f"c{number}", f"{text}{number}") for number in range(8)]
    answered(client, rows)
    billed = desk.bill()["requests"][before:]
    assert len(billed) == 8
    assert any(each["cached_tokens"] for each in billed)  # implicitly
    for each in billed:
        fresh = each["input_tokens"] - each["cached_tokens"]
        by_hand = (fresh * 0.15 + each["cached_tokens"] * 0.03 + each["output_tokens"] * 1.25) / 1e6
        assert each["usd"] == pytest.approx(by_hand)


@pytest.mark.parametrize("version", ["v1", "v1beta"])
def test_both_versions_are_served(desk: Any, version: str) -> None:
    client = sdk(desk.server.base_url, version)
    assert answered(client, [row("v")])["v"]["response"]["candidates"]


def test_requests_in_the_create_are_answered_in_the_job(client: Any) -> None:
    asked = [
        types.InlinedRequest(contents="Say something.", metadata={"key": f"i{number}"}, config={"temperature": 0.5})
        for number in range(3)
    ]
    job = ended(client, client.batches.create(model=FLASH, src=asked, config={"display_name": "inline"}))
    responses = job.dest.inlined_responses
    assert len(responses) == 3 and all(each.response.text for each in responses)
    assert job.dest.file_name is None


def test_cancel(client: Any, call: Any) -> None:
    job = create(client, [row(f"x{number}") for number in range(5)])
    client.batches.cancel(name=job.name)
    job = ended(client, job)
    assert job.state.name == "JOB_STATE_CANCELLED" and job.dest is None
    status, body = call("POST", f"/v1/{job.name}:cancel", b"")
    assert (status, body["error"]["status"]) == (400, "FAILED_PRECONDITION")
    client.batches.delete(name=job.name)
    assert call("GET", f"/v1/{job.name}")[0] == 404


def test_what_takes_longer_than_two_days_expires_with_nothing(client: Any, call: Any, desk: Any, fault: Any) -> None:
    before = len(desk.bill()["requests"])
    fault(expired_partial=1.0)
    job = ended(client, create(client, [row("e")]))
    assert job.state.name == "JOB_STATE_EXPIRED" and job.dest is None
    assert job.end_time - job.create_time >= types.datetime.timedelta(hours=48)
    raw = call("GET", f"/v1/{job.name}")[1]
    assert raw["error"]["code"] == 4 and "response" not in raw
    assert len(desk.bill()["requests"]) == before


def test_a_state_that_the_sdk_does_not_know(client: Any, call: Any, fault: Any) -> None:
    fault(partially_succeeded=1.0)
    job = create(client, [row(f"p{number}") for number in range(10)])
    for _ in range(4):
        raw = call("GET", f"/v1/{job.name}")[1]
    assert raw["metadata"]["state"] == "BATCH_STATE_PARTIALLY_SUCCEEDED"
    stats = raw["metadata"]["batchStats"]
    assert int(stats["successfulRequestCount"]) + int(stats["failedRequestCount"]) == 10
    assert 0 < int(stats["failedRequestCount"]) < 10
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert not client.batches.get(name=job.name).done


def test_success_before_its_results_are_named(client: Any, desk: Any, fault: Any) -> None:
    fault(late_file_ids=1.0)
    job = ended(client, create(client, [row("l")]))
    assert job.state.name == "JOB_STATE_SUCCEEDED" and job.dest is None
    desk.advance(130)
    assert client.batches.get(name=job.name).dest.file_name


def test_pages_of_operations_newest_first(client: Any, call: Any) -> None:
    made = [create(client, [row("n")], name=f"page-{number}").name for number in range(3)]
    page = call("GET", "/v1/batches?pageSize=2")[1]
    assert [operation["name"] for operation in page["operations"]] == made[:0:-1]
    page = call("GET", f"/v1/batches?pageSize=1&pageToken={page['nextPageToken']}")[1]
    assert [operation["name"] for operation in page["operations"]] == made[:1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a state of another test
        assert set(made) <= {job.name for job in client.batches.list(config={"page_size": 2})}
    assert call("GET", "/v1/batches?pageToken=none")[0] == 400


# Limits


def test_the_queue_of_a_model_and_a_hundred_open_jobs(open_desk: Any) -> None:
    desk = open_desk(clock="driven", tier=1)
    client = sdk(desk.server.base_url)
    text = "word " * 400_000
    with pytest.raises(errors.ClientError) as caught:
        create(client, [row(f"q{number}", text) for number in range(9)])
    assert (caught.value.code, caught.value.status) == (429, "RESOURCE_EXHAUSTED")
    source = upload(client, [row("one")]).name
    for _ in range(100):
        client.batches.create(model=FLASH, src=source, config={"display_name": "many"})
    with pytest.raises(errors.ClientError, match="quota"):
        client.batches.create(model=FLASH, src=source, config={"display_name": "many"})
    assert len(list(client.batches.list(config={"page_size": 100}))) == 100


def test_how_long_things_are_kept(open_desk: Any, tmp_path: Any) -> None:
    desk = open_desk()
    client = sdk(desk.server.base_url)
    file = upload(client, [row("k")])
    job = ended(client, client.batches.create(model=FLASH, src=file.name, config={"display_name": "kept"}))
    desk.advance(2 * DAY_S)
    with pytest.raises(errors.ClientError) as caught:
        client.files.get(name=file.name)
    assert caught.value.code == 403 and "may not exist" in str(caught.value)
    with pytest.raises(errors.ClientError, match="may not exist"):
        client.batches.create(model=FLASH, src=file.name, config={"display_name": "late"})
    desk.advance(39 * DAY_S)
    assert results(client, job)
    desk.advance(2 * DAY_S)
    with pytest.raises(errors.ClientError):
        results(client, job)


def test_a_model_that_is_gone(client: Any, open_desk: Any) -> None:
    for model in ("gemini-1.5-flash", "gemini-3.7-flash"):
        with pytest.raises(errors.ClientError, match=f"models/{model} is not found"):
            create(client, [row("g")], model)


def test_a_blocked_prompt_is_a_success_without_candidates(client: Any, fault: Any) -> None:
    fault(filtered=1.0)
    response = answered(client, [row("b")])["b"]["response"]
    assert response["promptFeedback"]["blockReason"] == "PROHIBITED_CONTENT"
    assert "candidates" not in response
