import re
from dataclasses import fields, replace
from datetime import date, timedelta
from typing import get_args

import pytest
from openai.types.shared import ChatModel, ResponsesModel
from tiktoken.model import encoding_name_for_model

from runner.errors import RunnerError
from runner.models import CHAT, Model, all_models, find_model, is_name_of, names_of, providers
from runner.request import Body

TODAY = date(2026, 11, 21)
OUTPUT_LIMITS = {"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"}
EFFORTS = ["none", "minimal", "low", "medium", "high", "xhigh", "max"]

each_model = pytest.mark.parametrize("model", all_models(), ids=lambda model: f"{model.provider}/{model.id}")


def listed(provider: str) -> list[Model]:
    return [model for model in all_models() if model.provider == provider]


@each_model
def test_a_row_is_consistent_in_itself(model: Model) -> None:
    assert 0 < model.max_output_tokens <= model.window_tokens
    assert model.output_limit_parameter in OUTPUT_LIMITS
    assert model.refused | model.refused_when_thinking <= {field.name for field in fields(Body)}
    assert model.provider in providers()
    assert model.source
    assert model.checked <= TODAY
    assert 2 <= model.bytes_per_token <= 5
    assert (model.thinking == "budget") == (model.thinking_budgets is not None)


@each_model
def test_thinking_leaves_room_for_an_answer_and_grows_with_the_effort(model: Model) -> None:
    assert list(model.efforts) == [word for word in EFFORTS if word in model.efforts]
    allowances = [model.reasoning_allowance_of(effort) for effort in model.efforts]
    assert allowances == sorted(allowances)
    assert max((*allowances, model.reasoning_allowance_of(None))) < model.max_output_tokens
    assert "none" not in model.efforts or model.reasoning_allowance_of("none") == 0
    assert not any(allowances) or model.reasoning_allowance_of(None) in (0, *allowances)
    if model.thinking_budgets is not None:
        least, most = model.thinking_budgets
        assert all(least <= allowance <= most for allowance in (*allowances, model.reasoning_allowance_tokens))


@each_model
def test_a_queue_has_a_limit_for_each_tier_or_the_want_of_one_is_said(model: Model) -> None:
    tiers = {"openai": 5, "google": 3}.get(model.provider)
    if tiers is None:
        assert model.queue_tokens is None
    elif model.queue_tokens is None:
        assert any("queue" in assumption for assumption in model.assumptions)
    else:
        limits = [model.queue_tokens_of(tier) for tier in range(1, tiers + 1)]
        assert limits == sorted(model.queue_tokens)
        for beyond in (0, tiers + 1):
            with pytest.raises(RunnerError, match=f"tier {beyond}"):
                model.queue_tokens_of(beyond)


@pytest.mark.parametrize("model", listed("openai"), ids=lambda model: model.id)
def test_openai_knows_the_name_at_the_endpoint(model: Model) -> None:
    chat = get_args(ChatModel)
    responses = {name for part in get_args(ResponsesModel) for name in get_args(part)}
    assert model.id in (chat if model.endpoint == CHAT else responses.union(chat))


@pytest.mark.parametrize("model", listed("openai"), ids=lambda model: model.id)
def test_the_encoding_is_the_one_that_tiktoken_maps_or_is_marked_as_assumed(model: Model) -> None:
    try:
        mapped = encoding_name_for_model(model.id)
    except KeyError:
        assert model.encoding_assumed
    else:
        assert (model.encoding, model.encoding_assumed) == (mapped, False)


@pytest.mark.parametrize("model", listed("openai"), ids=lambda model: model.id)
def test_a_thinking_model_of_openai_is_not_sent_what_it_answers_with_an_error(model: Model) -> None:
    for effort in (None, *model.efforts):
        if model.reasoning_allowance_of(effort):
            assert {"temperature", "top_p", "n"} <= model.refused_at(effort)
            assert model.output_limit_parameter != "max_tokens"


def test_a_model_that_answers_at_once_takes_a_temperature_until_it_is_told_to_think() -> None:
    model = find_model("gpt-5.4")
    assert model.refused_at(None) == model.refused_at("none") == frozenset()
    assert "temperature" in model.refused_at("low")


@each_model
def test_a_model_that_goes_is_found_until_the_day_before_and_names_a_successor_that_stays(model: Model) -> None:
    name = f"{model.provider}/{model.id}"
    if model.retires is None:
        assert find_model(name, as_of=date(2099, 1, 1)) == model
        return
    assert find_model(name, as_of=model.retires - timedelta(days=1)) == model
    with pytest.raises(RunnerError) as refused:
        find_model(name, as_of=model.retires)
    assert refused.value.code == "model_retired"
    assert str(model.retires) in refused.value.sentence
    assert "AS_OF=" in refused.value.sentence
    if model.successor is not None:
        assert model.successor in refused.value.sentence
        successor = find_model(f"{model.provider}/{model.successor}", as_of=max(model.retires, TODAY))
        assert successor in all_models()


PAPER = {
    "GPT-4.1": ("openai", "gpt-4.1"),
    "GPT-4.1-mini": ("openai", "gpt-4.1-mini"),
    "GPT-4o": ("openai", "gpt-4o"),
    "GPT-4o-mini": ("openai", "gpt-4o-mini"),
    "o3": ("openai", "o3"),
    "o4-mini": ("openai", "o4-mini"),
    "Claude 3.5 Sonnet": ("anthropic", "claude-3-5-sonnet-20241022"),
    "Gemini 2.5 Pro": ("google", "gemini-2.5-pro"),
    "LLaMA-3.3-70B": ("nebius", "meta-llama/Llama-3.3-70B-Instruct"),
    "DeepSeek-R1": ("deepinfra", "deepseek-ai/DeepSeek-R1"),
    "DeepSeek-V3": ("deepinfra", "deepseek-ai/DeepSeek-V3"),
    "Mistral": ("mistral", "mistral-large-2512"),
}
GONE = {"o4-mini": date(2026, 10, 23), "Claude 3.5 Sonnet": date(2025, 10, 28)}


@pytest.mark.parametrize(("name", "meant"), PAPER.items())
def test_the_twelve_models_of_the_paper_have_their_row_and_two_are_gone(name: str, meant: tuple[str, str]) -> None:
    as_of = GONE.get(name)
    if as_of is not None:
        with pytest.raises(RunnerError, match=f"shut down .* on {as_of}: use .* instead"):
            find_model(name, as_of=TODAY)
    model = find_model(name, as_of=as_of - timedelta(days=1) if as_of else TODAY)
    assert (model.provider, model.id) == meant
    assert replace(model, assumptions=()) in [replace(row, assumptions=()) for row in all_models()]
    assert find_model(f"{model.provider}/{model.id}").id == model.id


@pytest.mark.parametrize("name", ["llama-3.3-70b", "deepseek-r1", "deepseek-v3", "mistral", "claude-3.5-sonnet"])
def test_a_short_name_says_what_it_means_and_where(name: str) -> None:
    model = find_model(name)
    assert f"{name} means {model.id} at {model.provider}" in model.assumptions


def test_a_short_name_at_another_host_is_that_hosts_own() -> None:
    assert find_model("deepinfra/llama-3.3-70b").id == "meta-llama/Llama-3.3-70B-Instruct"
    assert find_model("groq/llama-3.3-70b").id == "llama-3.3-70b-versatile"
    assert find_model("llama-3.3-70b").provider == "nebius"


def test_the_provider_is_the_part_before_the_first_slash() -> None:
    model = find_model("groq/openai/gpt-oss-120b")
    assert (model.provider, model.id) == ("groq", "openai/gpt-oss-120b")
    assert find_model("vllm/meta-llama/Llama-3.3-70B-Instruct").id == "meta-llama/Llama-3.3-70B-Instruct"
    assert find_model("nebius/meta-llama/Llama-3.3-70B-Instruct") != find_model(
        "deepinfra/meta-llama/Llama-3.3-70B-Instruct"
    )


def test_every_name_leads_to_one_row_of_a_provider() -> None:
    seen = [(model.provider, name.casefold()) for model in all_models() for name in {model.id, *names_of(model)}]
    assert len(seen) == len(set(seen))


def test_a_retired_model_is_still_found_for_its_old_answers() -> None:
    assert find_model("o4-mini").retires == date(2026, 10, 23)


def test_no_model_is_asked_for_under_a_name_that_its_provider_answers_with_another() -> None:
    """The Gemini API's changelog: since 2026-10-08 requests for these are routed to later models, and billed so."""
    for name, routed in (("gemini-3.7-flash", "gemini-3.8-flash"), ("gemini-3.5-flash", "gemini-3.6-flash")):
        with pytest.raises(RunnerError, match=routed):
            find_model(name, as_of=TODAY)
    find_model("gemini-2.5-pro", as_of=date(2026, 11, 30))
    with pytest.raises(RunnerError, match=re.escape("gemini-3.8-flash")):
        find_model("gemini-2.5-pro", as_of=date(2026, 12, 1))


def test_the_provider_in_front_changes_nothing() -> None:
    assert find_model("openai/gpt-4o-mini") == find_model(" GPT-4o-mini ") == find_model("OpenAI/gpt-4o-mini")


def test_a_dated_name_keeps_its_name_and_has_the_facts_of_its_model() -> None:
    base = find_model("gpt-4o")
    assert find_model("gpt-4o-2024-11-20") == replace(base, id="gpt-4o-2024-11-20")
    assert find_model("gpt-4o-2024-05-13").max_output_tokens == 4096, "a dated model with facts of its own"
    assert find_model("claude-sonnet-4-5-20250929") == replace(
        find_model("claude-sonnet-4-5"), id="claude-sonnet-4-5-20250929"
    )
    for unlisted, of in (("gpt-6-luna-2026-09-22", "gpt-6-luna"), ("claude-sonnet-5-5-20260901", "claude-sonnet-5-5")):
        model = find_model(unlisted)
        assert (model.id, model.window_tokens) == (unlisted, find_model(of).window_tokens)
        assert f"limits taken from {of}" in model.assumptions


@pytest.mark.parametrize("name", ["openai/gpt-7-nova", "openai/o9-mini", "openai/ft:gpt-7-nova:acme::x1"])
def test_an_unknown_openai_name_is_taken_as_a_thinking_model_and_says_what_is_assumed(name: str) -> None:
    model = find_model(name, as_of=TODAY)
    assert model.id == name.removeprefix("openai/")
    assert model.refused >= {"temperature"}
    assert model.output_limit_parameter == "max_completion_tokens"
    assert (model.window_tokens, model.encoding, model.encoding_assumed) == (128_000, "o200k_base", True)
    assert any("128,000" in assumption for assumption in model.assumptions)
    assert any("nobody confirms" in assumption for assumption in model.assumptions)


@pytest.mark.parametrize(
    ("name", "of"),
    [
        ("ft:gpt-4.1-2025-04-14:acme::x1", "gpt-4.1-2025-04-14"),
        ("openai/ft:o4-mini-2025-04-16:acme:Tone:x1", "o4-mini-2025-04-16"),
        ("ft:gpt-6-luna-2026-09-22:acme::x1", "gpt-6-luna-2026-09-22"),
        ("mistral/ft:mistral-small-2603:acme:20261101:x1", "mistral-small-2603"),
    ],
)
def test_a_fine_tuned_model_counts_as_its_base_and_keeps_its_name(name: str, of: str) -> None:
    model, base = find_model(name), find_model(of)
    assert model.id == name.partition("/")[2] or model.id == name
    assert model == replace(base, id=model.id, base=of, is_listed=False, assumptions=model.assumptions)
    assert f"limits taken from {of}" in model.assumptions


@pytest.mark.parametrize("name", ["llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct", "my-deployment"])
def test_an_unknown_name_at_a_compatible_server_keeps_its_slashes_and_is_sent_plain_parameters(name: str) -> None:
    model = find_model(f"openai/{name}")
    assert (model.id, model.provider, model.refused) == (name, "openai", frozenset())
    assert model.output_limit_parameter == "max_tokens"
    assert model.assumptions


@pytest.mark.parametrize("provider", providers())
def test_an_unlisted_model_of_any_provider_works_with_stated_assumptions(provider: str) -> None:
    model = find_model(f"{provider}/Some-Model/of-Ours", as_of=TODAY)
    assert (model.provider, model.id) == (provider, "Some-Model/of-Ours")
    assert f"{model.window_tokens:,}" in model.assumptions[0]
    assert f"{model.max_output_tokens:,}" in model.assumptions[0]
    assert "at once" in model.assumptions[1] or "thinks first" in model.assumptions[1]
    assert model.source.startswith("assumed")
    assert model.reasoning_allowance_tokens < model.max_output_tokens


@pytest.mark.parametrize(
    ("name", "thinks"),
    [
        ("vllm/deepseek-ai/DeepSeek-R1-Distill-Llama-70B", True),
        ("vllm/Qwen/Qwen2.5-72B-Instruct", False),
        ("nebius/Qwen/Qwen3-235B-A22B-Thinking-2507", True),
        ("together/openai/gpt-oss-120b", True),
        ("google/gemini-2.5-flash-preview-09-2025", False),
        ("google/gemini-4-argon", True),
        ("anthropic/claude-sonnet-6", True),
    ],
)
def test_an_unlisted_name_of_a_thinking_family_gets_room_to_think(name: str, thinks: bool) -> None:
    assert find_model(name).reasoning == thinks


@pytest.mark.parametrize(
    ("name", "must_say"),
    [
        ("gtp-4o-mini", ["gtp-4o-mini", "did you mean gpt-4o-mini", "openai/<name>"]),
        ("gpt-5-typo", ["gpt-5-typo", "did you mean gpt-5", "openai/<name>"]),
        ("o3-mini-high", ["o3-mini-high", "did you mean o4-mini"]),
        ("gpt-4o-2024-13-40", ["did you mean gpt-4o"]),
        ("ft:gpt-7-nova:acme::x1", ["openai/<name>"]),
        ("gpt-5.6", ["did you mean gpt-5.6-sol"]),
        ("claude-nonesuch", ["claude-nonesuch", "<provider>/<name>"]),
        ("qwertyuiop", ["make models", "openai/<name>"]),
        ("meta-llama/Llama-3.3-70B-Instruct", ["no provider 'meta-llama'", "nebius/meta-llama"]),
        ("", ["openai/<name>"]),
        ("openai/", ["openai/<name>"]),
        ("groq/ ", ["openai/<name>"]),
    ],
)
def test_any_other_name_is_refused_with_a_way_out(name: str, must_say: list[str]) -> None:
    with pytest.raises(RunnerError) as refused:
        find_model(name)
    assert all(words in refused.value.sentence for words in must_say), refused.value.sentence


def test_an_effort_that_a_model_does_not_take_is_refused_with_those_that_it_takes() -> None:
    with pytest.raises(RunnerError, match="low, medium, high"):
        find_model("o3").reasoning_allowance_of("max")
    with pytest.raises(RunnerError, match="takes none"):
        find_model("gpt-4o").refused_at("low")


@pytest.mark.parametrize(
    ("asked", "told", "at_provider", "at_custom_host"),
    [
        ("gpt-4.1", "gpt-4.1", True, True),
        ("gpt-4.1", "gpt-4.1-2025-04-14", True, True),
        ("gpt-4.1", "gpt-4.1-2027-02-03", True, True),
        ("gpt-4.1", "gpt-4.1-mini", False, False),
        ("gpt-4.1", "gpt-4.1-mini-2025-04-14", False, False),
        ("gpt-4.1-2025-04-14", "gpt-4.1", True, False),
        ("gpt-4o-2024-08-06", "gpt-4o-2024-11-20", False, False),
        ("claude-sonnet-4-5", "claude-sonnet-4-5-20250929", True, True),
        ("claude-3.5-sonnet", "claude-3-5-sonnet-20241022", True, True),
        ("claude-3.5-sonnet", "claude-3-5-sonnet", True, False),
        ("claude-3.5-sonnet", "claude-3-5-sonnet-20240620", False, False),
        ("gemini-2.5-flash", "gemini-3.5-flash-lite", False, False),
        ("deepseek-v3", "deepseek-ai/DeepSeek-V3-0324", False, False),
        ("nebius/llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct", True, True),
        ("nebius/llama-3.3-70b", "llama-3.3-70b-versatile", False, False),
        ("gpt-6-luna-2026-09-22", "gpt-6-luna", True, False),
        ("ft:gpt-4.1-2025-04-14:acme::x1", "ft:gpt-4.1-2025-04-14:acme::x1", True, True),
        ("ft:gpt-4.1-2025-04-14:acme::x1", "gpt-4.1-2025-04-14", False, False),
        ("openai/my-deployment", "my-deployment", True, True),
        ("openai/my-deployment", "gpt-4.1", False, False),
    ],
)
def test_an_answer_is_of_the_asked_model_by_its_id_a_dated_form_or_an_alias(
    asked: str, told: str, at_provider: bool, at_custom_host: bool
) -> None:
    model = find_model(asked)
    assert is_name_of(model, told) is at_provider
    assert is_name_of(model, told, at_custom_host=True) is at_custom_host
