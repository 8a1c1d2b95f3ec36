"""A key is in no file and in no output, whatever goes wrong; nobody is told more than that it is there."""

from __future__ import annotations

from pathlib import Path

import pytest

from runner import emulator
from runner.emulator.registry import HOSTS
from tests.faults.cells import PROTOCOLS
from tests.place import Place

VARIABLES = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "google": "GEMINI_API_KEY",
    "mistral": "MISTRAL_API_KEY",
    "together": "TOGETHER_API_KEY",
    "groq": "GROQ_API_KEY",
    "nebius": "NEBIUS_API_KEY",
    "deepinfra": "DEEPINFRA_API_KEY",
    "qwen": "DASHSCOPE_API_KEY",
}
KEY = "sk-hush-0123456789abcdef"
WEATHER = ["create_lost:0.3", "storm_5xx:0.5", "truncated_download:0.5", "spend_limit:0.2"]
SLICE = ("anthropic", "google")
PROVIDERS = [pytest.param(name, marks=() if name in SLICE else pytest.mark.slow) for name in VARIABLES]


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_is_written_nowhere_and_never_said(
    place: Place, corpus: Path, tmp_path_factory: pytest.TempPathFactory, provider: str
) -> None:
    asked = ["--model", PROTOCOLS[provider].model, "--task", "3.1", "--data", str(corpus), "--limit", "3"]
    elsewhere = tmp_path_factory.mktemp("provider")
    with emulator.start(elsewhere, faults=WEATHER, seed=3) as running:
        host = HOSTS[provider]
        env = {VARIABLES[provider]: KEY, host.variable: f"{running.base_url}/{provider}{host.path}"}
        said = []
        for command in (["submit", *asked, "--yes"], ["collect"], ["collect"], ["orphans"], ["status", "--json"]):
            done = place.call(*command, check=False, **env)
            said += [done.stdout, done.stderr]
    gone = place.call("collect", check=False, **env)  # nobody is there any more
    said += [gone.stdout, gone.stderr]
    assert "hush" not in "".join(said)
    files = [path for path in place.root.rglob("*") if path.is_file()]
    assert any(path.suffix == ".jsonl" for path in files)
    assert [path for path in files if b"hush" in path.read_bytes()] == []


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_missing_key_is_one_sentence_that_names_its_variable(place: Place, corpus: Path, provider: str) -> None:
    asked = ["--model", PROTOCOLS[provider].model, "--task", "3.1", "--data", str(corpus), "--limit", "3"]
    done = place.call("submit", *asked, "--yes", check=False)
    assert done.returncode == 2
    assert VARIABLES[provider] in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert place.runs() == []
