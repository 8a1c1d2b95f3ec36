"""Gemini's service: what it refuses, how it thinks, and its files."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import pytest
from google import genai
from google.genai import errors
from google_desk import DAY_S, FLASH, answered, ask, create, ended, row, sdk, to_lines, upload

PRO, LITE, LEVELS = "gemini-2.5-pro", "gemini-2.5-flash-lite", "gemini-3.8-flash"


@pytest.fixture(scope="module")
def client(desk: Any) -> genai.Client:
    return sdk(desk.server.base_url)


@pytest.fixture
def call(desk: Any) -> Callable[..., Any]:
    return partial(ask, desk.server.base_url)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ([row("ok"), {"key": "a", "request": row()["request"] | {"temperature": 0}}], "line 2.*'temperature'"),
        ([row("a", max_tokens=5)], "line 1.*no such field: 'max_tokens'"),
        ([row("a", thinkingConfig={"budget": 5})], "no such field: 'budget'"),
        ([b"{"], "Error on line 1: invalid JSON"),
        ([b"[]"], "Error on line 1: invalid JSON"),
        ([], "no requests"),
    ],
)
def test_what_is_no_request_refuses_the_create(client: Any, lines: list[Any], words: str) -> None:
    with pytest.raises(errors.ClientError, match=words) as caught:
        create(client, lines)
    assert (caught.value.code, caught.value.status) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("model", "config", "words"),
    [
        (FLASH, {"temperature": 2.5}, "temperature"),
        (FLASH, {"maxOutputTokens": 65_537}, "supported range"),
        (FLASH, {"maxOutputTokens": 0}, "supported range"),
        (FLASH, {"candidateCount": 9}, "candidate_count"),
        (FLASH, {"thinkingConfig": {"thinkingLevel": "LOW"}}, "not supported"),
        (FLASH, {"thinkingConfig": {"thinkingBudget": 30_000}}, "between 1 and 24576"),
        (PRO, {"thinkingConfig": {"thinkingBudget": 0}}, "between 128 and 32768"),
        (LITE, {"thinkingConfig": {"thinkingBudget": 100}}, "between 512 and 24576"),
        (LEVELS, {"thinkingConfig": {"thinkingLevel": "minimal"}}, "MINIMAL is not supported"),
        (LEVELS, {"thinkingConfig": {"thinkingLevel": "low", "thinkingBudget": 5}}, "only one"),
    ],
)
def test_what_the_model_refuses_is_the_error_of_one_line(
    client: Any, desk: Any, model: str, config: dict[str, Any], words: str
) -> None:
    lines = answered(client, [row("fine", thinkingConfig={}), row("odd", **config)], model)
    assert lines["odd"]["error"]["code"] == 3
    assert words in lines["odd"]["error"]["message"]
    assert "candidates" in lines["fine"]["response"]
    assert "odd" not in {each["custom_id"] for each in desk.bill()["requests"]}


@pytest.mark.parametrize(
    ("contents", "words"),
    [
        ([], "contents is not specified"),
        ([{"role": "assistant", "parts": [{"text": "a"}]}], "valid role"),
        ([{"role": "user", "parts": []}], "must not be empty"),
        ([{"role": "user", "parts": [{"inlineData": {}}]}], "one initialized field"),
    ],
)
def test_contents_that_are_refused(client: Any, contents: list[Any], words: str) -> None:
    (line,) = answered(client, [{"key": "c", "request": {"contents": contents}}]).values()
    assert words in line["error"]["message"]


def test_a_line_without_a_key_is_answered_without_one(client: Any) -> None:
    line = {"custom_id": "lost", "request": row()["request"]}
    assert "response" in answered(client, [line])[""]


def test_names_may_be_in_snake_case(client: Any) -> None:
    request = {
        "contents": [{"parts": [{"text": "Say something."}]}],
        "system_instruction": {"parts": [{"text": "Be brief."}]},
        "generation_config": {"max_output_tokens": "1", "thinking_config": {"thinking_budget": 0}},
    }
    response = answered(client, [{"key": "s", "request": request}])["s"]["response"]
    assert response["candidates"][0]["finishReason"] == "MAX_TOKENS"


@pytest.mark.parametrize("budget", [0, 128, None])
def test_thoughts_are_paid_and_count_against_the_limit(client: Any, budget: int | None) -> None:
    thinking = {} if budget is None else {"thinkingBudget": budget}
    rows = [row(f"t{number}", "Think hard.", maxOutputTokens=300, thinkingConfig=thinking) for number in range(9)]
    usages = [line["response"]["usageMetadata"] for line in answered(client, rows).values()]
    thoughts = [usage.get("thoughtsTokenCount", 0) for usage in usages]
    assert max(thoughts) <= (300 if budget is None else budget)
    assert any(thoughts) == (budget != 0)
    for usage, thought in zip(usages, thoughts, strict=True):
        assert usage.get("candidatesTokenCount", 0) + thought <= 300
        assert usage["totalTokenCount"] == usage["promptTokenCount"] + usage.get("candidatesTokenCount", 0) + thought


def test_what_else_is_refused(client: Any, call: Any) -> None:
    assert call("GET", "/v1/batches", key="")[1]["error"]["status"] == "PERMISSION_DENIED"
    assert call("GET", "/v1/batches?key=any", key="")[0] == 200
    assert call("GET", "/v1/batches/none")[1]["error"]["status"] == "NOT_FOUND"
    assert call("GET", "/v2/batches")[0] == 404
    file = {"inputConfig": {"fileName": upload(client, [row("a")]).name}}
    path = f"/v1/models/{FLASH}:batchGenerateContent"
    assert "display_name" in call("POST", path, {"batch": file})[1]["error"]["message"]
    assert "no input" in call("POST", path, {"batch": {"displayName": "a"}})[1]["error"]["message"]
    assert call("POST", path, b"{")[0] == 400
    image = client.files.upload(file=io.BytesIO(b"x"), config={"mime_type": "image/png"})
    with pytest.raises(errors.ClientError, match="image/png"):
        client.batches.create(model=FLASH, src=image.name, config={"display_name": "a"})


def test_tokens_are_counted_as_a_batch_counts_them(client: Any) -> None:
    count = client.models.count_tokens(model=FLASH, contents="Say something.").total_tokens
    usage = answered(client, [row("c")])["c"]["response"]["usageMetadata"]
    assert usage["promptTokenCount"] == count


def test_a_large_file_comes_in_chunks(client: Any, desk: Any) -> None:
    rows = [row(f"big{number}", "word " * 60_000) for number in range(60)]
    file = upload(client, rows, display_name="large", name="files/my-own-name")
    assert (file.name, file.display_name, file.size_bytes) == ("files/my-own-name", "large", len(to_lines(rows)))
    assert file.size_bytes > 2 * (8 << 20)
    assert (file.state, file.mime_type) == ("ACTIVE", "application/jsonl")
    assert (file.expiration_time - file.create_time).total_seconds() == 2 * DAY_S
    with pytest.raises(errors.ClientError) as caught:
        upload(client, [row("a")], name="files/my-own-name")
    assert caught.value.code == 409
    client.files.delete(name=file.name)
    assert file.name not in {each.name for each in client.files.list()}


def test_the_rules_of_a_resumable_upload(call: Any) -> None:
    begin = {"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"}
    about = {"X-Goog-Upload-Header-Content-Type": "jsonl", "X-Goog-Upload-Header-Content-Length": "10"}
    start = "/upload/v1/files"
    assert call("POST", start, b"{}", **begin)[0] == 400
    assert call("POST", start, b"{}", key="", **begin, **about)[0] == 403
    too_large = about | {"X-Goog-Upload-Header-Content-Length": "2000000001"}
    assert call("POST", start, b"{}", **begin, **too_large)[0] == 400
    status, headers = call("POST", start, b"{}", **begin, **about)
    url = headers["x-goog-upload-url"]
    assert (status, headers["x-goog-upload-status"]) == (200, "active")

    def send(command: str, offset: int, body: bytes) -> Any:
        more = {"X-Goog-Upload-Command": command, "X-Goog-Upload-Offset": str(offset)}
        return call("POST", url, body, key="", **more)

    assert send("upload", 3, b"12345")[1]["error"]["message"].startswith("Offset mismatch: 0")
    assert "multiples" in send("upload", 0, b"12345")[1]["error"]["message"]
    assert send("query", 0, b"")[1]["x-goog-upload-size-received"] == "5"
    assert send("upload, finalize", 5, b"6789")[0] == 400
    status, body = send("upload, finalize", 9, b"0")
    assert (status, body["file"]["sizeBytes"]) == (200, "10")
    assert send("upload, finalize", 10, b"")[0] == 404  # the session is over
    assert call("POST", url.replace("upload-", "..%2F"), b"", key="")[0] == 404


def test_an_upload_that_was_cut_off_goes_on_where_it_was(call: Any, desk: Any) -> None:
    begin = {"X-Goog-Upload-Protocol": "resumable", "X-Goog-Upload-Command": "start"}
    about = {"X-Goog-Upload-Header-Content-Type": "jsonl", "X-Goog-Upload-Header-Content-Length": "10"}
    url = call("POST", "/upload/v1/files", b"{}", **begin, **about)[1]["x-goog-upload-url"]
    parts = urlsplit(url)
    head = f"POST {parts.path}?{parts.query} HTTP/1.1\r\nHost: {parts.netloc}\r\nContent-Length: 10\r\n"
    head += "X-Goog-Upload-Command: upload, finalize\r\nX-Goog-Upload-Offset: 0\r\n\r\n"
    with socket.create_connection((parts.hostname, parts.port)) as connection:
        connection.sendall(head.encode() + b"12345")
    for _ in range(100):
        received = call("POST", url, b"", key="", **{"X-Goog-Upload-Command": "query"})[1]
        if received["x-goog-upload-size-received"] == "5":
            break
        time.sleep(0.01)
    more = {"X-Goog-Upload-Command": "upload, finalize", "X-Goog-Upload-Offset": "5"}
    assert call("POST", url, b"67890", key="", **more)[1]["file"]["sizeBytes"] == "10"
    assert "Traceback" not in (desk.state / "server.log").read_text()


def test_the_names_of_results_are_too_long_for_all_but_a_download(client: Any, call: Any) -> None:
    job = ended(client, create(client, [row("n")]))
    name = job.dest.file_name
    assert len(name.removeprefix("files/")) > 40
    for method in ("GET", "DELETE"):
        status, body = call(method, f"/v1/{name}")
        assert status == 400 and "cannot be more than 40 characters" in body["error"]["message"]
    assert name not in {file.name for file in client.files.list()}
    assert client.files.download(file=name)
    assert call("GET", f"/download/v1beta/{name}:download?alt=media")[1]["key"] == "n"
    file = upload(client, [row("a")])
    assert call("GET", f"/v1/{file.name}:download?alt=media")[0] == 400
