"""OpenAI's Files and Batches over HTTP, under ``/openai/v1``. Handlers that are not ``async`` run in a thread."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp, Receive, Scope, Send

from runner.emulator.edge import Cut
from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.protocols.openai_body import refusal
from runner.emulator.protocols.openai_lines import loads
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
from runner.emulator.service import Service
from runner.emulator.tariff import tariff
from runner.emulator.wire import Json

PROVIDER = "openai"
GENERIC_MAX_BYTES = 512_000_000
RETENTION_S = 30 * 24 * 3600
STUCK_STEP_S = 3600.0
LIST_PAGE_S = 31.0
"""What a page of the list costs in the ``auto`` clock: a client that must be sure that a batch is absent reads
the whole list twice, a minute apart, and would otherwise really wait."""


def mount(service: Service) -> Mount:
    """The protocol under its prefix."""
    api = OpenAI(service)
    return Mount(
        "/openai/v1",
        routes=[
            Route("/files", api.create_file, methods=["POST"]),
            Route("/files", api.list_files),
            Route("/files/{id}", api.retrieve_file),
            Route("/files/{id}", api.delete_file, methods=["DELETE"]),
            Route("/files/{id}/content", api.file_content),
            Route("/batches", api.create_batch, methods=["POST"]),
            Route("/batches", api.list_batches),
            Route("/batches/{id}", api.retrieve_batch),
            Route("/batches/{id}/cancel", api.cancel_batch, methods=["POST"]),
        ],
        middleware=[Middleware(NeedsKey)],
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


def _json(value: Json, status: int = 200) -> Response:
    return Response(orjson.dumps(value), status, media_type="application/json")


def _server_error() -> Response:
    message = "The server had an error while processing your request. Sorry about that!"
    return _json({"error": {"message": message, "type": "server_error", "param": None, "code": None}}, 500)


async def refused(_: Request, error: Exception) -> Response:
    """The envelope of an error answer."""
    assert isinstance(error, Refused)
    return _json({"error": error.error}, error.status)


async def not_found(request: Request, _: Exception) -> Response:
    """The envelope for a URL that is not served."""
    return _json({"error": refusal(f"Invalid URL ({request.method} {request.url.path})", None, None)}, 404)


class OpenAI:
    """The handlers."""

    def __init__(self, service: Service) -> None:
        self._service = service

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
        is_batch, name = purpose == "batch", upload.filename or ""
        if (upload.size or 0) > (tariff(PROVIDER).max_bytes if is_batch else GENERIC_MAX_BYTES):
            raise Refused(400, "File is too large.")
        if is_batch and not (name.endswith(".jsonl") and _starts_with_json(upload.file)):
            raise Refused(400, "Invalid file format for Batch API. Must be .jsonl")
        part = self._service.files.take(upload.file)
        now = self._service.clock.now()
        life = seconds or (RETENTION_S if is_batch else None)
        with self._service.store.transaction() as db:
            ends = now + life if life else None
            file_id = self._service.files.add(db, PROVIDER, purpose, name, part, now, ends)
        return _json(file_json(self._file(file_id)))

    def list_files(self, request: Request) -> Response:
        """GET /files: newest first unless ``order=asc``."""
        query = request.query_params
        limit = limit_of(query, default=10_000, most=10_000)
        files = self._service.files.newest_first(PROVIDER, self._service.clock.now())
        wanted = [file_json(file) for file in files if query.get("purpose") in (None, file.purpose)]
        return _json(page_of(wanted[:: -1 if query.get("order") == "asc" else 1], query.get("after"), limit))

    def retrieve_file(self, request: Request) -> Response:
        """GET /files/{id}."""
        return _json(file_json(self._file(request.path_params["id"])))

    def delete_file(self, request: Request) -> Response:
        """DELETE /files/{id}."""
        file = self._file(request.path_params["id"])
        self._service.files.delete(file)
        return _json({"id": file.id, "object": "file", "deleted": True})

    def file_content(self, request: Request) -> Response:
        """GET /files/{id}/content: the bytes, streamed."""
        file = self._file(request.path_params["id"])
        path = self._service.store.path(file.id)
        if not self._service.faults.strikes("truncated_download"):
            return FileResponse(path, media_type="application/octet-stream")
        return Cut(file.bytes, _first_half(path, file.bytes))

    async def create_batch(self, request: Request) -> Response:
        """POST /batches: what is wrong with the call is said now, what is wrong with the file later."""
        raw = loads(await request.body())
        if not isinstance(raw, dict):
            raise Refused(400, "We could not parse the JSON body of your request.")
        check_create(raw)
        return await run_in_threadpool(self._create, raw)

    def _create(self, raw: Json) -> Response:
        service = self._service
        if service.faults.strikes("create_500"):
            return _server_error()
        if service.jobs.created_since(PROVIDER, service.clock.now() - 3600) >= tariff(PROVIDER).max_batches_per_hour:
            raise Refused(429, "Rate limit reached for batch creation.", None, "rate_limit_exceeded")
        keep_s = expiry(raw.get("output_expires_after") or {})
        job = service.jobs.create(PROVIDER, raw["endpoint"], raw["input_file_id"], raw.get("metadata"), keep_s)
        if service.faults.strikes("create_lost"):
            if job.seq % 2:
                return Cut(1)
            return _server_error()
        return _json(self._batch(job))

    def list_batches(self, request: Request) -> Response:
        """GET /batches: newest first."""
        service, query = self._service, request.query_params
        limit = limit_of(query, default=20, most=100)
        if service.clock.mode == "auto":
            service.clock.advance(LIST_PAGE_S)
        service.life.settle()
        now = service.clock.now()
        batches = [self._batch(job) for job in service.jobs.newest_first(PROVIDER) if job.listed_at <= now]
        return _json(page_of(batches, query.get("after"), limit))

    def retrieve_batch(self, request: Request) -> Response:
        """GET /batches/{id}: in the ``auto`` clock it brings the batch's next event about."""
        service, clock = self._service, self._service.clock
        job = self._job(request.path_params["id"])
        is_auto = clock.mode == "auto"
        if clock.now() < job.visible_at:
            if is_auto:
                clock.jump(job.visible_at)
            raise no_batch(job.id)
        if is_auto and job.is_open and job.next_at is None:
            clock.advance(STUCK_STEP_S)
        elif is_auto:
            clock.jump(job.next_at or job.files_at or 0.0)
        service.life.settle()
        return _json(self._batch(self._job(job.id)))

    def cancel_batch(self, request: Request) -> Response:
        """POST /batches/{id}/cancel."""
        job_id = request.path_params["id"]
        self._service.life.settle()
        self._service.life.cancel(job_id)
        job = self._job(job_id)
        if job.state not in ("cancelling", "cancelled"):
            raise Refused(409, f"Cannot cancel a batch with status '{job.state}'.")
        return _json(self._batch(job))

    def _file(self, file_id: str) -> File:
        file = self._service.files.get(PROVIDER, file_id, self._service.clock.now())
        if file is None:
            raise Refused(404, f"No such File object: {file_id}", "id")
        return file

    def _job(self, job_id: str) -> Job:
        job = self._service.jobs.get(job_id)
        if job is None or job.provider != PROVIDER:
            raise no_batch(job_id)
        return job

    def _batch(self, job: Job) -> Json:
        now = self._service.clock.now()
        return batch_json(job, now, *self._service.life.progress(job, now))


def _starts_with_json(file: BinaryIO) -> bool:
    """Whether the first line is JSON; the rest is looked at only when a batch is made of the file."""
    line = file.readline()
    file.seek(0)
    return loads(line) is not None


def _first_half(path: Path, size: int) -> Iterator[bytes]:
    left = size // 2
    with path.open("rb") as file:
        while chunk := file.read(min(left, 1 << 20)):
            left -= len(chunk)
            yield chunk
