"""Gemini's files over HTTP: resumable uploads, and what can be done with a file afterwards."""

from __future__ import annotations

import re
from contextlib import nullcontext
from pathlib import Path
from urllib.parse import urlencode

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response

from runner.emulator.branch import Branch, Unknown
from runner.emulator.files import File
from runner.emulator.protocols.google_body import plain
from runner.emulator.protocols.google_objects import (
    JSON_LINES,
    Refused,
    check_id,
    check_key,
    file_json,
    invalid,
    loads,
    no_file,
    page_of,
)
from runner.emulator.wire import Json

GRANULARITY = 8 << 20
PART = re.compile(r"upload-[0-9a-f]+")
NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class Files:
    """The handlers. A session's state is its URL and the bytes on the disk: any process can take the next chunk."""

    def __init__(self, branch: Branch) -> None:
        self._branch = branch

    async def upload(self, request: Request) -> Response:
        """POST /upload/{version}/files: ``start`` opens a session, all else belongs to one."""
        commands = {word.strip() for word in request.headers.get("x-goog-upload-command", "").lower().split(",")}
        if "upload_id" in request.query_params:
            return await self._chunk(request, commands)
        check_key(request.headers, request.query_params)
        if request.headers.get("x-goog-upload-protocol") != "resumable" or commands != {"start"}:
            raise invalid("Only the resumable upload protocol is emulated: begin with the command start.")
        body = plain(loads(await request.body()))
        return await run_in_threadpool(self._start, request, plain(body.get("file")))

    def _start(self, request: Request, file: Json) -> Response:
        size = request.headers.get("x-goog-upload-header-content-length", "")
        mime = request.headers.get("x-goog-upload-header-content-type") or file.get("mimeType") or ""
        name, most = str(file.get("name") or "").removeprefix("files/"), self._branch.rules.max_bytes
        if not size.isdecimal() or not mime:
            raise invalid("The length and the type of the content must be given in X-Goog-Upload-Header-*.")
        if most is not None and int(size) > most:
            raise invalid(f"Request payload size exceeds the limit: {most} bytes.")
        if name and not NAME.fullmatch(name):
            raise invalid("* CreateFileRequest.file.name: only lowercase letters, digits and dashes, 40 at most.\n")
        if any(each.id == name for each in self._branch.files()):
            raise Refused(409, "ALREADY_EXISTS", f"Requested entity already exists: files/{name}")
        part = self._branch.new_part()
        part.touch()
        session = {"upload_id": part.name, "size": size, "mime": mime, "name": name}
        session["display"] = str(file.get("displayName") or "")
        url = request.url.replace(query=urlencode(session))
        headers = {
            "x-goog-upload-url": str(url),
            "x-goog-upload-status": "active",
            "x-goog-upload-chunk-granularity": str(GRANULARITY),
        }
        return Response(b"", 200, headers)

    async def _chunk(self, request: Request, commands: set[str]) -> Response:
        name = request.query_params["upload_id"]
        part = self._branch.new_part().with_name(name if PART.fullmatch(name) else "none")
        is_open = part.is_file()
        have = part.stat().st_size if is_open else 0
        if is_open and commands == {"query"}:
            return Response(b"", 200, {"x-goog-upload-status": "active", "x-goog-upload-size-received": str(have)})
        is_next = is_open and request.headers.get("x-goog-upload-offset") == str(have)
        with part.open("ab") if is_next else nullcontext() as out:
            async for chunk in request.stream():  # to its end, or a refusal would look like a reset
                if out is not None:
                    out.write(chunk)
        if not is_open:
            raise Refused(404, "NOT_FOUND", "Upload session is over.")
        if not is_next:
            raise invalid(f"Offset mismatch: {have} bytes have been received.")
        received, size = part.stat().st_size, int(request.query_params["size"])
        if "finalize" not in commands:
            if (received - have) % GRANULARITY:
                raise invalid(f"All chunks but the last must be multiples of {GRANULARITY} bytes.")
            return Response(b"", 200, {"x-goog-upload-status": "active"})
        if received != size:
            raise invalid(f"{received} bytes were received of {size}.")
        return await run_in_threadpool(self._finish, request, part)

    def _finish(self, request: Request, part: Path) -> Response:
        session = request.query_params
        mime = session["mime"]
        purpose = self._branch.rules.input_purpose if mime in JSON_LINES else mime
        file = self._branch.add_file(part, session["display"], purpose, file_id=session["name"] or None)
        return _answer({"file": self._json(file, request)}, {"x-goog-upload-status": "final"})

    def list(self, request: Request) -> Response:
        """GET /files: uploads only, newest first."""
        check_key(request.headers, request.query_params)
        uploads = [file for file in self._branch.files() if file.purpose != "batch_output"]
        page, token = page_of([self._json(file, request) for file in uploads], request.query_params, 10, 100)
        return _answer({"files": page} | token if page else {})

    def retrieve(self, request: Request) -> Response:
        """GET /files/{id}."""
        return _answer(self._json(self._file(request, "GetFileRequest"), request))

    def delete(self, request: Request) -> Response:
        """DELETE /files/{id}."""
        self._branch.delete_file(self._file(request, "DeleteFileRequest").id)
        return _answer({})

    def download(self, request: Request) -> Response:
        """GET /files/{id}:download?alt=media: results only, streamed."""
        file = self._file(request)
        if file.purpose != "batch_output":
            raise invalid("Only generated files can be downloaded, uploaded files can't be downloaded.")
        if request.query_params.get("alt") != "media":
            raise invalid("A file is downloaded with alt=media.")
        return FileResponse(self._branch.path(file), media_type="application/jsonl")

    def _file(self, request: Request, call: str | None = None) -> File:
        check_key(request.headers, request.query_params)
        file_id = request.path_params["id"]
        if call:
            check_id(file_id, call)
        try:
            return self._branch.file(file_id)
        except Unknown:
            raise no_file(file_id) from None

    def _json(self, file: File, request: Request) -> Json:
        is_input = file.purpose == self._branch.rules.input_purpose
        url = str(request.url.replace(path=f"{request.scope['root_path']}/files/{file.id}", query=""))
        return file_json(file, url, "application/jsonl" if is_input else file.purpose)


def _answer(value: Json, headers: dict[str, str] | None = None) -> Response:
    return Response(orjson.dumps(value), 200, headers, media_type="application/json; charset=UTF-8")
