"""The tests' clock: it begins at a fixed moment, since models retire, prices change and dated tables grow old.

Time passes as it does in life: every process of the tests, with all that it starts, lives at the real time moved by one
and the same constant. The product knows nothing of it. ``every_process/sitecustomize.py`` does it where Python begins.
"""

from __future__ import annotations

import os
import runpy
import time
from datetime import UTC, datetime
from pathlib import Path

FIRST_MOMENT = datetime(2026, 11, 20, 12, tzinfo=UTC)
"""When the tests begin. Every model that a test asks exists then, and so does every price."""
VARIABLE = "TESTS_CLOCK_SHIFT_S"
"""What is added to the real time, in seconds."""
_FOLDER = Path(__file__).with_name("every_process")


def begin() -> None:
    """Move the clock of this process, and of all that it starts; once for all of the processes of the tests."""
    if VARIABLE in os.environ:
        return
    os.environ[VARIABLE] = str(FIRST_MOMENT.timestamp() - time.time())
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(_FOLDER), os.environ.get("PYTHONPATH"))))
    runpy.run_path(str(_FOLDER / "sitecustomize.py"))
