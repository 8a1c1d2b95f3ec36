"""The events of a job's life.

No thread works in the background. Whoever asks calls ``settle``: every event that the clock has passed happens
then, in the order of time, under one lock, each committed whole. Two processes that ask at once therefore run
a job once, and a process killed in the middle leaves the event to the next one.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from pathlib import Path

from runner.emulator import draws, tokenizer
from runner.emulator.answering import prompt_tokens
from runner.emulator.execution import Outcome, Plan, lines_of, run
from runner.emulator.faults import Faults
from runner.emulator.files import FileStore
from runner.emulator.jobs import Job, Jobs
from runner.emulator.store import Clock, Store
from runner.emulator.tariff import Model, tariff
from runner.emulator.wire import Json, Messages, Wire

RETENTION_S = 30 * 24 * 3600.0
IN_PROGRESS_S = (180, 1200)
FINALIZING_S = (5, 60)
CANCELLING_S = (5, 120)
REQUESTS_PER_S = 100
EXPIRED_TENTHS = (3, 9)
"""An expired job has answered 30 to 90 % of its requests."""

DUE = "WHERE next_at <= ? ORDER BY next_at, seq LIMIT 1"


class Life:
    """Moves the jobs of a state folder on."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        faults: Faults,
        files: FileStore,
        jobs: Jobs,
        wires: Mapping[str, Wire],
    ) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults
        self._files = files
        self._jobs = jobs
        self._wires = wires

    def settle(self) -> None:
        """Let everything happen that is due by now."""
        if not self._jobs.select(DUE, self._clock.now()):
            return
        with self._store.lock("settle"):
            while due := self._jobs.select(DUE, self._clock.now()):
                self._step(due[0], due[0].next_at or 0.0)

    def cancel(self, job_id: str) -> None:
        """Begin to cancel a job that is validating or in progress: what is done by now stays done."""
        with self._store.lock("settle"):
            job = self._jobs.get(job_id)
            if job is None or job.state not in ("validating", "in_progress"):
                return
            now = self._clock.now()
            completed, failed = self.progress(job, now)
            self._jobs.update(
                job,
                state="cancelling",
                cancelling_at=now,
                completed=completed,
                failed=failed,
                next_at=now + self._draw(CANCELLING_S, "cancelling", job),
            )

    def progress(self, job: Job, now: float) -> tuple[int, int]:
        """Requests completed and failed so far; while in progress in proportion to the time."""
        if job.state != "in_progress" or job.in_progress_at is None:
            return job.completed, job.failed
        span = job.expires_at - job.in_progress_at if "expired_partial" in job.faults else self._span(job)
        share = 0.0 if "stuck" in job.faults else min(max((now - job.in_progress_at) / span, 0.0), 1.0)
        most = self._answered_when_expired(job) if "expired_partial" in job.faults else job.total
        done = int(most * share)
        failed = done if "all_failed" in job.faults else done * job.refused // max(job.total, 1)
        return done - failed, failed

    def _step(self, job: Job, at: float) -> None:
        """The one event that is due for this job, at the moment ``at`` at which it was due."""
        if job.state == "validating":
            self._validate(job, at)
        elif job.state == "in_progress" and at >= job.expires_at:
            self._run(job, at, "expired", self._answered_when_expired(job), expired_at=at, next_at=None)
        elif job.state == "in_progress":
            ends = at + self._draw(FINALIZING_S, "finalizing", job)
            self._run(job, at, "finalizing", None, finalizing_at=at, next_at=ends)
        elif job.state == "finalizing":
            self._jobs.update(job, state="completed", completed_at=at, next_at=None)
        else:
            done = job.completed + job.failed
            self._run(job, at, "cancelled", done, cancelled_at=at, next_at=None)

    def _validate(self, job: Job, at: float) -> None:
        """Validating → in progress, or failed with all the reasons."""
        file = self._files.get(job.provider, job.input_file, at)
        if file is None or file.purpose != "batch":
            message = f"Cannot find file {job.input_file}, or organization org-emulator does not have access to it."
            self._fail(job, at, [_error("invalid_request", message, "file_id")])
            return
        seed = self._store.seed

        def count(model: Model, messages: Messages) -> int:
            return prompt_tokens(seed, model.name, messages)

        lines = lines_of(self._store.path(file.id))
        verdict = self._wires[job.provider].validate(lines, job.endpoint, at, count)
        if verdict.problems or verdict.model is None:
            self._fail(job, at, verdict.problems, total=verdict.total)
            return
        tokens, model = sum(verdict.tokens), verdict.model
        limit = model.queue_tokens[int(self._store.setting("tier", 5)) - 1]
        queued = "WHERE model = ? AND state IN ('in_progress', 'finalizing', 'cancelling')"
        if tokens + sum(other.tokens for other in self._jobs.select(queued, model.name)) > limit:
            message = f"Enqueued token limit reached for {model.name} in organization org-emulator. Limit: "
            message += f"{limit:,} enqueued tokens. Please try again once some in_progress batches have been completed."
            self._fail(job, at, [_error("token_limit_exceeded", message, None)], model=model.name)
            return
        self._token_path(job).write_bytes(verdict.tokens.tobytes())
        self._input_path(job).unlink(missing_ok=True)
        self._input_path(job).hardlink_to(self._store.path(file.id))  # the client may delete its file now
        self._jobs.update(
            job,
            state="in_progress",
            in_progress_at=at,
            model=model.name,
            total=verdict.total,
            refused=verdict.refused,
            tokens=tokens,
            next_at=self._next_after_start(job, at, verdict.total),
        )

    def _next_after_start(self, job: Job, at: float, total: int) -> float | None:
        if "stuck" in job.faults:
            return None
        if "expired_partial" in job.faults:
            return job.expires_at
        return min(at + self._draw(IN_PROGRESS_S, "in_progress", job) + total / REQUESTS_PER_S, job.expires_at)

    def _run(self, job: Job, at: float, state: str, answered: int | None, **changes: object) -> None:
        """Execute (``answered`` requests of) a job and commit files, bill and state together."""
        model = tariff(job.provider).models.get(job.model or "")
        if model is None:  # cancelled before it was validated
            self._jobs.update(job, state=state, **changes)
            return
        counts = array("Q")
        counts.frombytes(self._token_path(job).read_bytes())
        chosen = None
        if answered is not None:
            picks = draws.stream(self._store.seed, "answered", job.seq).sample(range(job.total), answered)
            chosen = frozenset(picks)
        plan = Plan(
            number=job.seq,
            seed=self._store.seed,
            model=model,
            at=at,
            plain=bool(self._store.setting("plain", False)),
            shuffle="shuffle" in job.faults,
            all_failed="all_failed" in job.faults,
            ending=state if answered is not None else None,
            answered=chosen,
            faults=self._faults.of_lines(job.seq, sorted(chosen) if chosen is not None else range(job.total)),
        )
        made = run(plan, self._wires[job.provider], self._input_path(job), counts, self._store.folder)
        self._commit(job, state, made, at, changes)
        self._token_path(job).unlink(missing_ok=True)
        self._input_path(job).unlink(missing_ok=True)

    def _commit(self, job: Job, state: str, made: Outcome, at: float, changes: Mapping[str, object]) -> None:
        gone_at = at + (job.output_ttl or RETENTION_S)
        with self._store.transaction() as db:
            ids: dict[str, str | None] = {"output": None, "error": None}
            for name, part in (("output", made.output), ("error", made.error)):
                if part is not None:
                    filename = f"{job.id}_{name}.jsonl"
                    ids[name] = self._files.add(db, job.provider, "batch_output", filename, part, at, gone_at)
            db.executemany(
                "INSERT INTO bill (job, custom_id, model, input_tokens, cached_tokens, output_tokens,"
                " reasoning_tokens, usd) VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                made.bill,
            )
            usage = made.usage
            self._jobs.update(
                job,
                state=state,
                completed=made.completed,
                failed=made.failed,
                output_file=ids["output"],
                error_file="" if ids["error"] is None and "error_file_empty_id" in job.faults else ids["error"],
                usage=[usage.input, usage.cached, usage.output, usage.reasoning],
                **changes,
            )
            self._store.set_setting("tokenizer", tokenizer.name())

    def _fail(self, job: Job, at: float, errors: list[Json], **changes: object) -> None:
        self._jobs.update(job, state="failed", failed_at=at, next_at=None, errors=errors, **changes)

    def _answered_when_expired(self, job: Job) -> int:
        """At least one, so that whoever buys the rest again gets on."""
        return min(max(1, job.total * self._draw(EXPIRED_TENTHS, "expired", job) // 10), job.total)

    def _span(self, job: Job) -> float:
        return self._draw(IN_PROGRESS_S, "in_progress", job) + job.total / REQUESTS_PER_S

    def _draw(self, bounds: tuple[int, int], name: str, job: Job) -> int:
        return draws.between(*bounds, self._store.seed, name, job.seq)

    def _token_path(self, job: Job) -> Path:
        return self._store.folder / f"{job.seq}.tokens"

    def _input_path(self, job: Job) -> Path:
        return self._store.folder / f"{job.seq}.input"


def _error(code: str, message: str, param: str | None) -> Json:
    return {"code": code, "line": None, "message": message, "param": param}
