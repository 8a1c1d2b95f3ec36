"""One provider's branch of the service: what its protocol file needs, so that it only translates."""

from __future__ import annotations

from pathlib import Path
from typing import Any, BinaryIO

from runner.emulator import draws
from runner.emulator.answering import factor, prompt_tokens
from runner.emulator.files import File
from runner.emulator.jobs import Job
from runner.emulator.rules import Rules
from runner.emulator.service import Service
from runner.emulator.store import new_id
from runner.emulator.tariff import Model, Tariff, tariff
from runner.emulator.wire import Messages

AGAIN_S = 300.0
STUCK_STEP_S = 3600.0
LIST_PAGE_S = 31.0
"""What a page of the list costs in the ``auto`` clock: a client that must be sure that a job is absent reads
the whole list twice, a minute apart, and would otherwise really wait."""


COUNT_ERROR = 0.01
"""How far a count that is asked for lies from what is billed, at most: providers call it an estimate."""


class Unknown(Exception):
    """There is no such job or file here (or not yet, or no more); the argument is its id."""

    @property
    def id(self) -> str:
        """What was asked for."""
        return str(self.args[0])


class Branch:
    """Jobs and files of one provider. Everything blocks: call it from a thread.

    ``create`` may raise ``admission.Full``; what takes an id raises ``Unknown``.
    """

    def __init__(self, service: Service, provider: str) -> None:
        self._service = service
        self.provider = provider

    @property
    def tariff(self) -> Tariff:
        """The provider's catalogue and rules."""
        return tariff(self.provider)

    @property
    def rules(self) -> Rules:
        """The provider's rules."""
        return self.tariff.rules

    def now(self) -> float:
        """Unix seconds of the service's clock."""
        return self._service.clock.now()

    def count_tokens(self, model: Model, messages: Messages) -> int:
        """About what a job would bill for this prompt; free, and always the same for the same prompt."""
        seed = self._service.store.seed
        tokens = prompt_tokens(seed, model.name, messages, factor(seed, self.provider, model.name))
        luck = 2 * draws.unit(seed, "count", self.provider, model.name, messages) - 1
        return tokens + int(COUNT_ERROR * luck * tokens)

    # Jobs

    def create(self, source: str | Path, **said: Any) -> Job:
        """A job of an uploaded file (its id) or of lines in a file made with ``new_part`` (which is taken).

        ``said`` are further columns of ``Job``: ``endpoint``, ``metadata``, ``options``, ``output_ttl`` (s),
        ``expires_at`` (unix s, instead of the provider's window).
        """
        self._service.life.settle()
        return self._service.admission.create(self.provider, source, **{"endpoint": "", **said})

    def retrieve(self, job_id: str) -> Job:
        """The job; in the ``auto`` clock this brings its next event about first, asking after its end takes time."""
        job, clock = self.job(job_id), self._service.clock
        is_auto = clock.mode == "auto"
        if clock.now() < job.visible_at:
            if is_auto:
                clock.jump(job.visible_at)
            raise Unknown(job_id)
        if is_auto and job.is_open and job.next_at is None:
            clock.advance(STUCK_STEP_S)
        elif is_auto and self.shows_results(job):
            clock.advance(AGAIN_S)  # a client that asks on waits for something: files, the rest of one
        elif is_auto:
            clock.jump(job.next_at or job.files_at or 0.0)
        self._service.life.settle()
        return self.job(job_id)

    def job(self, job_id: str) -> Job:
        """The job as it stands, without moving anything."""
        job = self._service.jobs.get(job_id)
        if job is None or job.provider != self.provider:
            raise Unknown(job_id)
        return job

    def listed(self) -> list[Job]:
        """The jobs in the list, newest first; in the ``auto`` clock a call (one page) takes 31 s."""
        if self._service.clock.mode == "auto":
            self._service.clock.advance(LIST_PAGE_S)
        self._service.life.settle()
        now = self.now()
        return [job for job in self._service.jobs.newest_first(self.provider) if job.listed_at <= now]

    def cancel(self, job_id: str) -> Job:
        """Ask for the end; the job says whether it is going to be (what has ended stays as it is)."""
        self._service.life.settle()
        self.job(job_id)
        self._service.life.cancel(job_id)
        return self.job(job_id)

    def delete(self, job_id: str) -> None:
        """Take a job out of every list; its files and what it cost stay."""
        self._service.jobs.update(self.job(job_id), deleted=1)

    def progress(self, job: Job) -> tuple[int, int]:
        """Requests completed and failed so far."""
        return self._service.life.progress(job, self.now())

    def shows_results(self, job: Job) -> bool:
        """Whether an ended job names its result files yet."""
        return job.files_at is not None and self.now() >= job.files_at

    # Files

    def new_part(self) -> Path:
        """A name in the state folder for bytes that are still arriving."""
        return self._service.store.files / new_id("upload-")

    def save(self, source: BinaryIO) -> Path:
        """Bytes copied to such a name."""
        return self._service.files.take(source)

    def add_file(
        self,
        part: Path,
        filename: str,
        purpose: str | None = None,
        kept_s: float | None = None,
        file_id: str | None = None,
    ) -> File:
        """Take such bytes in as an upload, for as long as the provider keeps one unless ``kept_s`` says less."""
        rules, now = self.rules, self.now()
        kept_s = kept_s or rules.inputs_kept_s
        purpose = purpose or rules.input_purpose
        file_id = file_id or new_id(rules.file_prefix)
        ends = now + kept_s if kept_s else None
        with self._service.store.transaction() as db:
            self._service.files.add(db, self.provider, purpose, filename, part, now, ends, file_id)
        return self.file(file_id)

    def file(self, file_id: str) -> File:
        """An upload or a result that is still there."""
        file = self._service.files.get(self.provider, file_id, self.now())
        if file is None:
            raise Unknown(file_id)
        return file

    def files(self) -> list[File]:
        """Uploads and results that are still there, newest first."""
        return self._service.files.newest_first(self.provider, self.now())

    def path(self, file: File) -> Path:
        """Where the bytes of a file lie."""
        return self._service.store.path(file.id)

    def delete_file(self, file_id: str) -> None:
        """Forget a file."""
        self._service.files.delete(self.file(file_id))
