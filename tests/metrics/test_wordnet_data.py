"""WordNet as nltk wants it, made of what Debian ships."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import nltk.data
import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("wordnet_tool", ROOT / "tools" / "wordnet.py")
assert SPEC and SPEC.loader
tool = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(tool)
SOURCE = Path(str(nltk.data.find("corpora/wordnet")))


@pytest.fixture(scope="module", autouse=True)
def no_network() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        for scheme in ("http", "https"):
            patch.setenv(f"{scheme}_proxy", "http://127.0.0.1:9")  # a port where nothing listens
        yield


def _interrupted(home: Path) -> Path:
    """What an interrupted copy may have left."""
    database = home / "corpora" / "wordnet"
    database.mkdir(parents=True)
    (database / "noun.exc").touch()
    return database


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The database, made where half of one was."""
    home = tmp_path_factory.mktemp("home")
    database = _interrupted(home)
    assert tool.main(home, SOURCE) is None
    return database


def test_it_is_made_whole_and_then_kept(made: Path) -> None:
    assert tool.wrong(made) is None and list(made.parent.iterdir()) == [made]
    assert tool.main(made.parents[1], made / "nowhere") is None  # there already: nothing is asked of anybody


def test_where_it_cannot_be_made_nothing_appears(tmp_path: Path) -> None:
    database = _interrupted(tmp_path)
    sentence = tool.main(tmp_path, tmp_path / "nowhere")
    assert sentence is not None and "wordnet-base" in sentence
    assert tool.wrong(database) == "lexnames is missing" and list(database.parent.iterdir()) == [database]


def test_the_two_files_that_debian_lacks_are_as_princeton_publishes_them(made: Path) -> None:
    senses = (made / "index.sense").read_text().splitlines()
    assert len(set(senses)) == 206_941  # word-sense pairs of version 3.0, wnstats(7WN)
    for known in (
        "dog%1:05:00:: 02084071 1 42",
        "abounding%5:00:00:abundant:00 00014358 1 1",
        "above%5:00:00:preceding:00 00125993 1 13",
        "earth%1:17:00:: 09270894 1 51",
        "'hood%1:15:00:: 08641944 1 0",
    ):
        assert known in senses
    names = [line.split("\t") for line in (made / "lexnames").read_text().splitlines()]
    assert [number for number, _, _ in names] == [f"{i:02d}" for i in range(45)]
    assert names[3] == ["03", "noun.Tops", "1"] and names[29] == ["29", "verb.body", "2"]
    assert names[44] == ["44", "adj.ppl", "3"] and names[2] == ["02", "adv.all", "4"]
