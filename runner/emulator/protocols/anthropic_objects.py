"""Anthropic's HTTP objects (batches, pages, errors) and the checks of what clients send."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, BinaryIO

import orjson

from runner.emulator.jobs import Job
from runner.emulator.protocols.anthropic_body import VERSIONS
from runner.emulator.wire import Json

CUSTOM_ID = r"^[a-zA-Z0-9_-]{1,64}$"
FORBIDDEN = ("stream", "speed", "store", "previous_thread_event_id", "cache_hint", "context_hint")
PAGE, MOST = 20, 1000


class Refused(Exception):
    """An error answer: HTTP status and the envelope's ``type``, ``message`` and ``details``."""

    def __init__(self, status: int, kind: str, message: str, code: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.kind = kind
        self.message = message
        self.code = code

    @property
    def envelope(self) -> Json:
        """The body of the answer."""
        error: Json = {"type": self.kind, "message": self.message}
        if self.code is not None:
            error["details"] = {"error_code": self.code}
        return {"type": "error", "error": error, "request_id": "req_emulator"}


def invalid(message: str) -> Refused:
    """A 400."""
    return Refused(400, "invalid_request_error", message)


def too_large() -> Refused:
    """The 413 of a create."""
    return Refused(413, "request_too_large", "Request exceeds the maximum size")


def no_batch(job_id: str) -> Refused:
    """The 404 of an unknown batch."""
    return Refused(404, "not_found_error", f"No Message Batch found with ID {job_id}")


def check_headers(headers: Mapping[str, str]) -> str:
    """The API version that a call names. Any key is good, none is not: in x-api-key or as a bearer."""
    scheme, _, bearer = headers.get("authorization", "").partition(" ")
    if not headers.get("x-api-key") and not (scheme.lower() == "bearer" and bearer.strip()):
        raise Refused(401, "authentication_error", "x-api-key header is required")
    version = headers.get("anthropic-version")
    if version is None:
        raise invalid("anthropic-version: header is required")
    if version not in VERSIONS:
        raise invalid(f'anthropic-version: "{version}" is not a valid version')
    return version


def requests_of(file: BinaryIO, most: int) -> Iterator[bytes]:
    """The elements of a create's ``requests``, checked, as lines; what is wrong with one refuses all."""
    import ijson

    seen: set[str] = set()
    try:
        for number, request in enumerate(ijson.items(file, "requests.item", use_float=True)):
            if number == most:
                raise too_large()
            check_request(number, request, seen)
            yield orjson.dumps(request) + b"\n"
    except (ijson.JSONError, orjson.JSONEncodeError, UnicodeDecodeError):
        raise invalid("The request body is not valid JSON.") from None
    if not seen:
        raise invalid("requests: List should have at least 1 item")


def check_request(number: int, request: Any, seen: set[str]) -> None:
    """Custom id and the parameters that no batch takes; all others are looked at when the request is run."""
    at = f"requests.{number}"
    if not isinstance(request, dict):
        raise invalid(f"{at}: Input should be a valid dictionary")
    custom_id, params = request.get("custom_id"), request.get("params")
    if not isinstance(custom_id, str):
        raise invalid(f"{at}.custom_id: {'Field required' if custom_id is None else 'Input should be a valid string'}")
    if not re.match(CUSTOM_ID, custom_id) or custom_id.endswith("\n"):
        raise invalid(f"{at}.custom_id: String should match pattern '{CUSTOM_ID}'")
    if custom_id in seen:
        raise invalid(f"{at}.custom_id: custom_id must be unique within a batch; '{custom_id}' is used more than once")
    seen.add(custom_id)
    if not isinstance(params, dict):
        raise invalid(f"{at}.params: {'Field required' if params is None else 'Input should be a valid dictionary'}")
    for name in FORBIDDEN:
        if params.get(name):
            raise invalid(f"{at}.params.{name}: Extra inputs are not permitted")
    limit = params.get("max_tokens")
    if limit is None:
        raise invalid(f"{at}.params.max_tokens: Field required")
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise invalid(f"{at}.params.max_tokens: Input should be greater than or equal to 1")


def batch_json(job: Job, now: float, results_url: str | None, kept_s: float) -> Json:
    """The MessageBatch object. Until it has ended every request is ``processing``."""
    counts = {"processing": job.total, "succeeded": 0, "errored": 0, "canceled": 0, "expired": 0}
    status = "canceling" if job.state == "cancelling" else "in_progress"
    if not job.is_open:
        status = "ended"
        counts = {
            "processing": 0,
            "succeeded": job.completed,
            "errored": job.failed,
            "canceled": job.cancelled,
            "expired": job.expired,
        }
        # Nothing was run, nor written down one by one.
        counts["canceled" if job.state == "cancelled" else "expired"] += job.total - sum(counts.values())
    archived_at = job.created_at + kept_s
    return {
        "id": job.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": counts,
        "created_at": moment(job.created_at),
        "expires_at": moment(job.expires_at),
        "ended_at": moment(job.completed_at or job.expired_at or job.cancelled_at or job.failed_at),
        "archived_at": moment(archived_at) if now >= archived_at else None,
        "cancel_initiated_at": moment(job.cancelling_at),
        "results_url": results_url if status == "ended" and now < archived_at else None,
    }


def moment(seconds: float | None) -> str | None:
    """A time as RFC 3339."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def page_of(items: list[Json], query: Mapping[str, str]) -> Json:
    """The items right after ``after_id`` or right before ``before_id``, newest first."""
    limit = _limit(query)
    after, before = query.get("after_id"), query.get("before_id")
    if after and before:
        raise invalid("after_id and before_id cannot both be given")
    ids = [item["id"] for item in items]
    cursor = after or before
    if cursor and cursor not in ids:
        raise no_batch(cursor)
    if before:
        end = ids.index(before)
        start = max(0, end - limit)
        has_more = start > 0
    else:
        start = ids.index(after) + 1 if after else 0
        end = start + limit
        has_more = end < len(items)
    page = items[start:end]
    first, last = (page[0]["id"], page[-1]["id"]) if page else (None, None)
    return {"data": page, "has_more": has_more, "first_id": first, "last_id": last}


def _limit(query: Mapping[str, str]) -> int:
    text = query.get("limit", str(PAGE))
    if not text.isdecimal() or not 1 <= int(text) <= MOST:
        raise invalid(f"limit: Input should be in the range 1..{MOST}")
    return int(text)
