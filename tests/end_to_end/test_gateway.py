"""One gateway that stands for several providers: their jobs and answers are told apart, though host and model agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import emulator
from tests.place import Place


@pytest.mark.slow
def test_two_providers_behind_one_address_share_neither_jobs_nor_answers(
    place: Place, corpus: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with emulator.start(tmp_path_factory.mktemp("gateway")) as running:
        env = {}
        for name in ("nebius", "deepinfra"):
            env |= {f"{name.upper()}_API_KEY": "team", f"{name.upper()}_BASE_URL": f"{running.base_url}/{name}/v1"}
        for name in ("nebius", "deepinfra"):
            model = f"{name}/meta-llama/Llama-3.3-70B-Instruct"
            place.call(
                "submit", "--model", model, "--task", "3.1", "--data", str(corpus), "--limit", "3", "--yes", **env
            )
        done = place.call("collect", "--wait", "--poll", "0.05", **env)
    assert "lost" not in done.stderr
    first, second = place.runs()
    assert set(place.responses(first)["status"]) == set(place.responses(second)["status"]) == {"ok"}
    assert not place.asked(first) & place.asked(second)
