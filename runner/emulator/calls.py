"""What a call is, by its method and path: faults strike creates, uploads and downloads of every protocol alike."""

from __future__ import annotations

import re
from enum import StrEnum


class Call(StrEnum):
    """The kinds that faults tell apart."""

    CREATE = "create"
    UPLOAD = "upload"
    DOWNLOAD = "download"
    OTHER = "other"


PATTERNS = (
    (Call.CREATE, "POST", re.compile(r"/batches$|/batch/jobs$|:batchGenerateContent$")),
    (Call.UPLOAD, "POST", re.compile(r"/files(?:/upload)?$|^/[^/]+/upload/")),
    (Call.UPLOAD, "PUT", re.compile(r"^/[^/]+/upload/")),
    (Call.DOWNLOAD, "GET", re.compile(r"/content$|:download$|/batches/[^/]+/results$")),
)


def call_of(method: str, path: str) -> Call:
    """The kind of a call; ``path`` begins with the provider's prefix."""
    for call, wanted, pattern in PATTERNS:
        if method == wanted and pattern.search(path):
            return call
    return Call.OTHER
