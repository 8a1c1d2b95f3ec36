"""What Message Batches make of the parameters of a request: refused, answered, cached, billed."""

import anthropic
import pytest
from anthropic_shop import OLD, SAY, Shop, ask


@pytest.fixture(scope="module")
def shop(desk):
    return Shop(desk)


def test_sampling_parameters_need_the_older_version_and_an_older_model(shop):
    sampling = {"temperature": 0.0, "top_p": 0.5}
    for name, value in sampling.items():
        kind, message = shop.error(**{name: value})
        assert (kind, message) == ("invalid_request_error", f"{name}: Extra inputs are not permitted")
    for name, value in sampling.items():
        assert shop.run(ask(**{name: value}), **OLD)["r"].type == "succeeded"
    assert shop.error("2023-06-01", **sampling)[1].startswith("`temperature` and `top_p` cannot both be")
    assert shop.error("2023-06-01", temperature=1.5)[1].startswith("temperature: Input should be in the range")
    for model in ("claude-opus-4-7", "claude-sonnet-5", "claude-haiku-5-5"):
        assert (
            shop.error("2023-06-01", model=model, temperature=0.0)[1] == "`temperature` is deprecated for this model."
        )
    for model in ("claude-sonnet-4-5", "claude-sonnet-4-6", "claude-opus-4-6"):
        assert shop.run(ask(model=model, temperature=0.0), **OLD)["r"].type == "succeeded"


@pytest.mark.parametrize(
    ("requests", "said"),
    [
        ([], "requests: List should have at least 1 item"),
        ([ask("a"), ask("a.b")], r"requests.1.custom_id: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'"),
        ([ask("x" * 65)], "requests.0.custom_id: String should match"),
        ([ask("a\n")], "requests.0.custom_id: String should match"),
        ([ask("a"), ask("b"), ask("a")], "requests.2.custom_id: custom_id must be unique"),
        ([{"params": {}}], "requests.0.custom_id: Field required"),
        ([{"custom_id": "a"}], "requests.0.params: Field required"),
        (["a"], "requests.0: Input should be a valid dictionary"),
        ([ask(stream=True)], "requests.0.params.stream: Extra inputs"),
        ([ask(speed="fast")], "requests.0.params.speed: Extra inputs"),
        ([ask(cache_hint={"x": 1})], "requests.0.params.cache_hint: Extra inputs"),
        ([ask(max_tokens=None)], "requests.0.params.max_tokens: Field required"),
        ([ask(max_tokens=0)], "requests.0.params.max_tokens: Input should be greater"),
        ([ask(max_tokens="9")], "requests.0.params.max_tokens: Input should be greater"),
    ],
)
def test_one_bad_request_refuses_the_whole_create(shop, requests, said):
    before = len(list(shop.batches.list(limit=1000)))
    with pytest.raises(anthropic.BadRequestError) as caught:
        shop.create(*requests)
    assert caught.value.type == "invalid_request_error"
    assert caught.value.api_message.startswith(said)
    assert len(list(shop.batches.list(limit=1000))) == before


@pytest.mark.parametrize(
    ("params", "kind", "said"),
    [
        ({"model": "claude-none"}, "not_found_error", "model: claude-none"),
        ({"model": "claude-3-5-sonnet-20241022"}, "not_found_error", "model: claude-3-5-sonnet-20241022"),
        ({"model": None}, "invalid_request_error", "model: Field required"),
        ({"messages": None}, "invalid_request_error", "messages: Field required"),
        ({"messages": []}, "invalid_request_error", "messages: at least one message is required"),
        ({"messages": [{"role": "system", "content": "x"}]}, "invalid_request_error", 'messages: Unexpected role "sys'),
        ({"messages": [{"role": "user", "content": ""}]}, "invalid_request_error", "messages.0: all messages must"),
        ({"messages": [{"role": "user", "content": [{"type": "text", "text": " "}]}]}, "invalid_request_error",
         "messages: text content blocks must be non-empty"),
        ({"n": 2}, "invalid_request_error", "n: Extra inputs are not permitted"),
        ({"max_tokens": 64_001}, "invalid_request_error", "max_tokens: 64001 > 64000, which is the maximum"),
        ({"messages": [{"role": "user", "content": "word " * 250_000}]}, "invalid_request_error", "prompt is too long"),
        ({"output_config": {"effort": "low"}}, "invalid_request_error", "This model does not support the effort"),
        ({"model": "claude-opus-4-6", "output_config": {"effort": "xhigh"}}, "invalid_request_error", "output_config."),
        ({"thinking": {"type": "enabled", "budget_tokens": 9}}, "invalid_request_error", "thinking.enabled.budget_tok"),
        ({"thinking": {"type": "enabled", "budget_tokens": 2000}}, "invalid_request_error", "`max_tokens` must be gre"),
        ({"model": "claude-opus-4-8", "thinking": {"type": "enabled", "budget_tokens": 2000}, "max_tokens": 3000},
         "invalid_request_error", '"thinking.type.enabled" is not supported'),
        ({"thinking": {"type": "deep"}}, "invalid_request_error", "thinking: Input tag"),
        ({"system": [{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}] * 5},
         "invalid_request_error", "A maximum of 4 blocks"),
    ],
)  # fmt: skip
def test_other_bad_parameters_are_errors_of_their_request_only(shop, params, kind, said):
    found = shop.error(**params)
    assert found[0] == kind and found[1].startswith(said), found


@pytest.mark.parametrize(("ttl", "write_usd"), [("5m", 1.25), ("1h", 2.0)])
def test_cache_writes_and_reads_are_told_and_billed_by_hand_arithmetic(shop, ttl, write_usd):
    control = {"type": "ephemeral", "ttl": ttl}
    system = [{"type": "text", "text": "All of this is known. " * 1500, "cache_control": control}]
    asks = [
        ask(f"r{number}", system=system, messages=[{"role": "user", "content": f"{number}?"}]) for number in range(9)
    ]
    batch = shop.finish(shop.create(*asks))
    used = {name: result.message.usage for name, result in shop.results(batch).items()}
    written = [name for name, usage in used.items() if usage.cache_creation_input_tokens]
    read = [name for name, usage in used.items() if usage.cache_read_input_tokens]
    assert "r0" in written and read and len(written) + len(read) == 9
    for usage in used.values():
        long = usage.cache_creation.ephemeral_1h_input_tokens
        assert usage.cache_creation_input_tokens == long + usage.cache_creation.ephemeral_5m_input_tokens
        assert (long > 0) is (ttl == "1h" and usage.cache_creation_input_tokens > 0)
    bill = shop.bill(batch)
    assert bill.keys() == used.keys()
    for name, row in bill.items():
        usage = used[name]
        usd = usage.input_tokens * 1 + usage.output_tokens * 5 + usage.cache_read_input_tokens * 0.1
        usd += usage.cache_creation_input_tokens * write_usd
        assert row["usd"] == pytest.approx(usd / 2 / 1e6)
        assert row["input_tokens"] == (
            usage.input_tokens + usage.cache_creation_input_tokens + usage.cache_read_input_tokens
        )


def test_without_a_mark_nothing_is_cached(shop):
    asks = [ask(f"r{number}", system="All of this is known. " * 1500) for number in range(5)]
    assert not any(result.message.usage.cache_read_input_tokens for result in shop.run(*asks).values())


def test_one_mark_at_the_top_stands_for_the_last_block(shop):
    long = [{"role": "user", "content": "All of this is known. " * 1500}]
    asks = [ask(f"r{number}", messages=long, cache_control={"type": "ephemeral"}) for number in range(9)]
    usages = [result.message.usage for result in shop.run(*asks).values()]
    assert any(usage.cache_read_input_tokens and usage.input_tokens == 0 for usage in usages)


def test_models_think_by_default_or_when_told_to_and_it_counts_as_output(shop):
    def thoughts(**params):
        many = [ask(f"r{number}", max_tokens=4000, **params) for number in range(12)]
        messages = [result.message for result in shop.run(*many).values()]
        for message in messages:
            tokens = message.usage.output_tokens_details.thinking_tokens
            assert (message.content[0].type == "thinking") is (tokens > 0)
            assert message.usage.output_tokens > tokens
        return sum(message.usage.output_tokens_details.thinking_tokens for message in messages)

    assert thoughts() == 0
    assert thoughts(thinking={"type": "enabled", "budget_tokens": 1024}) > 0
    usual = thoughts(model="claude-opus-5-5")
    assert thoughts(model="claude-opus-5-5", output_config={"effort": "low"}) < usual
    assert thoughts(model="claude-opus-5", thinking={"type": "disabled"}) == 0
    assert usual > 0


def test_an_answer_ends_where_its_limit_is(shop):
    message = shop.answer(max_tokens=2)
    assert (message.stop_reason, message.usage.output_tokens) == ("max_tokens", 2)


def test_a_blocked_prompt_is_a_refusal(shop):
    with shop.fault("filtered"):
        message = shop.answer()
    assert (message.stop_reason, message.content, message.stop_details.type) == ("refusal", [], "refusal")


def test_count_tokens_tells_what_a_batch_will_count(shop):
    prompt = {"model": "claude-haiku-4-5", "system": "Be brief.", "messages": SAY}
    counted = shop.client.messages.count_tokens(**prompt).input_tokens
    assert counted == shop.answer(**prompt).usage.input_tokens
