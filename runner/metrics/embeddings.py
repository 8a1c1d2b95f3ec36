"""SBERT: closeness of meaning, as the cosine of two texts' embeddings (Reimers and Gurevych 2019).

The model is ``MODEL`` from the local cache of Hugging Face, or the folder that ``VARIABLE`` names. It is never
downloaded here: scoring needs no network. A text over the model's limit of tokens is cut there, as the library
does. Asking whether it can be had is cheap; torch is imported and the model loaded when the first pair is scored.
"""

from __future__ import annotations

import hashlib
import json
import os
from functools import cache, lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from runner.metrics.signature import library, signature

MODEL = "sentence-transformers/all-MiniLM-L6-v2"
VARIABLE = "PERSONA_RUNNER_SBERT"
BATCH = 64
SCHEMA: dict[str, pl.DataType] = {
    "reference": pl.String(),
    "answer": pl.String(),
    "sbert": pl.Float64(),
    "sbert_raw": pl.Float64(),
}
PUBLISHED = "53aa51172d14"
"""The beginning of the sha256 of ``model.safetensors`` as published."""
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")
_HELP = f"make sbert fetches {MODEL}, and {VARIABLE} may name a folder with it"


def missing() -> str | None:
    """None when SBERT can be computed, as far as can be known without loading it; otherwise why not, and a way out.

    Once loading it has failed in this process, that is said.
    """
    place = _place()
    return place if isinstance(place, str) else _failures.get(place)


def score_pairs(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per distinct (``reference``, ``answer``) without nulls: the cosine (``sbert_raw``) and max(0, it).

    Both are null when the model cannot be had (``missing`` then says why). Equal to the library's
    ``util.cos_sim`` of single texts within 1e-6: a batch's padding moves the last digits of a float.
    """
    distinct = pairs.select("reference", "answer").drop_nulls().unique(maintain_order=True)
    model = _model()
    if model is None or distinct.is_empty():
        return distinct.with_columns(pl.lit(None, pl.Float64).alias(name) for name in ("sbert", "sbert_raw"))
    texts = list(dict.fromkeys((*distinct["reference"], *distinct["answer"])))
    # The library itself sorts by length, so that a batch has little padding.
    vectors = np.asarray(model.encode(texts, batch_size=BATCH, show_progress_bar=False), np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    place = {text: at for at, text in enumerate(texts)}
    first, second = ([place[text] for text in distinct[column]] for column in ("reference", "answer"))
    raw = pl.Series("sbert_raw", np.clip(np.einsum("ij,ij->i", vectors[first], vectors[second]), -1, 1))
    return distinct.with_columns(raw.clip(lower_bound=0).alias("sbert"), raw)


def signatures() -> dict[str, str]:
    """What produced each value: libraries, model and its weights, the limit of tokens. Empty while it is missing."""
    place = _place()
    if isinstance(place, str) or place in _failures:
        return {}
    weights = _fingerprint(place)
    is_known = weights == PUBLISHED or not os.environ.get(VARIABLE)
    facts = {
        "by": library("sentence-transformers", "transformers", "torch"),
        "model": MODEL if is_known else place.name,
        "weights": f"sha256 {weights}",
        "max_tokens": _max_tokens(place),
    }
    return {
        name: signature(name, **facts, cosine=cosine, averaging="weighted mean")
        for name, cosine in {"sbert": "max(0, cos)", "sbert_raw": "cos"}.items()
    }


_failures: dict[Path, str] = {}
"""Folders whose model could not be loaded, and the sentence about it."""


def _place() -> Path | str:
    """The model's folder, or why there is none."""
    return _find(os.environ.get(VARIABLE, ""))


@lru_cache(maxsize=4)
def _find(named: str) -> Path | str:
    if find_spec("sentence_transformers") is None:
        return "SBERT needs the extra: make sbert"
    if named:
        folder, where = Path(named), f"the folder that {VARIABLE} names"
    else:
        from huggingface_hub import snapshot_download
        from huggingface_hub.errors import LocalEntryNotFoundError

        try:
            folder, where = Path(snapshot_download(MODEL, local_files_only=True)), "the cache of Hugging Face"
        except LocalEntryNotFoundError:
            return f"SBERT needs its model: {_HELP}"
    # Without modules.json the library would make up a model with another pooling.
    if (folder / "modules.json").is_file() and any((folder / name).is_file() for name in _WEIGHTS):
        return folder
    return f"SBERT needs its model, and {where} holds none that is whole: {_HELP}"


def _model() -> Any | None:
    """The model, or None when it cannot be had."""
    place = _place()
    if isinstance(place, str) or place in _failures:
        return None
    try:
        return _load(place)
    except Exception as error:  # whatever torch and its readers raise about a folder that is not as it should be
        reason = str(error).partition("\n")[0]
        _failures[place] = f"SBERT's model cannot be loaded ({type(error).__name__}: {reason}): {_HELP}"
        return None


@cache
def _load(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    return SentenceTransformer(str(folder), local_files_only=True)


@cache
def _fingerprint(folder: Path) -> str:
    """The beginning of the hash of the weights, which are the same wherever they were got from."""
    weights = next(path for path in (folder / name for name in _WEIGHTS) if path.is_file())
    with weights.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:12]


def _max_tokens(folder: Path) -> str:
    settings = folder / "sentence_bert_config.json"
    limit = json.loads(settings.read_bytes()).get("max_seq_length") if settings.is_file() else None
    return str(limit or "the tokenizer's")
