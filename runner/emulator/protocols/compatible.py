"""Hosts of open models that speak OpenAI's dialect: only chat completions, and lists as each of them gives them."""

from __future__ import annotations

from functools import partial

from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from runner.emulator.branch import Branch
from runner.emulator.dialect import Dialect
from runner.emulator.protocols.compatible_lines import ChatLines
from runner.emulator.protocols.openai import OpenAI, answer, serve, trouble
from runner.emulator.protocols.openai_lines import loads
from runner.emulator.protocols.openai_objects import file_json, invalid_value

ENDPOINTS = ("/v1/chat/completions",)


class Compatible(OpenAI):
    """OpenAI's handlers, but only for chat completions."""

    async def create_batch(self, request: Request) -> Response:
        """POST /batches."""
        raw = loads(await request.body())
        if isinstance(raw, dict) and raw.get("endpoint") not in (None, *ENDPOINTS):
            raise invalid_value(raw["endpoint"], ENDPOINTS, "endpoint")
        return await super().create_batch(request)


class Groq(Compatible):
    """Groq's lists come whole, and say nothing of pages."""

    def list_batches(self, request: Request) -> Response:
        """GET /batches: newest first."""
        return answer({"object": "list", "data": [self._json(job) for job in self._branch.listed()]})

    def list_files(self, request: Request) -> Response:
        """GET /files: newest first."""
        return answer({"object": "list", "data": [file_json(file) for file in self._branch.files()]})


def _app(kind: type[OpenAI], branch: Branch) -> ASGIApp:
    return serve(kind(branch))


GROQ = Dialect(ChatLines(max_n=1, thoughts="reasoning"), partial(_app, Groq), trouble)
NEBIUS = Dialect(ChatLines(thoughts="reasoning_content"), partial(_app, Compatible), trouble)
DEEPINFRA = Dialect(ChatLines(), partial(_app, Compatible), trouble)
QWEN = Dialect(ChatLines(thoughts="reasoning_content"), partial(_app, Compatible), trouble)
