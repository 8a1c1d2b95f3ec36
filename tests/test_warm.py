"""Commands that are forked are what a user starts."""

from __future__ import annotations

import subprocess

import pytest

from tests import warm
from tests.place import Place


def test_a_forked_command_says_and_ends_as_one_that_was_started(place: Place) -> None:
    for words in (["models", "groq"], ["status"]):
        forked = place.call(*words, check=False)
        started = place.start(*words)
        assert (forked.stdout, forked.stderr) == started.communicate()
        assert forked.returncode == started.returncode
    assert (forked.returncode, "no run" in forked.stderr) == (2, True)


def test_one_that_hangs_is_killed_and_the_next_one_works(place: Place) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        warm.call(["models"], cwd=place.root, env=place.env(), timeout=0)
    assert "groq" in place.call("models", "groq").stdout
