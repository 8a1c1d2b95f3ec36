"""Fixtures that every room's tests may use."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch: its threads and busy cores slow each other down

import pytest
from hypothesis import settings

from tests import clock
from tests.place import Place, asked

clock.begin()
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


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Place:
    """A folder with one finished rehearsal of 16 instances (``asked``), that no test may touch."""
    place = Place(tmp_path_factory.mktemp("finished"))
    place.call("run", *asked(corpus))
    return place


@pytest.fixture
def scored(finished: Place, tmp_path: Path) -> Place:
    """A copy of it to work in."""
    return Place(shutil.copytree(finished.root, tmp_path / "copy"))
