"""The ledger: jobs, approvals, learned limits and looks in SQLite, the only mutable state.

Every change is one transaction that is on the disk when the call returns (synchronous=FULL), so that after a
crash the row says how far a submission can have come, and never less.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path

from runner.ledger_rows import OPEN, SENT, Approval, Job, Spent, State

__all__ = ["OPEN", "SENT", "Approval", "Job", "Ledger", "Spent", "State"]


_TIMES = (
    "intended_at", "created_at", "absent_at", "ended_at", "retain_until", "collected_at", "cancelling_at", "remade_at",
    "looked_at", "accepted_at",
)  # fmt: skip
_COLUMNS = tuple(field.name for field in fields(Job))
_SCHEMA = """
create table if not exists jobs (
    job text primary key, venue text not null, account text not null, model text not null, run text not null,
    scope text not null, stage integer not null, batch integer not null, sha256 text not null,
    n integer not null, tokens integer not null, reserved_usd real, state text not null,
    intended_at text not null, file_id text, provider_job text, created_at text, absent_at text, ended_at text,
    retain_until text, billed_usd real, answered integer, part text, error text,
    collected_at text, cancelling_at text, remade_at text, twin_of text, promised integer, looked_at text,
    accepted_at text, at_bound_usd real, unread integer, digests text,
    unique (run, stage, batch)
);
create index if not exists jobs_by_model on jobs (venue, model, state);
create table if not exists approvals (
    run text not null, bound_usd real, at text not null, budget_usd real, is_withdrawn integer not null default 0,
    instances integer
);
create table if not exists learned (
    venue text not null, model text not null, kind text not null, value integer not null, at text not null
);
create table if not exists refuted (job text not null, provider_job text not null);
create table if not exists looks (
    series text not null, answers text not null, run text not null, planned integer, at text not null,
    primary key (series, answers)
);
"""

_LATER_COLUMNS: dict[str, dict[str, str]] = {
    "jobs": {
        **dict.fromkeys(("collected_at", "cancelling_at", "remade_at", "twin_of", "looked_at", "accepted_at"), "text"),
        "promised": "integer",
        "at_bound_usd": "real",
        "unread": "integer",
        "digests": "text",
    },
    "approvals": {"is_withdrawn": "integer not null default 0", "instances": "integer"},
}
"""Columns that came after the first version, with their types: added to a ledger that lacks them."""


class Ledger:
    """Opened for one workspace; safe for several processes (SQLite locks), used by one at a time for money."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
        self._db.row_factory = sqlite3.Row
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = full")
        self._db.executescript(_SCHEMA)
        for table, columns in _LATER_COLUMNS.items():
            known = {row["name"] for row in self._db.execute(f"pragma table_info({table})")}
            for name, kind in columns.items():
                if name not in known:  # a ledger of an earlier version
                    self._db.execute(f"alter table {table} add column {name} {kind}")

    def in_memory(self) -> Ledger:
        """A copy that nothing is kept of."""
        copy = Ledger(Path(":memory:"))
        self._db.backup(copy._db)
        return copy

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("begin immediate")
        try:
            yield
        except BaseException:
            self._db.execute("rollback")
            raise
        self._db.execute("commit")

    def _checkpoint(self) -> None:
        """Take the log into the file itself: a copy of ``ledger.sqlite`` alone knows every job that may exist."""
        self._db.execute("pragma wal_checkpoint(full)").fetchall()

    def intend(self, job: Job) -> None:
        """Write down what is about to be bought and hold its money back: one row, one transaction."""
        values = [_to_sql(value) for value in asdict(job).values()]
        marks = ", ".join("?" * len(values))
        with self._transaction():
            self._db.execute(f"insert into jobs ({', '.join(_COLUMNS)}) values ({marks})", values)
        self._checkpoint()

    def move(self, job: Job, state: State, **changes: object) -> Job:
        """Record the next state and what came with it; returns the job as it now stands."""
        changes["state"] = state
        assignments = ", ".join(f"{name} = ?" for name in changes)
        values = [_to_sql(value) for value in changes.values()]
        with self._transaction():
            self._db.execute(f"update jobs set {assignments} where job = ?", [*values, job.job])
        self._checkpoint()
        return self.jobs(job=job.job)[0]

    def jobs(
        self,
        *,
        states: Iterable[State] | None = None,
        job: str | None = None,
        run: str | None = None,
        venue: str | None = None,
        model: str | None = None,
        scope: str | None = None,
    ) -> list[Job]:
        """Jobs that match every given condition, oldest intent first."""
        conditions, values = [], []
        for name, value in (("job", job), ("run", run), ("venue", venue), ("model", model), ("scope", scope)):
            if value is not None:
                conditions.append(f"{name} = ?")
                values.append(value)
        if states is not None:
            wanted = [str(state) for state in states]
            conditions.append(f"state in ({', '.join('?' * len(wanted))})")
            values.extend(wanted)
        where = f"where {' and '.join(conditions)}" if conditions else ""
        rows = self._db.execute(f"select * from jobs {where} order by intended_at, job", values)
        return [_job(row) for row in rows]

    def next_batch(self, run: str, stage: int) -> int:
        """The number of the next batch file: numbers are never used twice."""
        row = self._db.execute("select coalesce(max(batch), 0) from jobs where run = ? and stage = ?", [run, stage])
        return int(row.fetchone()[0]) + 1

    def approve(
        self,
        run: str,
        bound_usd: float | None,
        at: datetime,
        budget_usd: float | None = None,
        instances: int | None = None,
    ) -> None:
        """Keep the user's yes, with all that the run may ever cost."""
        self._decide(Approval(run, bound_usd, at, budget_usd, instances=instances))

    def withdraw(self, run: str, at: datetime) -> None:
        """Take the yes back: nothing of the run is sent any more until the next one."""
        before = self.approval(run)
        if before is not None and not before.is_withdrawn:
            self._decide(replace(before, at=at, is_withdrawn=True))

    def _decide(self, approval: Approval) -> None:
        values = [_to_sql(value) for value in asdict(approval).values()]
        with self._transaction():
            self._db.execute(
                "insert into approvals (run, bound_usd, at, budget_usd, is_withdrawn, instances)"
                " values (?, ?, ?, ?, ?, ?)",
                values,
            )

    def approval(self, run: str) -> Approval | None:
        """The user's latest word on this run, a withdrawal included; None when it was never approved."""
        row = self._db.execute("select * from approvals where run = ? order by rowid desc limit 1", [run]).fetchone()
        if row is None:
            return None
        at = datetime.fromisoformat(row["at"])
        is_withdrawn = bool(row["is_withdrawn"])
        return Approval(row["run"], row["bound_usd"], at, row["budget_usd"], is_withdrawn, row["instances"])

    def is_withdrawn(self, run: str) -> bool:
        """Whether the user's latest word on this run is that it be cancelled."""
        approval = self.approval(run)
        return approval is not None and approval.is_withdrawn

    def approved_runs(self) -> list[str]:
        """Runs that were ever approved (some may be withdrawn since), oldest first."""
        rows = self._db.execute("select run from approvals group by run order by min(rowid)")
        return [row["run"] for row in rows]

    def spent(self, *, run: str | None = None, scope: str | None = None) -> Spent:
        """Money bought and held back, of a run or of everything in a scope."""
        billed = reserved = at_bound = 0.0
        jobs = self.jobs(run=run, scope=scope)
        for job in jobs:
            if job.state in OPEN:
                reserved += job.reserved_usd or 0.0
            else:
                billed += job.billed_usd or 0.0
                at_bound += job.at_bound_usd or 0.0
        return Spent(billed, reserved, all(job.reserved_usd is not None for job in jobs), at_bound)

    def learn(self, venue: str, model: str, kind: str, value: int, at: datetime) -> None:
        """Keep a limit that the provider itself told."""
        with self._transaction():
            self._db.execute("insert into learned values (?, ?, ?, ?, ?)", [venue, model, kind, value, _to_sql(at)])

    def learned(self, venue: str, model: str, kind: str, since: datetime) -> tuple[int, datetime] | None:
        """The latest value of a limit that was told after ``since``, and when."""
        row = self._db.execute(
            "select value, at from learned where venue = ? and model = ? and kind = ? order by rowid desc limit 1",
            [venue, model, kind],
        ).fetchone()
        if row is None or (at := datetime.fromisoformat(row["at"])) < since:
            return None
        return int(row["value"]), at

    def look(self, series: str, answers: str, run: str, planned: int | None, at: datetime) -> tuple[int, int | None]:
        """Keep that these answers of a growing sample were scored; returns which look at it this is, from 1.

        The same answers again are the same look. With it comes the number of looks that were planned: None where
        none were, or where the looks so far were planned differently.
        """
        with self._transaction():
            self._db.execute(
                "insert or ignore into looks values (?, ?, ?, ?, ?)", [series, answers, run, planned, _to_sql(at)]
            )
        found = self.known_look(series, answers)
        assert found is not None
        return found

    def known_look(self, series: str, answers: str) -> tuple[int, int | None] | None:
        """The same of a look that was kept; None where there was none."""
        rows = self._db.execute("select answers, planned from looks where series = ? order by rowid", [series])
        looks = [(row["answers"], row["planned"]) for row in rows]
        names = [name for name, _ in looks]
        if answers not in names:
            return None
        number = names.index(answers) + 1
        plans = {plan for _, plan in looks[:number]}
        return number, plans.pop() if len(plans) == 1 else None

    def refute(self, job: Job, provider_job: str) -> None:
        """Keep that a job of the provider, which might have been this one, answered other requests."""
        with self._transaction():
            self._db.execute("insert into refuted values (?, ?)", [job.job, provider_job])

    def refuted(self, job: Job) -> frozenset[str]:
        """The provider's jobs that are surely not this one."""
        rows = self._db.execute("select provider_job from refuted where job = ?", [job.job])
        return frozenset(row["provider_job"] for row in rows)


def _to_sql(value: object) -> object:
    if isinstance(value, dict):
        return json.dumps(value)
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat(timespec="microseconds")
    return str(value) if isinstance(value, StrEnum) else value


def _job(row: sqlite3.Row) -> Job:
    values = dict(row)
    for name in _TIMES:
        values[name] = datetime.fromisoformat(values[name]) if values[name] else None
    values["state"] = State(values["state"])
    values["digests"] = json.loads(values["digests"] or "{}")
    return Job(**values)
