"""Mistral's service: jobs, numbered pages, its words for what it refuses."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import pytest

ENDPOINT = "/v1/chat/completions"
MODEL = "mistral-small-2603"
DAY_S = 24 * 3600


@pytest.fixture
def call(desk: Any) -> Callable[..., Any]:
    """Method, path, JSON or raw body: status and reply."""

    def ask(method: str, path: str, body: Any = None, key: str = "any", kind: str = "application/json") -> Any:
        data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {"Content-Type": kind} | ({"Authorization": f"Bearer {key}"} if key else {})
        request = urllib.request.Request(f"{desk.server.base_url}/mistral/v1{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request) as answer:
                is_json = answer.headers.get_content_type() == "application/json"
                return answer.status, json.loads(answer.read()) if is_json else answer.read()
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())

    return ask


def rows(*ids: str, **body: Any) -> bytes:
    asked = {"messages": [{"role": "user", "content": "Say something."}], "max_tokens": 50, **body}
    return b"".join(json.dumps({"custom_id": one, "body": asked}).encode() + b"\n" for one in ids)


def upload(call: Callable[..., Any], content: bytes, purpose: str = "batch") -> Any:
    parts = [
        f'Content-Disposition: form-data; name="purpose"\r\n\r\n{purpose}'.encode(),
        b'Content-Disposition: form-data; name="file"; filename="in.jsonl"\r\n\r\n' + content,
    ]
    body = b"".join(b"--cut\r\n" + part + b"\r\n" for part in parts) + b"--cut--\r\n"
    return call("POST", "/files", body, kind="multipart/form-data; boundary=cut")


def create(call: Callable[..., Any], content: bytes, **asked: Any) -> Any:
    body = {"input_files": [upload(call, content)[1]["id"]], "model": MODEL, "endpoint": ENDPOINT, **asked}
    return call("POST", "/batch/jobs", body)


def ended(call: Callable[..., Any], job: Any) -> Any:
    for _ in range(9):
        job = call("GET", f"/batch/jobs/{job['id']}")[1]
        if job["status"] not in ("QUEUED", "RUNNING", "CANCELLATION_REQUESTED"):
            return job
    raise AssertionError("it never ends")


def test_from_queued_to_success(call: Any, desk: Any) -> None:
    status, job = create(call, rows("a", "b"), metadata={"k": "v"})
    assert (status, job["status"], job["metadata"], job["model"]) == (200, "QUEUED", {"k": "v"}, MODEL)
    assert call("GET", f"/batch/jobs/{job['id']}")[1]["status"] == "RUNNING"
    job = ended(call, job)
    assert job["status"] == "SUCCESS"
    assert [job[f"{kind}_requests"] for kind in ("total", "completed", "succeeded", "failed")] == [2, 2, 2, 0]
    lines = [json.loads(line) for line in call("GET", f"/files/{job['output_file']}/content")[1].splitlines()]
    assert {line["custom_id"] for line in lines} == {"a", "b"}
    body = lines[0]["response"]["body"]
    assert (body["model"], body["system_fingerprint"]) == (MODEL, "fp_emulator")
    file = call("GET", f"/files/{job['output_file']}")[1]
    assert (file["purpose"], file["source"], file["sample_type"]) == ("batch", "mistral", "batch_result")
    billed = next(row for row in desk.bill()["requests"] if row["custom_id"] == "a")
    assert billed["usd"] == pytest.approx((billed["input_tokens"] * 0.15 + billed["output_tokens"] * 0.6) / 2e6)


def test_results_are_kept_while_the_clock_jumps(call: Any, desk: Any) -> None:
    job = ended(call, create(call, rows("a"))[1])
    desk.advance(30 * DAY_S)
    assert call("GET", f"/files/{job['output_file']}")[1]["expires_at"] is None
    assert call("GET", f"/files/{job['output_file']}/content")[0] == 200


def test_the_window_is_what_the_client_says(call: Any, desk: Any) -> None:
    desk.control("faults", {"stuck": 1})
    job = create(call, rows("a"), timeout_hours=48)[1]
    desk.control("faults", {"stuck": 0})
    found = next(row for row in desk.control("jobs")["jobs"] if row["id"] == job["id"])
    assert found["expires_at"] - found["created_at"] == pytest.approx(48 * 3600, abs=1)
    call("POST", f"/batch/jobs/{job['id']}/cancel")


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"endpoint": "/v1/responses"}, 422, "Input should be /v1/chat/completions"),
        ({"completion_window": "24h"}, 422, "Extra inputs are not permitted"),
        ({"timeout_hours": 169}, 422, "at most 168"),
        ({"metadata": {"k": 1}}, 422, "valid string"),
        ({"input_files": []}, 422, "exactly one input file"),
        ({"input_files": ["none"]}, 404, "No file matches"),
        ({"model": "gpt-4.1-mini"}, 400, "Invalid model: gpt-4.1-mini"),
    ],
)
def test_what_is_refused_at_create(call: Any, asked: dict[str, Any], status: int, words: str) -> None:
    answered, body = create(call, rows("a"), **asked)
    said = body["detail"][0]["msg"] if status == 422 else body["detail"]
    assert answered == status
    assert words in said


def test_what_else_is_refused(call: Any) -> None:
    assert call("GET", "/batch/jobs", key="") == (401, {"detail": "Unauthorized"})
    assert call("GET", "/batch/jobs/none")[0] == 404
    assert call("GET", "/batches") == (404, {"detail": "Not Found"})
    assert upload(call, rows("a"), purpose="vision")[0] == 422
    assert call("POST", "/batch/jobs", b"{")[0] == 422
    assert call("GET", "/batch/jobs?page=-1")[0] == 422


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (rows("a", "a", "a"), [{"message": "The custom_id 'a' is used twice.", "count": 2}]),
        (rows("a") + b"{\n", [{"message": "This line is not parseable as valid JSON.", "count": 1}]),
        (rows("a", messages=None), [{"message": "Messages parameter is required.", "count": 1}]),
    ],
)
def test_why_a_job_failed_is_counted(call: Any, content: bytes, words: list[Any]) -> None:
    job = ended(call, create(call, content)[1])
    assert (job["status"], job["errors"]) == ("FAILED", words)


def test_a_body_that_the_endpoint_refuses_costs_nothing(call: Any, desk: Any) -> None:
    job = ended(call, create(call, rows("fine") + rows("odd", max_completion_token=5))[1])
    assert (job["succeeded_requests"], job["failed_requests"]) == (1, 1)
    line = json.loads(call("GET", f"/files/{job['error_file']}/content")[1])
    assert (line["custom_id"], line["response"]["status_code"]) == ("odd", 422)
    assert "max_completion_token" in line["response"]["body"]["message"]
    assert "odd" not in {row["custom_id"] for row in desk.bill()["requests"]}


def test_cancel(call: Any) -> None:
    job = create(call, rows(*(f"c{number}" for number in range(20))))[1]
    call("GET", f"/batch/jobs/{job['id']}")
    assert call("POST", f"/batch/jobs/{job['id']}/cancel")[1]["status"] == "CANCELLATION_REQUESTED"
    job = ended(call, job)
    assert job["status"] == "CANCELLED"
    ended_job = ended(call, create(call, rows("a"))[1])
    assert call("POST", f"/batch/jobs/{ended_job['id']}/cancel") == (
        400,
        {"detail": "A job that is SUCCESS cannot be cancelled."},
    )


def test_numbered_pages_newest_first(call: Any) -> None:
    made = [create(call, rows("a"))[1]["id"] for _ in range(3)]
    status, page = call("GET", "/batch/jobs?page=0&page_size=2")
    assert (status, [job["id"] for job in page["data"]]) == (200, made[:0:-1])
    assert page["total"] >= 3
    assert call("GET", "/batch/jobs?page=1&page_size=2")[1]["data"][0]["id"] == made[0]
    last = page["total"] - 1
    assert call("GET", f"/batch/jobs?page={last}&page_size=1&order_by=created")[1]["data"][0]["id"] == made[-1]
    assert call("GET", f"/batch/jobs?page={page['total']}&page_size=1")[1]["data"] == []
