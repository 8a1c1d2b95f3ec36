"""Docs that cannot rot: what they name is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from runner.benchmarks import find_task
from runner.benchmarks.base import Options
from runner.benchmarks.personaconvbench.convert import _COMMENT_KEYS, _POST_KEYS, load
from runner.benchmarks.personaconvbench.paper import KNOWN_LEAKS
from tests.makefile import taken, targets
from tests.place import Place

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()
HOW = (ROOT / "docs" / "how-it-works.md").read_text()


def test_every_target_that_the_readme_names_exists_and_is_phony() -> None:
    named = set(re.findall(r"(?:`|^|\| )make ([a-z][a-z-]+)", README, re.M)) - {"you"}
    phony = set(re.search(r"\.PHONY: (.*)", MAKEFILE.replace("\\\n", " "))[1].split())  # type: ignore[index]
    assert named >= {"demo", "estimate", "submit", "collect", "score", "report", "run", "status", "data", "test"}
    assert named <= phony
    assert all(re.search(rf"^{target}:.*## ", MAKEFILE, re.M) for target in named)


def test_every_variable_of_the_makefile_is_in_the_readme() -> None:
    variables = {name for target in targets() for name in taken(target)}
    assert len(variables) > 25
    assert [name for name in sorted(variables) if not re.search(rf"`{name}\b", README)] == []


def test_every_known_leak_of_the_paper_protocol_stands_in_the_docs() -> None:
    assert [leak for leak in KNOWN_LEAKS if f"- {leak}" not in HOW] == []


def test_what_the_reference_scores_otherwise_stands_in_the_docs() -> None:
    paper = HOW.partition("## paper")[2].partition("\n## ")[0]
    assert re.search(r"METEOR and BLEU[^.]*punkt", paper)


def test_every_file_that_the_docs_name_in_code_exists() -> None:
    named = re.findall(r"`((?:chain|tests|benchmarks|runner|docs)/[\w./-]+)`", README + HOW)
    missing = [name for name in named if not ((ROOT / name).exists() or (ROOT / "runner" / name).exists())]
    assert named
    assert missing == []


def test_every_file_of_the_readme_is_there_after_a_run(scored: Place) -> None:
    scored.call("report")
    cells = re.findall(r"^\| (`(?:batches|results)/.*?) \|", README, re.M)
    named = [name for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert len(named) > 8
    for name in named:
        folder, _, file = name.replace("<run>", scored.runs()[0]).rstrip("/").rpartition("/")
        where = scored.root / folder if folder else scored.root
        assert (where / file).exists() or list(scored.root.rglob(file)), name


def test_the_notebook_block_of_the_readme_runs(finished: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    block = re.search(r"```python\n(.*?)```", README, re.S)[1]  # type: ignore[index]
    block = block.replace("3.1__gpt-4.1__strict__1a2b3c4d", finished.runs()[0]).replace("some/other/folder", ".")
    monkeypatch.chdir(finished.root)
    exec(compile(block, "README.md", "exec"), {})


def test_the_ten_lines_of_the_corpus_page_are_a_corpus_with_instances(tmp_path: Path) -> None:
    (example,) = re.findall(r"```jsonl\n(.*?)```", (ROOT / "docs" / "corpus.md").read_text(), re.DOTALL)
    source = tmp_path / "example.jsonl"
    source.write_text(example)
    corpus = load(source, tmp_path / "corpus")
    assert (len(example.splitlines()), corpus.about()["posts"], corpus.about()["notes"]) == (10, 10, {})
    _, task = find_task("3.1", "strict")
    assert task.instances(corpus, Options(task.settings)).frame.height == 4


@pytest.mark.parametrize("keys", [_POST_KEYS, _COMMENT_KEYS])
def test_the_corpus_page_has_every_field_that_is_read(keys: tuple[str, ...]) -> None:
    page = (ROOT / "docs" / "corpus.md").read_text()
    assert [key for key in (*keys, "replies") if f"| `{key}` |" not in page] == []
