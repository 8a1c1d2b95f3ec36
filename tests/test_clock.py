"""Every process of the tests lives at the same time, whatever day it is."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from datetime import UTC, datetime, timedelta

from runner import emulator
from tests.clock import FIRST_MOMENT
from tests.place import Place

ASK = "from datetime import UTC, datetime; print(datetime.now(UTC).timestamp())"


def test_all_processes_and_a_new_emulator_begin_at_the_first_moment(place: Place) -> None:
    child = subprocess.run([sys.executable, "-c", ASK], cwd=place.root, capture_output=True, text=True, check=True)
    with emulator.start(place.emulator) as running:
        clock = json.load(urllib.request.urlopen(f"{running.base_url}/control/clock"))
    for told in (datetime.now(UTC).timestamp(), float(child.stdout), clock["now"]):
        assert timedelta() <= datetime.fromtimestamp(told, UTC) - FIRST_MOMENT < timedelta(hours=11)
    assert f"on {FIRST_MOMENT:%Y-%m-%d}" in place.call("models", "groq").stdout
