"""Bodies of files that arrive otherwise than they should: what ASGI sends is changed on its way."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, MutableMapping
from typing import Any

from starlette.types import Send

Message = MutableMapping[str, Any]

TRICKLE_PIECES = 20
TRICKLE_PAUSE_S = 0.05
TOO_MUCH_BYTES = 1000


class Truncated:
    """Half of the body, then the connection is closed: uvicorn does so with an answer that is not finished."""

    is_honest = False

    def __init__(self, send: Send) -> None:
        self._send = send
        self._left: int | None = None

    async def __call__(self, message: Message) -> None:
        """Pass on, change or swallow one message."""
        if message["type"] == "http.response.start":
            size = _length(message)
            if message["status"] < 300 and size is not None:
                self._left = size // 2
                if self.is_honest:
                    _set_length(message, self._left)
            await self._send(message)
        elif self._left is None:
            await self._send(message)
        elif self._left > 0:
            body = message.get("body", b"")[: self._left]
            self._left -= len(body)
            await self._send({**message, "body": body, "more_body": self._left > 0 or not self.is_honest})


class Short(Truncated):
    """Half of the body, and the Content-Length agrees."""

    is_honest = True


class Overlong:
    """The whole body, but the Content-Length promises more; then the connection is closed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_long = False

    async def __call__(self, message: Message) -> None:
        """Pass on or change one message."""
        if message["type"] == "http.response.start":
            size = _length(message)
            if message["status"] < 300 and size is not None:
                self._is_long = True
                _set_length(message, size + TOO_MUCH_BYTES)
        elif self._is_long:
            message = {**message, "more_body": True}
        await self._send(message)


class Trickle:
    """The first bytes (64 kB at most) come in 20 pieces with pauses between them."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._is_done = False

    async def __call__(self, message: Message) -> None:
        """Pass on one message, slowly."""
        body = message.get("body", b"")
        if not body or self._is_done:
            await self._send(message)
            return
        self._is_done = True
        step = -(-len(body) // TRICKLE_PIECES)
        for start in range(0, len(body), step):
            piece, is_last = body[start : start + step], start + step >= len(body)
            await self._send({**message, "body": piece, "more_body": not is_last or message.get("more_body", False)})
            await asyncio.sleep(TRICKLE_PAUSE_S)


DOWNLOADS: dict[str, Callable[[Send], Send]] = {
    "truncated_download": Truncated,
    "length_too_small": Short,
    "length_too_large": Overlong,
    "slow_trickle": Trickle,
}


def _length(message: Message) -> int | None:
    found = dict(message["headers"]).get(b"content-length")
    return None if found is None else int(found)


def _set_length(message: Message, size: int) -> None:
    others = [(name, value) for name, value in message["headers"] if name != b"content-length"]
    message["headers"] = [*others, (b"content-length", str(size).encode())]
