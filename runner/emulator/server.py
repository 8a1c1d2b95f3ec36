"""The HTTP server: one prefix per provider, so that their paths cannot collide."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Mount

from runner.emulator import control
from runner.emulator.branch import Branch
from runner.emulator.edge import Dated
from runner.emulator.misbehaving import Misbehaving
from runner.emulator.registry import HOSTS
from runner.emulator.service import Service

KEEP_ALIVE_S = 600
"""Idle connections stay: one closed by us just as a client writes would look like a lost answer."""


def application(service: Service) -> Dated:
    """The ASGI application."""
    mounts = [Mount(f"/{name}", host.dialect.app(Branch(service, name))) for name, host in HOSTS.items()]
    app = Starlette(routes=[control.mount(service), *mounts], exception_handlers={404: _not_found})
    return Dated(Misbehaving(app, service.faults), service.clock)


async def _not_found(request: Request, _: Exception) -> Response:
    served = ", ".join(f"/{name}{host.path}" for name, host in HOSTS.items())
    return JSONResponse({"error": f"nothing at {request.url.path}; there are: {served}, /control"}, 404)


def serve(service: Service, listener: socket.socket) -> None:
    """Answer on a listening socket until told to stop."""
    config = uvicorn.Config(
        application(service),
        log_level="warning",
        access_log=False,
        date_header=False,
        server_header=False,
        lifespan="off",
        timeout_keep_alive=KEEP_ALIVE_S,
    )
    uvicorn.Server(config).run(sockets=[listener])
