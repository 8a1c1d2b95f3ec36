"""What a line says of the provider's cache: beside the question, never in it; and the bill that comes of it."""

import json
import urllib.request
from datetime import UTC, date, datetime

import orjson
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import runner.emulator
from runner.caching import plan, rules_of
from runner.models import find_model
from runner.pricing import bound_expr, cost, price
from runner.providers import anthropic_lines, connect, openai_lines
from runner.providers.anthropic_lines import decode_line
from runner.providers.lines import read_lines
from runner.providers.marks import marked
from runner.request import Body, Hint, Mark, Message, RequestId, Status, request_id
from runner.tokens import counter

ID = RequestId("r" * 26)
SONNET, LUNA, MINI, PRO = "claude-sonnet-5", "gpt-5.6-luna", "gpt-5.4-mini", "gpt-5.5-pro"
ASK = Body((Message("system", "Rules.\n"), Message("user", "A post.\nA question?")), 20)
MARKED = Hint((Mark(7, "1h"), Mark(15, "5m")), only_marked=True)

TEXTS = st.text("ab \né😀", max_size=9) | st.text(max_size=40)
MESSAGES = st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS), min_size=1, max_size=4)
ENDS = st.lists(st.integers(0, 40), max_size=4, unique=True).map(sorted)
HINTS = st.builds(
    lambda ends, key, only: Hint(tuple(Mark(end, "30m") for end in ends), key, only),
    ENDS,
    st.none() | st.just("k" * 16),
    st.booleans(),
)


def params(hint, body=ASK):
    return orjson.loads(anthropic_lines.encode_line(ID, SONNET, body, hint))["params"]


def chat(hint, model=LUNA, body=ASK):
    return orjson.loads(openai_lines.encode_line(ID, model, body, hint=hint))["body"]


def said(content):
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


# Cutting


@given(MESSAGES, ENDS)
def test_whatever_the_marks_the_pieces_are_the_contents_and_none_is_blank(messages, ends):
    told = marked(messages, [Mark(end, "5m") for end in ends])
    for message, pieces in zip(messages, told, strict=True):
        assert "".join(piece.text for piece in pieces) == message.content
        assert len(pieces) == 1 or all(piece.text.strip() for piece in pieces)
    assert sum(piece.ttl is not None for pieces in told for piece in pieces) <= len(ends)


# Lines


def test_anthropic_is_told_in_blocks_that_end_where_the_marks_stand():
    asked = params(MARKED)
    long, short = ({"type": "ephemeral", "ttl": ttl} for ttl in ("1h", "5m"))
    assert asked["system"] == [{"type": "text", "text": "Rules.\n", "cache_control": long}]
    assert asked["messages"] == [
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "A post.\n", "cache_control": short},
                {"type": "text", "text": "A question?"},
            ],
        }
    ]


def test_system_messages_stay_one_text_with_a_blank_line_between_them():
    body = Body((Message("system", "One."), Message("system", "Two."), Message("user", "Three?")), 20)
    plain, told = params(None, body), params(Hint((Mark(4, "1h"),)), body)
    assert plain["system"] == said(told["system"]) == "One.\n\nTwo."
    assert told["messages"] == plain["messages"]


def test_openai_is_told_by_breakpoints_a_key_and_to_write_nothing_else():
    asked = chat(Hint(MARKED.marks[1:], "prefix", only_marked=True))
    first, second = asked["messages"][1]["content"]
    assert first == {"type": "text", "text": "A post.\n", "prompt_cache_breakpoint": {"mode": "explicit"}}
    assert second == {"type": "text", "text": "A question?"}
    assert asked["messages"][0]["content"] == "Rules.\n"
    assert (asked["prompt_cache_key"], asked["prompt_cache_options"]) == ("prefix", {"mode": "explicit"})
    assert "prompt_cache_options" not in chat(Hint(key="prefix"), MINI)


def test_the_other_endpoint_has_other_words_for_the_parts():
    parts = chat(Hint(MARKED.marks[1:]), PRO)["input"][1]["content"]
    assert [part["type"] for part in parts] == ["input_text", "input_text"]
    assert "prompt_cache_breakpoint" in parts[0]


def test_an_assistants_message_takes_no_breakpoint_at_openai():
    body = Body((Message("user", "I say."), Message("assistant", "I answer."), Message("user", "And?")), 20)
    asked = chat(Hint((Mark(15, "30m"),)), body=body)
    assert asked["messages"][0]["content"][0]["prompt_cache_breakpoint"] == {"mode": "explicit"}
    assert [message["content"] for message in asked["messages"][1:]] == ["I answer.", "And?"]


@given(MESSAGES, HINTS)
def test_a_hint_changes_neither_id_nor_texts_nor_other_parameters_and_grows_a_line_by_no_more_than_is_said(
    messages, hint
):
    body = Body(tuple(messages), 20)
    for model, encode in ((SONNET, anthropic_lines.encode_line), (LUNA, openai_lines.encode_line)):
        rules = rules_of("anthropic" if model == SONNET else "openai", model)
        plain, told = encode(ID, model, body), encode(ID, model, body, hint=hint)
        assert len(told) - len(plain) <= rules.most_hint_bytes
        old, new = orjson.loads(plain), orjson.loads(told)
        assert old["custom_id"] == new["custom_id"]
        old, new = (line.get("params") or line["body"] for line in (old, new))
        assert [said(turn["content"]) for turn in old["messages"]] == [
            said(turn["content"]) for turn in new["messages"]
        ]
        assert said(old.get("system", "")) == said(new.get("system", ""))
        others = set(new) - {"messages", "system", "prompt_cache_key", "prompt_cache_options"}
        assert {key: old[key] for key in others} == {key: new[key] for key in others}


@pytest.mark.parametrize(
    ("name", "model", "env"),
    [
        ("google", "gemini-2.5-pro", {"GEMINI_API_KEY": "k"}),
        ("mistral", "mistral-large-2512", {"MISTRAL_API_KEY": "k"}),
        ("openai", LUNA, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://localhost:1/v1"}),
        ("openai", LUNA, {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "https://mine.openai.azure.com/openai/v1"}),
        ("nebius", "meta-llama/Llama-3.3-70B-Instruct", {"NEBIUS_API_KEY": "k"}),
    ],
)
def test_who_does_not_know_hints_gets_none(name, model, env):
    provider = connect(name, env)
    assert provider.encode(ID, model, ASK, MARKED) == provider.encode(ID, model, ASK)


# What comes back


def test_what_was_written_for_an_hour_is_counted_by_itself_and_among_the_written():
    usage = {
        "input_tokens": 5,
        "cache_creation_input_tokens": 300,
        "cache_read_input_tokens": 1000,
        "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
        "output_tokens": 7,
    }
    message = {"content": [{"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "usage": usage}
    (row,) = decode_line(orjson.dumps({"custom_id": ID, "result": {"type": "succeeded", "message": message}}))
    assert (row.input_tokens, row.cached_tokens) == (1305, 1000)
    assert (row.cache_write_tokens, row.cache_write_long_tokens) == (300, 200)


DAY = date(2026, 11, 20)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    running = runner.emulator.start(tmp_path_factory.mktemp("emulator"), at=DAY, clock="auto")
    yield running
    running.stop()


def run(server, folder, provider_name, model, asked):
    """Responses and the bill's rows by id, of a batch as it would be sent."""
    provider = connect(provider_name, {}, base_url=f"{server.base_url}/{provider_name}", venue="emulator")
    path = folder / "in.jsonl"
    path.write_bytes(b"".join(provider.encode(name, model, body, hint) + b"\n" for name, body, hint in asked))
    job = provider.create(model, provider.upload(path, "tag") or path, "tag")
    while not provider.status(job).state.has_ended:
        pass
    rows = [row for each in provider.fetch(job, folder) for line in read_lines(each) for row in provider.decode(line)]
    with urllib.request.urlopen(f"{server.base_url}/control/bill") as reply:
        billed = {row["custom_id"]: row for row in json.load(reply)["requests"]}
    return {row.request_id: row for row in rows}, {name: billed[name] for name, _, _ in asked if name in billed}


@pytest.mark.parametrize(
    ("provider", "model"), [("anthropic", SONNET), ("openai", LUNA), ("openai", MINI), ("google", "gemini-2.5-pro")]
)
def test_what_is_told_is_taken_billed_as_we_say_and_never_beyond_the_bound(server, tmp_path, provider, model):
    card = find_model(f"{provider}/{model}")
    now = datetime(DAY.year, DAY.month, DAY.day, 12, tzinfo=UTC)
    paid = price(card, now)
    words = "".join(f"{number} words of a context that is long.\n" for number in range(500))
    bodies = [
        Body(
            (Message("user", f"Context {context}.\n{words}Question {number:02}?"),),
            30 + card.reasoning_allowance_tokens,
        )
        for context in range(2)
        for number in range(12)
    ]
    texts = [body.to_json() for body in bodies]
    caching = plan(texts, counter(card).count_bodies(bodies), paid, rules_of(provider, model))
    ids = [request_id("emulator", model, 0, text) for text in texts]
    rows, billed = run(server, tmp_path, provider, model, list(zip(ids, bodies, caching.hints, strict=True)))
    assert rows.keys() == billed.keys() == set(ids)
    assert {row.status for row in rows.values()} <= {Status.OK, Status.TRUNCATED}
    most = 0.0
    for name, body in zip(ids, bodies, strict=True):
        row, bill = rows[name], billed[name]
        counts = row.input_tokens, row.cached_tokens, row.output_tokens
        written = row.cache_write_tokens, row.cache_write_long_tokens
        assert cost(paid, *counts, *written) == pytest.approx(bill["usd"])
        most_in = pl.lit(counter(card).bound_body(body))
        limit = pl.select(bound_expr(paid, input_bound=most_in, max_output=pl.lit(body.max_output_tokens))).item()
        assert bill["usd"] <= limit
        most += limit
    frame = pl.DataFrame([{"read": row.cached_tokens, "written": row.cache_write_tokens} for row in rows.values()])
    assert frame["read"].sum() > 0
    if caching.marked:
        assert frame["written"].sum() > 0
        assert frame.select((pl.col("read") + pl.col("written").fill_null(0)).max()).item() < row.input_tokens
    assert (row.cache_write_long_tokens is not None) is (provider == "anthropic")


def test_a_batch_whose_prompts_share_nothing_writes_nothing(server, tmp_path):
    words = "".join(f"{number} words of a context that is long.\n" for number in range(300))
    bodies = [Body((Message("user", f"{number}. {words}"),), 30) for number in range(4)]
    texts = [body.to_json() for body in bodies]
    card = find_model(f"openai/{LUNA}")
    caching = plan(texts, [2000] * 4, price(card, datetime(2026, 11, 20, tzinfo=UTC)), rules_of("openai", LUNA))
    ids = [request_id("emulator", LUNA, 0, text) for text in texts]
    told, _ = run(server, tmp_path, "openai", LUNA, list(zip(ids, bodies, caching.hints, strict=True)))
    assert {row.cache_write_tokens for row in told.values()} == {0}
    untold, _ = run(
        server, tmp_path, "openai", LUNA, [(name, body, None) for name, body in zip(ids, bodies, strict=True)]
    )
    assert all(row.cache_write_tokens == row.input_tokens for row in untold.values())
