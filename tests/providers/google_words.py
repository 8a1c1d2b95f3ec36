"""What Google's API says, for the stub to say it."""

from __future__ import annotations

from typing import Any

KEY = "AIza-secret"
MODEL = "gemini-2.5-flash"
STATUS = "GET /v1/batches/1"
NO_FILE = "You do not have permission to access the File x1 or it may not exist."


def batch(
    name: str = "batches/1", state: str = "SUCCEEDED", counts: tuple[int, int, int] = (5000, 5000, 0), **fields: Any
) -> dict[str, Any]:
    """An operation; ``counts`` of requests, answers and errors."""
    keys = ("requestCount", "successfulRequestCount", "failedRequestCount")
    metadata = {
        "displayName": "tag-1",
        "state": f"BATCH_STATE_{state}",
        "createTime": "2026-11-20T11:00:00Z",
        "endTime": "2026-11-20T11:30:00Z",
        "batchStats": {key: str(count) for key, count in zip(keys, counts, strict=True)},
        "inputConfig": {"fileName": "files/in"},
        "output": {"responsesFile": "files/batch-1"},
    }
    return {"name": name, "metadata": metadata | fields, "done": True}


def error(code: int, word: str, message: str = "so it is") -> dict[str, Any]:
    """The envelope of an error."""
    return {"error": {"code": code, "message": message, "status": word}}
