"""A small stand-in for OpenAI's Files and Batch API: standard library only, and nothing of ours.

In a thread:      with Stub() as stub: OpenAI(base_url=stub.base_url, api_key="…")
As a process:     python stub_openai.py --port-file F [--answer TEXT] [--faults JSON] [--log F]

A batch advances one state each time it is retrieved. ``faults`` maps an operation (upload, create, list,
retrieve, cancel, file, content, delete) to the misbehaviours of its next calls, in order:

    "429"          answer this status instead of doing the work (any number; also "429|message|code|type")
    "500 after"    do the work, then answer this status
    "drop"         close the connection without doing the work; "drop after": do it, then close
    "hang after"   do the work, then be silent until the stub ends
    "garbage"      do the work, then answer 200 with a body that is not JSON
    "no date"      do the work, but send no Date
    "short"        (content) promise the whole length, send half of it and close
    "cut"          (content) send half of the file as if that were all
    ""             behave
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import threading
from collections import defaultdict
from collections.abc import Callable
from datetime import UTC, datetime
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import parse_qs, urlsplit

ROUTES = [
    ("upload", "POST", r"/v1/files"),
    ("file", "GET", r"/v1/files/([^/]+)"),
    ("delete", "DELETE", r"/v1/files/([^/]+)"),
    ("content", "GET", r"/v1/files/([^/]+)/content"),
    ("create", "POST", r"/v1/batches"),
    ("list", "GET", r"/v1/batches"),
    ("retrieve", "GET", r"/v1/batches/([^/]+)"),
    ("cancel", "POST", r"/v1/batches/([^/]+)/cancel"),
]
NEXT = {"validating": "in_progress", "in_progress": "finalizing", "finalizing": "completed", "cancelling": "cancelled"}
MOMENTS = [f"{state}_at" for state in {*NEXT, *NEXT.values(), "failed", "expired"} - {"validating"}]


class RefusalError(Exception):
    def __init__(self, status: int, message: str, code: str | None = None) -> None:
        self.status, self.message, self.code = status, message, code


class Stub:
    """The service's whole state, open to a test's hands."""

    def __init__(self, answer: Callable[[dict[str, Any]], str] = lambda body: "yes") -> None:
        self.answer = answer
        self.files: dict[str, tuple[dict[str, Any], bytes]] = {}
        self.numbers = itertools.count()
        self.batches: dict[str, dict[str, Any]] = {}
        self.faults: dict[str, list[str]] = defaultdict(list)
        self.calls: list[tuple[str, str]] = []
        self.log: TextIO | None = None
        self.now: datetime | None = None
        self.knows_expiry = True
        self.over = threading.Event()
        self.lock = threading.RLock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.block_on_close = False
        self.server.stub = self  # type: ignore[attr-defined]

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_port}/v1"

    def __enter__(self) -> Stub:
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()
        return self

    def __exit__(self, *ending: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()

    def count(self, operation: str) -> int:
        return sum(called == operation for called, _ in self.calls)

    def time(self) -> datetime:
        return (self.now or datetime.now(UTC)).astimezone(UTC)

    def seconds(self) -> int:
        return int(self.time().timestamp())

    def add_file(self, content: bytes, purpose: str = "batch_output", filename: str = "out.jsonl") -> str:
        with self.lock:
            file_id = f"file-{next(self.numbers):06d}"
            card = {
                "id": file_id,
                "object": "file",
                "bytes": len(content),
                "created_at": self.seconds(),
                "filename": filename,
                "purpose": purpose,
                "status": "processed",
            }
            self.files[file_id] = (card, content)
        return file_id

    def add_batch(self, **fields: Any) -> dict[str, Any]:
        with self.lock:
            batch_id = f"batch_{len(self.batches):06d}"
            batch = {
                "id": batch_id,
                "object": "batch",
                "endpoint": "/v1/chat/completions",
                "input_file_id": "file-none",
                "completion_window": "24h",
                "status": "validating",
                "created_at": self.seconds(),
                "expires_at": self.seconds() + 86_400,
                **dict.fromkeys(MOMENTS),
                "output_file_id": None,
                "error_file_id": None,
                "errors": None,
                "request_counts": {"total": 0, "completed": 0, "failed": 0},
                "metadata": None,
                **fields,
            }
            self.batches[batch_id] = batch
        return batch

    def upload(self, head: Any, body: bytes) -> dict[str, Any]:
        boundary = re.search(r'boundary="?([^";]+)', head["Content-Type"])
        assert boundary, "an upload without a boundary"
        parts: dict[str, tuple[str, bytes]] = {}
        for part in body.split(b"--" + boundary[1].encode())[1:-1]:
            names, _, content = part.removeprefix(b"\r\n").partition(b"\r\n\r\n")
            said = dict(re.findall(r'(\w+)="([^"]*)"', names.decode()))
            parts[said["name"]] = (said.get("filename", ""), content.removesuffix(b"\r\n"))
        filename, content = parts["file"]
        if not filename.endswith(".jsonl"):
            raise RefusalError(400, "Invalid file format for Batch API. Must be .jsonl")
        card = self.files[self.add_file(content, parts["purpose"][1].decode(), filename)][0]
        if expiry := parts.get("expires_after[seconds]"):
            if not self.knows_expiry:
                raise RefusalError(400, "Unknown form field: 'expires_after[seconds]'.")
            assert parts["expires_after[anchor]"][1] == b"created_at"
            card["expires_at"] = card["created_at"] + int(expiry[1])
        return card

    def create(self, head: Any, body: bytes) -> dict[str, Any]:
        asked = json.loads(body)
        known = {"input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after"}
        if unknown := asked.keys() - known:
            raise RefusalError(400, f"Unknown parameter: {unknown}", "unknown_parameter")
        kept = ("input_file_id", "metadata", "endpoint", "output_expires_after")
        batch = self.add_batch(**{key: asked[key] for key in kept if key in asked})
        if asked["input_file_id"] not in self.files:
            error = {"code": "invalid_request", "line": None, "message": "Cannot find file.", "param": "file_id"}
            batch.update(status="failed", failed_at=self.seconds(), errors={"data": [error]})
        else:
            batch["request_counts"]["total"] = len(self.lines_of(batch))
        return batch

    def list(self, query: dict[str, list[str]]) -> dict[str, Any]:
        newest_first = list(self.batches.values())[::-1]
        if after := query.get("after"):
            newest_first = newest_first[newest_first.index(self.batch(after[0])) + 1 :]
        limit = int(query.get("limit", ["20"])[0])
        page = newest_first[:limit]
        return {"object": "list", "data": page, "has_more": len(newest_first) > len(page)}

    def retrieve(self, batch_id: str) -> dict[str, Any]:
        batch = self.batch(batch_id)
        if following := NEXT.get(batch["status"]):
            self.move(batch, following)
        return batch

    def cancel(self, batch_id: str) -> dict[str, Any]:
        batch = self.batch(batch_id)
        if batch["status"] not in NEXT:
            raise RefusalError(409, f"Cannot cancel a batch with status '{batch['status']}'.")
        self.move(batch, "cancelling")
        return batch

    def move(self, batch: dict[str, Any], status: str) -> None:
        batch["status"] = status
        batch[f"{status}_at"] = self.seconds()
        if status == "completed":
            self.finish(batch)

    def finish(self, batch: dict[str, Any]) -> None:
        lines = self.lines_of(batch)
        answers = b"".join(json.dumps(self.respond(line)).encode() + b"\n" for line in reversed(lines))
        batch["request_counts"] = {"total": len(lines), "completed": len(lines), "failed": 0}
        batch["output_file_id"] = self.add_file(answers)

    def lines_of(self, batch: dict[str, Any]) -> list[dict[str, Any]]:
        content = self.files[batch["input_file_id"]][1]
        return [json.loads(line) for line in content.split(b"\n") if line]

    def respond(self, line: dict[str, Any]) -> dict[str, Any]:
        body = line["body"]
        text = self.answer(body)
        choice = {"message": {"role": "assistant", "content": text, "refusal": None}, "finish_reason": "stop"}
        prompt = sum(len(message["content"]) for message in body["messages"]) // 4 + 1
        completion = (len(text) // 4 + 1) * body.get("n", 1)
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": completion,
            "prompt_tokens_details": {"cached_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0},
        }
        reply = {
            "id": f"chatcmpl-{line['custom_id']}",
            "object": "chat.completion",
            "created": self.seconds(),
            "model": f"{body['model']}-2025-04-14",
            "choices": [{"index": index, **choice} for index in range(body.get("n", 1))],
            "usage": usage,
            "system_fingerprint": "fp_stub",
        }
        return {
            "id": f"batch_req_{line['custom_id']}",
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "request_id": "req", "body": reply},
            "error": None,
        }

    def batch(self, batch_id: str) -> dict[str, Any]:
        if batch_id not in self.batches:
            raise RefusalError(404, f"No batch found with id '{batch_id}'.")
        return self.batches[batch_id]

    def file(self, file_id: str) -> dict[str, Any]:
        self.content(file_id)
        return self.files[file_id][0]

    def content(self, file_id: str) -> bytes:
        if file_id not in self.files:
            raise RefusalError(404, f"No such File object: {file_id}")
        return self.files[file_id][1]

    def delete(self, file_id: str) -> dict[str, Any]:
        self.content(file_id)
        del self.files[file_id]
        return {"id": file_id, "object": "file", "deleted": True}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        self.serve()

    do_POST = do_DELETE = do_GET  # noqa: N815

    def serve(self) -> None:
        stub: Stub = self.server.stub  # type: ignore[attr-defined]
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = urlsplit(self.path)
        operation, found = next(
            (name, match)
            for name, method, pattern in ROUTES
            if method == self.command and (match := re.fullmatch(pattern, url.path))
        )
        with stub.lock:
            stub.calls.append((operation, self.path))
            if stub.log:
                print(operation, self.path, file=stub.log, flush=True)
            script = stub.faults[operation]
            fault = script.pop(0) if script else ""
            worked = fault in ("", "garbage", "short", "cut", "no date") or fault.endswith(" after")
            status, reply = self.work(stub, operation, found, body, url.query) if worked else (0, b"")
        self.answer(stub, fault.removesuffix(" after"), status, reply)

    def work(self, stub: Stub, operation: str, found: Any, body: bytes, query: str) -> tuple[int, bytes]:
        try:
            if not (self.headers.get("Authorization") or "").startswith("Bearer "):
                raise RefusalError(401, "You didn't provide an API key.", "invalid_api_key")
            if operation == "content":
                return 200, stub.content(found[1])
            if operation in ("upload", "create"):
                reply = getattr(stub, operation)(self.headers, body)
            elif operation == "list":
                reply = stub.list(parse_qs(query))
            else:
                reply = getattr(stub, operation)(found[1])
            return 200, json.dumps(reply).encode()
        except RefusalError as no:
            return no.status, error_body(no.message, no.code)

    def answer(self, stub: Stub, fault: str, status: int, reply: bytes) -> None:
        if fault == "hang":
            stub.over.wait()
        if fault in ("hang", "drop"):
            self.close_connection = True
            return
        if fault[:1].isdigit():
            number, message, code, kind = [*fault.split("|"), "", "", ""][:4]
            status, reply = int(number), error_body(message or "scripted", code or None, kind)
        promised = len(reply)
        if fault == "garbage":
            reply, promised = b"<html>", 6
        if fault in ("short", "cut"):
            reply = reply[: len(reply) // 2]
            self.close_connection = True
        self.send_response_only(status)
        if reply[:2] == b"\x1f\x8b":
            self.send_header("Content-Encoding", "gzip")
        if fault != "no date":
            self.send_header("Date", format_datetime(stub.time(), usegmt=True))
        self.send_header("Content-Length", str(len(reply) if fault == "cut" else promised))
        self.send_header("Content-Type", "application/json")
        self.send_header("retry-after-ms", "1")
        self.end_headers()
        for begin in range(0, len(reply), 1 << 20):
            self.wfile.write(memoryview(reply)[begin : begin + (1 << 20)])

    def log_message(self, *words: object) -> None:
        pass


def error_body(message: str, code: str | None, kind: str = "") -> bytes:
    return json.dumps({"error": {"message": message, "type": kind or "invalid_request_error", "code": code}}).encode()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--port-file", type=Path, required=True)
    parser.add_argument("--answer", default="yes")
    parser.add_argument("--faults", type=json.loads, default={})
    parser.add_argument("--log", type=argparse.FileType("a"))
    options = parser.parse_args()
    with Stub(answer=lambda body: options.answer) as stub:
        stub.faults.update(options.faults)
        stub.log = options.log
        partial = options.port_file.with_suffix(".partial")
        partial.write_text(str(stub.server.server_port))
        partial.replace(options.port_file)
        threading.Event().wait()


if __name__ == "__main__":
    main()
