"""OpenAI's HTTP objects (files, batches, pages) and the checks of what clients send."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.protocols.openai_body import refusal
from runner.emulator.wire import Json

ENDPOINTS = ("/v1/responses", "/v1/chat/completions")
PURPOSES = ("assistants", "batch", "fine-tune", "vision", "user_data", "evals")
EXPIRY_S = (3600, 2592000)
CREATE_KEYS = ("input_file_id", "endpoint", "completion_window", "metadata", "output_expires_after")
TIMES = (
    "created_at",
    "in_progress_at",
    "expires_at",
    "finalizing_at",
    "completed_at",
    "failed_at",
    "expired_at",
    "cancelling_at",
    "cancelled_at",
)


class Refused(Exception):
    """An error answer: HTTP status and the envelope's ``error``."""

    def __init__(self, status: int, message: str, param: str | None = None, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.error = refusal(message, param, code)


def batch_json(job: Job, shows_files: bool, completed: int, failed: int) -> Json:
    """The Batch object: result files are hidden until it has ended, and sometimes a little longer."""
    used = job.usage if job.usage and not job.is_open else [0, 0, 0, 0]
    return {
        "id": job.id,
        "object": "batch",
        "endpoint": job.endpoint,
        "model": job.model,
        "input_file_id": job.input_file,
        "completion_window": "24h",
        "status": job.state,
        "output_file_id": job.output_file if shows_files else None,
        "error_file_id": job.error_file if shows_files else None,
        "errors": {"object": "list", "data": job.errors} if job.errors else None,
        **{name: None if (at := getattr(job, name)) is None else int(at) for name in TIMES},
        "request_counts": {"total": job.total, "completed": completed, "failed": failed},
        "metadata": job.metadata,
        "usage": {
            "input_tokens": used[0],
            "input_tokens_details": {"cached_tokens": used[1]},
            "output_tokens": used[2],
            "output_tokens_details": {"reasoning_tokens": used[3]},
            "total_tokens": used[0] + used[2],
        },
    }


def file_json(file: File) -> Json:
    """The FileObject."""
    return {
        "id": file.id,
        "object": "file",
        "bytes": file.bytes,
        "created_at": int(file.created_at),
        "filename": file.filename,
        "purpose": file.purpose,
        "status": "processed",
        "expires_at": None if file.expires_at is None else int(file.expires_at),
        "status_details": None,
    }


def page_of(items: list[Json], after: str | None, limit: int) -> Json:
    """The items after the one with the id ``after``."""
    start = 0
    if after is not None:
        ids = [item["id"] for item in items]
        if after not in ids:
            raise Refused(404, f"No {items[0]['object'] if items else 'object'} found with id '{after}'.", "after")
        start = ids.index(after) + 1
    page = items[start : start + limit]
    return {
        "object": "list",
        "data": page,
        "first_id": page[0]["id"] if page else None,
        "last_id": page[-1]["id"] if page else None,
        "has_more": start + limit < len(items),
    }


def limit_of(query: Mapping[str, str], *, default: int, most: int) -> int:
    """The ``limit`` of a list."""
    text = query.get("limit", str(default))
    if not text.isdecimal() or not 1 <= int(text) <= most:
        raise Refused(400, f"Invalid 'limit': expected an integer in 1..{most}, but got {text}.", "limit")
    return int(text)


def check_create(raw: Json) -> None:
    """The 400s of a create."""
    for name in raw:
        if name not in CREATE_KEYS:
            raise Refused(400, f"Unknown parameter: '{name}'.", name, "unknown_parameter")
    for name in CREATE_KEYS[:3]:
        if raw.get(name) is None:
            raise Refused(400, f"Missing required parameter: '{name}'.", name, "missing_required_parameter")
        if not isinstance(raw[name], str):
            raise Refused(400, f"Invalid type for '{name}': expected a string.", name, "invalid_type")
    if raw["endpoint"] not in ENDPOINTS:
        raise invalid_value(raw["endpoint"], ENDPOINTS, "endpoint")
    if raw["completion_window"] != "24h":
        raise invalid_value(raw["completion_window"], ("24h",), "completion_window")
    metadata = raw.get("metadata")
    if metadata is None:
        return
    if not isinstance(metadata, dict):
        raise Refused(400, "Invalid type for 'metadata': expected an object.", "metadata", "invalid_type")
    if len(metadata) > 16:
        raise Refused(400, "Invalid 'metadata': too many properties; at most 16.", "metadata", "object_too_large")
    for key, value in metadata.items():
        if not isinstance(value, str):
            message = f"Invalid type for 'metadata.{key}': expected a string."
            raise Refused(400, message, f"metadata.{key}", "invalid_type")
        if len(key) > 64 or len(value) > 512:
            message = f"Invalid 'metadata.{key}': keys have at most 64 characters, values 512."
            raise Refused(400, message, f"metadata.{key}", "string_above_max_length")


def expiry(raw: Any) -> int | None:
    """Seconds of an ``expires_after`` object; None when it is absent."""
    if not raw:
        return None
    try:
        seconds = int(raw["seconds"])
    except (KeyError, TypeError, ValueError):
        seconds = 0
    if not EXPIRY_S[0] <= seconds <= EXPIRY_S[1] or raw.get("anchor") != "created_at":
        raise Refused(
            400, "Invalid 'expires_after': 'created_at' and 3600 to 2592000 s.", "expires_after", "invalid_value"
        )
    return seconds


def invalid_value(value: object, allowed: tuple[str, ...], param: str) -> Refused:
    """The 400 for a word that is not one of those allowed."""
    listed = ", ".join(f"'{one}'" for one in allowed)
    return Refused(400, f"Invalid value: '{value}'. Supported values are: {listed}.", param, "invalid_value")


def no_batch(job_id: str) -> Refused:
    """The 404 of an unknown batch."""
    return Refused(404, f"No batch found with id '{job_id}'.")
