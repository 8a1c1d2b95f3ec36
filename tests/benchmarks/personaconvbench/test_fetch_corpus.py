"""`data fetch` against a hub on loopback, by the real client: what is pinned is what is kept."""

from __future__ import annotations

import hashlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from runner.benchmarks.personaconvbench.fetch import FILE
from tests.place import Place

COMMIT = "c0ffee" * 6 + "c0ff"
CONTENT = b'[{"title": "a post", "author": "ann", "comments": []}]'
DIGEST = hashlib.sha256(CONTENT).hexdigest()


class Hub(ThreadingHTTPServer):
    """One file of one data set, at one commit; ``etag`` is the digest that it states for it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Desk)
        self.etag = DIGEST
        self.asked: list[str] = []


class Desk(BaseHTTPRequestHandler):
    server: Hub

    def do_HEAD(self) -> None:
        self.answer(b"")

    def do_GET(self) -> None:
        self.answer(CONTENT)

    def answer(self, body: bytes) -> None:
        if FILE not in self.path:  # whatever else the client would like to know
            self.send_error(404)
            return
        self.server.asked.append(f"{self.command} {self.path}")
        self.send_response(200)
        for name, value in {"ETag": f'"{self.server.etag}"', "X-Repo-Commit": COMMIT}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(CONTENT)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def hub() -> Iterator[Hub]:
    with Hub() as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def fetched(place: Place, hub: Hub, *options: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{hub.server_port}"
    env = {"HF_ENDPOINT": url, "HF_HOME": str(place.root / "hub"), "HF_HUB_DISABLE_XET": "1"}
    done = place.call("data", "fetch", *options, check=False, **env)
    return done.returncode, done.stderr


@pytest.mark.parametrize("stated", [DIGEST, "0" * 40], ids=["stated digest", "no digest stated"])
def test_a_file_that_is_not_the_pinned_one_is_not_kept(place: Place, hub: Hub, stated: str) -> None:
    hub.etag = stated
    code, said = fetched(place, hub)
    assert (code, DIGEST in said, COMMIT in said) == (1, True, True), said
    assert not list((place.root / "data").glob("*.json"))
    assert any(line.startswith("GET") for line in hub.asked) == (stated != DIGEST), "what is told is not got first"


def test_a_fetch_is_recorded_and_pins_the_next(place: Place, hub: Hub) -> None:
    file = place.root / "data" / FILE
    code, said = fetched(place, hub, "--revision", "other")
    assert (code, file.read_bytes()) == (0, CONTENT), said
    record = json.loads((place.root / "data" / f"{FILE}.source").read_text())
    assert (record["revision"], record["sha256"]) == (COMMIT, DIGEST)
    hub.asked.clear()
    assert fetched(place, hub)[0] == 0
    assert hub.asked == [], "what is there and is the pinned file is not got again"
    file.write_bytes(CONTENT + b" ")
    assert fetched(place, hub)[0] == 2
    file.unlink()
    assert fetched(place, hub)[0] == 0
    assert file.read_bytes() == CONTENT
    assert hub.asked and all(COMMIT in line for line in hub.asked), "by its commit, not by the branch"
