"""``python tools/install.py WHAT PIP-ARGUMENTS…``: pip with its progress in one line, and its words only when it fails.

Nothing is compiled in advance: most of what is installed is never imported, and compiling it took half of the time.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import threading
import time
from pathlib import Path

FOUND = ("Collecting ", "Processing ", "Obtaining ")
INSTALLING = "Installing collected packages:"
LINE_SECONDS = 10.0
"""How often a line is written where lines cannot be drawn over."""
LAST_WORDS = 20


def state(said: list[str], before: int, now: int) -> str:
    """Where pip is, by what it has said and by how many packages lie in the environment."""
    last = next((line for line in reversed(said) if line.startswith(INSTALLING)), None)
    if last is not None:
        total = last.count(",") + 1
        return f"{min(max(now - before, 0), total)} of {total} packages installed"
    return f"{sum(line.lstrip().startswith(FOUND) for line in said)} packages found"


def main() -> int:
    """Run pip in this interpreter's environment and return its exit code."""
    what, *arguments = sys.argv[1:]
    command = [sys.executable, "-m", "pip", "install", "--no-compile", "--disable-pip-version-check"]
    command += ["--progress-bar", "off", *arguments]
    is_live = sys.stdout.isatty()
    packages = Path(sysconfig.get_path("purelib"))
    before, start, told = _installed(packages), time.monotonic(), time.monotonic()
    said: list[str] = []
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace"
    ) as process:
        assert process.stdout is not None
        reader = threading.Thread(target=said.extend, args=(process.stdout,))
        reader.start()
        print(f"Installing {what} …", flush=True)
        while process.poll() is None:
            time.sleep(0.2)
            if is_live or time.monotonic() - told >= LINE_SECONDS:
                told = time.monotonic()
                words = f"  {state(list(said), before, _installed(packages))}, {told - start:.0f} s"
                print(f"\r{words}\033[K" if is_live else words, end="" if is_live else "\n", flush=True)
        reader.join()
    if is_live:
        print("\r\033[K", end="")
    if process.returncode:
        sys.stderr.writelines(said[-LAST_WORDS:])
    else:
        print(f"  done in {time.monotonic() - start:.0f} s")
    return process.returncode


def _installed(packages: Path) -> int:
    return sum(1 for _ in packages.glob("*.dist-info"))


if __name__ == "__main__":
    sys.exit(main())
