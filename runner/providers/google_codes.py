"""What Google's errors say, whoever says it: a call, a job or a line.

Codes: https://github.com/googleapis/googleapis/blob/master/google/rpc/code.proto; calls carry those of HTTP. Sentences:
https://ai.google.dev/gemini-api/docs/troubleshooting.
"""

from __future__ import annotations

import re
from typing import Any

from runner.providers.loose import as_code, as_text

CODES = {
    1: "CANCELLED",
    2: "UNKNOWN",
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    6: "ALREADY_EXISTS",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    10: "ABORTED",
    11: "OUT_OF_RANGE",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    15: "DATA_LOSS",
    16: "UNAUTHENTICATED",
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    409: "ABORTED",
    429: "RESOURCE_EXHAUSTED",
    499: "CANCELLED",
    500: "INTERNAL",
    501: "UNIMPLEMENTED",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
"""Both kinds of numbers in one word; no number belongs to both."""

TROUBLES = {"PERMISSION_DENIED": "billing_not_active", "UNAUTHENTICATED": "billing_not_active"}

SAID_TROUBLES = (
    (re.compile(r"(credits? (is|are)|credit balance) (depleted|too low)", re.I), "insufficient_quota"),
    (re.compile(r"spend(ing)? (cap|limit)", re.I), "billing_hard_limit_reached"),
    (
        re.compile(r"billing (account )?(is |has been )?(disabled|not enabled)|enable billing", re.I),
        "billing_not_active",
    ),
    (re.compile(r"api key (not valid|expired|not found)", re.I), "billing_not_active"),
)
"""What only the sentence tells. Not any mention of billing: a full queue, too, says "check your plan and billing"."""

NO_FILE = re.compile(r"\bfile\b.*\b(not exist|not found|not in an active|expired)", re.I)


def word_of(error: dict[str, Any]) -> str | None:
    """The status word of an ``error`` object, which may give a number only."""
    said = as_text(error.get("status"))
    code = as_code(error.get("code"))
    return said or (CODES.get(int(code), code) if code is not None and code.isdecimal() and len(code) < 4 else code)


def sentence_of(error: dict[str, Any]) -> str | None:
    """Its message."""
    return as_text(error.get("message")) or None


def account_trouble(error: dict[str, Any]) -> str | None:
    """The code in ``base.ACCOUNT_TROUBLE`` of an ``error`` object that speaks of the account, else None."""
    sentence = sentence_of(error) or ""
    if NO_FILE.search(sentence):  # PERMISSION_DENIED is also the answer for a file that there is not
        return None
    said = [code for pattern, code in SAID_TROUBLES if pattern.search(sentence)]
    return said[0] if said else TROUBLES.get(word_of(error) or "")
