"""Which engine the environment means, and the sentences where it means none."""

from __future__ import annotations

import pytest

from runner.errors import RunnerError
from runner.providers import connect, venue_of

MODEL = "meta-llama/Llama-3.3-70B-Instruct"


def test_the_environment_says_which_engine(tmp_path):
    program = tmp_path / "vllm"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    def jobs_at_once(**env):
        return connect("vllm", env).limits(MODEL).max_jobs

    assert jobs_at_once(PATH=str(tmp_path)) == 1
    assert jobs_at_once(PATH="/nowhere") is None
    assert jobs_at_once(PATH=str(tmp_path), VLLM_COMMAND="") is None
    assert jobs_at_once(PATH="/nowhere", VLLM_COMMAND=f"{program} --flag") == 1
    assert connect("vllm", {}).limits(MODEL).max_requests <= 50_000
    assert venue_of("vllm", {}) == connect("vllm", {}).venue == "vllm"


@pytest.mark.parametrize("env", [{"VLLM_COMMAND": "/no/such"}, {"VLLM_COMMAND": '"'}, {"VLLM_ARGS": '--a "b'}])
def test_an_engine_that_cannot_be_is_said_in_a_sentence(env):
    with pytest.raises(RunnerError, match=next(iter(env))):
        connect("vllm", env)


def test_the_emulator_does_not_play_it():
    with pytest.raises(RunnerError, match="EMULATE"):
        connect("vllm", {}, base_url="http://127.0.0.1:9/vllm", venue="emulator")
    assert connect("vllm", {}, base_url="http://127.0.0.1:9").limits(MODEL).window_tokens > 0
