"""OpenAI's Files and Batches over HTTP, under ``/<provider>/v1``. Handlers that are not ``async`` run in a thread."""

from __future__ import annotations

from typing import Any, BinaryIO

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.emulator.admission import Full
from runner.emulator.branch import Branch, Unknown
from runner.emulator.dialect import Dialect, Trouble
from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.protocols.openai_body import refusal
from runner.emulator.protocols.openai_lines import OpenAILines, loads
from runner.emulator.protocols.openai_objects import (
    PURPOSES,
    Refused,
    batch_json,
    check_create,
    expiry,
    file_json,
    invalid_value,
    limit_of,
    no_batch,
    page_of,
)
from runner.emulator.wire import Json

GENERIC_MAX_BYTES = 512_000_000
SORRY = "The server had an error while processing your request. Sorry about that!"
TROUBLES = {
    Trouble.SERVER_ERROR: (500, SORRY, "server_error", None),
    Trouble.OVERLOADED: (503, "The server is overloaded or not ready yet.", "server_error", None),
    Trouble.RATE_LIMITED: (429, "Rate limit reached for requests.", "requests", "rate_limit_exceeded"),
    Trouble.SPEND_LIMIT: (
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    Trouble.FILE_NOT_READY: (404, "No such File object: it is still being processed.", "invalid_request_error", None),
}


def app(branch: Branch) -> ASGIApp:
    """The protocol for one provider."""
    return serve(OpenAI(branch))


def serve(api: OpenAI) -> ASGIApp:
    """The routes, answered by these handlers (those of a host may differ)."""
    routes = [
        Route("/files", api.create_file, methods=["POST"]),
        Route("/files", api.list_files),
        Route("/files/{id}", api.retrieve_file),
        Route("/files/{id}", api.delete_file, methods=["DELETE"]),
        Route("/files/{id}/content", api.file_content),
        Route("/batches", api.create_batch, methods=["POST"]),
        Route("/batches", api.list_batches),
        Route("/batches/{id}", api.retrieve_batch),
        Route("/batches/{id}/cancel", api.cancel_batch, methods=["POST"]),
    ]
    return Starlette(
        routes=[Mount("/v1", routes=routes, middleware=[Middleware(NeedsKey)])],
        exception_handlers={404: not_found, Refused: refused, Full: full},
    )


class NeedsKey:
    """Any bearer key is good, none is not."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, or 401."""
        scheme, _, key = Headers(scope=scope).get("authorization", "").partition(" ")
        if scheme.lower() != "bearer" or not key.strip():
            raise Refused(401, "You didn't provide an API key. Send it in an Authorization header, as 'Bearer KEY'.")
        await self._app(scope, receive, send)


def answer(value: Any, status: int = 200) -> Response:
    """A JSON reply."""
    return Response(orjson.dumps(value), status, media_type="application/json")


def trouble(kind: Trouble) -> tuple[int, Json]:
    """Status and envelope of what may go wrong with any call."""
    status, message, type_, code = TROUBLES[kind]
    return status, {"error": {"message": message, "type": type_, "param": None, "code": code}}


async def refused(_: Request, error: Exception) -> Response:
    """The envelope of an error answer."""
    assert isinstance(error, Refused)
    return answer({"error": error.error}, error.status)


async def full(_: Request, error: Exception) -> Response:
    """The 429 of a create that a limit forbids for now."""
    assert isinstance(error, Full)
    message = f"Rate limit reached for batch creation: {error.what}, limit {error.limit:,}."
    return answer({"error": refusal(message, None, "rate_limit_exceeded")}, 429)


async def not_found(request: Request, _: Exception) -> Response:
    """The envelope for a URL that is not served."""
    return answer({"error": refusal(f"Invalid URL ({request.method} {request.url.path})", None, None)}, 404)


class OpenAI:
    """The handlers."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    async def create_file(self, request: Request) -> Response:
        """POST /files: the parts of the form are streamed to disk."""
        async with request.form() as form:
            upload, purpose = form.get("file"), form.get("purpose")
            if not isinstance(upload, UploadFile):
                raise Refused(400, "Missing required parameter: 'file'.", "file", "missing_required_parameter")
            if purpose not in PURPOSES:
                raise invalid_value(purpose, PURPOSES, "purpose")
            prefix = "expires_after["
            seconds = expiry({key[len(prefix) : -1]: form[key] for key in form if key.startswith(prefix)})
            return await run_in_threadpool(self._take, upload, str(purpose), seconds)

    def _take(self, upload: UploadFile, purpose: str, seconds: int | None) -> Response:
        branch, name = self._branch, upload.filename or ""
        is_batch = purpose == branch.rules.input_purpose
        most = branch.rules.max_bytes if is_batch else GENERIC_MAX_BYTES
        if most is not None and (upload.size or 0) > most:
            raise Refused(400, "File is too large.")
        if is_batch and not (name.endswith(".jsonl") and _starts_with_json(upload.file)):
            raise Refused(400, "Invalid file format for Batch API. Must be .jsonl")
        kept_s = seconds or (branch.rules.inputs_kept_s if is_batch else None)
        return answer(file_json(branch.add_file(branch.save(upload.file), name, purpose, kept_s)))

    def list_files(self, request: Request) -> Response:
        """GET /files: newest first unless ``order=asc``."""
        query = request.query_params
        limit = limit_of(query, default=10_000, most=10_000)
        files = self._branch.files()
        wanted = [file_json(file) for file in files if query.get("purpose") in (None, file.purpose)]
        return answer(page_of(wanted[:: -1 if query.get("order") == "asc" else 1], query.get("after"), limit))

    def retrieve_file(self, request: Request) -> Response:
        """GET /files/{id}."""
        return answer(file_json(self._file(request)))

    def delete_file(self, request: Request) -> Response:
        """DELETE /files/{id}."""
        file = self._file(request)
        self._branch.delete_file(file.id)
        return answer({"id": file.id, "object": "file", "deleted": True})

    def file_content(self, request: Request) -> Response:
        """GET /files/{id}/content: the bytes, streamed."""
        return FileResponse(self._branch.path(self._file(request)), media_type="application/octet-stream")

    async def create_batch(self, request: Request) -> Response:
        """POST /batches: what is wrong with the call is said now, what is wrong with the file later."""
        raw = loads(await request.body())
        if not isinstance(raw, dict):
            raise Refused(400, "We could not parse the JSON body of your request.")
        check_create(raw)
        return await run_in_threadpool(self._create, raw)

    def _create(self, raw: Json) -> Response:
        job = self._branch.create(
            raw["input_file_id"],
            endpoint=raw["endpoint"],
            metadata=raw.get("metadata"),
            output_ttl=expiry(raw.get("output_expires_after") or {}),
        )
        return self._batch(job)

    def list_batches(self, request: Request) -> Response:
        """GET /batches: newest first."""
        query = request.query_params
        limit = limit_of(query, default=20, most=100)
        batches = [self._json(job) for job in self._branch.listed()]
        return answer(page_of(batches, query.get("after"), limit))

    def retrieve_batch(self, request: Request) -> Response:
        """GET /batches/{id}: in the ``auto`` clock it brings the batch's next event about."""
        job_id = request.path_params["id"]
        try:
            return self._batch(self._branch.retrieve(job_id))
        except Unknown:
            raise no_batch(job_id) from None

    def cancel_batch(self, request: Request) -> Response:
        """POST /batches/{id}/cancel."""
        job_id = request.path_params["id"]
        try:
            job = self._branch.cancel(job_id)
        except Unknown:
            raise no_batch(job_id) from None
        if job.state not in ("cancelling", "cancelled"):
            raise Refused(409, f"Cannot cancel a batch with status '{job.state}'.")
        return self._batch(job)

    def _file(self, request: Request) -> File:
        try:
            return self._branch.file(request.path_params["id"])
        except Unknown as error:
            raise Refused(404, f"No such File object: {error.id}", "id") from None

    def _batch(self, job: Job) -> Response:
        return answer(self._json(job))

    def _json(self, job: Job) -> Json:
        return batch_json(job, self._branch.shows_results(job), *self._branch.progress(job))


def _starts_with_json(file: BinaryIO) -> bool:
    """Whether the first line is JSON; the rest is looked at only when a batch is made of the file."""
    line = file.readline()
    file.seek(0)
    return loads(line) is not None


DIALECT = Dialect(OpenAILines(), app, trouble)
