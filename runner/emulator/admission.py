"""What lets a job in: the limits at its create, the reading of its input, the room in the queue."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from runner.emulator.answering import factor, prompt_tokens
from runner.emulator.execution import lines_of
from runner.emulator.faults import QUOTA_HELD_S, Faults
from runner.emulator.files import FileStore
from runner.emulator.jobs import Job, Jobs
from runner.emulator.store import Clock, Store
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Json, Messages, Verdict, Wire

HOUR_S = 3600
NO_ROOM = "token_limit_exceeded"
QUEUED = "provider = ? AND (state IN ('validating', 'in_progress', 'finalizing', 'cancelling') OR"
QUEUED += " state = 'cancelled' AND cancelled_at > ? AND faults LIKE '%\"quota_held\"%')"


class Full(Exception):
    """A create is refused for now.

    ``what`` is ``batches_per_hour``, ``open_jobs``, ``requests`` or ``tokens`` (the last of ``model``).
    """

    def __init__(self, what: str, limit: int, model: str | None = None) -> None:
        super().__init__(f"{what}: {limit}")
        self.what = what
        self.limit = limit
        self.model = model


@dataclass(frozen=True)
class Admission:
    """The door of a state folder."""

    store: Store
    clock: Clock
    faults: Faults
    files: FileStore
    jobs: Jobs
    wires: Mapping[str, Wire]

    def create(self, provider: str, source: str | Path, **said: Any) -> Job:
        """A new job of an uploaded file (its id) or of lines that came with the call (a file to be moved).

        ``said`` are further columns of the job. Raises ``Full``, and then there is no job.
        """
        rules = tariff(provider).rules
        with self.store.lock("create"):
            self._check_numbers(provider)
            job = self.jobs.draft(provider, input_file=source if isinstance(source, str) else "", **said)
            path = source if isinstance(source, Path) else self._uploaded(job, job.created_at)
            verdict = None
            if rules.queue and rules.full == "refused" and path is not None:
                verdict = self._read(job, path, job.created_at)
                self._check_queue(job, verdict, bool(self.faults.strikes(NO_ROOM, provider)))
            with self.store.transaction():
                self.jobs.insert(job)
                if isinstance(source, Path):
                    path = source.replace(self.input_path(job))
                if verdict is not None and path is not None and not verdict.problems:
                    self._take(job, verdict, path)
        return self.jobs.select("WHERE seq = ?", job.seq)[0]

    def admit(self, job: Job, at: float) -> list[Json]:
        """Read the input of a job that is validating, if that was not done at its create; what is wrong with it."""
        if job.total:
            return []
        path = self.input_path(job) if not job.input_file else self._uploaded(job, at)
        if path is None or not path.exists():
            message = f"Cannot find file {job.input_file}, or organization org-emulator does not have access to it."
            return [_problem("invalid_request", message, "file_id")]
        verdict = self._read(job, path, at)
        if verdict.problems or not verdict.total:
            self.jobs.update(job, total=verdict.total)
            return verdict.problems or [_problem("empty_file", "The input file holds no request.", None)]
        try:
            self._check_queue(job, verdict, NO_ROOM in job.faults)
        except Full as full:
            self.jobs.update(job, model=full.model)
            message = f"Enqueued token limit reached for {full.model} in organization org-emulator. Limit: "
            message += f"{full.limit:,} enqueued tokens. Please try again once some in_progress batches have been "
            return [_problem("token_limit_exceeded", message + "completed.", None)]
        with self.store.transaction():
            self._take(job, verdict, path)
        return []

    def input_path(self, job: Job) -> Path:
        """Where the input lies from when it was read until the job is run: the client may delete its file."""
        return self.store.folder / f"{job.seq}.input"

    def token_path(self, job: Job) -> Path:
        """Where the prompts' counts lie meanwhile."""
        return self.store.folder / f"{job.seq}.tokens"

    def counts(self, job: Job) -> array[int]:
        """The prompts' tokens, in line order."""
        counts = array("Q")
        counts.frombytes(self.token_path(job).read_bytes())
        return counts

    def _check_numbers(self, provider: str) -> None:
        rules = tariff(provider).rules
        per_hour, most = rules.max_batches_per_hour, rules.max_open_jobs
        if per_hour and self.jobs.created_since(provider, self.clock.now() - HOUR_S) >= per_hour:
            raise Full("batches_per_hour", per_hour)
        if most and sum(job.is_open for job in self.jobs.newest_first(provider)) >= most:
            raise Full("open_jobs", most)

    def _check_queue(self, job: Job, verdict: Verdict, seems_full: bool) -> None:
        rules = tariff(job.provider).rules
        held_since = self.clock.now() - QUOTA_HELD_S
        others = self.jobs.select(f"WHERE {QUEUED} AND seq != ?", job.provider, held_since, job.seq)
        if rules.queue == "requests":
            limit = self._of_tier(rules.queue_requests)
            used, model = verdict.total + sum(other.total for other in others), None
        elif rules.queue == "tokens" and verdict.model is not None and verdict.model.queue_tokens:
            limit, model = self._of_tier(verdict.model.queue_tokens), verdict.model.name
            used = sum(verdict.tokens) + sum(other.tokens for other in others if other.model == model)
        else:
            return
        if used > limit or seems_full:
            raise Full(rules.queue, limit, model)

    def _of_tier(self, limits: tuple[int, ...]) -> int:
        return limits[min(int(self.store.setting("tier", len(limits))), len(limits)) - 1]

    def _read(self, job: Job, path: Path, now: float) -> Verdict:
        seed = self.store.seed

        def count(model: Model, messages: Messages) -> int:
            return prompt_tokens(seed, model.name, messages, factor(seed, job.provider, model.name))

        return self.wires[job.provider].validate(lines_of(path), job, now, count)

    def _take(self, job: Job, verdict: Verdict, path: Path) -> None:
        """Keep what running needs."""
        kept = self.input_path(job)
        if path != kept:
            kept.unlink(missing_ok=True)  # of a process that was killed before its commit
            kept.hardlink_to(path)
        self.token_path(job).write_bytes(verdict.tokens.tobytes())
        self.jobs.update(
            job,
            model=verdict.model.name if verdict.model else None,
            total=verdict.total,
            refused=verdict.refused,
            tokens=sum(verdict.tokens),
        )

    def _uploaded(self, job: Job, at: float) -> Path | None:
        file = self.files.get(job.provider, job.input_file, at)
        if file is None or file.purpose != tariff(job.provider).rules.input_purpose:
            return None
        return self.store.path(file.id)


def _problem(code: str, message: str, param: str | None) -> Json:
    return {"code": code, "line": None, "message": message, "param": param}
