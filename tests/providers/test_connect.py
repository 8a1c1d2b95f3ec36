import subprocess
import sys

import pytest

from runner.errors import RunnerError
from runner.providers import connect, names, tier_variable, venue_of

KEY = "sk-proj-hush0123456789"


@pytest.mark.parametrize(
    ("base_url", "venue"),
    [
        (None, "openai"),
        ("", "openai"),
        ("https://API.openai.com/v1", "openai"),
        ("https://api.openai.com:443/v1", "openai"),
        ("http://GPU-7.Lab.example:8000/v1", "gpu-7.lab.example:8000"),
        ("http://me:hush@gpu.example/v1", "gpu.example"),
        ("https://api.groq.com/openai/v1", "api.groq.com"),
    ],
)
def test_the_venue_is_who_really_answers(base_url, venue):
    env = {} if base_url is None else {"OPENAI_BASE_URL": base_url}
    assert venue_of("openai", env) == venue
    assert connect("openai", env | {"OPENAI_API_KEY": KEY}).venue == venue


@pytest.mark.parametrize("base_url", ["localhost:8000/v1", "http://", "http://me:hush@host:port/v1", "http://[::1"])
def test_a_base_url_that_is_none_is_said_without_its_password(base_url):
    with pytest.raises(RunnerError, match="OPENAI_BASE_URL") as caught:
        venue_of("openai", {"OPENAI_BASE_URL": base_url})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    "base_url", ["http://hush\x00.example", "http://host/\x7fhush", "http://hush host", "http://h/\n"]
)
@pytest.mark.parametrize("name", ["openai", "anthropic", "google"])
def test_a_base_url_that_no_sdk_takes_is_said_in_a_sentence(name, base_url):
    variable = {"google": "GOOGLE_GEMINI_BASE_URL"}.get(name, f"{name.upper()}_BASE_URL")
    keys = dict.fromkeys(("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY"), KEY)
    with pytest.raises(RunnerError, match=variable) as caught:
        connect(name, keys | {variable: base_url})
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": ""}, {"OPENAI_API_KEY": " \n"}])
def test_a_missing_key_is_named_with_the_way_around(env):
    with pytest.raises(RunnerError, match=r"OPENAI_API_KEY.*EMULATE=1"):
        connect("openai", env)


@pytest.mark.parametrize("key", [f"{KEY}\x00", f"{KEY} {KEY}", f"{KEY}é"])
def test_a_key_that_cannot_be_sent_is_refused_without_showing_it(key):
    with pytest.raises(RunnerError) as caught:
        connect("openai", {"OPENAI_API_KEY": key})
    assert "hush" not in str(caught.value)


def test_the_emulator_needs_no_key_and_is_its_own_venue():
    env = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://elsewhere.example/v1"}
    rehearsal = connect("openai", {}, base_url="http://127.0.0.1:9", venue="emulator")
    assert rehearsal.venue == "emulator"
    assert rehearsal.account == connect("openai", env, base_url="http://127.0.0.1:9", venue="emulator").account
    assert connect("openai", env, base_url="http://127.0.0.1:9").venue == "127.0.0.1:9"


def test_accounts_are_told_apart_by_key_and_venue_without_showing_the_key():
    ours = connect("openai", {"OPENAI_API_KEY": f" {KEY}\n"})
    assert ours.account == connect("openai", {"OPENAI_API_KEY": KEY}).account
    assert ours.account != connect("openai", {"OPENAI_API_KEY": KEY + "x"}).account
    elsewhere = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://elsewhere.example/v1"}
    assert ours.account != connect("openai", elsewhere).account
    assert "hush" not in repr(ours) + str(ours) + ours.account


def test_limits_by_tier():
    def queue(model, **env):
        return connect("openai", {"OPENAI_API_KEY": KEY, **env}).limits(model).queue_tokens

    assert queue("gpt-4.1-mini") == 2_000_000
    assert queue("gpt-4.1-mini", OPENAI_TIER="3") == 40_000_000
    assert queue("gpt-4.1-mini", OPENAI_BASE_URL="http://gpu.example/v1") is None
    assert queue("no-such-model") is None
    limits = connect("openai", {"OPENAI_API_KEY": KEY}).limits("gpt-4.1-mini")
    assert limits.max_requests == 50_000
    assert 190_000_000 < limits.max_bytes < 200_000_000
    assert limits.window_tokens > 1_000_000
    with pytest.raises(RunnerError, match="OPENAI_TIER"):
        queue("gpt-4.1-mini", OPENAI_TIER="6")


@pytest.mark.parametrize("name", ["opnai", "base", "lines", "../openai", ""])
def test_an_unknown_provider_is_answered_with_the_known_ones(name):
    with pytest.raises(RunnerError, match="openai"):
        venue_of(name, {})


def test_asking_for_the_venue_imports_no_sdk():
    code = "import sys; from runner.providers import venue_of; venue_of('openai', {}); print('openai' in sys.modules)"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.strip() == "False"


def test_every_tier_variable_is_known_to_the_option():
    assert {tier_variable(name) for name in names()} == {"OPENAI_TIER", "ANTHROPIC_TIER", "GEMINI_TIER", None}
