"""A job of vLLM is a folder, ``batches/vllm/<tag>/``: any process finds it there, after a crash or a reboot too.

=============== ======================================================================================
input.jsonl     the requests (a second name of the batch file, where the disk allows it)
job.json        what is asked, when, on which host, and who starts the engine; written last
lock            locked (flock) by the engine from before its first instruction until the kernel ends it
group           its process group; it is there when the engine was started
output.jsonl    what the engine writes as requests complete, or what the user brings from elsewhere
log.txt         what the engine says
cancelled       there when the job is to end with what it has answered
=============== ======================================================================================
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import orjson

from runner.providers.lines import read_lines
from runner.providers.loose import as_count, as_moment, as_object, as_text, shorten
from runner.providers.openai_lines import decode_line

START = 'echo $$ > "$0" || exit 1; "$@" &'
"""For a shell that leads a session, whose number is thereby the group's. Whenever this is cut short, no engine runs
that the folder does not show."""

LOG_TAIL = 16_384
ERROR = re.compile(r"\b\w+(?:Error|Exception): .*")
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True, slots=True)
class Job:
    """What ``job.json`` says. ``is_elsewhere`` when the user runs the engine, wherever that is."""

    folder: Path
    model: str
    total: int
    created_at: datetime
    host: str
    is_elsewhere: bool

    @property
    def tag(self) -> str:
        """Its id."""
        return self.folder.name

    @property
    def input(self) -> Path:
        """What is asked."""
        return self.folder / "input.jsonl"

    @property
    def output(self) -> Path:
        """What was answered."""
        return self.folder / "output.jsonl"

    @property
    def log(self) -> Path:
        """What the engine said."""
        return self.folder / "log.txt"

    @property
    def was_started(self) -> bool:
        """Whether an engine was ever started for it here."""
        return (self.folder / "group").exists() or self.output.exists()

    @property
    def is_made(self) -> bool:
        """Whether it is a job at all; one whose engine was not yet started is only an intent."""
        return self.is_elsewhere or self.was_started

    @property
    def is_alive(self) -> bool:
        """Whether its engine runs. Never taken from a process number, which may be another's by now."""
        try:
            with (self.folder / "lock").open("rb") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except FileNotFoundError:
            return False
        except BlockingIOError:
            return True
        return False

    @property
    def cancelled_at(self) -> datetime | None:
        """When it was told to end."""
        try:
            return datetime.fromtimestamp((self.folder / "cancelled").stat().st_mtime, UTC)
        except FileNotFoundError:
            return None


def make(folder: Path, source: Path, model: str, host: str, *, is_elsewhere: bool, now: datetime) -> Job:
    """The job of this folder, made if it is not there; called again, it changes nothing that was begun."""
    job = read(folder)
    if job is not None and job.is_made:
        return job
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "input.jsonl").exists():
        temporary = folder / ".input.tmp"
        temporary.unlink(missing_ok=True)
        try:
            os.link(source, temporary)
        except OSError:  # a disk without links
            shutil.copyfile(source, temporary)
        temporary.replace(folder / "input.jsonl")
    total = sum(1 for _ in read_lines(folder / "input.jsonl"))
    job = Job(folder, model, total, now, host, is_elsewhere)
    said = {"model": model, "total": total, "created_at": now, "host": host, "is_elsewhere": is_elsewhere}
    _write(folder / "job.json", orjson.dumps(said, option=orjson.OPT_INDENT_2))
    return job


def read(folder: Path) -> Job | None:
    """The job of this folder; None where none was made."""
    try:
        said = as_object(orjson.loads((folder / "job.json").read_bytes()))
    except (OSError, orjson.JSONDecodeError):
        return None
    return Job(
        folder,
        model=as_text(said.get("model")) or "",
        total=as_count(said.get("total")) or 0,
        created_at=as_moment(said.get("created_at")) or datetime.fromtimestamp(0, UTC),
        host=as_text(said.get("host")) or "",
        is_elsewhere=said.get("is_elsewhere") is True,
    )


def start(job: Job, command: Sequence[str], env: Mapping[str, str]) -> None:
    """Start the engine, once in the life of a job: it outlives this process and holds the lock.

    Raises OSError when it was surely not started.
    """
    with (job.folder / "lock").open("wb") as lock, job.log.open("ab") as log:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return  # it is just being started
        if job.was_started:
            return
        shell = subprocess.run(
            ["/bin/sh", "-c", START, str(job.folder / "group"), *command],
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            pass_fds=[lock.fileno()],
            check=False,
        )
    if shell.returncode and not job.was_started:
        raise OSError(f"the shell ended with {shell.returncode}")  # not the command: it may hold a token


def stop(job: Job, *, is_here: bool) -> None:
    """End the job with what it has answered. An engine that did not obey the first time is killed.

    One that is not here is only marked: its process group is a number of another machine.
    """
    is_first = job.cancelled_at is None
    _write(job.folder / "cancelled", b"")
    group = _number(job.folder / "group")
    if is_here and group and job.is_alive:
        with suppress(ProcessLookupError):  # it has just ended
            os.killpg(group, signal.SIGTERM if is_first else signal.SIGKILL)


def answered(job: Job) -> Iterator[bytes]:
    """The whole lines of the output; the last may be cut, where an engine died or a copy is on its way."""
    if not job.output.exists():
        return
    last = None
    for line in read_lines(job.output):
        if last is not None:
            yield last
        last = line
    if last is not None and _can_be_read(last):
        yield last


def answers_all(job: Job) -> bool:
    """Whether the output holds a line for every request of the input."""
    missing = {as_text(as_object(orjson.loads(line)).get("custom_id")) for line in read_lines(job.input)}
    for line in answered(job):
        try:
            missing.discard(decode_line(line)[0].request_id)
        except ValueError:
            continue
    return not missing


def last_words(job: Job) -> str:
    """Why the engine ended: the last error that its log names, or its last line."""
    try:
        with job.log.open("rb") as log:
            log.seek(max(0, log.seek(0, os.SEEK_END) - LOG_TAIL))
            text = COLOUR.sub("", log.read().decode("utf-8", "replace"))
    except FileNotFoundError:
        text = ""
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    errors = [found[0] for line in lines if (found := ERROR.search(line))]
    return shorten((errors or lines or ["it said nothing"])[-1]) or ""


def _can_be_read(line: bytes) -> bool:
    try:
        decode_line(line)
    except ValueError:
        return False
    return True


def _number(path: Path) -> int | None:
    """The number of a process group; None where there is none. 0 and 1 are never a group of ours."""
    try:
        number = int(path.read_text())
    except (OSError, ValueError):
        return None
    return number if number > 1 else None


def _write(path: Path, content: bytes) -> None:
    """A small file, whole or not at all, and on the disk for good."""
    temporary = path.with_name(f".{path.name}.tmp")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
