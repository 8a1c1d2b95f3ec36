"""The demo: one screen, the same again for nothing, and figures that teach."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from tests.place import Place

ROOT = Path(__file__).resolve().parents[2]
SCREEN = 40
"""Lines of a terminal."""


def test_the_demo_ends_on_one_screen_and_shows_it_again_for_nothing(place: Place, corpus: Path) -> None:
    (place.root / "data").mkdir()
    shutil.copy(corpus, place.root / "data" / "sample.jsonl")
    first = place.call("demo")
    assert len(first.stdout.splitlines()) <= SCREEN
    bill, jobs = place.bill(), place.jobs()
    pages = [place.root / found for found in re.findall(r"results/\S+\.html", first.stdout)]
    drawn = [page.stat().st_mtime_ns for page in pages]
    assert len(pages) == 3
    effects = []
    for page in pages:
        text = page.read_text()
        assert "REHEARSAL" in text.upper() and "No model was asked" in text
        summary = json.loads((page.parent / "summary.json").read_text())
        effects += [
            abs(each["value"])
            for each in summary["effects"]
            if each["kind"] == "main" and each["group"] == "all" and each["metric"] == summary["primary"]
        ]
    assert len(effects) == 9 and all(effects)  # history, thread and both together change something in every task

    again = place.call("demo")
    assert again.stdout == first.stdout
    assert (place.bill(), place.jobs()) == (bill, jobs)
    assert [page.stat().st_mtime_ns for page in pages] == drawn
    told = place.call("demo", "--verbose").stdout
    assert told.endswith(first.stdout) and len(told.splitlines()) > 2 * SCREEN


def test_installing_shows_where_it_is_and_what_pip_said_when_it_fails(tmp_path: Path) -> None:
    wheel = tmp_path / "small-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("small.py", "x = 1\n")
        archive.writestr("small-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: small\nVersion: 1.0\n")
        archive.writestr("small-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        archive.writestr("small-1.0.dist-info/RECORD", "")
    command = [sys.executable, ROOT / "tools" / "install.py", "a small thing", "--no-index", "--target", tmp_path / "t"]
    done = subprocess.run([*command, wheel], capture_output=True, text=True, check=True)
    assert "Installing a small thing" in done.stdout and "done" in done.stdout
    assert (tmp_path / "t" / "small.py").exists() and not list((tmp_path / "t").rglob("*.pyc"))
    failed = subprocess.run([*command, tmp_path / "absent.whl"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1 and "absent.whl" in failed.stderr
