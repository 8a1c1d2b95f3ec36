"""At the edge of HTTP: the emulated Date on every answer, and answers that are cut off."""

from __future__ import annotations

from collections.abc import Iterable, MutableMapping
from email.utils import formatdate
from typing import Any

from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.emulator.store import Clock


class Dated:
    """The outermost layer: the Date header tells the service's time."""

    def __init__(self, app: ASGIApp, clock: Clock) -> None:
        self._app = app
        self._clock = clock

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""

        async def dated(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                date = formatdate(self._clock.now(), usegmt=True).encode()
                message["headers"] = [*message.get("headers", ()), (b"date", date)]
            await send(message)

        await self._app(scope, receive, dated)


class Cut(Response):
    """An answer that promises more bytes than it gives; uvicorn closes the connection of an unfinished one."""

    def __init__(self, promised_bytes: int, chunks: Iterable[bytes] = ()) -> None:
        super().__init__(headers={"content-length": str(promised_bytes)})
        self._chunks = chunks

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Begin the answer and leave it."""
        await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
        for chunk in self._chunks:
            await send({"type": "http.response.body", "body": chunk, "more_body": True})
