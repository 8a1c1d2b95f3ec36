"""What the cells of both matrices share: a protocol's model, a folder, the one command, and the verdict."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from runner.benchmarks.personaconvbench.sample import write_sample
from tests.faults import evidence
from tests.place import Place

INSTANCES = 6
"""24 requests: one batch, so that a cell takes seconds."""
SMALL_DISK = "PERSONA_RUNNER_SMALL_DISK"
AGAIN = 5
"""So often, at most, a user gives the same command again."""


@dataclass(frozen=True)
class Spoken:
    """A protocol by one model that speaks it; ``has_files`` when its requests are uploaded first."""

    model: str
    has_files: bool = True


PROTOCOLS = {
    "openai": Spoken("gpt-5.4-mini"),
    "anthropic": Spoken("claude-sonnet-5", has_files=False),
    "google": Spoken("gemini-2.5-flash-lite"),
    "mistral": Spoken("mistral-small-2603"),
    "together": Spoken("together/openai/gpt-oss-120b"),
    "groq": Spoken("groq/llama-3.3-70b-versatile"),
    "nebius": Spoken("nebius/meta-llama/Llama-3.3-70B-Instruct"),
    "deepinfra": Spoken("deepinfra/meta-llama/Llama-3.3-70B-Instruct"),
    "qwen": Spoken("qwen/qwen-plus"),
}


@dataclass(frozen=True)
class Verdict:
    """What came of a cell: the sentences that speak against it, and its counts."""

    complaints: tuple[str, ...]
    double_payments: int = 0
    lost_answers: int = 0
    commands: int = 0
    seconds: float = 0.0


def furnish_corpus(folder: Path) -> Path:
    """A small corpus, and beside it what the first command makes of it; every cell takes a copy of that."""
    corpus = write_sample(folder / "sample.jsonl", posts=60)
    place = Place(folder / "first")
    place.root.mkdir()
    place.call("build", *command("openai", corpus)[1:-1])
    (place.root / "batches" / "corpora").rename(folder / "corpora")
    return corpus


def furnish(root: Path, corpus: Path) -> Place:
    """A new folder in which the corpus is converted already; on a small disk of its own where one was asked for."""
    root.mkdir()
    if os.environ.get(SMALL_DISK):
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", root], check=True)
        (emulator := root.with_name("emulator")).mkdir()  # the provider's disk is not ours
        (root / "batches").mkdir()
        (root / "batches" / "emulator").symlink_to(emulator)
    (root / "batches").mkdir(exist_ok=True)
    shutil.copytree(corpus.parent / "corpora", root / "batches" / "corpora")
    return Place(root)


def command(protocol: str, corpus: Path, instances: int = INSTANCES) -> list[str]:
    """The one command of a cell, for all four settings."""
    asked = ["--model", PROTOCOLS[protocol].model, "--task", "3.1", "--data", str(corpus), "--limit", str(instances)]
    return ["run", *asked, "--emulate", "--yes"]


def quick_command(protocol: str, corpus: Path, requests: int = 4 * INSTANCES) -> list[str]:
    """The same for as many requests in one setting: the report's charts of four would be most of a cell's work."""
    return [*command(protocol, corpus, requests), "--setting", "p-conv"]


def judged(work: Callable[[], Iterator[str]], place: Place) -> Verdict:
    """Do the work of a cell, which tells what speaks against it, then look at everything that it has left."""
    began = time.monotonic()
    said: list[str] = []
    try:
        said += work()
    except subprocess.TimeoutExpired as hang:
        said.append(f"it hangs: {' '.join(hang.cmd[3:])}")
    except (AssertionError, OSError) as trouble:
        said.append(last_line(str(trouble)))
    said += _left_behind(place)
    if not place.has_results():
        return Verdict((*dict.fromkeys(said), "there are no results"), seconds=time.monotonic() - began)
    there, here = evidence.provider_at_last(place), evidence.books(place)
    said += evidence.complaints(there, here)
    doubles, lost = evidence.double_payments(there, here), evidence.lost_answers(there, here)
    return Verdict(tuple(dict.fromkeys(said)), len(doubles), len(lost), seconds=time.monotonic() - began)


def again_until_complete(place: Place, words: Sequence[str]) -> Generator[str, None, bool]:
    """Give the same command until the run is complete, and tell whether it is; complains when it ends in an odd way."""
    for _ in range(AGAIN):
        done = place.call(*words, check=False)
        if done.returncode not in (0, 1):
            yield f"it ended with {done.returncode}: {last_line(done.stderr)}"
        if place.has_results() and place.summary()["state"] == "complete":
            return True
        if "submit`" in done.stderr:  # only a new yes goes on from here
            place.call("submit", *words[1:], check=False)
        if withheld := re.search(r"`persona-runner accept --job ([\w.-]+)`", done.stderr):
            place.call("accept", "--job", withheld[1], "--yes", check=False)
    yield f"it is never complete; at last it said: {last_line(done.stderr)}"
    return False


def _left_behind(place: Place) -> Iterator[str]:
    """Traces of a fault that no user should find."""
    for path in (place.root / "batches" / "last-error.txt", place.emulator / "server.log"):
        if path.exists() and "Traceback" in path.read_text():
            yield f"{path.name}: {last_line(path.read_text())}"


def last_line(text: str) -> str:
    """The last line that says something."""
    return next((line for line in reversed(text.splitlines()) if line.strip()), "nothing")
