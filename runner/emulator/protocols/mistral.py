"""Mistral's files and batch jobs over HTTP, under ``/<provider>/v1``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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
from runner.emulator.dialect import Dialect, Trouble
from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.protocols.compatible_lines import MistralLines
from runner.emulator.protocols.openai import NeedsKey, OpenAI, answer
from runner.emulator.protocols.openai_lines import loads
from runner.emulator.protocols.openai_objects import Refused
from runner.emulator.wire import Json

ENDPOINTS = ("/v1/chat/completions",)
PURPOSES = ("fine-tune", "batch", "ocr")
CREATE_KEYS = frozenset({"endpoint", "input_files", "requests", "model", "agent_id", "metadata", "timeout_hours"})
MOST_HOURS = 168
STATES = {
    "validating": "QUEUED",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "completed": "SUCCESS",
    "failed": "FAILED",
    "expired": "TIMEOUT_EXCEEDED",
    "cancelling": "CANCELLATION_REQUESTED",
    "cancelled": "CANCELLED",
}
TROUBLES = {
    Trouble.SERVER_ERROR: (500, "Service unavailable.", "internal_server_error", "1000"),
    Trouble.OVERLOADED: (503, "Service tier capacity exceeded.", "service_unavailable", "3505"),
    Trouble.RATE_LIMITED: (429, "Rate limit exceeded", "rate_limited", "1300"),
    Trouble.SPEND_LIMIT: (402, "You have reached the spend limit of your workspace.", "payment_required", "1400"),
    Trouble.FILE_NOT_READY: (404, "The input file was not found.", "not_found", "1404"),
}


def app(branch: Branch) -> ASGIApp:
    """The protocol for one provider."""
    api = Mistral(branch)
    routes = [
        Route("/files", api.create_file, methods=["POST"]),
        Route("/files", api.list_files),
        Route("/files/{id}", api.retrieve_file),
        Route("/files/{id}", api.delete_file, methods=["DELETE"]),
        Route("/files/{id}/content", api.file_content),
        Route("/batch/jobs", api.create_batch, methods=["POST"]),
        Route("/batch/jobs", api.list_batches),
        Route("/batch/jobs/{id}", api.retrieve_batch),
        Route("/batch/jobs/{id}/cancel", api.cancel_batch, methods=["POST"]),
    ]
    return Starlette(
        routes=[Mount("/v1", routes=routes, middleware=[Middleware(NeedsKey)])],
        exception_handlers={404: not_found, Refused: refused, Full: full},
    )


def trouble(kind: Trouble) -> tuple[int, Json]:
    """Status and body of what may go wrong with any call."""
    status, message, type_, code = TROUBLES[kind]
    return status, {"object": "error", "message": message, "type": type_, "param": None, "code": code}


async def refused(_: Request, error: Exception) -> Response:
    """A missing key and a missing thing are a word; what is wrong with a field is a list."""
    assert isinstance(error, Refused)
    said = error.error
    if error.status != 422:
        return answer({"detail": "Unauthorized" if error.status == 401 else said["message"]}, error.status)
    detail = {"type": said["code"] or "value_error", "loc": ["body", said["param"]], "msg": said["message"]}
    return answer({"detail": [detail]}, 422)


async def full(_: Request, error: Exception) -> Response:
    """The 429 of a create that a limit forbids for now."""
    assert isinstance(error, Full)
    status, body = trouble(Trouble.RATE_LIMITED)
    return answer(body | {"message": f"Too many pending batch requests: at most {error.limit:,}."}, status)


async def not_found(request: Request, _: Exception) -> Response:
    """The body for a URL that is not served."""
    return answer({"detail": "Not Found"}, 404)


class Mistral(OpenAI):
    """What differs from OpenAI's handlers."""

    async def create_file(self, request: Request) -> Response:
        """POST /files."""
        async with request.form() as form:
            upload, purpose = form.get("file"), form.get("purpose")
            if not isinstance(upload, UploadFile):
                raise Refused(422, "Field required", "file", "missing")
            if purpose not in PURPOSES:
                raise Refused(422, f"Input should be one of {', '.join(PURPOSES)}", "purpose", "enum")
            return await run_in_threadpool(self._keep, upload, str(purpose))

    def _keep(self, upload: UploadFile, purpose: str) -> Response:
        most = self._branch.rules.max_bytes
        if most is not None and (upload.size or 0) > most:
            raise Refused(413, "The file is larger than 512 MB.", "file")
        return answer(_file_json(self._branch.add_file(self._branch.save(upload.file), upload.filename or "", purpose)))

    def list_files(self, request: Request) -> Response:
        """GET /files: newest first, by numbered pages."""
        return _page([_file_json(file) for file in self._branch.files()], request.query_params)

    def retrieve_file(self, request: Request) -> Response:
        """GET /files/{id}."""
        return answer(_file_json(self._file(request)))

    async def create_batch(self, request: Request) -> Response:
        """POST /batch/jobs."""
        raw = loads(await request.body())
        if not isinstance(raw, dict):
            raise Refused(422, "JSON decode error", None, "json_invalid")
        for name in raw:
            if name not in CREATE_KEYS:
                raise Refused(422, "Extra inputs are not permitted", name, "extra_forbidden")
        if raw.get("endpoint") not in ENDPOINTS:
            raise Refused(422, f"Input should be {', '.join(ENDPOINTS)}", "endpoint", "enum")
        files = raw.get("input_files")
        if not isinstance(files, list) or len(files) != 1 or not isinstance(files[0], str):
            raise Refused(422, "This emulator takes exactly one input file", "input_files", "value_error")
        hours = raw.get("timeout_hours", 24)
        if not isinstance(hours, int) or not 1 <= hours <= MOST_HOURS:
            raise Refused(422, f"Input should be at most {MOST_HOURS}", "timeout_hours", "less_than_equal")
        metadata = raw.get("metadata") or {}
        if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
            raise Refused(422, "Input should be a valid string", "metadata", "string_type")
        return await run_in_threadpool(self._make, raw, files[0], hours)

    def _make(self, raw: Json, file_id: str, hours: int) -> Response:
        branch = self._branch
        try:
            file = branch.file(file_id)
        except Unknown:
            raise Refused(404, f"No file matches the given query: {file_id}", "input_files") from None
        if file.purpose != branch.rules.input_purpose:
            raise Refused(422, f"The file {file_id} is not for batches", "input_files", "value_error")
        if branch.tariff.model(raw.get("model"), branch.now()) is None:
            raise Refused(400, f"Invalid model: {raw.get('model')}", "model", "invalid_model")
        job = branch.create(
            file_id,
            endpoint=raw["endpoint"],
            metadata=raw.get("metadata"),
            options={"model": raw["model"]},
            expires_at=branch.now() + hours * 3600,
        )
        return answer(self._json(job))

    def list_batches(self, request: Request) -> Response:
        """GET /batch/jobs: newest first unless ``order_by=created``, by numbered pages."""
        jobs = [self._json(job) for job in self._branch.listed()]
        return _page(jobs[:: -1 if request.query_params.get("order_by") == "created" else 1], request.query_params)

    def retrieve_batch(self, request: Request) -> Response:
        """GET /batch/jobs/{id}."""
        try:
            return answer(self._json(self._branch.retrieve(request.path_params["id"])))
        except Unknown as error:
            raise Refused(404, f"No batch job matches the given query: {error.id}") from None

    def cancel_batch(self, request: Request) -> Response:
        """POST /batch/jobs/{id}/cancel."""
        try:
            job = self._branch.cancel(request.path_params["id"])
        except Unknown as error:
            raise Refused(404, f"No batch job matches the given query: {error.id}") from None
        if job.state not in ("cancelling", "cancelled"):
            raise Refused(400, f"A job that is {STATES[job.state]} cannot be cancelled.")
        return answer(self._json(job))

    def _json(self, job: Job) -> Json:
        shows = self._branch.shows_results(job)
        done, failed = self._branch.progress(job)
        ended_at = job.completed_at or job.expired_at or job.cancelled_at or job.failed_at
        errors = Counter(error["message"] for error in job.errors or ())
        return {
            "id": job.id,
            "object": "batch",
            "input_files": [job.input_file],
            "endpoint": job.endpoint,
            "model": (job.options or {}).get("model"),
            "agent_id": None,
            "metadata": job.metadata,
            "errors": [{"message": message, "count": count} for message, count in errors.items()],
            "status": STATES[job.state],
            "created_at": int(job.created_at),
            "started_at": int(job.in_progress_at) if job.in_progress_at else None,
            "completed_at": int(ended_at) if ended_at else None,
            "total_requests": job.total,
            "completed_requests": done + failed,
            "succeeded_requests": done,
            "failed_requests": failed,
            "output_file": job.output_file if shows else None,
            "error_file": job.error_file if shows else None,
            "outputs": None,
        }


def _page(items: list[Json], query: Mapping[str, str]) -> Response:
    """The page of the number ``page``, from 0."""
    number, size = query.get("page", "0"), query.get("page_size", "100")
    if not number.isdecimal() or not size.isdecimal() or not 1 <= int(size) <= 1000:
        raise Refused(422, "Input should be a valid integer", "page", "int_parsing")
    start = int(number) * int(size)
    return answer({"object": "list", "data": items[start : start + int(size)], "total": len(items)})


def _file_json(file: File) -> Json:
    is_result = file.purpose == "batch_output"
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "filename": file.filename,
        "purpose": "batch" if is_result else file.purpose,
        "sample_type": "batch_result" if is_result else "batch_request",
        "source": "mistral" if is_result else "upload",
        "num_lines": None,
        "mimetype": "application/jsonl",
        "expires_at": None if file.expires_at is None else int(file.expires_at),
    }


DIALECT = Dialect(MistralLines(), app, trouble)
