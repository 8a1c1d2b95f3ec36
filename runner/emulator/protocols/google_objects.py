"""Google's HTTP objects: errors, files, operations, pages."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import orjson

from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.wire import Json

TYPES = "type.googleapis.com/google.ai.generativelanguage.v1main."
JSON_LINES = ("application/jsonl", "jsonl", "application/x-jsonlines", "application/json", "text/plain")
QUOTA = (
    "You exceeded your current quota, please check your plan and billing details. For more information on this error,"
    " head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to:"
    " https://ai.dev/rate-limit. "
)
NO_ENTITY = "Requested entity was not found."
LONGEST_ID = 40

STATES = {
    "validating": "PENDING",
    "in_progress": "RUNNING",
    "finalizing": "RUNNING",
    "cancelling": "RUNNING",
    "completed": "SUCCEEDED",
    "failed": "FAILED",
    "expired": "EXPIRED",
    "cancelled": "CANCELLED",
}
ERRORS = {
    "failed": {"code": 13, "message": "The batch failed."},
    "expired": {"code": 4, "message": "The batch expired before it was completed."},
    "cancelled": {"code": 1, "message": "The batch was cancelled."},
}


class Refused(Exception):
    """An error answer: HTTP status, Google's word for it, and the sentence."""

    def __init__(self, status: int, word: str, message: str) -> None:
        super().__init__(message)
        self.status = status
        self.word = word
        self.message = message

    @property
    def envelope(self) -> Json:
        """The body of the answer."""
        return {"error": {"code": self.status, "message": self.message, "status": self.word}}


def loads(raw: bytes) -> Any:
    """JSON, or None."""
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError:
        return None


def invalid(message: str) -> Refused:
    """A 400."""
    return Refused(400, "INVALID_ARGUMENT", message)


def no_entity() -> Refused:
    """The 404 of a batch that there is not."""
    return Refused(404, "NOT_FOUND", NO_ENTITY)


def no_file(file_id: str) -> Refused:
    """The 403 of a file that there is not, or no more."""
    return Refused(
        403, "PERMISSION_DENIED", f"You do not have permission to access the File {file_id} or it may not exist."
    )


def check_id(file_id: str, request: str) -> None:
    """The names of results are longer than these calls take."""
    if len(file_id) > LONGEST_ID:
        too_long = f"File ID (name excluding 'files/') cannot be more than {LONGEST_ID} characters."
        raise invalid(f"* {request}.name: {too_long}\n")


def check_key(headers: Mapping[str, str], query: Mapping[str, str]) -> None:
    """Any key is good, none is not."""
    if not headers.get("x-goog-api-key") and not query.get("key") and not headers.get("authorization"):
        message = "Method doesn't allow unregistered callers (callers without established identity)."
        raise Refused(403, "PERMISSION_DENIED", f"{message} Please use API Key or other form of API identity.")


def file_json(file: File, url: str, mime: str) -> Json:
    """The File object."""
    return {
        "name": f"files/{file.id}",
        "displayName": file.filename,
        "mimeType": mime,
        "sizeBytes": str(file.bytes),
        "createTime": moment(file.created_at),
        "updateTime": moment(file.created_at),
        "expirationTime": moment(file.expires_at),
        "uri": url,
        "state": "ACTIVE",
        "source": "UPLOADED",
    }


def operation_json(job: Job, results: Json | None, completed: int, failed: int) -> Json:
    """The Operation of a batch. ``results`` is its output once it has some; 64-bit numbers are strings."""
    options = job.options or {}
    ended_at = job.completed_at or job.failed_at or job.expired_at or job.cancelled_at
    state = STATES[job.state]
    if state == "SUCCEEDED" and "partially_succeeded" in job.faults:
        state = "PARTIALLY_SUCCEEDED"
    if not job.is_open:
        completed, failed = job.completed, job.failed + job.expired + job.cancelled
    pending = job.total - completed - failed
    stats = {"request": job.total, "successfulRequest": completed, "failedRequest": failed, "pendingRequest": pending}
    batch: Json = {
        "@type": f"{TYPES}GenerateContentBatch",
        "name": f"batches/{job.id}",
        "model": f"models/{options['model']}",
        "displayName": options["display_name"],
        "state": f"BATCH_STATE_{state}",
        "createTime": moment(job.created_at),
        "updateTime": moment(ended_at or job.in_progress_at or job.created_at),
        "batchStats": {f"{name}Count": str(number) for name, number in stats.items()},
        "inputConfig": {"fileName": f"files/{job.input_file}"} if job.input_file else {},
    }
    operation: Json = {"name": f"batches/{job.id}", "metadata": batch}
    if ended_at is not None:
        batch["endTime"] = moment(ended_at)
        operation["done"] = True
    if results is not None:
        batch["output"] = results
        operation["response"] = {"@type": f"{TYPES}GenerateContentBatchOutput", **results}
    elif job.state in ERRORS:
        operation["error"] = ERRORS[job.state]
    return operation


def page_of(items: list[Json], query: Mapping[str, str], default: int, most: int) -> tuple[list[Json], dict[str, str]]:
    """The items after the one that ``pageToken`` names, and the token of the next page where there is one."""
    token, start = query.get("pageToken"), 0
    if token:
        names = [item["name"] for item in items]
        if token not in names:
            raise invalid("The page token is invalid.")
        start = names.index(token) + 1
    text = query.get("pageSize", "0")
    if not text.isdecimal():
        raise invalid("Invalid value at 'page_size' (TYPE_INT32).")
    size = min(int(text) or default, most)
    page = items[start : start + size]
    has_more = start + size < len(items)
    return page, {"nextPageToken": page[-1]["name"]} if has_more else {}


def moment(seconds: float | None) -> Any:
    """A time as RFC 3339."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
