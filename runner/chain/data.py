"""corpus: from the user's file to the converted, fingerprinted folder that every later step opens."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import orjson

from runner.benchmarks import all_benchmarks
from runner.benchmarks.base import Benchmark, Corpus, Options, Selection
from runner.chain.files import write_bytes
from runner.chain.runs import Workspace
from runner.errors import RunnerError

SAMPLE = "sample"
"""The word for DATA that means: a synthetic corpus, written here when it is not there yet."""
MOST = 5
"""Files of a folder that a sentence names."""


def open_corpus(workspace: Workspace, benchmark: Benchmark, source: str | None, say: Callable[[str], None]) -> Corpus:
    """Convert ``source`` once and open it. A second call with the unchanged file reads one small JSON file."""
    path = find_source(workspace, benchmark, source, say)
    print_of = fingerprint(workspace, path)
    folder = workspace.corpora / print_of
    if not folder.exists():
        say(f"Reading {path.name} ({path.stat().st_size / 1e6:,.1f} MB); this is done once.")
        workspace.corpora.mkdir(parents=True, exist_ok=True)
    return benchmark.load(path, folder)


def find_source(workspace: Workspace, benchmark: Benchmark, source: str | None, say: Callable[[str], None]) -> Path:
    """The file that DATA means: a path, ``sample``, or by default what ``data`` has fetched."""
    home = workspace.root / "data"
    if source == SAMPLE:
        path = home / "sample.jsonl"
        if not path.exists() and benchmark.sample is not None:
            path.parent.mkdir(parents=True, exist_ok=True)
            say(f"Writing a synthetic sample corpus to {path.relative_to(workspace.root)}.")
            benchmark.sample(path)
        return path
    if source is not None:
        path = Path(source).expanduser()
        if not path.is_file():
            raise RunnerError(_no_file(path))
        return path
    fetched = sorted(home.glob("*.json")) + sorted(home.glob("*.json.gz"))
    if len(fetched) == 1:
        return fetched[0]
    raise RunnerError(
        "No corpus is named: say DATA=path/to/corpus.json, or DATA=sample for a synthetic one; "
        "`make data` fetches the published one into data/."
    )


def _no_file(path: Path) -> str:
    if not path.is_dir():
        return f"There is no file {path}: give the path of a corpus, DATA=path/to/corpus.json, or DATA=sample."
    inside = sorted(each.name for each in path.iterdir() if each.is_file() and each.name[0] != ".")
    held = f"it holds {', '.join(inside[:MOST])}{', …' if len(inside) > MOST else ''}" if inside else "it holds no file"
    return f"{path} is a folder, and DATA is one file: name the corpus in it ({held})."


def fingerprint(workspace: Workspace, path: Path) -> str:
    """96 bits of the file's sha256, remembered by path, size and modification time."""
    stat = path.stat()
    key = f"{path.resolve()}|{stat.st_size}|{stat.st_mtime_ns}"
    memory = workspace.corpora / "fingerprints.json"
    known: dict[str, str] = orjson.loads(memory.read_bytes()) if memory.exists() else {}
    if key not in known:
        with path.open("rb") as file:
            known[key] = hashlib.file_digest(file, "sha256").hexdigest()[:24]
        write_bytes(memory, orjson.dumps(known, option=orjson.OPT_INDENT_2))
    return known[key]


def fetch(workspace: Workspace, revision: str | None, say: Callable[[str], None]) -> Path:
    """Fetch the published corpus into ``data/`` and tell its terms."""
    benchmark = _default_benchmark()
    assert benchmark.fetch is not None
    if benchmark.terms:
        say(benchmark.terms)
    home = workspace.root / "data"
    home.mkdir(exist_ok=True)
    return benchmark.fetch(home, revision) if revision else benchmark.fetch(home)


def write_sample(path: Path, *, posts: int, seed: int, habits: bool) -> Path:
    """Write a synthetic corpus."""
    benchmark = _default_benchmark()
    assert benchmark.sample is not None
    path.parent.mkdir(parents=True, exist_ok=True)
    return benchmark.sample(path, posts=posts, seed=seed, habits=habits)


@dataclass(frozen=True)
class Found:
    """What a corpus file holds, and what each strict task would select of it."""

    facts: Mapping[str, object]
    selections: Mapping[str, Selection]


def check(workspace: Workspace, path: Path, say: Callable[[str], None]) -> Found:
    """Look into a corpus file. Raises RunnerError when it is none."""
    benchmark = _default_benchmark()
    corpus = open_corpus(workspace, benchmark, str(path), say)
    selections = {}
    for task in benchmark.tasks:
        if task.protocol == "strict":
            say(f"Selecting {task.name} {task.title}.")
            selections[task.name] = task.instances(corpus, Options(task.settings, samples=task.default_samples))
    return Found(benchmark.check(corpus) if benchmark.check else {}, selections)


def _default_benchmark() -> Benchmark:
    return all_benchmarks()[0]
