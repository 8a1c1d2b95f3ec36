"""Open models on the user's own GPUs: a job is one ``vllm run-batch``, here or wherever the user runs it.

Facts: https://docs.vllm.ai/en/latest/examples/offline_inference/openai_batch/ and vllm/entrypoints/openai/run_batch.py
(0.33.0). The whole file is checked before the model loads: one bad line ends everything. The output is truncated at
the start and flushed as requests complete; failures stand in the same file. There is no resuming, so every job has an
output of its own and the chain asks only for what is missing. There is no clock but this machine's.
"""

from __future__ import annotations

import os
import shlex
import shutil
import socket
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import chain
from pathlib import Path

from runner.errors import RunnerError
from runner.providers.account import account_of
from runner.providers.base import Gone, JobState, JobStatus, KeptFile, Limits, Listing, NotCreated
from runner.providers.openai_lines import ENDPOINT, decode_line, encode_line, model_card
from runner.providers.saving import result_path, saving
from runner.providers.thinking import without_thinking
from runner.providers.vllm_jobs import Job, answered, answers_all, last_words, make, read, start, stop
from runner.request import Body, Hint, RequestId, Response

NAMES = ("vllm",)

JOBS = Path("batches") / "vllm"
"""Where jobs lie, in the folder where commands are run."""

OURS = ("VLLM_COMMAND", "VLLM_ARGS")
"""Variables that are not the engine's, which warns of any VLLM_… that it does not know."""

SECRETS = ("DEEPINFRA_TOKEN", "AZURE_OPENAI_AD_TOKEN", "ANTHROPIC_AUTH_TOKEN", "OPENAI_CUSTOM_HEADERS")
"""Keys of providers beside every …_API_KEY: no business of an engine, which may log what it finds. HF_TOKEN is."""

MAX_REQUESTS = 50_000
MAX_BYTES = 200_000_000
"""Our own limits: a job that dies loses at most what it had not written."""

STUBBORN = timedelta(seconds=60)
"""How long an engine may take to end when told; asked to end again, it is killed."""


def venue_of(env: Mapping[str, str], name: str = "vllm") -> str:
    """``vllm``, on whatever machine."""
    return "vllm"


def connect(
    env: Mapping[str, str], base_url: str | None = None, venue: str | None = None, name: str = "vllm"
) -> VLLMProvider:
    """Needs no key. VLLM_COMMAND is the engine's command here (default ``vllm``), VLLM_ARGS more arguments of it.

    Where there is no such command, or VLLM_COMMAND is set to nothing, the user runs the engine elsewhere.
    """
    if venue is not None:
        raise RunnerError(
            "vLLM runs on your own machine, and the emulator does not play it: leave EMULATE out, or let VLLM_COMMAND "
            "name a program that stands in for `vllm`."
        )
    return VLLMProvider(JOBS, engine_of(env), words_of(env, "VLLM_ARGS"), env)


def dialect(model: str, body: Body) -> str:
    """The endpoint."""
    return ENDPOINT


def engine_of(env: Mapping[str, str]) -> tuple[str, ...] | None:
    """The engine's command here, None where the user runs it elsewhere."""
    command = words_of(env, "VLLM_COMMAND", "vllm")
    program = shutil.which(command[0], path=env.get("PATH")) if command else None
    if program:
        return (program, *command[1:])
    if command and "VLLM_COMMAND" in env:
        raise RunnerError(
            f"VLLM_COMMAND names {command[0]!r}, which is no program here: correct it, or set it to nothing to run "
            f"the engine on another machine."
        )
    return None


def words_of(env: Mapping[str, str], name: str, default: str = "") -> tuple[str, ...]:
    """A variable's words, quoted as for a shell."""
    try:
        return tuple(shlex.split(env.get(name, default)))
    except ValueError as trouble:
        raise RunnerError(f"{name} cannot be read ({trouble}): quote it as for a shell.") from None


class VLLMProvider:
    """The jobs below ``root``. ``engine`` None means that the user runs it elsewhere and brings its output."""

    venue = "vllm"
    names_jobs = True

    def __init__(
        self,
        root: Path,
        engine: Sequence[str] | None,
        arguments: Sequence[str] = (),
        env: Mapping[str, str] | None = None,
        host: str | None = None,
    ) -> None:
        """Nothing is started. A job's engine can be looked after on its own ``host`` only (default: this one)."""
        self.host = host or socket.gethostname()
        self.account = account_of(self.venue, self.host)
        self._root = root
        self._engine = engine
        self._arguments = arguments
        every = os.environ if env is None else env
        kept = (name for name in every if name not in (*OURS, *SECRETS) and not name.endswith("_API_KEY"))
        self._env = {name: every[name] for name in kept}

    def encode(self, request_id: RequestId, model: str, body: Body, hint: Hint | None = None) -> bytes:
        """One line of the batch file, without its newline."""
        return encode_line(request_id, model, body, "vllm")

    def decode(self, line: bytes) -> list[Response]:
        """One row per choice; raises ValueError when the line cannot be read."""
        return [replace(row, text=row.text and without_thinking(row.text)) for row in decode_line(line)]

    def limits(self, model: str) -> Limits:
        """One engine at a time on these GPUs; elsewhere as many as the user likes."""
        return Limits(
            max_requests=MAX_REQUESTS,
            max_bytes=MAX_BYTES,
            queue_tokens=None,
            window_tokens=model_card(model, "vllm").window_tokens,
            max_jobs=1 if self._engine else None,
            is_own=True,
        )

    def upload(self, path: Path, tag: str) -> None:
        """There is nothing to upload."""

    def create(self, model: str, source: str | Path, tag: str) -> str:
        """Make the job's folder and start the engine on it; the id is the tag. Called again, it starts no second."""
        try:
            now = datetime.now(UTC)
            job = make(self._root / tag, Path(source), model, self.host, is_elsewhere=self._engine is None, now=now)
            if self._engine and not job.is_elsewhere:
                files = ("-i", str(job.input.absolute()), "-o", str(job.output.absolute()))
                start(job, (*self._engine, "run-batch", *files, "--model", model, *self._arguments), self._env)
        except OSError as trouble:
            raise NotCreated(f"The engine could not be started: {trouble}.", retry_later=True) from None
        return tag

    def jobs(self, since: datetime) -> Listing:
        """Every folder of a job, from whatever process and host."""
        at = datetime.now(UTC)
        found = (read(path.parent) for path in sorted(self._root.glob("*/job.json")))
        made = [job for job in found if job is not None and job.is_made and job.created_at >= since]
        return Listing(tuple(self._status(job, at) for job in made), at)

    def files(self) -> Sequence[KeptFile]:
        """There are none."""
        return ()

    def status(self, provider_job: str) -> JobStatus:
        """What the files of the job say. A waiting job's ``error`` says what it waits for."""
        return self._status(self._find(provider_job), datetime.now(UTC))

    def fetch(self, provider_job: str, folder: Path) -> list[Path]:
        """Write ``<job>.output.jsonl.zst``, if there is any answer."""
        lines = answered(self._find(provider_job))
        first = next(lines, None)
        if first is None:
            return []
        path = result_path(folder, provider_job, "output")
        with saving(path) as writer:
            for line in chain([first], lines):
                writer.write(line + b"\n")
        return [path]

    def cancel(self, provider_job: str) -> None:
        """End the job with what it has answered; its engine is told by SIGTERM, and the second time killed."""
        job = self._find(provider_job)
        stop(job, is_here=job.host == self.host)

    def discard(self, file_id: str) -> None:
        """There is nothing to delete."""

    def _find(self, provider_job: str) -> Job:
        job = read(self._root / provider_job) if Path(provider_job).name == provider_job else None
        if job is None or not job.is_made:
            raise Gone(f"there is no job in {self._root / provider_job}")
        return job

    def _status(self, job: Job, at: datetime) -> JobStatus:
        is_alive = job.is_alive  # before the output is read: what was written until the end is in it
        done, failed = sum(1 for _ in answered(job)), None
        cancelled_at = job.cancelled_at
        state, why = JobState.RUNNING, None
        if not is_alive:
            state, why = self._ending(job, done)
        if state.has_ended:
            failed = sum(1 for line in answered(job) if not _is_success(line))
            done -= failed
        return JobStatus(
            provider_job=job.tag,
            state=state,
            at=at,
            tag=job.tag,
            created_at=job.created_at,
            total=job.total,
            done=done,
            failed=failed,
            error=why,
            is_cancelling=state is JobState.RUNNING and cancelled_at is not None and at - cancelled_at < STUBBORN,
        )

    def _ending(self, job: Job, done: int) -> tuple[JobState, str | None]:
        """The state of a job of which no engine is seen to run, and why, or what it waits for."""
        if done >= job.total and answers_all(job):
            return JobState.COMPLETED, None
        if job.cancelled_at is not None:
            return JobState.CANCELLED, None
        so_far = f"{done:,} of {job.total:,} requests"
        if job.is_elsewhere:
            command = shlex.join(("vllm", "run-batch", "-i", "input.jsonl", "-o", "output.jsonl", "--model", job.model))
            here = " There is an engine here now: cancel the run and submit it again to use it." if self._engine else ""
            return JobState.RUNNING, (
                f"it waits for {job.output}, which holds {so_far}. Copy {job.folder} to where the GPUs are, run there "
                f"in it `{command}` with the arguments that they need, and bring output.jsonl back.{here}"
            )
        if job.host != self.host:
            return JobState.RUNNING, (
                f"it was started on {job.host} and has answered {so_far}; only there can be seen whether it still runs."
            )
        why = f"the engine ended after {so_far}: {last_words(job)} (all it said: {job.log})"
        # Ended early with answers is not a failure of the batch: those are kept and only the rest is asked again.
        return (JobState.EXPIRED if done else JobState.FAILED), why


def _is_success(line: bytes) -> bool:
    """Whether a line of the output holds a reply of the model; one that cannot be read may."""
    try:
        return any(row.has_arrived for row in decode_line(line))
    except ValueError:
        return True
