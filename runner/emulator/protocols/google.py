"""Gemini's batches over HTTP, under ``/<provider>/v1`` and ``/v1beta``. What is not ``async`` runs in a thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.types import ASGIApp

from runner.emulator.admission import Full
from runner.emulator.branch import Branch, Unknown
from runner.emulator.dialect import Dialect, Trouble
from runner.emulator.jobs import Job
from runner.emulator.protocols.google_body import plain, request_refusal, texts_of, unknown_name
from runner.emulator.protocols.google_files import Files
from runner.emulator.protocols.google_lines import INTERNAL, GoogleLines
from runner.emulator.protocols.google_objects import (
    QUOTA,
    Refused,
    check_key,
    invalid,
    loads,
    no_entity,
    no_file,
    operation_json,
    page_of,
)
from runner.emulator.tariff import Model
from runner.emulator.wire import Json

VERSIONS = ("/v1", "/v1beta")
COUNTED = frozenset({"model", "contents", "generateContentRequest"})
"""The names of a countTokens request; instructions are counted inside the last one only."""
MOST_INLINE_BYTES = 20_971_520
TROUBLES = {
    Trouble.SERVER_ERROR: Refused(500, "INTERNAL", str(INTERNAL["message"])),
    Trouble.OVERLOADED: Refused(503, "UNAVAILABLE", "The model is overloaded. Please try again later."),
    Trouble.RATE_LIMITED: Refused(429, "RESOURCE_EXHAUSTED", QUOTA),
    Trouble.SPEND_LIMIT: Refused(
        429,
        "RESOURCE_EXHAUSTED",
        "Your project has exceeded its monthly spending cap. Please go to AI Studio at https://ai.studio/spend to "
        "manage your project spend cap.",
    ),
    Trouble.FILE_NOT_READY: Refused(
        400, "FAILED_PRECONDITION", "The File is not in an ACTIVE state and usage is not allowed."
    ),
}


def app(branch: Branch) -> ASGIApp:
    """The protocol for one provider."""
    api, files = Google(branch), Files(branch)
    routes = [
        Route("/models/{model:path}:batchGenerateContent", api.create, methods=["POST"]),
        Route("/models/{model:path}:countTokens", api.count_tokens, methods=["POST"]),
        Route("/batches", api.list),
        Route("/batches/{id}:cancel", api.cancel, methods=["POST"]),
        Route("/batches/{id}", api.retrieve),
        Route("/batches/{id}", api.delete, methods=["DELETE"]),
        Route("/files", files.list),
        Route("/files/{id}:download", files.download),
        Route("/files/{id}", files.retrieve),
        Route("/files/{id}", files.delete, methods=["DELETE"]),
    ]
    mounts = [Mount(version, routes=routes) for version in VERSIONS]
    mounts += [
        Mount(f"/download{version}", routes=[Route("/files/{id}:download", files.download)]) for version in VERSIONS
    ]
    uploads = [Route(f"/upload{version}/files", files.upload, methods=["POST"]) for version in VERSIONS]
    handlers = {404: not_found, Refused: refused, Full: full, Unknown: unknown, ClientDisconnect: cut_off}
    return Starlette(routes=[*mounts, *uploads], exception_handlers=handlers)


def answer(value: Json, status: int = 200) -> Response:
    """A JSON reply."""
    return Response(orjson.dumps(value), status, media_type="application/json; charset=UTF-8")


def trouble(kind: Trouble) -> tuple[int, Json]:
    """Status and envelope of what may go wrong with any call."""
    return TROUBLES[kind].status, TROUBLES[kind].envelope


async def refused(_: Request, error: Exception) -> Response:
    """The envelope of an error answer."""
    assert isinstance(error, Refused)
    return answer(error.envelope, error.status)


async def full(_: Request, __: Exception) -> Response:
    """The 429 of a create for which there is no room: it does not tell which limit was meant."""
    return answer(TROUBLES[Trouble.RATE_LIMITED].envelope, 429)


async def unknown(_: Request, __: Exception) -> Response:
    """The 404 of a batch that there is not."""
    return answer(no_entity().envelope, 404)


async def not_found(_: Request, __: Exception) -> Response:
    """The envelope for a URL that is not served."""
    return answer(no_entity().envelope, 404)


async def cut_off(_: Request, __: Exception) -> Response:
    """Nobody is there any more; what has arrived of an upload stays, and its session."""
    return Response(status_code=499)


class Google:
    """The handlers of batches."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    async def create(self, request: Request) -> Response:
        """POST /models/{model}:batchGenerateContent: of an uploaded file, or of requests in the body."""
        check_key(request.headers, request.query_params)
        body = await request.body()
        if len(body) > MOST_INLINE_BYTES:
            raise invalid(f"Request payload size exceeds the limit: {MOST_INLINE_BYTES} bytes.")
        return await run_in_threadpool(self._create, request.path_params["model"], _object(body))

    def _create(self, name: str, body: Json) -> Response:
        model, batch = self._model(name, "batchGenerateContent"), plain(body.get("batch"))
        config = plain(batch.get("inputConfig"))
        display = batch.get("displayName")
        if not isinstance(display, str) or not display:
            raise invalid("* BatchGenerateContentRequest.batch.display_name: display_name is not specified\n")
        options = {"model": model.name, "display_name": display}
        file_name = config.get("fileName")
        if file_name is not None:
            return self._operation(self._branch.create(self._source(str(file_name)), options=options))
        requests = plain(config.get("requests")).get("requests")
        if not isinstance(requests, list) or not requests:
            raise invalid("* BatchGenerateContentRequest.batch.input_config: no input is specified\n")
        part = self._branch.new_part()
        try:
            part.write_bytes(b"".join(_line(entry) for entry in requests))
            return self._operation(self._branch.create(part, options=options))
        finally:
            part.unlink(missing_ok=True)

    def _source(self, name: str) -> str:
        file_id = name.removeprefix("files/")
        try:
            file = self._branch.file(file_id)
        except Unknown:
            raise no_file(file_id) from None
        if file.purpose != self._branch.rules.input_purpose:
            raise invalid(f"Unsupported MIME type: {file.purpose}")
        return file_id

    def list(self, request: Request) -> Response:
        """GET /batches: operations, newest first."""
        check_key(request.headers, request.query_params)
        operations = [self._json(job, with_inline=False) for job in self._branch.listed()]
        page, token = page_of(operations, request.query_params, 50, 1000)
        return answer({"operations": page} | token if page else {})

    def retrieve(self, request: Request) -> Response:
        """GET /batches/{id}: in the ``auto`` clock it brings the batch's next event about."""
        check_key(request.headers, request.query_params)
        return self._operation(self._branch.retrieve(request.path_params["id"]))

    def cancel(self, request: Request) -> Response:
        """POST /batches/{id}:cancel."""
        check_key(request.headers, request.query_params)
        job = self._branch.cancel(request.path_params["id"])
        if not job.is_open:
            raise Refused(400, "FAILED_PRECONDITION", f"Batch batches/{job.id} is already in a terminal state.")
        return answer({})

    def delete(self, request: Request) -> Response:
        """DELETE /batches/{id}: it goes on, and its files stay."""
        check_key(request.headers, request.query_params)
        self._branch.delete(request.path_params["id"])
        return answer({})

    async def count_tokens(self, request: Request) -> Response:
        """POST /models/{model}:countTokens: about what a batch would count for this prompt."""
        check_key(request.headers, request.query_params)
        body = plain(_object(await request.body()))
        if extra := next((name for name in body if name not in COUNTED), None):
            raise invalid(f'Invalid JSON payload received. Unknown name "{extra}": Cannot find field.')
        asked = body.get("generateContentRequest")
        if asked is None:
            asked = {"contents": body.get("contents")}
        elif not plain(asked).get("model"):
            raise invalid("* CountTokensRequest.generate_content_request.model: model is not specified\n")
        return await run_in_threadpool(self._count, request.path_params["model"], asked)

    def _count(self, name: str, asked: Any) -> Response:
        model = self._model(name, "countTokens")
        if isinstance(asked, dict) and (field := unknown_name(asked)):
            raise invalid(f'Invalid JSON payload received. Unknown name "{field}": Cannot find field.')
        if error := request_refusal(asked, model, 0):
            raise invalid(error["message"])
        tokens = self._branch.count_tokens(model, texts_of(asked))
        return answer({"totalTokens": tokens, "promptTokensDetails": [{"modality": "TEXT", "tokenCount": tokens}]})

    def _model(self, name: str, method: str) -> Model:
        model = self._branch.tariff.model(name, self._branch.now())
        if model is None:
            missing = f"models/{name} is not found for API version v1, or is not supported for {method}."
            raise Refused(404, "NOT_FOUND", f"{missing} Call ListModels to see the list of available models.")
        return model

    def _operation(self, job: Job) -> Response:
        return answer(self._json(job))

    def _json(self, job: Job, *, with_inline: bool = True) -> Json:
        results: Json | None = None
        if job.output_file and self._branch.shows_results(job):
            results = {"responsesFile": f"files/{job.output_file}"}
            if not job.input_file:
                results = {"inlinedResponses": {"inlinedResponses": _inlined(self._path(job)) if with_inline else []}}
        return operation_json(job, results, *self._branch.progress(job))

    def _path(self, job: Job) -> Path | None:
        try:
            return self._branch.path(self._branch.file(job.output_file or ""))
        except Unknown:
            return None


def _inlined(path: Path | None) -> list[Json]:
    """The results of a batch whose requests came in its create; nothing once they are no longer kept."""
    found: list[Json] = []
    for line in path.read_bytes().split(b"\n") if path else []:
        entry = loads(line)
        if isinstance(entry, dict):
            key = entry.pop("key", None)
            found.append(entry if key is None else {**entry, "metadata": {"key": key}})
    return found


def _object(raw: bytes) -> Json:
    found = loads(raw)
    if not isinstance(found, dict):
        raise invalid("Invalid JSON payload received.")
    return found


def _line(entry: Any) -> bytes:
    """An inline request as a line of a file."""
    fields = plain(entry)
    line = {"key": plain(fields.get("metadata")).get("key"), "request": fields.get("request")}
    return orjson.dumps({name: value for name, value in line.items() if value is not None}) + b"\n"


DIALECT = Dialect(GoogleLines(), app, trouble)
