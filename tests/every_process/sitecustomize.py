"""Python imports this first, wherever its folder is on PYTHONPATH: see tests/clock.py."""

import os
import sys
import time

if shift := os.environ.get("TESTS_CLOCK_SHIFT_S"):
    not_needed = {"pytest", "dateutil"} - set(sys.modules)
    sys.modules.update(dict.fromkeys(not_needed))  # it would import them: a quarter of a second for each process
    from time_machine import travel

    for name in not_needed:
        del sys.modules[name]
    travel(time.time() + float(shift), tick=True).start()
