"""Google's own SDK in front of the emulator, and plain HTTP."""

from __future__ import annotations

import io
import json
import urllib.error
import urllib.request
from typing import Any

from google import genai
from google.genai import types

FLASH = "gemini-2.5-flash"
DAY_S = 24 * 3600.0


def sdk(base_url: str, version: str | None = None) -> genai.Client:
    options = types.HttpOptions(base_url=f"{base_url}/google", api_version=version, timeout=20_000)
    return genai.Client(api_key="any", vertexai=False, http_options=options)


def ask(base_url: str, method: str, path: str, body: Any = None, key: str = "any", **headers: str) -> Any:
    """Method, path below /google or a URL, JSON or raw body: status and reply, or its headers where it is empty."""
    data = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
    given = {"x-goog-api-key": key} if key else {}
    url = path if path.startswith("http") else f"{base_url}/google{path}"
    request = urllib.request.Request(url, data, given | headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            content = answer.read()
            return answer.status, json.loads(content) if content else dict(answer.headers)
    except urllib.error.HTTPError as error:
        return error.code, json.loads(error.read())


def row(key: str = "r", text: str = "Say something.", **config: Any) -> dict[str, Any]:
    contents = [{"role": "user", "parts": [{"text": text}]}]
    config = {"maxOutputTokens": 400, "thinkingConfig": {"thinkingBudget": 0}} | config
    return {"key": key, "request": {"contents": contents, "generationConfig": config}}


def to_lines(rows: list[Any]) -> bytes:
    return b"".join((each if isinstance(each, bytes) else json.dumps(each).encode()) + b"\n" for each in rows)


def upload(client: genai.Client, rows: list[Any], **config: Any) -> Any:
    return client.files.upload(file=io.BytesIO(to_lines(rows)), config={"mime_type": "application/jsonl", **config})


def create(client: genai.Client, rows: list[Any], model: str = FLASH, name: str = "tag") -> Any:
    return client.batches.create(model=model, src=upload(client, rows).name, config={"display_name": name})


def ended(client: genai.Client, job: Any) -> Any:
    for _ in range(9):
        job = client.batches.get(name=job.name)
        if job.state.name not in ("JOB_STATE_PENDING", "JOB_STATE_RUNNING"):
            return job
    raise AssertionError("it never ends")


def results(client: genai.Client, job: Any) -> dict[str, Any]:
    lines = client.files.download(file=job.dest.file_name).split(b"\n")[:-1]
    return {entry.get("key", ""): entry for entry in map(json.loads, lines)}


def answered(client: genai.Client, rows: list[Any], model: str = FLASH) -> dict[str, Any]:
    return results(client, ended(client, create(client, rows, model)))
