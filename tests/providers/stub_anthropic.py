"""A server that says what a test wrote for it, and remembers what it was asked: standard library only.

``stub.say("POST /v1/messages/batches", status, body, **headers)`` queues a reply for a method and path (without its
query); the last one queued stays. A body that is not bytes is sent as JSON. ``cut`` leaves half of it out.
"""

from __future__ import annotations

import json
import threading
from collections import defaultdict
from dataclasses import dataclass
from datetime import UTC, datetime
from email.message import Message
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
BATCHES = "/v1/messages/batches"


@dataclass(frozen=True)
class Call:
    operation: str
    query: str
    headers: Message
    body: bytes


def batch(name: str = "msgbatch_1", **fields: Any) -> dict[str, Any]:
    """A batch object as the API gives it; ``counts`` are those that are not 0."""
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0) | fields.pop("counts", {})
    return {
        "id": name,
        "type": "message_batch",
        "processing_status": "ended",
        "request_counts": counts,
        "created_at": "2026-11-20T11:00:00.123456Z",
        "expires_at": "2026-11-21T11:00:00.123456Z",
        "ended_at": None,
        "archived_at": None,
        "cancel_initiated_at": None,
        "results_url": None,
        **fields,
    }


def error(kind: str, message: str = "so it is", code: str | None = None) -> dict[str, Any]:
    """The envelope of an error."""
    details = {} if code is None else {"details": {"error_code": code}}
    return {"type": "error", "error": {"type": kind, "message": message, **details}, "request_id": "req_1"}


class Stub:
    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.replies: dict[str, list[tuple[int, bytes, dict[str, str], bool]]] = defaultdict(list)
        self.now = NOON
        self.over = threading.Event()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.server.stub = self  # type: ignore[attr-defined]
        self.base_url = f"http://127.0.0.1:{self.server.server_port}"

    def say(self, operation: str, status: int = 200, body: Any = b"", *, cut: bool = False, **headers: str) -> None:
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.replies[operation].append((status, content, headers, cut))

    def asked(self, operation: str) -> list[Call]:
        return [call for call in self.calls if call.operation == operation]

    def __enter__(self) -> Stub:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.server.shutdown()
        self.server.server_close()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        stub: Stub = self.server.stub  # type: ignore[attr-defined]
        path, _, query = self.path.partition("?")
        operation = f"{self.command} {path}"
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        stub.calls.append(Call(operation, query, self.headers, body))
        script = stub.replies[operation] or [(404, json.dumps(error("not_found_error")).encode(), {}, False)]
        status, content, headers, cut = script.pop(0) if len(script) > 1 else script[0]
        if status == 0:  # never answered
            stub.over.wait()
            self.close_connection = True
            return
        self.send_response_only(status)
        self.send_header("Date", format_datetime(stub.now, usegmt=True))
        self.send_header("Content-Length", str(len(content)))
        self.send_header("retry-after-ms", "1")
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if cut else content)
        self.close_connection = cut

    do_POST = do_DELETE = do_GET  # noqa: N815

    def log_message(self, *words: object) -> None:
        pass
