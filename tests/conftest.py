"""Fixtures that every room's tests may use."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import settings

from tests.place import Place

settings.register_profile("suite", deadline=None)  # a busy machine is no fault
settings.load_profile("suite")


@pytest.fixture(scope="session")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small synthetic corpus, written once."""
    from runner.benchmarks.personaconvbench.sample import write_sample

    return write_sample(tmp_path_factory.mktemp("corpus") / "sample.jsonl", posts=250)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    """An empty folder to work in."""
    return Place(tmp_path)
