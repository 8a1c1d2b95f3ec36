"""Put WordNet 3.0 into a folder, as nltk wants it: METEOR finds synonyms there.

    python tools/wordnet.py FOLDER        then: export NLTK_DATA=FOLDER

What is there already is kept. Otherwise nltk downloads it; where it cannot, it is made from Debian's package
wordnet-base, which lacks two files that follow from the others: ``lexnames`` and ``index.sense``. The whole
database appears at once or not at all. When neither way works, one line says so and the exit code is 2.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

DEBIAN = Path("/usr/share/wordnet")
DOWNLOAD_SECONDS = 60
KINDS = ("noun", "verb", "adj", "adv")
COPIED = ("cntlist.rev", *(f"{part}.{kind}" for part in ("index", "data") for kind in KINDS))
COPIED += tuple(f"{kind}.exc" for kind in KINDS)
SYNSETS = 117_659  # wnstats(7WN) of version 3.0
# lexnames(5WN): the lexicographer files in the order of their numbers; their kind is a number too.
LEXNAMES = (
    "adj.all adj.pert adv.all noun.Tops noun.act noun.animal noun.artifact noun.attribute noun.body noun.cognition "
    "noun.communication noun.event noun.feeling noun.food noun.group noun.location noun.motive noun.object "
    "noun.person noun.phenomenon noun.plant noun.possession noun.process noun.quantity noun.relation noun.shape "
    "noun.state noun.substance noun.time verb.body verb.change verb.cognition verb.communication verb.competition "
    "verb.consumption verb.contact verb.creation verb.emotion verb.motion verb.perception verb.possession "
    "verb.social verb.stative verb.weather adj.ppl"
).split()


def wrong(database: Path) -> str | None:
    """What keeps this folder from being the whole of WordNet 3.0; None when it is."""
    for name in ("lexnames", "index.sense", *COPIED):
        if not (database / name).is_file():
            return f"{name} is missing"
    if not any("WordNet 3.0 Copyright" in line for line in _lines(database / "data.adj", header=True)):
        return "it is not version 3.0"
    synsets = sum(1 for kind in KINDS for _ in _lines(database / f"data.{kind}"))
    return None if synsets == SYNSETS else f"it has {synsets} synsets instead of {SYNSETS}"


def from_nltk(work: Path) -> Path:
    """Let nltk download it, in a process of its own because it has no timeout; returns the database's folder."""
    code = "import sys, nltk; nltk.download('wordnet', download_dir=sys.argv[1], quiet=True)"
    command = [sys.executable, "-c", code, str(work)]
    subprocess.run(command, timeout=DOWNLOAD_SECONDS, capture_output=True, check=False)
    archive = work / "corpora" / "wordnet.zip"
    if archive.is_file():  # some versions of its index say that it is read from the archive, which is slow
        with zipfile.ZipFile(archive) as packed:
            packed.extractall(work / "corpora")
    return work / "corpora" / "wordnet"


def from_debian(work: Path, source: Path) -> Path:
    """Copy Debian's files and write the two that it lacks; returns the database's folder."""
    made = work / "wordnet"
    made.mkdir()
    for name in COPIED:
        shutil.copyfile(source / name, made / name)
    numbers = {kind: number for number, kind in enumerate(KINDS, 1)}
    lexnames = (f"{i:02d}\t{name}\t{numbers[name.partition('.')[0]]}\n" for i, name in enumerate(LEXNAMES))
    (made / "lexnames").write_text("".join(lexnames), encoding="utf-8")
    (made / "index.sense").write_text("\n".join(sorted(senses(made))) + "\n", encoding="utf-8")
    return made


def senses(database: Path) -> Iterator[str]:
    """The lines of ``index.sense`` (senseidx(5WN)): sense key, offset, sense number, tag count."""
    tagged = {}
    for line in _lines(database / "cntlist.rev"):
        key, _, count = line.split()
        tagged[re.sub(r"\(\w+\)", "", key)] = count  # "near(a)": where such an adjective may stand
    for kind in KINDS:
        number = _sense_numbers(database / f"index.{kind}")
        synsets = {line[:8]: line.split(" | ")[0].split() for line in _lines(database / f"data.{kind}")}
        for offset, fields in synsets.items():
            for lemma, lex_id in _words(fields).items():
                head = ":"
                if fields[2] == "s":  # a satellite is named after the first word of the synset it is similar to
                    near = synsets[fields[fields.index("&") + 1]]
                    head = "{}:{}".format(*next(iter(_words(near).items())))
                key = f"{lemma}%{'nvars'.index(fields[2]) + 1}:{fields[1]}:{lex_id}:{head}"
                yield f"{key} {offset} {number[lemma, offset]} {tagged.get(key, 0)}"


def _words(fields: list[str]) -> dict[str, str]:
    """Lemma → two-digit lex_id of a line of data.* (wndb(5WN)); of Earth and earth in one synset the first counts."""
    words: dict[str, str] = {}
    for at in range(4, 4 + 2 * int(fields[3], 16), 2):  # numbers are hexadecimal there, decimal in sense keys
        words.setdefault(fields[at].partition("(")[0].lower(), f"{int(fields[at + 1], 16):02d}")
    return words


def _sense_numbers(index: Path) -> dict[tuple[str, str], int]:
    """The rank of each synset among those of a lemma."""
    numbers = {}
    for line in _lines(index):
        lemma, _, n, *rest = line.split()
        numbers.update({(lemma, offset): rank for rank, offset in enumerate(rest[-int(n) :], 1)})
    return numbers


def _lines(path: Path, header: bool = False) -> Iterator[str]:
    """Lines without (or only those of) the licence in front, which is indented."""
    with path.open(encoding="utf-8") as file:
        yield from (line for line in file if line.startswith("  ") == header)


def main(folder: Path, debian: Path = DEBIAN) -> str | None:
    """Fill ``folder/corpora/wordnet``; returns the sentence that says why not."""
    target = folder / "corpora" / "wordnet"
    reason = wrong(target)
    if reason is None:
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    for way in (from_nltk, lambda work: from_debian(work, debian)):
        with tempfile.TemporaryDirectory(dir=target.parent) as work:
            try:
                made = way(Path(work))
                reason = wrong(made)
                if reason is None:
                    if target.exists():
                        shutil.rmtree(target)
                    made.replace(target)
                    return None
            except (OSError, subprocess.TimeoutExpired, zipfile.BadZipFile) as error:
                reason = str(error)
    return (
        f"WordNet 3.0 could not be fetched with nltk's downloader, and Debian's package wordnet-base is not there "
        f"({reason}): install that, or try again with a network"
    )


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/wordnet.py FOLDER")
    failure = main(Path(sys.argv[1]))
    if failure:
        print(failure, file=sys.stderr)
        sys.exit(2)
