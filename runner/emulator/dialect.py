"""One protocol, as the server takes it in: what each file of ``protocols/`` offers as ``DIALECT``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from starlette.types import ASGIApp

from runner.emulator.wire import Json, Wire

if TYPE_CHECKING:
    from runner.emulator.branch import Branch


class Trouble(StrEnum):
    """What may go wrong with any call, whatever it was."""

    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    OVERLOADED = "overloaded"
    SPEND_LIMIT = "spend_limit"
    FILE_NOT_READY = "file_not_ready"


@dataclass(frozen=True)
class Dialect:
    """How one protocol reads and writes lines, answers calls, and says that something is wrong.

    ``app`` makes the ASGI application that is mounted at ``/<provider>``. ``trouble`` gives the HTTP status and
    the JSON body of an error, in the protocol's words.
    """

    wire: Wire
    app: Callable[[Branch], ASGIApp]
    trouble: Callable[[Trouble], tuple[int, Json]]
