"""Uploaded and produced files: a row each, the bytes beside the database."""

from __future__ import annotations

import os
import shutil
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from runner.emulator.store import Store, new_id


@dataclass(frozen=True, slots=True)
class File:
    """A row of the table of files. After ``expires_at`` (unix seconds) it is gone."""

    seq: int
    id: str
    provider: str
    purpose: str
    filename: str
    bytes: int
    created_at: float
    expires_at: float | None


class FileStore:
    """The files of a state folder."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def take(self, source: BinaryIO) -> Path:
        """Copy an upload into the folder under a temporary name."""
        part = self._store.files / new_id("upload-")
        with part.open("wb") as out:
            shutil.copyfileobj(source, out, 1 << 20)
            out.flush()
            os.fsync(out.fileno())
        return part

    def add(
        self,
        db: sqlite3.Connection,
        provider: str,
        purpose: str,
        filename: str,
        part: Path,
        now: float,
        expires_at: float | None,
        file_id: str,
    ) -> str:
        """Give finished bytes their id, inside the caller's transaction."""
        size = part.stat().st_size
        part.replace(self._store.path(file_id))
        db.execute(
            "INSERT INTO files (id, provider, purpose, filename, bytes, created_at, expires_at)"
            " VALUES (?, ?, ?, ?, ?, ?, ?)",
            (file_id, provider, purpose, filename, size, now, expires_at),
        )
        return file_id

    def get(self, provider: str, file_id: str, now: float) -> File | None:
        """The file, unless it is unknown, deleted or expired."""
        found = self.newest_first(provider, now, "AND id = ?", file_id)
        return found[0] if found else None

    def newest_first(self, provider: str, now: float, where: str = "", *values: object) -> list[File]:
        """A provider's files that are still there."""
        query = "SELECT * FROM files WHERE provider = ? AND coalesce(expires_at, ?) >= ?"
        rows = self._store.db.execute(f"{query} {where} ORDER BY seq DESC", (provider, now, now, *values))
        return [File(*row) for row in rows]

    def delete(self, file: File) -> None:
        """Forget the row, then the bytes."""
        with self._store.transaction() as db:
            db.execute("DELETE FROM files WHERE id = ?", (file.id,))
        self._store.path(file.id).unlink(missing_ok=True)
