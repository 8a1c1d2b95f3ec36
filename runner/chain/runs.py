"""A run: what was asked, its name, and its folders. Everything that changes requests or scoring is in the name."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path

import orjson

from runner.benchmarks.base import Funnel, Options, Variant
from runner.chain.files import write_bytes
from runner.errors import RunnerError
from runner.venues import EMULATOR, is_rehearsal, rehearsed_day

REHEARSALS = "rehearsal-"
"""How the folders in ``batches/`` begin where a purchase is played through, with the process that does it."""
FRESH_DRAWS = 1_000_000
"""More draws than anybody takes of a request: those of one time and of the next never meet."""


@dataclass(frozen=True)
class Workspace:
    """The folder where commands are run; everything lies under ``batches/`` and ``results/``.

    In one that ``is_copy``, where `verify` makes answers again, the ledger's digests of them say nothing.
    """

    root: Path
    is_copy: bool = False

    @property
    def batches(self) -> Path:
        """What is asked and the ledger."""
        return self.root / "batches"

    @property
    def results(self) -> Path:
        """What was answered and scored."""
        return self.root / "results"

    @property
    def ledger(self) -> Path:
        """The journal of jobs and money."""
        return self.batches / "ledger.sqlite"

    @property
    def corpora(self) -> Path:
        """Converted corpora by fingerprint."""
        return self.batches / "corpora"

    @contextmanager
    def locked(self, say: Callable[[str], None]) -> Iterator[None]:
        """Hold the one lock of the workspace; the kernel frees it when the process dies, however it dies."""
        self.batches.mkdir(parents=True, exist_ok=True)
        with (self.batches / ".lock").open("a+") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                lock.seek(0)
                holder = lock.read().strip() or "unknown"
                say(f"Another persona-runner (process {holder}) is at work in this folder; waiting for it.")
                fcntl.flock(lock, fcntl.LOCK_EX)
            lock.truncate(0)
            lock.write(str(os.getpid()))
            lock.flush()
            yield


@dataclass(frozen=True)
class Asked:
    """What makes a run this run. Equal values are the same run; anything else is another one.

    ``effort`` is asked of a thinking model; without ``temperature`` no sampling parameter is sent at all.
    ``looks`` is how often the growing sample will be scored, declared beforehand. ``fresh`` numbers the times that
    the same was asked anew on purpose: 0 takes whatever answers there are.
    """

    benchmark: str
    task: str
    model: str
    provider: str
    venue: str
    protocol: str
    version: str
    corpus: str
    settings: tuple[str, ...]
    limit: int | None
    seed: int
    samples: int
    variants: Mapping[str, Variant] = field(default_factory=dict)
    judge: str | None = None
    effort: str | None = None
    temperature: bool = True
    looks: int | None = None
    fresh: int = 0

    @property
    def first_draw(self) -> int:
        """What is added to the numbers of its draws."""
        return self.fresh * FRESH_DRAWS

    @property
    def name(self) -> str:
        """``<task>__<model>__<protocol>__[emulator__]<hash>``."""
        later = {
            "effort": None,
            "temperature": True,
            "looks": None,
            "fresh": 0,
        }  # after the first runs, whose names stay
        said = {key: value for key, value in asdict(self).items() if key not in later or value != later[key]}
        content = orjson.dumps(said, option=orjson.OPT_SORT_KEYS)
        parts = [self.task, re.sub(r"[^A-Za-z0-9._-]+", "-", self.model), self.protocol]
        if is_rehearsal(self.venue):
            parts.append(EMULATOR)
        return "__".join([*parts, hashlib.sha256(content).hexdigest()[:8]])

    @property
    def scope(self) -> str:
        """What a BUDGET caps in this workspace: the money of (venue, task, model, protocol, corpus)."""
        return "|".join((self.venue, self.task, self.model, self.protocol, self.corpus))

    @property
    def series(self) -> str:
        """The same question to the same model: more of the sample, more settings, fresh answers are further looks."""
        free = ("limit", "looks", "settings", "fresh")
        alike = {key: value for key, value in asdict(self).items() if key not in free}
        return hashlib.sha256(orjson.dumps(alike, option=orjson.OPT_SORT_KEYS)).hexdigest()[:16]

    @property
    def options(self) -> Options:
        """The part of it that a task understands."""
        return Options(self.settings, self.limit, self.seed, self.samples, self.variants)


@dataclass(frozen=True)
class Run:
    """A built run as ``run.json`` keeps it: what was asked, what came of it, and what will be tested.

    ``source`` is where the corpus was read from (information only). ``dialect`` is the endpoint and version of
    the provider's API by which the requests go. ``explanation`` is set when no instance
    was left. ``parameters`` are those sent with every request of the first stage; ``token_counter`` names what
    counted its tokens. ``digests`` are sha256 of the files that say what is asked and what is right.
    """

    asked: Asked
    source: str
    instances: int
    requests: int
    unique: int
    funnel: Funnel
    explanation: str | None
    parameters: Mapping[str, float | int | str | None]
    token_counter: str
    tokens_exact: bool
    assumptions: tuple[str, ...]
    test_family: tuple[str, ...]
    caution: str | None
    versions: Mapping[str, str]
    created_at: str
    dialect: str = ""
    digests: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The run's folder name."""
        return self.asked.name


@dataclass(frozen=True)
class Folders:
    """Where one run's files lie."""

    workspace: Workspace
    run: str

    @property
    def asked(self) -> Path:
        """``batches/<run>``."""
        return self.workspace.batches / self.run

    @property
    def results(self) -> Path:
        """``results/<run>``."""
        return self.workspace.results / self.run

    @property
    def run_json(self) -> Path:
        """Written last by build: while it is absent, the run is not built."""
        return self.asked / "run.json"

    @property
    def instances(self) -> Path:
        """Instances in sample order."""
        return self.asked / "instances.parquet"

    @property
    def raw(self) -> Path:
        """Provider files as received."""
        return self.results / "raw"

    @property
    def responses(self) -> Path:
        """All final answers that this run uses."""
        return self.results / "responses.parquet"

    @property
    def scores(self) -> Path:
        """One row per instance, setting and sample."""
        return self.results / "scores.parquet"

    @property
    def summary(self) -> Path:
        """The result table as JSON."""
        return self.results / "summary.json"

    def stage(self, number: int) -> Path:
        """``batches/<run>/stage-<number>``."""
        return self.asked / f"stage-{number}"

    def requests(self, number: int) -> Path:
        """instance_id, setting, draw, n, request_id, tokens."""
        return self.stage(number) / "requests.parquet"

    def bodies(self, number: int) -> Path:
        """request_id, body, tokens, input_bound: each unique request once, in sample order."""
        return self.stage(number) / "bodies.parquet"

    def batch(self, number: int, batch: int) -> Path:
        """A batch as sent."""
        return self.stage(number) / f"batch-{batch:04d}.jsonl"

    def batch_ids(self, number: int, batch: int) -> Path:
        """The request ids of a batch."""
        return self.stage(number) / f"batch-{batch:04d}.ids.parquet"

    def part(self, job: str) -> Path:
        """Answers bought by one job of this run."""
        return self.results / "parts" / f"{job}.parquet"


def write_run(workspace: Workspace, run: Run) -> None:
    """Write ``run.json``: from here on the run is built."""
    content = orjson.dumps(asdict(run), option=orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS)
    write_bytes(Folders(workspace, run.name).run_json, content)


def read_run(workspace: Workspace, name: str) -> Run:
    """The built run of this name. Raises RunnerError when there is none."""
    path = Folders(workspace, name).run_json
    if not path.is_file():
        known = ", ".join(run_names(workspace)[-3:]) or "none yet"
        raise RunnerError(f"There is no run {name!r} in {workspace.batches}; the latest are: {known}.")
    raw = orjson.loads(path.read_bytes())
    asked = raw.pop("asked")
    funnel = raw.pop("funnel")
    return Run(
        asked=Asked(**{**asked, "settings": tuple(asked["settings"])}),
        funnel=Funnel(tuple((step, count) for step, count in funnel["steps"]), funnel["notes"]),
        assumptions=tuple(raw.pop("assumptions")),
        test_family=tuple(raw.pop("test_family")),
        **raw,
    )


def run_names(workspace: Workspace) -> list[str]:
    """Built runs, the most recently used last."""
    paths = sorted(workspace.batches.glob("*/run.json"), key=lambda path: path.stat().st_mtime_ns)
    return [path.parent.name for path in paths]


def new_name(run: str, stage: int, batch: int) -> str:
    """A name for the job of a batch that nobody has used: the tag by which the provider's list tells it."""
    return f"{run.rsplit('__', 1)[1]}-{stage}-{batch:04d}-{secrets.token_hex(4)}"


def touch(workspace: Workspace, name: str) -> None:
    """Make this run the latest."""
    os.utime(Folders(workspace, name).run_json)


def latest_run(
    workspace: Workspace,
    *,
    model: str | None = None,
    task: str | None = None,
    protocol: str | None = None,
    emulated: bool = False,
    as_of: date | None = None,
) -> str:
    """The most recently used run, among those of this model, task and protocol where they are given.

    With ``emulated`` only rehearsals count, of the day ``as_of`` or of today's catalogue.

    One that was only looked at (built, estimated) comes after those that were submitted.
    """
    wanted = {"model": model, "task": task, "protocol": protocol}
    names = list(reversed(run_names(workspace)))
    for name in sorted(names, key=lambda name: not (workspace.results / name).exists()):
        asked = asdict(read_run(workspace, name).asked)
        meant = not emulated or (is_rehearsal(asked["venue"]) and rehearsed_day(asked["venue"]) == as_of)
        if meant and all(value is None or asked[key] == value for key, value in wanted.items()):
            return name
    said = ", ".join(f"{key} {value}" for key, value in wanted.items() if value is not None)
    said += " on the emulator" if emulated else ""
    raise RunnerError(
        f"There is no run{' of ' + said if said else ''} in {workspace.batches} yet: `make submit` makes one."
    )
