"""Rows of the ledger, as far as a test does not care."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from runner.ledger import Job, State

NOW = datetime(2026, 11, 21, 3, 0, tzinfo=UTC)


def a_job(job: str, **said: Any) -> Job:
    """A created job of four requests; its batch is the number in its name, where there is one."""
    batch = int("".join(filter(str.isdigit, job)) or 1)
    facts: dict[str, Any] = {"venue": "openai", "account": "a", "model": "gpt-4.1", "run": "r", "scope": "s"}
    facts |= {"stage": 1, "batch": batch, "sha256": "0", "n": 4, "tokens": 400, "reserved_usd": 0.25}
    facts |= {"state": State.CREATED, "intended_at": NOW}
    return Job(job, **{**facts, **said})
