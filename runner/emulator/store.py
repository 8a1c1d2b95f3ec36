"""The state folder: one SQLite file for jobs, files and the bill, one folder for the bytes.

Any number of server processes may have it open. Every change is one transaction, so a server killed at any
moment leaves what was committed and nothing else.
"""

from __future__ import annotations

import fcntl
import json
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS files (
    seq INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, provider TEXT NOT NULL, purpose TEXT NOT NULL,
    filename TEXT NOT NULL, bytes INTEGER NOT NULL, created_at REAL NOT NULL, expires_at REAL);
CREATE TABLE IF NOT EXISTS jobs (
    seq INTEGER PRIMARY KEY, id TEXT UNIQUE NOT NULL, provider TEXT NOT NULL, endpoint TEXT NOT NULL,
    input_file TEXT NOT NULL, metadata TEXT, faults TEXT NOT NULL, output_ttl INTEGER,
    state TEXT NOT NULL, next_at REAL, model TEXT, errors TEXT, usage TEXT,
    total INTEGER NOT NULL DEFAULT 0, refused INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0,
    completed INTEGER NOT NULL DEFAULT 0, failed INTEGER NOT NULL DEFAULT 0,
    output_file TEXT, error_file TEXT,
    created_at REAL NOT NULL, expires_at REAL NOT NULL, in_progress_at REAL, finalizing_at REAL,
    completed_at REAL, failed_at REAL, expired_at REAL, cancelling_at REAL, cancelled_at REAL);
CREATE INDEX IF NOT EXISTS jobs_due ON jobs (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE IF NOT EXISTS bill (
    seq INTEGER PRIMARY KEY, job INTEGER NOT NULL, custom_id TEXT NOT NULL, model TEXT NOT NULL,
    input_tokens INTEGER NOT NULL, cached_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    reasoning_tokens INTEGER NOT NULL, usd REAL NOT NULL);
CREATE INDEX IF NOT EXISTS bill_job ON bill (job);
"""

LATER_COLUMNS = (
    ("jobs", "options", "TEXT"),
    ("jobs", "expired", "INTEGER NOT NULL DEFAULT 0"),
    ("jobs", "cancelled", "INTEGER NOT NULL DEFAULT 0"),
    ("jobs", "deleted", "INTEGER NOT NULL DEFAULT 0"),
    ("bill", "cache_write_tokens", "INTEGER NOT NULL DEFAULT 0"),
)
"""Added to a folder that an older version made."""

LOCK_WAIT_S = 120.0


class Store:
    """Connections to one state folder: one per thread, all in autocommit; ``transaction`` groups writes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.files = self.folder / "files"
        self.files.mkdir(parents=True, exist_ok=True)
        self._local = threading.local()
        with self.lock("start"):
            self.db.execute("PRAGMA journal_mode=WAL")
            self.db.executescript(SCHEMA)
            for table, column, kind in LATER_COLUMNS:
                if column not in {row["name"] for row in self.db.execute(f"PRAGMA table_info({table})")}:
                    self.db.execute(f"ALTER TABLE {table} ADD COLUMN {column} {kind}")

    @property
    def db(self) -> sqlite3.Connection:
        """This thread's connection."""
        connection: sqlite3.Connection | None = getattr(self._local, "db", None)
        if connection is None:
            connection = sqlite3.connect(self.folder / "state.sqlite", timeout=LOCK_WAIT_S, isolation_level=None)
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA synchronous=NORMAL")
            self._local.db = connection
        return connection

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """All or nothing, and the only writer for as long as it lasts."""
        db = self.db
        db.execute("BEGIN IMMEDIATE")
        try:
            yield db
        except BaseException:
            db.execute("ROLLBACK")
            raise
        db.execute("COMMIT")

    @contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Exclude every other thread and process; the kernel frees it when its holder dies."""
        with (self.folder / f"{name}.lock").open("w") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield

    def setting(self, key: str, default: Any = None) -> Any:
        """The stored JSON value of ``key``, or ``default``."""
        row = self.db.execute("SELECT value FROM settings WHERE key = ?", (key,)).fetchone()
        return default if row is None else json.loads(row["value"])

    def set_setting(self, key: str, value: Any) -> None:
        """Store a JSON value; inside a transaction it belongs to it."""
        self.db.execute("INSERT OR REPLACE INTO settings VALUES (?, ?)", (key, json.dumps(value)))

    @property
    def is_new(self) -> bool:
        """Whether nothing has happened here yet, not even to the clock."""
        query = "SELECT 1 FROM jobs UNION SELECT 1 FROM files UNION SELECT 1 FROM settings WHERE key = 'clock'"
        return self.db.execute(query).fetchone() is None

    @property
    def seed(self) -> int:
        """The seed of every draw."""
        return int(self.setting("seed", 0))

    def path(self, file_id: str) -> Path:
        """Where the bytes of a file lie."""
        return self.files / file_id


def new_id(prefix: str) -> str:
    """An id that no other state folder has either: jobs of a deleted folder must never be mistaken."""
    return f"{prefix}{secrets.token_hex(12)}"


class Clock:
    """The service's time: real time + a stored offset, or (``driven``) a stored time that stands still.

    ``auto``  a status request jumps to the job's next event; a page of the list of jobs costs 31 s
    ``real``  the offset stays
    ``driven``  only ``advance`` moves it
    """

    MODES = ("auto", "real", "driven")

    def __init__(self, store: Store) -> None:
        self._store = store

    @property
    def mode(self) -> str:
        """One of ``MODES``."""
        return str(self._store.setting("clock", {"mode": "auto"})["mode"])

    def now(self) -> float:
        """Unix seconds."""
        clock = self._store.setting("clock", {"mode": "auto", "value": 0.0})
        return float(clock["value"]) + (0.0 if clock["mode"] == "driven" else time.time())

    def set_mode(self, mode: str) -> None:
        """Change the mode; the time goes on from where it is."""
        with self._store.transaction():
            self._write(mode, self.now())

    def advance(self, seconds: float) -> None:
        """Move the time by so many seconds (the only way when driven)."""
        with self._store.transaction():
            self._write(self.mode, self.now() + seconds)

    def jump(self, moment: float) -> None:
        """Move the time forward to a moment, never back."""
        with self._store.transaction():
            self._write(self.mode, max(self.now(), moment))

    def begin(self, moment: float) -> None:
        """Start the time of a new state folder at a moment; one that has begun goes on from where it is."""
        with self._store.transaction():
            if self._store.is_new:
                self._write(self.mode, moment)

    def _write(self, mode: str, now: float) -> None:
        value = now if mode == "driven" else now - time.time()
        self._store.set_setting("clock", {"mode": mode, "value": value})
