"""What all cells share."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.cells import furnish_corpus


@pytest.fixture(scope="session")
def converted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small corpus, converted once; each cell takes a copy."""
    return furnish_corpus(tmp_path_factory.mktemp("converted"))
