"""The events of a job's life.

No thread works in the background. Whoever asks calls ``settle``: every event that the clock has passed happens
then, in the order of time, under one lock, each committed whole. Two processes that ask at once therefore run
a job once, and a process killed in the middle leaves the event to the next one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import astuple, replace

from runner.emulator import draws, tokenizer
from runner.emulator.admission import Admission
from runner.emulator.execution import Outcome, Plan, run
from runner.emulator.faults import Faults
from runner.emulator.files import FileStore
from runner.emulator.jobs import Job, Jobs
from runner.emulator.store import Clock, Store, new_id
from runner.emulator.tariff import tariff
from runner.emulator.wire import Wire

IN_PROGRESS_S = (180, 1200)
FINALIZING_S = (5, 60)
CANCELLING_S = (5, 120)
REQUESTS_PER_S = 100
PARTIAL_TENTHS = (3, 9)
"""A job that ends half way has answered 30 to 90 % of its requests."""

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
        admission: Admission,
        wires: Mapping[str, Wire],
    ) -> None:
        self._store = store
        self._clock = clock
        self._faults = faults
        self._files = files
        self._jobs = jobs
        self._admission = admission
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
            self._cancel(job, self._clock.now())

    def strike(self, job_id: str, fault: str) -> bool:
        """Give a job that has not been run yet a fault of jobs; False where it is too late, or there is none."""
        with self._store.lock("settle"):
            job = self._jobs.get(job_id)
            if job is None or job.state not in ("validating", "in_progress"):
                return False
            struck = replace(job, faults=[*job.faults, fault])
            is_late = job.state == "in_progress" and self._is_late(struck)
            self._jobs.update(job, faults=struck.faults, next_at=job.expires_at if is_late else job.next_at)
        return True

    def progress(self, job: Job, now: float) -> tuple[int, int]:
        """Requests completed and failed so far; while in progress in proportion to the time."""
        if job.state != "in_progress" or job.in_progress_at is None:
            return job.completed, job.failed
        ends = job.expires_at if self._is_late(job) else job.in_progress_at + self._span(job)
        share = min(max((now - job.in_progress_at) / (ends - job.in_progress_at), 0.0), 1.0)
        most = self._part(job) if self._is_late(job) else job.total
        done = 0 if "stuck" in job.faults else int(most * share)
        failed = done if "all_failed" in job.faults else done * job.refused // max(job.total, 1)
        return done - failed, failed

    def _step(self, job: Job, at: float) -> None:
        """The one event that is due for this job, at the moment ``at`` at which it was due."""
        if job.state == "validating":
            self._validate(job, at)
        elif job.state == "in_progress" and at >= job.expires_at:
            self._run(job, at, "expired", self._part(job), expired_at=at, next_at=None)
        elif job.state == "in_progress" and "cancelled_partial" in job.faults:
            self._cancel(job, at)
        elif job.state == "in_progress":
            ends = at + self._draw(FINALIZING_S, "finalizing", job)
            is_partial = "partially_succeeded" in job.faults
            part = self._part(job) if is_partial else None
            self._run(job, at, "finalizing", part, ending="failed", finalizing_at=at, next_at=ends)
        elif job.state == "finalizing":
            self._jobs.update(job, state="completed", completed_at=at, next_at=None)
        else:
            done = job.completed + job.failed
            self._run(job, at, "cancelled", done, cancelled_at=at, next_at=None)

    def _validate(self, job: Job, at: float) -> None:
        """Validating → in progress, or failed with all the reasons."""
        problems = self._admission.admit(job, at)
        if problems:
            self._jobs.update(job, state="failed", failed_at=at, next_at=None, errors=problems)
            return
        total = self._jobs.select("WHERE seq = ?", job.seq)[0].total
        next_at: float | None = min(at + self._span(replace(job, total=total)), job.expires_at)
        if "stuck" in job.faults:
            next_at = None
        elif self._is_late(job):
            next_at = job.expires_at
        self._jobs.update(job, state="in_progress", in_progress_at=at, next_at=next_at)

    def _cancel(self, job: Job, at: float) -> None:
        completed, failed = self.progress(job, at)
        if "cancelled_partial" in job.faults and job.state == "in_progress":
            completed, failed = self._part(job), 0
        ends = None if "cancel_stuck" in job.faults else at + self._draw(CANCELLING_S, "cancelling", job)
        self._jobs.update(job, state="cancelling", cancelling_at=at, completed=completed, failed=failed, next_at=ends)

    def _run(self, job: Job, at: float, state: str, answered: int | None, ending: str = "", **changes: object) -> None:
        """Execute (``answered`` requests of) a job and commit files, bill and state together."""
        rules = tariff(job.provider).rules
        keeps = {"expired": rules.keeps_when_expired, "cancelled": rules.keeps_when_cancelled}.get(state, True)
        if not job.total or not keeps:
            self._jobs.update(job, **{"state": state, "completed": 0, "failed": 0, **changes})
            self._forget(job)
            return
        chosen = None
        if answered is not None:
            picks = draws.stream(self._store.seed, "answered", job.seq).sample(range(job.total), answered)
            chosen = frozenset(picks)
        lines = sorted(chosen) if chosen is not None else range(job.total)
        plan = Plan(
            job=job,
            seed=self._store.seed,
            at=at,
            plain=bool(self._store.setting("plain", False)),
            ending=ending or state,
            answered=chosen,
            line_faults=self._faults.of_lines(job.provider, job.seq, lines),
        )
        wire, source = self._wires[job.provider], self._admission.input_path(job)
        made = run(plan, wire, source, self._admission.counts(job), self._store.folder)
        self._commit(job, state, made, at, changes)
        self._forget(job)

    def _commit(self, job: Job, state: str, made: Outcome, at: float, changes: Mapping[str, object]) -> None:
        rules = tariff(job.provider).rules
        kept_from = job.created_at if rules.results_kept_from == "creation" else at
        kept_s = job.output_ttl or rules.results_kept_s
        with self._store.transaction() as db:
            ids: dict[str, str | None] = {"output": None, "error": None}
            for name, part in (("output", made.output), ("error", made.error)):
                if part is not None:
                    ids[name] = self._files.add(
                        db,
                        job.provider,
                        "batch_output",
                        f"{job.id}_{name}.jsonl",
                        part,
                        at,
                        kept_from + kept_s if kept_s else None,
                        new_id(rules.result_prefix),
                    )
            db.executemany(
                "INSERT INTO bill (job, custom_id, model, input_tokens, cached_tokens, output_tokens,"
                " reasoning_tokens, cache_write_tokens, usd) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                made.bill,
            )
            self._jobs.update(
                job,
                state=state,
                completed=made.completed,
                failed=made.failed,
                expired=made.expired,
                cancelled=made.cancelled,
                output_file=ids["output"],
                error_file="" if ids["error"] is None and "error_file_empty_id" in job.faults else ids["error"],
                usage=list(astuple(made.usage)),
                **changes,
            )
            self._store.set_setting("tokenizer", tokenizer.name())

    def _forget(self, job: Job) -> None:
        self._admission.token_path(job).unlink(missing_ok=True)
        self._admission.input_path(job).unlink(missing_ok=True)

    def _is_late(self, job: Job) -> bool:
        """Whether it will not be done within its window."""
        return "expired_partial" in job.faults or "expired_nothing" in job.faults

    def _part(self, job: Job) -> int:
        """How many are answered of a job that ends half way: at least one, so that a client gets on."""
        if "expired_nothing" in job.faults:
            return 0
        return min(max(1, job.total * self._draw(PARTIAL_TENTHS, "expired", job) // 10), job.total)

    def _span(self, job: Job) -> float:
        return self._draw(IN_PROGRESS_S, "in_progress", job) + job.total / REQUESTS_PER_S

    def _draw(self, bounds: tuple[int, int], name: str, job: Job) -> int:
        return draws.between(*bounds, self._store.seed, name, job.seq)
