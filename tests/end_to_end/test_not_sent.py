"""What is not at the provider is *not sent*, by every command, and a send that did not happen is exit code 1."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.place import Place
from tests.providers.stub_openai import Stub

NOBODY = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
"""An address where nobody listens."""


def _asked(corpus: Path, limit: int = 12) -> list[str]:
    return ["--model", "gpt-5.4-mini", "--task", "3.1", "--data", str(corpus), "--limit", str(limit)]


def _counts(place: Place, **env: str) -> list[tuple[int, int, dict[str, int]]]:
    runs = json.loads(place.call("status", "--json", **env).stdout)["runs"]
    return [(run["not_sent"], run["in_flight"], run["in_flight_in"]) for run in runs]


def test_without_a_network_nothing_is_in_flight(place: Place, corpus: Path) -> None:
    for command in (["submit", *_asked(corpus), "--yes"], ["submit", *_asked(corpus), "--yes"], ["collect"]):
        done = place.call(*command, check=False, **NOBODY)
        assert done.returncode == 1
        assert "48 requests are not sent" in done.stderr
        assert "in flight" not in done.stderr
    waited = place.call("collect", "--wait", "--poll", "0.05", check=False, **NOBODY)
    assert waited.returncode == 1, "waiting ends when nothing can be sent"
    assert "48 not sent" in waited.stderr, "progress"
    assert _counts(place, **NOBODY) == [(48, 0, {})]
    assert place.call("status", "--exit-code", check=False, **NOBODY).returncode == 1
    total = json.loads(place.call("estimate", *_asked(corpus), "--json", **NOBODY).stdout)["total"]
    assert (total["not_sent"], total["to_buy"], total["answered"]) == (48, 0, 0)


@pytest.mark.parametrize("command", ["submit", "run"])
def test_a_refused_key_is_not_sent_until_another_one_is_given(place: Place, corpus: Path, command: str) -> None:
    with Stub(lambda body: "positive") as stub:
        env = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": stub.base_url}
        stub.faults["upload"] = ["401|Incorrect API key provided|invalid_api_key"] * 2
        for arguments in ([command, *_asked(corpus), "--yes"], ["collect"]):
            done = place.call(*arguments, check=False, **env)
            assert done.returncode == 1
            assert "is not sent" in done.stderr
            assert "Incorrect API key provided" in done.stderr
        assert _counts(place, **env) == [(48, 0, {})]
        assert not stub.batches
        place.call("run", *_asked(corpus), "--yes", "--poll", "0.05", **env)
        assert [batch["request_counts"]["total"] for batch in stub.batches.values()] == [48]


def test_what_another_run_has_bought_is_in_flight_in_that_run(place: Place, corpus: Path) -> None:
    with Stub(lambda body: "positive") as stub:
        env = {"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": stub.base_url}
        place.call("submit", *_asked(corpus, 12), "--yes", **env)
        (buyer,) = place.runs()
        done = place.call("submit", *_asked(corpus, 6), "--yes", **env)
        assert f"24 in flight in {buyer}" in done.stdout
        assert sorted(_counts(place, **env), key=str) == [(0, 0, {buyer: 24}), (0, 48, {})]
        shown = json.loads(place.call("estimate", *_asked(corpus, 6), "--json", **env).stdout)
        assert f"24 in flight in {buyer}" in shown["notes"]
        assert (shown["total"]["to_buy"], shown["total"]["not_sent"]) == (0, 0)
        place.call("collect", "--wait", "--poll", "0.05", **env)
        assert len(stub.batches) == 1
