"""What it takes to make the same numbers again."""

from __future__ import annotations

import hashlib
import importlib.metadata
from contextlib import suppress
from datetime import datetime

import polars as pl

from runner.chain.prices import price_at
from runner.chain.runs import Folders, Run

LIBRARIES = ("numpy", "scipy", "rouge-score", "sacrebleu", "nltk", "rapidfuzz", "sentence-transformers")
"""Those that numbers are made with; one that is not installed was not used."""


def versions_of(run: Run, responses: pl.DataFrame) -> dict[str, str]:
    """What asked, what answered, what scored."""
    versions = dict(run.versions)
    versions["prompts and rules"] = run.asked.version
    versions["tokens counted by"] = run.token_counter
    served = responses["model_version"].drop_nulls().unique().sort().to_list()
    versions["model as returned"] = ", ".join(served) or "no answer yet"
    times = responses["received_at"].drop_nulls()
    if times.len():
        versions["answers received"] = " to ".join(
            times.sort().dt.strftime("%Y-%m-%d").gather([0, -1]).unique(maintain_order=True)
        )
    return versions | library_versions()


def library_versions() -> dict[str, str]:
    """Of what computes numbers here and now."""
    versions = {"scored with persona-runner": importlib.metadata.version("persona-runner")}
    for name in LIBRARIES:
        with suppress(importlib.metadata.PackageNotFoundError):
            versions[name] = importlib.metadata.version(name)
    return versions


def repeat_of(run: Run, folders: Folders) -> dict[str, str]:
    """Everything that the run's requests were made from, and digests that tell whether they are the same."""
    asked = run.asked
    price = price_at(run, datetime.fromisoformat(run.created_at))
    return {
        "benchmark": asked.benchmark,
        "corpus fingerprint": asked.corpus,
        "instances": f"{run.instances:,}, ids {instances_digest(folders)} (instances.parquet)",
        "settings": ", ".join(asked.settings),
        "limit": "none" if asked.limit is None else f"{asked.limit:,}",
        "seed": str(asked.seed),
        "samples": str(asked.samples),
        **({"looks planned": str(asked.looks)} if asked.looks else {}),
        **{name.replace("_", " "): str(value) for name, value in asked.variants.items()},
        "parameters": ", ".join(f"{name} {value}" for name, value in run.parameters.items() if value is not None),
        "asked by": run.dialect or "the provider's batch API",
        "built": run.created_at,
        "price": "price unknown" if price is None else str(price),
    }


def digests_of(folders: Folders) -> dict[str, str]:
    """sha256 of the files that say what is asked and what is right, by their names."""
    paths = (folders.instances, *sorted(folders.asked.glob("stage-*/requests.parquet")))
    return {
        str(path.relative_to(folders.asked)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.exists()
    }


def instances_digest(folders: Folders) -> str:
    """128 bits of sha256 over the instance ids in sample order."""
    ids = pl.read_parquet(folders.instances, columns=["instance_id"])["instance_id"]
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:32]
