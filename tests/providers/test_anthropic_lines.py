import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner import providers
from runner.errors import RunnerError
from runner.providers.anthropic_lines import decode_line, encode_line, needs_sampling
from runner.providers.base import ACCOUNT_TROUBLE
from runner.request import Body, Message, RequestId, Response, Status

MODEL = "claude-sonnet-4-6"  # one that takes a temperature, and effort
NEWER = "claude-sonnet-5-5"
ID = RequestId("a" * 26)
TURNS = (Message("system", "Be brief."), Message("user", "Say yes."))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def params(body, model=MODEL):
    line = encode_line(ID, model, body)
    assert b"\n" not in line
    entry = json.loads(line)
    assert entry.keys() == {"custom_id", "params"} and entry["custom_id"] == ID
    return entry["params"]


def succeeded(**message):
    usual = {
        "id": "msg_01",
        "type": "message",
        "role": "assistant",
        "model": "claude-haiku-5-5",
        "content": [{"type": "text", "text": "Yes."}],
        "stop_reason": "end_turn",
        "stop_sequence": None,
        "usage": {
            "input_tokens": 10,
            "cache_creation_input_tokens": 200,
            "cache_read_input_tokens": 3000,
            "cache_creation": {"ephemeral_5m_input_tokens": 200, "ephemeral_1h_input_tokens": 0},
            "output_tokens": 7,
            "output_tokens_details": {"thinking_tokens": 5},
            "service_tier": "batch",
        },
    }
    return {"type": "succeeded", "message": usual | message}


def errored(kind, message="so it is", code=None):
    details = {} if code is None else {"details": {"error_code": code}}
    return {
        "type": "errored",
        "error": {"type": "error", "error": {"type": kind, "message": message, **details}, "request_id": None},
    }


def decoded(result):
    (row,) = decode_line(json.dumps({"custom_id": "r", "result": result}).encode())
    assert (row.request_id, row.choice) == ("r", 0)
    return row


def test_a_request_is_an_element_of_the_create():
    assert params(Body(TURNS, 100)) == {
        "model": MODEL,
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Say yes."}],
        "system": "Be brief.",
        "temperature": 0.0,
    }
    assert encode_line(ID, MODEL, Body(TURNS, 100)) == encode_line(ID, MODEL, Body(TURNS, 100))


def test_what_is_not_asked_for_is_not_sent():
    bare = params(Body(TURNS[1:], 1, temperature=None, n=4))
    assert bare.keys() == {"model", "max_tokens", "messages"}
    full = params(Body((*TURNS, Message("assistant", "No."), Message("system", "Twice.")), 1, effort="low"))
    assert full["system"] == "Be brief.\n\nTwice."
    assert [turn["role"] for turn in full["messages"]] == ["user", "assistant"]
    assert full["output_config"] == {"effort": "low"}


def test_what_a_model_refuses_is_not_sent():
    assert params(Body(TURNS, 1, top_p=0.5)).keys() & {"temperature", "top_p"} == {"temperature"}
    assert params(Body(TURNS, 1, top_p=0.5), "claude-sonnet-4-20250514")["top_p"] == 0.5
    assert not params(Body(TURNS, 1, top_p=0.5), NEWER).keys() & {"temperature", "top_p"}
    with pytest.raises(RunnerError, match="takes no effort 'much'"):
        params(Body(TURNS, 1, effort="much"), NEWER)


@pytest.mark.parametrize(
    ("model", "sampling", "version"),
    [
        (MODEL, {}, "2023-06-01"),
        (MODEL, {"temperature": None}, "2026-10-21"),
        ("claude-sonnet-4-20250514", {"temperature": None, "top_p": 0.9}, "2023-06-01"),
        (NEWER, {}, "2026-10-21"),
    ],
)
def test_the_dialect_says_by_which_version_a_request_goes(model, sampling, version):
    body = Body(TURNS, 1, **sampling)
    said = providers.dialect("anthropic", model, body)
    assert said == f"Message Batches, anthropic-version {version}"
    assert needs_sampling(encode_line(ID, model, body)) is (version == "2023-06-01")


def test_input_counts_what_was_read_from_the_cache_and_written_to_it():
    assert decoded(succeeded()) == Response(
        request_id="r",
        choice=0,
        status=Status.OK,
        text="Yes.",
        finish_reason="end_turn",
        input_tokens=3210,
        cached_tokens=3000,
        cache_write_tokens=200,
        cache_write_long_tokens=0,
        output_tokens=7,
        reasoning_tokens=5,
        model_version="claude-haiku-5-5",
        service_tier="batch",
    )
    plain = decoded(succeeded(usage={"input_tokens": 4, "output_tokens": 1}))
    assert (plain.input_tokens, plain.cached_tokens, plain.cache_write_tokens) == (4, None, None)
    assert decoded(succeeded(usage={})).input_tokens is None


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("end_turn", Status.OK),
        ("stop_sequence", Status.OK),
        ("max_tokens", Status.TRUNCATED),
        ("model_context_window_exceeded", Status.TRUNCATED),
        ("refusal", Status.REFUSED),
        ("pause_turn", Status.OK),
        ("tool_use", Status.OK),
        ("something_new", Status.OK),
        (None, Status.OK),
    ],
)
def test_the_reason_to_stop_says_how_it_ended(reason, status):
    row = decoded(succeeded(stop_reason=reason))
    assert (row.status, row.finish_reason, row.text) == (status, reason, "Yes.")


@pytest.mark.parametrize("reason", ["end_turn", "max_tokens", "refusal"])
def test_an_empty_answer_that_ended_so_is_final(reason):
    row = decoded(succeeded(content=[], stop_reason=reason))
    assert row.status.is_final and row.text == ""


@pytest.mark.parametrize(
    ("reason", "status"), [("pause_turn", Status.FILTERED), ("tool_use", Status.FILTERED), (None, Status.UNREAD)]
)
def test_no_text_is_never_bought_again_and_its_cost_is_kept(reason, status):
    row = decoded(succeeded(content=[{"type": "tool_use", "id": "t"}], stop_reason=reason))
    assert (row.status, row.error_code, row.output_tokens) == (status, None, 7)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "Yes."},
        {"content": None},
        {"content": [{"type": "text", "text": {"value": "Yes."}}]},
        {"content": ["Yes."]},
    ],
)
def test_a_message_in_another_form_arrived_and_is_not_read(message):
    assert decoded(succeeded(**message)).status is Status.UNREAD
    assert decoded({"type": "done", "reply": "Yes."}).status is Status.UNREAD


def test_a_message_that_is_the_text_of_one_is_read():
    whole = succeeded()
    assert decoded({"type": "succeeded", "message": json.dumps(whole["message"])}) == decoded(whole)


@pytest.mark.parametrize("odd", [-1, "12", True, 1.5, [3]])
@pytest.mark.parametrize("name", ["input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"])
def test_a_count_that_is_none_leaves_the_input_untold(name, odd):
    whole = succeeded()
    usage = {**whole["message"]["usage"], name: odd}
    assert decoded({"type": "succeeded", "message": {**whole["message"], "usage": usage}}).input_tokens is None


def test_thoughts_are_not_text_and_text_is_all_text_blocks():
    content = [
        {"type": "thinking", "thinking": "Hm.", "signature": "x"},
        {"type": "redacted_thinking", "data": "x"},
        {"type": "text", "text": "One "},
        {"type": "text", "text": "two.", "citations": []},
    ]
    assert decoded(succeeded(content=content)).text == "One two."


def test_an_emulator_gives_itself_away():
    assert decoded(succeeded(id="msg_emulator_01")).model_version == "claude-haiku-5-5 msg_emulator"


@pytest.mark.parametrize(
    ("kind", "status"),
    [
        ("invalid_request_error", Status.REJECTED),
        ("request_too_large", Status.REJECTED),
        ("not_found_error", Status.REJECTED),
        ("rate_limit_error", Status.FAILED),
        ("overloaded_error", Status.FAILED),
        ("api_error", Status.FAILED),
        ("timeout_error", Status.FAILED),
        ("quite_new_error", Status.FAILED),
    ],
)
def test_an_error_is_for_good_only_where_the_request_is_at_fault(kind, status):
    row = decoded(errored(kind))
    assert (row.status, row.error_code, row.error_message, row.text) == (status, kind, "so it is", None)


@pytest.mark.parametrize(
    "result",
    [
        errored("authentication_error"),
        errored("permission_error"),
        errored("billing_error"),
        errored("rate_limit_error", code="enforced_spend_limit_reached"),
        errored("invalid_request_error", "This organization has been disabled.", "organization_on_hold"),
        errored("invalid_request_error", "Your credit balance is too low to access the Anthropic API."),
        errored("invalid_request_error", "You have reached your specified workspace API usage limits."),
    ],
)
def test_trouble_with_the_account_is_not_the_requests_fault(result):
    row = decoded(result)
    assert row.status is Status.FAILED
    assert row.error_code in ACCOUNT_TROUBLE
    error = result["error"]["error"]
    assert error["type"] in row.error_message and error["message"] in row.error_message


def test_what_was_not_run_says_why():
    assert decoded({"type": "expired"}).status is Status.EXPIRED
    assert decoded({"type": "canceled"}).status is Status.CANCELLED
    assert (decoded({"type": "new"}).status, decoded({"type": "new"}).error_code) == (Status.FAILED, "new")


@given(
    st.none()
    | JSON
    | st.fixed_dictionaries(
        {"type": st.sampled_from(["succeeded", "errored", "canceled", "expired"]) | JSON},
        optional={
            "message": JSON | st.dictionaries(st.sampled_from(list(succeeded()["message"])), JSON),
            "error": JSON | st.dictionaries(st.sampled_from(["type", "error", "message", "details"]), JSON),
        },
    )
)
def test_an_odd_result_is_one_row_all_the_same(result):
    row = decoded(result)
    assert isinstance(row.status, Status)
    assert all(count is None or count >= 0 for count in (row.input_tokens, row.output_tokens, row.cached_tokens))


@given(st.binary() | JSON.map(lambda value: json.dumps(value).encode()))
def test_a_line_is_rows_or_a_value_error(line):
    try:
        rows = decode_line(line)
    except ValueError:
        return
    assert len(rows) == 1 and rows[0].request_id


def test_half_a_surrogate_pair_does_not_lose_what_was_paid():
    line = json.dumps({"custom_id": "r", "result": succeeded(content=[{"type": "text", "text": "a\ud83d"}])})
    assert decode_line(line.encode())[0].text == "a?"
