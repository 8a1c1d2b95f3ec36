"""Anthropic's Message Batches over HTTP, under ``/<provider>/v1``. Handlers that are not ``async`` run in a thread."""

from __future__ import annotations

from pathlib import Path

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from runner.emulator.admission import Full
from runner.emulator.branch import Branch, Unknown
from runner.emulator.dialect import Dialect, Trouble
from runner.emulator.jobs import Job
from runner.emulator.protocols.anthropic_body import params_refusal, texts_of
from runner.emulator.protocols.anthropic_lines import AnthropicLines
from runner.emulator.protocols.anthropic_objects import (
    Refused,
    batch_json,
    check_headers,
    invalid,
    no_batch,
    page_of,
    requests_of,
    too_large,
)
from runner.emulator.wire import Json

TROUBLES = {
    Trouble.SERVER_ERROR: Refused(500, "api_error", "Internal server error"),
    Trouble.OVERLOADED: Refused(529, "overloaded_error", "Overloaded"),
    Trouble.RATE_LIMITED: Refused(429, "rate_limit_error", "This request would exceed your account's rate limit."),
    Trouble.SPEND_LIMIT: Refused(
        429,
        "rate_limit_error",
        "Your organization has reached the monthly API usage threshold of its tier.",
        "enforced_spend_limit_reached",
    ),
    Trouble.FILE_NOT_READY: Refused(404, "not_found_error", "Not found"),
}

COUNTED = frozenset("messages model system thinking tool_choice tools cache_control output_config".split())
"""The parameters of a count: what bounds or samples the answer is none."""


def app(branch: Branch) -> ASGIApp:
    """The protocol for one provider."""
    api = Anthropic(branch)
    routes = [
        Route("/messages/batches", api.create, methods=["POST"]),
        Route("/messages/batches", api.list),
        Route("/messages/batches/{id}", api.retrieve),
        Route("/messages/batches/{id}", api.delete, methods=["DELETE"]),
        Route("/messages/batches/{id}/cancel", api.cancel, methods=["POST"]),
        Route("/messages/batches/{id}/results", api.results),
        Route("/messages/count_tokens", api.count_tokens, methods=["POST"]),
    ]
    handlers = {404: not_found, Refused: refused, Full: full, Unknown: unknown}
    return Starlette(routes=[Mount("/v1", routes=routes)], exception_handlers=handlers)


def answer(value: Json, status: int = 200) -> Response:
    """A JSON reply."""
    return Response(orjson.dumps(value), status, {"request-id": "req_emulator"}, media_type="application/json")


def trouble(kind: Trouble) -> tuple[int, Json]:
    """Status and envelope of what may go wrong with any call."""
    return TROUBLES[kind].status, TROUBLES[kind].envelope


async def refused(_: Request, error: Exception) -> Response:
    """The envelope of an error answer."""
    assert isinstance(error, Refused)
    return answer(error.envelope, error.status)


async def full(_: Request, error: Exception) -> Response:
    """The 429 of a create for which the queue has no room."""
    assert isinstance(error, Full)
    message = f"This request would exceed your limit of {error.limit:,} batch requests in the processing queue."
    return answer(Refused(429, "rate_limit_error", message).envelope, 429)


async def unknown(_: Request, error: Exception) -> Response:
    """The 404 of a batch that there is not."""
    assert isinstance(error, Unknown)
    return answer(no_batch(error.id).envelope, 404)


async def not_found(request: Request, _: Exception) -> Response:
    """The envelope for a URL that is not served."""
    return answer(Refused(404, "not_found_error", f"Not found: {request.url.path}").envelope, 404)


class Anthropic:
    """The handlers."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    async def create(self, request: Request) -> Response:
        """POST /messages/batches: the body goes to disk first, and from there, request by request, to the job."""
        body, most = self._branch.new_part(), self._branch.rules.max_bytes
        size = 0
        try:
            with body.open("wb") as file:
                async for chunk in request.stream():  # to its end, or the answer would look like a reset
                    size += len(chunk)
                    if most is None or size <= most:
                        file.write(chunk)
            version = check_headers(request.headers)
            if most is not None and size > most:
                raise too_large()
            job = await run_in_threadpool(self._create, body, version)
        finally:
            body.unlink(missing_ok=True)
        return answer(self._json(job, request))

    def _create(self, body: Path, version: str) -> Job:
        lines, most = self._branch.new_part(), self._branch.rules.max_requests
        try:
            with body.open("rb") as source, lines.open("wb") as out:
                for line in requests_of(source, most or 0):
                    out.write(line)
            return self._branch.create(lines, options={"version": version})
        finally:
            lines.unlink(missing_ok=True)

    def list(self, request: Request) -> Response:
        """GET /messages/batches: newest first."""
        check_headers(request.headers)
        batches = [self._json(job, request) for job in self._branch.listed()]
        return answer(page_of(batches, request.query_params))

    def retrieve(self, request: Request) -> Response:
        """GET /messages/batches/{id}: in the ``auto`` clock it brings the batch's next event about."""
        check_headers(request.headers)
        return answer(self._json(self._branch.retrieve(request.path_params["id"]), request))

    def delete(self, request: Request) -> Response:
        """DELETE /messages/batches/{id}: only of what has ended."""
        check_headers(request.headers)
        job = self._branch.job(request.path_params["id"])
        if job.is_open:
            raise invalid(f"Message Batch {job.id} is still being processed: cancel it before it is deleted.")
        self._branch.delete(job.id)
        return answer({"id": job.id, "type": "message_batch_deleted"})

    def cancel(self, request: Request) -> Response:
        """POST /messages/batches/{id}/cancel."""
        check_headers(request.headers)
        job = self._branch.cancel(request.path_params["id"])
        if not job.is_open and job.cancelling_at is None:
            raise invalid(f"Message Batch {job.id} has ended and cannot be canceled.")
        return answer(self._json(job, request))

    def results(self, request: Request) -> Response:
        """GET /messages/batches/{id}/results: the lines, streamed."""
        check_headers(request.headers)
        job = self._branch.job(request.path_params["id"])
        if self._json(job, request)["results_url"] is None or job.output_file is None:
            raise Refused(404, "not_found_error", f"Message Batch {job.id} has no available results.")
        path = self._branch.path(self._branch.file(job.output_file))
        return FileResponse(path, media_type="application/x-jsonl")

    async def count_tokens(self, request: Request) -> Response:
        """POST /messages/count_tokens: about what a batch would count for this prompt."""
        version = check_headers(request.headers)
        try:
            params = orjson.loads(await request.body())
        except orjson.JSONDecodeError:
            params = None
        if not isinstance(params, dict):
            raise invalid("The request body is not valid JSON.")
        return answer(await run_in_threadpool(self._count, params, version))

    def _count(self, params: Json, version: str) -> Json:
        if extra := next((name for name in params if name not in COUNTED), None):
            raise invalid(f"{extra}: Extra inputs are not permitted")
        model = self._branch.tariff.model(params.get("model"), self._branch.now())
        error = params_refusal({**params, "max_tokens": 1}, model, version, 0)
        if error or model is None:
            kind, message = (error or {})["type"], (error or {})["message"]
            raise Refused(404 if kind == "not_found_error" else 400, kind, message)
        return {"input_tokens": self._branch.count_tokens(model, texts_of(params))}

    def _json(self, job: Job, request: Request) -> Json:
        shown = job.output_file is not None and self._branch.shows_results(job)
        path = f"{request.scope['root_path']}/messages/batches/{job.id}/results"
        url = str(request.url.replace(path=path, query="")) if shown else None
        return batch_json(job, self._branch.now(), url, self._branch.rules.results_kept_s or 0.0)


DIALECT = Dialect(AnthropicLines(), app, trouble)
