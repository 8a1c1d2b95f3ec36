"""The table of jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from runner.emulator import draws
from runner.emulator.faults import LATE_IDS_S, LIST_LAG_LONG_S, LIST_LAG_S, NOT_FOUND_S, Faults
from runner.emulator.store import Clock, Store, new_id
from runner.emulator.tariff import tariff
from runner.emulator.wire import Json

OPEN = ("validating", "in_progress", "finalizing", "cancelling")
VALIDATING_S = (2, 20)
JSON_COLUMNS = frozenset({"metadata", "options", "faults", "errors", "usage"})


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the table of jobs; times are unix seconds of the service's clock.

    ``next_at`` is when the next event of its life is due. ``tokens`` are its prompts' tokens, ``refused`` the
    lines that the endpoint will not accept; ``expired`` and ``cancelled`` those that ended so. ``seq`` numbers
    the jobs of the folder from 1. ``input_file`` is "" when the requests came with the create. ``options`` is
    what else the create said that its protocol needs later (a display name, a version, the model of the job).
    ``usage`` are the fields of ``wire.Usage`` in order.
    """

    seq: int
    id: str
    provider: str
    endpoint: str
    input_file: str
    metadata: dict[str, str] | None
    options: Json | None
    faults: list[str]
    output_ttl: int | None
    state: str
    next_at: float | None
    model: str | None
    errors: list[Json] | None
    usage: list[int] | None
    total: int
    refused: int
    tokens: int
    completed: int
    failed: int
    expired: int
    cancelled: int
    output_file: str | None
    error_file: str | None
    created_at: float
    expires_at: float
    in_progress_at: float | None
    finalizing_at: float | None
    completed_at: float | None
    failed_at: float | None
    expired_at: float | None
    cancelling_at: float | None
    cancelled_at: float | None

    @property
    def is_open(self) -> bool:
        """Whether something more may happen to it."""
        return self.state in OPEN

    @property
    def files_at(self) -> float | None:
        """From when on its result files are named; None while it is open."""
        ended = self.completed_at or self.expired_at or self.cancelled_at or self.failed_at
        if self.is_open or ended is None:
            return None
        return ended + (LATE_IDS_S if "late_file_ids" in self.faults else 0.0)

    @property
    def visible_at(self) -> float:
        """From when on it can be retrieved."""
        return self.created_at + (NOT_FOUND_S if "not_found_after_create" in self.faults else 0.0)

    @property
    def listed_at(self) -> float:
        """From when on it is in lists."""
        lag = LIST_LAG_S if "list_lag" in self.faults else 0.0
        return self.created_at + (LIST_LAG_LONG_S if "list_lag_long" in self.faults else lag)


class Jobs:
    """The jobs of a state folder. ``Life`` changes them; this reads and writes rows."""

    def __init__(self, store: Store, clock: Clock, faults: Faults) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults

    def draft(self, provider: str, **said: Any) -> Job:
        """A new job, validating, not stored yet: ``said`` are the columns that the create says."""
        rules, now = tariff(provider).rules, self._clock.now()
        seq = int(self._store.db.execute("SELECT coalesce(max(seq), 0) + 1 AS n FROM jobs").fetchone()["n"])
        known = {
            "seq": seq,
            "id": new_id(rules.job_prefix),
            "provider": provider,
            "faults": self._faults.of_job(provider, seq),
            "state": "validating",
            "next_at": now + draws.between(*VALIDATING_S, self._store.seed, "validating", seq),
            "created_at": now,
            "expires_at": now + rules.window_s,
        }
        return Job(**{**dict.fromkeys(NAMES), **dict.fromkeys(COUNTS, 0), **known, **said})

    def insert(self, job: Job) -> None:
        """Store a draft; inside a transaction it belongs to it."""
        values = [_stored(name, getattr(job, name)) for name in NAMES]
        self._store.db.execute(f"INSERT INTO jobs ({', '.join(NAMES)}) VALUES ({', '.join('?' * len(NAMES))})", values)

    def get(self, job_id: str) -> Job | None:
        """The job of this id as it stands, or None."""
        found = self.select("WHERE id = ? AND NOT deleted", job_id)
        return found[0] if found else None

    def newest_first(self, provider: str) -> list[Job]:
        """The jobs of one provider that were not deleted."""
        return self.select("WHERE provider = ? AND NOT deleted ORDER BY seq DESC", provider)

    def created_since(self, provider: str, moment: float) -> int:
        """How many jobs of a provider were made after this moment."""
        query = "SELECT count(*) AS n FROM jobs WHERE provider = ? AND created_at > ?"
        return int(self._store.db.execute(query, (provider, moment)).fetchone()["n"])

    def select(self, where: str, *values: object) -> list[Job]:
        """The rows that a condition picks."""
        rows = self._store.db.execute(f"SELECT * FROM jobs {where}", values)
        return [Job(**{key: _value(key, row[key]) for key in NAMES}) for row in rows]

    def update(self, job: Job, **changes: object) -> None:
        """Write columns of one job; inside a transaction it belongs to it."""
        values = [_stored(key, value) for key, value in changes.items()]
        self._store.db.execute(
            f"UPDATE jobs SET {', '.join(f'{key} = ?' for key in changes)} WHERE seq = ?", (*values, job.seq)
        )


NAMES = tuple(field.name for field in fields(Job))
COUNTS = ("total", "refused", "tokens", "completed", "failed", "expired", "cancelled")


def _stored(name: str, value: Any) -> Any:
    return json.dumps(value) if name in JSON_COLUMNS and value is not None else value


def _value(name: str, stored: Any) -> Any:
    return json.loads(stored) if name in JSON_COLUMNS and stored is not None else stored
