"""At the edge of HTTP: the emulated Date on every answer, and connections that are reset."""

from __future__ import annotations

import asyncio
import socket
import struct
from collections.abc import MutableMapping
from email.utils import formatdate
from typing import Any

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


async def reset(receive: Receive) -> None:
    """Reset the connection of a request whose ``receive`` is uvicorn's own: ASGI has no word for it."""
    transport: asyncio.Transport = receive.__self__.transport  # type: ignore[attr-defined]
    transport.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    transport.abort()
    while (await receive())["type"] != "http.disconnect":  # uvicorn must know before we return
        pass
