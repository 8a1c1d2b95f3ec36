"""What every host of OpenAI's dialect does and does not do on the wire: one POST per create, its own key only."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from openai._models import FinalRequestOptions

from runner.providers import connect
from runner.providers.base import Unclear

NAMES = ("openai", "groq", "mistral", "together")


class Away(BaseHTTPRequestHandler):
    """Sends every POST to itself again."""

    posts: list[str]

    def do_POST(self) -> None:
        self.posts.append(self.path)
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.send_response(307)
        self.send_header("Location", self.path)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *words: object) -> None:
        return


@pytest.fixture
def away() -> Iterator[str]:
    Away.posts = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Away) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.parametrize("name", NAMES)
def test_a_create_follows_no_redirect(away: str, name: str) -> None:
    with pytest.raises(Unclear):
        connect(name, {}, base_url=away).create("some-model", "file-x", "tag")
    assert len(Away.posts) == 1


@pytest.mark.parametrize("name", NAMES)
def test_a_gateways_headers_stay_with_openai(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "X-Gateway: hush\nAuthorization: Bearer sk-other")
    sdk = connect(name, {}, base_url="http://127.0.0.1:9")._client.sdk  # type: ignore[attr-defined]
    sent = sdk._build_request(FinalRequestOptions(method="get", url="/batches")).headers
    assert sent["Authorization"] == "Bearer rehearsal", "the key that makes the account"
    assert ("X-Gateway" in sent) is (name == "openai")
