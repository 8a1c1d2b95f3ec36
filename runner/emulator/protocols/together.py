"""Together's files and batches over HTTP, under ``/<provider>/v1``: its own upload, job and list."""

from __future__ import annotations

from datetime import UTC, datetime

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from runner.emulator.admission import Full
from runner.emulator.branch import Branch, Unknown
from runner.emulator.dialect import Dialect
from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.protocols.compatible_lines import TogetherLines
from runner.emulator.protocols.openai import NeedsKey, OpenAI, answer, full, not_found, refused, trouble
from runner.emulator.protocols.openai_lines import loads
from runner.emulator.protocols.openai_objects import Refused, file_json, invalid_value
from runner.emulator.wire import Json

ENDPOINT = "/v1/chat/completions"
PURPOSES = ("fine-tune", "eval", "batch-api")
CREATE_KEYS = frozenset({"input_file_id", "endpoint", "completion_window", "priority", "model_id"})
STATES = {"finalizing": "IN_PROGRESS", "cancelling": "IN_PROGRESS"}
"""All others are OpenAI's in upper case."""


def app(branch: Branch) -> ASGIApp:
    """The protocol for one provider."""
    api = Together(branch)
    routes = [
        Route("/files/upload", api.create_file, methods=["POST"]),
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


class Together(OpenAI):
    """What differs from OpenAI's handlers."""

    async def create_file(self, request: Request) -> Response:
        """POST /files/upload: ``purpose``, ``file_name`` and ``file``."""
        async with request.form() as form:
            upload, purpose, name = form.get("file"), form.get("purpose"), form.get("file_name")
            if not isinstance(upload, UploadFile) or not isinstance(name, str):
                raise Refused(400, "Missing required fields: file and file_name.", "file", "invalid_request")
            if purpose not in PURPOSES:
                raise invalid_value(purpose, PURPOSES, "purpose")
            return await run_in_threadpool(self._keep, upload, name, str(purpose))

    def _keep(self, upload: UploadFile, name: str, purpose: str) -> Response:
        most = self._branch.rules.max_bytes
        if most is not None and (upload.size or 0) > most:
            raise Refused(413, f"File is too large: at most {most} bytes.", "file", "file_too_large")
        return answer(_file_json(self._branch.add_file(self._branch.save(upload.file), name, purpose)))

    def list_files(self, request: Request) -> Response:
        """GET /files: all of them."""
        return answer({"data": [_file_json(file) for file in self._branch.files()]})

    def retrieve_file(self, request: Request) -> Response:
        """GET /files/{id}."""
        return answer(_file_json(self._file(request)))

    def delete_file(self, request: Request) -> Response:
        """DELETE /files/{id}."""
        file = self._file(request)
        self._branch.delete_file(file.id)
        return answer({"id": file.id, "deleted": True})

    async def create_batch(self, request: Request) -> Response:
        """POST /batches: the job comes in an envelope, here only."""
        raw = loads(await request.body())
        if not isinstance(raw, dict):
            raise Refused(400, "Invalid request format: the body is not JSON.", None, "invalid_request")
        for name in raw:
            if name not in CREATE_KEYS:
                raise Refused(400, f"Invalid request format: unknown field '{name}'.", name, "invalid_request")
        if not isinstance(raw.get("input_file_id"), str):
            raise Refused(400, "Missing required field: 'input_file_id'.", "input_file_id", "invalid_request")
        if raw.get("endpoint") != ENDPOINT:
            raise invalid_value(raw.get("endpoint"), (ENDPOINT,), "endpoint")
        return await run_in_threadpool(self._make, raw["input_file_id"])

    def _make(self, file_id: str) -> Response:
        try:
            file = self._branch.file(file_id)
        except Unknown:
            raise Refused(404, f"File not found: {file_id}", "input_file_id", "not_found") from None
        if file.purpose != self._branch.rules.input_purpose:
            raise Refused(400, f"File {file_id} has the wrong purpose.", "input_file_id", "invalid_request")
        job = self._branch.create(file_id, endpoint=ENDPOINT)
        return answer({"job": self._json(job), "warning": None}, 201)

    def list_batches(self, request: Request) -> Response:
        """GET /batches: a bare array of all."""
        return answer([self._json(job) for job in self._branch.listed()])

    def _json(self, job: Job) -> Json:
        shows = self._branch.shows_results(job)
        done = sum(self._branch.progress(job))
        ended_at = job.completed_at or job.expired_at or job.cancelled_at or job.failed_at
        errors = [error["message"] for error in job.errors or ()]
        return {
            "id": job.id,
            "user_id": "user_emulator",
            "input_file_id": job.input_file,
            "status": STATES.get(job.state, job.state.upper()),
            "job_deadline": _iso(job.expires_at),
            "created_at": _iso(job.created_at),
            "endpoint": job.endpoint,
            "progress": 100.0 * done / job.total if job.total else 0.0,
            "model_id": job.model,
            "output_file_id": job.output_file if shows else None,
            "error_file_id": job.error_file if shows else None,
            "error": " ".join(errors) or None,
            "completed_at": _iso(ended_at) if ended_at else None,
        }


def _file_json(file: File) -> Json:
    purpose = "batch-generated" if file.purpose == "batch_output" else file.purpose
    return file_json(file) | {"purpose": purpose, "FileType": "jsonl", "Processed": True}


def _iso(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")


DIALECT = Dialect(TogetherLines(), app, trouble)
