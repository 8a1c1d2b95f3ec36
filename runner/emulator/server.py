"""The HTTP server: one prefix per provider, so that their paths cannot collide."""

from __future__ import annotations

import socket

import uvicorn
from starlette.applications import Starlette

from runner.emulator import control
from runner.emulator.edge import Dated
from runner.emulator.protocols import openai
from runner.emulator.protocols.openai_objects import Refused
from runner.emulator.service import Service

KEEP_ALIVE_S = 600
"""Idle connections stay: one closed by us just as a client writes would look like a lost answer."""


def application(service: Service) -> Dated:
    """The ASGI application."""
    app = Starlette(
        routes=[control.mount(service), openai.mount(service)],
        exception_handlers={404: openai.not_found, Refused: openai.refused},
    )
    return Dated(app, service.clock)


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
