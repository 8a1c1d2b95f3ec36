"""The table of jobs."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Any

from runner.emulator import draws
from runner.emulator.faults import LATE_IDS_S, LIST_LAG_S, NOT_FOUND_S, Faults
from runner.emulator.store import Clock, Store, new_id
from runner.emulator.wire import Json

WINDOW_S = 24 * 3600.0
OPEN = ("validating", "in_progress", "finalizing", "cancelling")
VALIDATING_S = (2, 20)
JSON_COLUMNS = frozenset({"metadata", "faults", "errors", "usage"})


@dataclass(frozen=True, slots=True)
class Job:
    """A row of the table of jobs; times are unix seconds of the service's clock.

    ``next_at`` is when the next event of its life is due. ``tokens`` are its prompts' tokens, ``refused`` the
    lines that the endpoint will not accept. ``seq`` numbers the jobs of the folder from 1.
    """

    seq: int
    id: str
    provider: str
    endpoint: str
    input_file: str
    metadata: dict[str, str] | None
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
        return self.created_at + (LIST_LAG_S if "list_lag" in self.faults else 0.0)


class Jobs:
    """The jobs of a state folder. ``Life`` changes them; this reads and writes rows."""

    def __init__(self, store: Store, clock: Clock, faults: Faults) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults

    def create(self, provider: str, endpoint: str, input_file: str, metadata: Any, output_ttl: int | None) -> Job:
        """A new job, validating."""
        job_id = new_id("batch_")
        with self._store.transaction() as db:
            now = self._clock.now()
            seq = int(db.execute("SELECT coalesce(max(seq), 0) + 1 AS n FROM jobs").fetchone()["n"])
            row = {
                "seq": seq,
                "id": job_id,
                "provider": provider,
                "endpoint": endpoint,
                "input_file": input_file,
                "metadata": json.dumps(metadata),
                "faults": json.dumps(self._faults.of_job(seq)),
                "output_ttl": output_ttl,
                "state": "validating",
                "next_at": now + draws.between(*VALIDATING_S, self._store.seed, "validating", seq),
                "created_at": now,
                "expires_at": now + WINDOW_S,
            }
            db.execute(f"INSERT INTO jobs ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})", tuple(row.values()))
        return self.select("WHERE id = ?", job_id)[0]

    def get(self, job_id: str) -> Job | None:
        """The job of this id as it stands, or None."""
        found = self.select("WHERE id = ?", job_id)
        return found[0] if found else None

    def newest_first(self, provider: str | None = None) -> list[Job]:
        """All jobs (of one provider)."""
        return self.select("WHERE ? IS NULL OR provider = ? ORDER BY seq DESC", provider, provider)

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
        values = [json.dumps(value) if key in JSON_COLUMNS else value for key, value in changes.items()]
        self._store.db.execute(
            f"UPDATE jobs SET {', '.join(f'{key} = ?' for key in changes)} WHERE seq = ?", (*values, job.seq)
        )


NAMES = tuple(field.name for field in fields(Job))


def _value(name: str, stored: Any) -> Any:
    return json.loads(stored) if name in JSON_COLUMNS and stored is not None else stored
