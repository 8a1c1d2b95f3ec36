"""Groq, Nebius, DeepInfra, Together and Qwen: what each of their services refuses, lists, and charges."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any

import openai
import pytest

ENDPOINT = "/v1/chat/completions"
MODELS = {
    "groq": "llama-3.3-70b-versatile",
    "nebius": "meta-llama/Llama-3.3-70B-Instruct",
    "deepinfra": "meta-llama/Llama-3.3-70B-Instruct",
    "qwen": "qwen-plus",
}
TOGETHER_MODEL = "Qwen/Qwen2.5-7B-Instruct-Turbo"


@pytest.fixture
def client_of(desk: Any) -> Callable[[str], openai.OpenAI]:
    return lambda name: openai.OpenAI(base_url=f"{desk.server.base_url}/{name}/v1", api_key="any", max_retries=0)


def lines(model: str, ids: list[str], **body: Any) -> bytes:
    asked = {"model": model, "messages": [{"role": "user", "content": "Say something."}], "max_tokens": 50, **body}
    rows = [{"custom_id": one, "method": "POST", "url": ENDPOINT, "body": asked} for one in ids]
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)


def run(client: openai.OpenAI, content: bytes) -> Any:
    file = client.files.create(file=("in.jsonl", content), purpose="batch")
    batch = client.batches.create(
        input_file_id=file.id, endpoint=ENDPOINT, completion_window="24h", metadata={"k": "v"}
    )
    return ended(lambda: client.batches.retrieve(batch.id))


def ended(ask: Callable[[], Any]) -> Any:
    for _ in range(9):
        batch = ask()
        status = batch.status if hasattr(batch, "status") else batch["status"]
        if status.lower() in ("completed", "failed", "expired", "cancelled"):
            return batch
    raise AssertionError("it never ends")


def messages(client: openai.OpenAI, batch: Any) -> list[dict[str, Any]]:
    rows = [json.loads(line) for line in client.files.content(batch.output_file_id).content.splitlines()]
    return [row["response"]["body"]["choices"][0]["message"] for row in rows]


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_is_answered_signed_and_charged(client_of: Any, desk: Any, name: str) -> None:
    client = client_of(name)
    batch = run(client, lines(MODELS[name], [f"{name}-1", f"{name}-2"]))
    assert batch.metadata == {"k": "v"}
    content = client.files.content(batch.output_file_id).content
    bodies = [json.loads(line)["response"]["body"] for line in content.splitlines()]
    assert {body["system_fingerprint"] for body in bodies} == {"fp_emulator"}
    billed = {row["custom_id"]: row for row in desk.bill()["requests"]}
    input_usd, output_usd, share = {
        "groq": (0.59, 0.79, 0.75),
        "nebius": (0.13, 0.4, 0.5),
        "deepinfra": (0.23, 0.4, 0.8),
        "qwen": (0.4, 1.2, 0.5),
    }[name]
    for one in (f"{name}-1", f"{name}-2"):
        usd = (billed[one]["input_tokens"] * input_usd + billed[one]["output_tokens"] * output_usd) * share / 1e6
        assert billed[one]["usd"] == pytest.approx(usd)


@pytest.mark.parametrize("name", MODELS)
def test_only_chat_completions_are_served(client_of: Any, name: str) -> None:
    with pytest.raises(openai.BadRequestError, match="Supported values are: '/v1/chat/completions'"):
        client_of(name).batches.create(input_file_id="f", endpoint="/v1/responses", completion_window="24h")


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize(
    ("content", "code"),
    [
        (lines("gpt-4.1-mini", ["a"]), "model_not_found"),
        (lines("MODEL", ["a", "a"]), "duplicate_custom_id"),
        (lines("MODEL", ["a"]).replace(b"/v1/chat", b"/v2/chat"), "invalid_url"),
        (lines("MODEL", ["a"], stream=True), "streaming_unsupported"),
        (lines("MODEL", ["a"], messages=None), "invalid_request"),
        (lines("MODEL", ["a"]).replace(b"custom_id", b"id"), "missing_required_parameter"),
        (lines("MODEL", ["a"]) + b"{\n", "invalid_json_line"),
    ],
)
def test_one_bad_line_fails_the_batch(client_of: Any, name: str, content: bytes, code: str) -> None:
    batch = run(client_of(name), content.replace(b"MODEL", MODELS[name].encode()))
    assert (batch.status, batch.errors.data[0].code) == ("failed", code)


def test_groq_gives_one_choice_only(client_of: Any) -> None:
    client = client_of("groq")
    batch = run(client, lines(MODELS["groq"], ["n2"], n=2) + lines(MODELS["groq"], ["n1"], n=1))
    (line,) = client.files.content(batch.error_file_id).content.splitlines()
    refused = json.loads(line)
    assert refused["custom_id"] == "n2"
    assert refused["response"]["status_code"] == 400
    assert "number must be at most 1" in refused["response"]["body"]["error"]["message"]


def test_groq_lists_without_pages(client_of: Any) -> None:
    client = client_of("groq")
    for number in range(3):
        run(client, lines(MODELS["groq"], [f"list-{number}"]))
    page = client.batches.with_raw_response.list(limit=1)
    assert json.loads(page.content).keys() == {"object", "data"}
    assert len(json.loads(page.content)["data"]) >= 3


@pytest.mark.parametrize(
    ("name", "model", "field"),
    [
        ("groq", "openai/gpt-oss-120b", "reasoning"),
        ("nebius", "deepseek-ai/DeepSeek-R1-0528", "reasoning_content"),
        ("deepinfra", "deepseek-ai/DeepSeek-R1", None),
    ],
)
def test_thoughts_are_told_in_a_field_or_in_front(client_of: Any, name: str, model: str, field: str | None) -> None:
    client = client_of(name)
    content = lines(model, [f"think-{number}" for number in range(5)], max_tokens=4000, temperature=0)
    for message in messages(client, run(client, content)):
        assert message.keys() == {"role", "content"} | ({field} if field else set())
        assert message["content"].startswith("<think>") is (field is None)


def test_thoughts_are_charged_as_output_and_scaled_by_the_effort(client_of: Any, desk: Any) -> None:
    client, ids = client_of("groq"), [f"effort-{number}" for number in range(10)]
    spent = []
    for effort in ("low", "high"):
        names = [f"{effort}-{one}" for one in ids]
        run(client, lines("openai/gpt-oss-120b", names, max_tokens=4000, reasoning_effort=effort))
        billed = [row for row in desk.bill()["requests"] if row["custom_id"] in names]
        spent.append(sum(row["output_tokens"] for row in billed))
    assert 0 < 2 * spent[0] < spent[1]


@pytest.mark.slow
def test_nebius_takes_500_open_batches(client_of: Any, desk: Any) -> None:
    client = client_of("nebius")
    file = client.files.create(file=("in.jsonl", lines(MODELS["nebius"], ["q"])), purpose="batch")
    ask = {"input_file_id": file.id, "endpoint": ENDPOINT, "completion_window": "24h"}
    made = [client.batches.create(**ask) for _ in range(500)]
    with pytest.raises(openai.RateLimitError, match="500"):
        client.batches.create(**ask)
    ended(lambda: client.batches.retrieve(made[0].id))
    assert client.batches.create(**ask).status == "validating"


@pytest.fixture
def together(desk: Any) -> Callable[..., Any]:
    """Raw calls: method, path, JSON body; the reply, or the status and the sentence of a refusal."""
    client = openai.OpenAI(base_url=f"{desk.server.base_url}/together/v1", api_key="any", max_retries=0)

    def call(method: str, path: str, body: Any = None, **form: Any) -> Any:
        import httpx2

        options: Any = {"headers": {"Content-Type": "multipart/form-data"}} if form else {}
        ask = {"GET": client.get, "POST": client.post, "DELETE": client.delete}[method]
        given = {} if method != "POST" else {"body": form.get("fields", body), "files": form.get("files")}
        try:
            return json.loads(ask(path, cast_to=httpx2.Response, options=options, **given).content)
        except openai.APIStatusError as error:
            return error.status_code, error.body["message"]  # type: ignore[index]

    return call


def upload(call: Callable[..., Any], content: bytes, purpose: str = "batch-api") -> Any:
    fields = {"purpose": purpose, "file_name": "in.jsonl", "file_type": "jsonl"}
    return call("POST", "/files/upload", fields=fields, files=[("file", ("in.jsonl", content))])


def bare(*ids: str) -> bytes:
    rows = [json.loads(line) for line in lines(TOGETHER_MODEL, list(ids)).splitlines()]
    return b"".join(json.dumps({key: row[key] for key in ("custom_id", "body")}).encode() + b"\n" for row in rows)


def test_a_job_of_together_has_its_own_shape(together: Any) -> None:
    file = upload(together, bare("t1", "t2"))
    assert (file["purpose"], file["FileType"], file["filename"]) == ("batch-api", "jsonl", "in.jsonl")
    made = together("POST", "/batches", {"input_file_id": file["id"], "endpoint": ENDPOINT})
    assert made.keys() == {"job", "warning"}
    job = ended(lambda: together("GET", f"/batches/{made['job']['id']}"))
    assert job["status"] == "COMPLETED"
    assert job["progress"] == 100.0
    assert job["error"] is None
    assert job.keys().isdisjoint({"request_counts", "metadata", "completion_window", "object"})
    assert datetime.fromisoformat(job["completed_at"]) > datetime.fromisoformat(job["created_at"])
    assert job["id"] in [other["id"] for other in together("GET", "/batches")]
    kept = {entry["id"]: entry["purpose"] for entry in together("GET", "/files")["data"]}
    assert (kept[file["id"]], kept[job["output_file_id"]]) == ("batch-api", "batch-generated")
    assert together("DELETE", f"/files/{file['id']}") == {"id": file["id"], "deleted": True}


@pytest.mark.parametrize(
    ("asked", "status", "words"),
    [
        ({"metadata": {"k": "v"}}, 400, "unknown field 'metadata'"),
        ({"input_file_id": None}, 400, "Missing required field"),
        ({"input_file_id": "file-none"}, 404, "File not found"),
        ({"endpoint": "/v1/completions"}, 400, "Supported values"),
    ],
)
def test_what_together_refuses_at_create(together: Any, asked: dict[str, Any], status: int, words: str) -> None:
    file = upload(together, bare("t"))
    refused = together("POST", "/batches", {"input_file_id": file["id"], "endpoint": ENDPOINT} | asked)
    assert refused[0] == status
    assert words in refused[1]


def test_what_together_refuses_at_upload(together: Any) -> None:
    assert upload(together, bare("t"), purpose="batch")[0] == 400
    file = upload(together, bare("t"), purpose="eval")
    refused = together("POST", "/batches", {"input_file_id": file["id"], "endpoint": ENDPOINT})
    assert refused == (400, f"File {file['id']} has the wrong purpose.")


def test_why_a_job_of_together_failed_is_one_string(together: Any) -> None:
    file = upload(together, bare("t", "t"))
    made = together("POST", "/batches", {"input_file_id": file["id"], "endpoint": ENDPOINT})
    job = ended(lambda: together("GET", f"/batches/{made['job']['id']}"))
    assert (job["status"], job["error"]) == ("FAILED", "The custom_id 't' is used twice.")


def test_half_price_is_for_chosen_models_of_together(together: Any, desk: Any) -> None:
    for model, one in ((TOGETHER_MODEL, "half"), ("openai/gpt-oss-120b", "full")):
        file = upload(together, bare(one).replace(TOGETHER_MODEL.encode(), model.encode()))
        made = together("POST", "/batches", {"input_file_id": file["id"], "endpoint": ENDPOINT})
        ended(lambda made=made: together("GET", f"/batches/{made['job']['id']}"))
    billed = {row["custom_id"]: row for row in desk.bill()["requests"]}
    half, full = billed["half"], billed["full"]
    assert half["usd"] == pytest.approx((half["input_tokens"] + half["output_tokens"]) * 0.15 / 1e6)
    assert full["usd"] == pytest.approx((full["input_tokens"] * 0.15 + full["output_tokens"] * 0.6) / 1e6)
