"""A number that cannot be made again from the provider's files is noticed, and one that can is said to be."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import zstandard

from tests.place import Place, asked


def _results(place: Place) -> Path:
    return place.root / "results" / place.runs()[0]


def test_an_untouched_run_is_made_again_without_asking_or_changing_anything(scored: Place) -> None:
    def everything() -> dict[str, str]:
        files = [path for path in scored.root.rglob("*") if path.is_file() and "ledger" not in path.name]
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = everything()
    done = scored.call("verify")
    assert "the same numbers, made again" in done.stdout
    assert everything() == before


def test_a_run_that_uses_answers_of_another_is_made_again_from_both(scored: Place, corpus: Path) -> None:
    scored.call("run", *asked(corpus, limit=20))
    larger = scored.call("verify", "--json")
    assert {check["differs"] for check in json.loads(larger.stdout)["checks"]} == {None}


def _change_an_answer(place: Place) -> None:
    path = next(_results(place).glob("raw/*.output.jsonl.zst"))
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read().decode()
    changed = lines.replace("positive", "POSITIVELY", 1) if "positive" in lines else lines.replace("negative", "x", 1)
    assert changed != lines
    path.write_bytes(zstandard.ZstdCompressor().compress(changed.encode()))


def _cut_a_raw_file(place: Place) -> None:
    path = next(_results(place).glob("raw/*.output.jsonl.zst"))
    path.write_bytes(path.read_bytes()[:-20])


def _pack_a_raw_file_anew(place: Place) -> None:
    path = next(_results(place).glob("raw/*.output.jsonl.zst"))
    lines = zstandard.ZstdDecompressor().stream_reader(path.read_bytes()).read()
    path.write_bytes(zstandard.ZstdCompressor(level=1).compress(lines + b"{}\n"))


def _change_a_part(place: Place) -> None:
    path = next(_results(place).glob("parts/*"))
    pl.read_parquet(path).with_columns(text=pl.lit("positive")).write_parquet(path)


def _remove_a_raw_file(place: Place) -> None:
    next(_results(place).glob("raw/*.output.jsonl.zst")).unlink()


def _change_a_score(place: Place) -> None:
    path = _results(place) / "scores.parquet"
    pl.read_parquet(path).with_columns(pl.col("correct").not_()).write_parquet(path)


def _change_the_table(place: Place) -> None:
    path = _results(place) / "summary.json"
    summary = json.loads(path.read_text())
    summary["rows"][0]["value"] += 0.01
    path.write_text(json.dumps(summary))


def _change_a_prompt(place: Place) -> None:
    path = place.root / "batches" / place.runs()[0] / "stage-1" / "bodies.parquet"
    pl.read_parquet(path).with_columns(pl.col("body").str.replace("reply", "answer")).write_parquet(path)


def _change_a_batch(place: Place) -> None:
    path = place.root / "batches" / place.runs()[0] / "stage-1" / "batch-0001.jsonl"
    path.write_text(path.read_text().replace("reply", "answer", 1))


def _pass_for_a_result(place: Place) -> None:
    path = _results(place) / "summary.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"venue": "openai", "instances": 1000}))


def _change_the_references(place: Place) -> None:
    path = place.root / "batches" / place.runs()[0] / "instances.parquet"
    pl.read_parquet(path).with_columns(reference=pl.lit("positive")).write_parquet(path)
    place.call("score")


def _declare_fewer_tests(place: Place) -> None:
    path = place.root / "batches" / place.runs()[0] / "run.json"
    run = json.loads(path.read_text())
    path.write_text(json.dumps(run | {"test_family": run["test_family"][:1]}))


@pytest.mark.parametrize(
    ("tamper", "said"),
    [
        (_pass_for_a_result, "all else that the summary says"),
        (_change_the_references, "instances, references and requests"),
        (_declare_fewer_tests, "the tests are those"),
        (_change_an_answer, "answers made from them"),
        (_change_an_answer, "the provider's files"),
        (_cut_a_raw_file, "the provider's files"),
        (_pack_a_raw_file_anew, "the provider's files"),
        (_change_a_part, "the provider's files"),
        (_remove_a_raw_file, "raw files of the provider"),
        (_change_a_score, "scores of single answers"),
        (_change_the_table, "rows of the table"),
        (_change_a_prompt, "every request's id"),
        (_change_a_batch, "batch files as they were sent"),
    ],
)
def test_what_was_changed_afterwards_is_named(scored: Place, tamper: Callable[[Place], None], said: str) -> None:
    tamper(scored)
    done = scored.call("verify", "--json", check=False)
    assert done.returncode == 1
    wrong = [check["what"] for check in json.loads(done.stdout)["checks"] if check["differs"]]
    assert [what for what in wrong if what.startswith(said)], wrong


def test_a_run_without_scores_is_one_sentence(place: Place, corpus: Path) -> None:
    place.call("build", *asked(corpus))
    done = place.call("verify", check=False)
    assert done.returncode == 2
    assert "persona-runner score" in done.stderr
