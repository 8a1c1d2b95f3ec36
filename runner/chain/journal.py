"""The points between which a crash can fall. Tests stop the process at each; nothing else looks at them."""

from __future__ import annotations

import os
import signal
from enum import StrEnum


class Point(StrEnum):
    """Named after what has just become durable (or, for ``sent``, has just reached the provider)."""

    BUILT = "built"
    APPROVED = "approved"
    PACKED = "packed"
    INTENDED = "intended"
    FILE_SENT = "file_sent"
    UPLOADED = "uploaded"
    JOB_SENT = "job_sent"
    CREATED = "created"
    ENDED = "ended"
    DOWNLOADED = "downloaded"
    FETCHED = "fetched"
    LOOKED = "looked"
    WITHHELD = "withheld"
    ACCEPTED = "accepted"
    PART_WRITTEN = "part_written"
    COLLECTED = "collected"
    READ_AGAIN = "read_again"
    DISCARDED = "discarded"
    CLOSED = "closed"
    RESPONSES_WRITTEN = "responses_written"
    SCORES_WRITTEN = "scores_written"
    SUMMARY_WRITTEN = "summary_written"


def reached(point: Point) -> None:
    """Mark that the work stands here; stops here when ``PERSONA_RUNNER_STOP_AT`` names the point (tests).

    Whoever waits for the stop does the deed from outside (a kill, a full disk, a cut connection) and lets the
    process go on; it stops again each time that it comes here.
    """
    if os.environ.get("PERSONA_RUNNER_STOP_AT") == point:
        signal.raise_signal(signal.SIGSTOP)  # to this very thread: not one instruction is run after it
