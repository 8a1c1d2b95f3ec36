"""A desk in front of a real server: the real SDK, and the control endpoints."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import in_thread
import openai
import pytest

import runner.emulator
from tests.clock import FIRST_MOMENT

TODAY = FIRST_MOMENT.timestamp()

ENDPOINT = "/v1/chat/completions"


class Desk:
    def __init__(self, state: Path, clock: str | None, alone: bool = True, **options: Any) -> None:
        is_new = not (state / "state.sqlite").exists()
        self.state = state
        start: Any = runner.emulator.start if alone else in_thread.start
        self.server = start(state, clock=clock, **options)
        self.client = openai.OpenAI(base_url=f"{self.server.base_url}/openai/v1", api_key="any", max_retries=0)
        if is_new and "at" not in options:
            self.advance(TODAY - self.now())

    def close(self) -> None:
        self.client.close()
        self.server.stop()

    def control(self, name: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.server.base_url}/control/{name}", data)
        with urllib.request.urlopen(request) as answer:
            return json.loads(answer.read())

    def now(self) -> float:
        return float(self.control("clock")["now"])

    def advance(self, seconds: float) -> None:
        self.control("clock", {"advance_s": seconds})

    def bill(self) -> Any:
        return self.control("bill")

    def upload(self, lines: list[Any] | bytes, name: str = "in.jsonl") -> Any:
        data = lines if isinstance(lines, bytes) else b"".join(to_line(line) + b"\n" for line in lines)
        return self.client.files.create(file=(name, data), purpose="batch")

    def create(self, lines: list[Any] | bytes, **metadata: str) -> Any:
        return self.client.batches.create(
            input_file_id=self.upload(lines).id,
            endpoint=ENDPOINT,
            completion_window="24h",
            metadata=metadata,
        )

    def finish(self, batch: Any) -> Any:
        """Poll (in the auto clock) until the batch has ended."""
        for _ in range(9):
            batch = self.client.batches.retrieve(batch.id)
            if batch.status in ("completed", "failed", "expired", "cancelled"):
                return batch
        raise AssertionError(f"still {batch.status}")

    def run(self, lines: list[Any] | bytes) -> Any:
        return self.finish(self.create(lines))

    def raw(self, file_id: str) -> bytes:
        return self.client.files.content(file_id).content

    def results(self, file_id: str | None) -> dict[str, Any]:
        """Result lines by custom id."""
        lines = self.raw(file_id).split(b"\n")[:-1] if file_id else []
        return {row["custom_id"]: row for row in map(json.loads, lines)}


def to_line(line: Any) -> bytes:
    return line if isinstance(line, bytes) else json.dumps(line, ensure_ascii=False).encode()


def ask(custom_id: str = "r", content: str = "Say something.", **body: Any) -> dict[str, Any]:
    """A request line; a body parameter that is None is left out."""
    full = {"model": "gpt-4.1-mini", "messages": [{"role": "user", "content": content}], "max_tokens": 50, **body}
    return {
        "custom_id": custom_id,
        "method": "POST",
        "url": ENDPOINT,
        "body": {key: value for key, value in full.items() if value is not None},
    }


@pytest.fixture(scope="session")
def request_line() -> Callable[..., dict[str, Any]]:
    return ask


@pytest.fixture
def open_desk(tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Start servers; several on the same folder if wanted; each in a process of its own if ``alone``."""
    desks: list[Desk] = []

    def start(
        clock: str | None = "auto", state: str = "state", plain: bool = True, alone: bool = False, **options: Any
    ) -> Desk:
        desks.append(Desk(tmp_path / state, clock, alone, plain=plain, **options))
        return desks[-1]

    yield start
    for desk in desks:
        desk.close()


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """One server with the auto clock for all tests of a module that do not look at the whole of its state."""
    shared = Desk(tmp_path_factory.mktemp("emulator"), "auto", plain=True)
    yield shared
    shared.close()
