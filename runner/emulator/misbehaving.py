"""The faults of HTTP itself, in one layer around every protocol: lost answers, storms, resets, odd downloads."""

from __future__ import annotations

import asyncio
from collections.abc import MutableMapping
from typing import Any

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.emulator.calls import Call, call_of
from runner.emulator.dialect import Trouble
from runner.emulator.downloads import DOWNLOADS
from runner.emulator.edge import reset
from runner.emulator.faults import UPLOADERS, Faults
from runner.emulator.registry import HOSTS

STORMS = ("storm_429", "storm_429_silent", "storm_5xx")
UPLOADS = ("upload_reset_before", "upload_reset_middle", "upload_reset_after")
CREATES = {
    "spend_limit": Trouble.SPEND_LIMIT,
    "file_not_ready": Trouble.FILE_NOT_READY,
    "create_500": Trouble.SERVER_ERROR,
}
MADE = ("create_lost", "create_429_made")
OF_CALLS = {
    Call.CREATE: (*STORMS, *UPLOADS[:2], *CREATES, *MADE),
    Call.UPLOAD: (*STORMS, *UPLOADS),
    Call.DOWNLOAD: (*STORMS, *DOWNLOADS),
    Call.OTHER: STORMS,
}
RETRY_AFTER_S = 1
GATEWAY = "<html><head><title>502 Bad Gateway</title></head><body><h1>502 Bad Gateway</h1></body></html>"


class Misbehaving:
    """The layer. A fault's name and the number of the call that it strikes decide what happens."""

    def __init__(self, app: ASGIApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or not."""
        provider = scope["path"].split("/")[1]
        struck = await self._struck(provider, scope) if provider in HOSTS else None
        if struck is None:
            await self._app(scope, receive, send)
            return
        name, number = struck
        if name in DOWNLOADS:
            await self._app(scope, receive, DOWNLOADS[name](send))
        elif name in UPLOADS:
            await self._reset(name, scope, receive)
        elif name in MADE:
            await self._lose(name, number, provider, scope, receive, send)
        else:
            while (await receive()).get("more_body"):  # an answer before the end of the body would look like a reset
                pass
            await _trouble(provider, name, number)(scope, receive, send)

    async def _struck(self, provider: str, scope: Scope) -> tuple[str, int] | None:
        """The first fault that strikes this call, and the number of the call (or its place in the storm)."""
        call = call_of(scope["method"], scope["path"])
        wanted = OF_CALLS[call]
        if call is Call.CREATE and provider in UPLOADERS:  # else the create itself brings the requests
            wanted = tuple(name for name in wanted if name not in UPLOADS)
        rates = self._faults.rates()
        if not any(rates.get(name) for name in wanted):
            return None
        return await run_in_threadpool(self._strike, provider, wanted)

    def _strike(self, provider: str, wanted: tuple[str, ...]) -> tuple[str, int] | None:
        for name in wanted:
            number = (self._faults.storms if name in STORMS else self._faults.strikes)(name, provider)
            if number:
                return name, number
        return None

    async def _reset(self, name: str, scope: Scope, receive: Receive) -> None:
        headers = dict(scope["headers"])
        left = int(headers.get(b"content-length", b"0")) // 2
        if name == "upload_reset_middle":
            while left > 0 and (message := await receive()).get("more_body"):
                left -= len(message.get("body", b""))
        elif name == "upload_reset_after":

            async def unsaid(_: MutableMapping[str, Any]) -> None:
                await asyncio.sleep(0)

            await self._app(scope, receive, unsaid)
        await reset(receive)

    async def _lose(self, name: str, number: int, provider: str, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the call happen; if it went well, say something else, or break off."""
        is_made = False

        async def unsaid(message: MutableMapping[str, Any]) -> None:
            nonlocal is_made
            if message["type"] == "http.response.start" and message["status"] < 300:
                is_made = True
            if not is_made:
                await send(message)

        await self._app(scope, receive, unsaid)
        if is_made and name == "create_lost" and number % 2:
            await reset(receive)
        elif is_made:
            await _trouble(provider, name, number)(scope, receive, send)


def _trouble(provider: str, name: str, number: int) -> Response:
    """The error answer of a fault."""
    if name == "storm_5xx" and number == 2:
        return HTMLResponse(GATEWAY, 502)
    kind = CREATES.get(name, Trouble.SERVER_ERROR)
    if name == "storm_5xx" and number % 2 == 0:
        kind = Trouble.OVERLOADED
    elif "429" in name:
        kind = Trouble.RATE_LIMITED
    status, body = HOSTS[provider].dialect.trouble(kind)
    headers = {"retry-after": str(RETRY_AFTER_S)} if name == "storm_429" else {}
    return Response(orjson.dumps(body), status, headers, media_type="application/json")
