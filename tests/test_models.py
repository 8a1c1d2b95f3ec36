from dataclasses import fields, replace
from datetime import date, timedelta
from typing import get_args

import pytest
from openai.types.shared import ChatModel
from tiktoken.model import encoding_name_for_model

from runner.errors import RunnerError
from runner.models import OUTPUT_LIMIT_PARAMETERS, TIERS, Model, all_models, find_model
from runner.request import Body

TODAY = date(2026, 11, 21)

each_model = pytest.mark.parametrize("model", all_models(), ids=lambda model: model.id)


@each_model
def test_a_row_is_consistent_in_itself(model: Model) -> None:
    assert 0 < model.max_output_tokens <= model.window_tokens
    assert model.output_limit_parameter in OUTPUT_LIMIT_PARAMETERS
    assert model.refused <= {field.name for field in fields(Body)}
    assert model.reasoning == (model.reasoning_allowance_tokens > 0)
    assert model.queue_tokens is None or (
        len(model.queue_tokens) == len(TIERS) and list(model.queue_tokens) == sorted(model.queue_tokens)
    )
    assert model.queue_tokens is not None or any("queue" in assumption for assumption in model.assumptions)
    assert model.checked <= TODAY


@each_model
def test_the_provider_knows_the_name(model: Model) -> None:
    assert model.id in get_args(ChatModel)


@each_model
def test_the_encoding_is_the_one_that_tiktoken_maps_or_is_marked_as_assumed(model: Model) -> None:
    try:
        mapped = encoding_name_for_model(model.id)
    except KeyError:
        assert model.encoding_assumed
    else:
        assert (model.encoding, model.encoding_assumed) == (mapped, False)


@each_model
def test_a_thinking_model_is_not_sent_what_it_answers_with_an_error(model: Model) -> None:
    if model.reasoning:
        assert {"temperature", "top_p"} <= model.refused
        assert model.output_limit_parameter == "max_completion_tokens"


@each_model
def test_a_model_that_goes_is_found_until_the_day_before_and_names_a_successor_that_stays(model: Model) -> None:
    if model.retires is None:
        assert find_model(model.id, as_of=date(2099, 1, 1)) == model
        return
    assert find_model(model.id, as_of=model.retires - timedelta(days=1)) == model
    with pytest.raises(RunnerError) as refused:
        find_model(model.id, as_of=model.retires)
    assert str(model.retires) in refused.value.sentence
    if model.successor is not None:
        assert model.successor in refused.value.sentence
        successor = find_model(model.successor, as_of=model.retires)
        assert successor in all_models()


def test_a_retired_model_is_still_found_for_its_old_answers() -> None:
    assert find_model("o4-mini").retires == date(2026, 10, 23)


def test_the_provider_in_front_changes_nothing() -> None:
    assert find_model("openai/gpt-4o-mini") == find_model(" gpt-4o-mini ") == find_model("gpt-4o-mini")


def test_a_dated_name_keeps_its_name_and_has_the_facts_of_its_model() -> None:
    base = find_model("gpt-4o")
    assert find_model("gpt-4o-2024-11-20") == replace(base, id="gpt-4o-2024-11-20")
    assert find_model("gpt-4o-2024-05-13").max_output_tokens == 4096, "a dated model with facts of its own"
    unlisted = find_model("gpt-6-luna-2026-09-22")
    assert unlisted.id == "gpt-6-luna-2026-09-22"
    assert unlisted.window_tokens == find_model("gpt-6-luna").window_tokens
    assert "limits taken from gpt-6-luna" in unlisted.assumptions


@pytest.mark.parametrize("name", ["gpt-7-nova", "o9-mini", "openai/gpt-7-nova", "openai/o9-mini"])
def test_an_unknown_openai_name_is_taken_as_a_thinking_model_and_says_what_is_assumed(name: str) -> None:
    model = find_model(name, as_of=TODAY)
    assert model.id == name.removeprefix("openai/")
    assert model.refused >= {"temperature"}
    assert model.output_limit_parameter == "max_completion_tokens"
    assert (model.window_tokens, model.encoding, model.encoding_assumed) == (128_000, "o200k_base", True)
    assert any("128,000" in assumption for assumption in model.assumptions)


@pytest.mark.parametrize("name", ["llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct"])
def test_an_unknown_name_at_a_compatible_host_keeps_its_slashes_and_is_sent_plain_parameters(name: str) -> None:
    model = find_model(f"openai/{name}")
    assert (model.id, model.provider, model.refused) == (name, "openai", frozenset())
    assert model.output_limit_parameter == "max_tokens"
    assert model.assumptions


@pytest.mark.parametrize(
    ("name", "must_say"),
    [
        ("gtp-4o-mini", ["gtp-4o-mini", "did you mean gpt-4o-mini", "openai/<name>"]),
        ("claude-nonesuch", ["claude-nonesuch", "openai/<name>"]),
        ("mistral/large", ["mistral", "openai"]),
        ("", ["openai/<name>"]),
        ("openai/", ["openai/<name>"]),
    ],
)
def test_any_other_name_is_refused_with_a_way_out(name: str, must_say: list[str]) -> None:
    with pytest.raises(RunnerError) as refused:
        find_model(name)
    assert all(words in refused.value.sentence for words in must_say)


def test_queue_tokens_grow_with_the_tier_and_an_unknown_tier_is_refused() -> None:
    model = find_model("gpt-4o-mini")
    assert model.queue_tokens_of(1) == 2_000_000
    assert model.queue_tokens_of(5) == 15_000_000_000
    with pytest.raises(RunnerError, match="tier 0"):
        model.queue_tokens_of(0)
