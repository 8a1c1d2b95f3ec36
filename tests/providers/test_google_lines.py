import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers import dialect
from runner.providers.base import ACCOUNT_TROUBLE
from runner.providers.google_lines import decode_line, encode_line
from runner.request import Body, Message, RequestId, Response, Status

PRO, FLASH, LEVELS, NEWEST = "gemini-2.5-pro", "gemini-2.5-flash", "gemini-3-flash-preview", "gemini-3.8-flash"
ID = RequestId("a" * 26)
TURNS = (Message("system", "Be brief."), Message("user", "Say yes."))

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


def asked(body, model=FLASH):
    line = encode_line(ID, model, body)
    assert b"\n" not in line
    entry = json.loads(line)
    assert entry.keys() == {"key", "request"} and entry["key"] == ID
    return entry["request"]


def config(model, effort=None, **body):
    return asked(Body(TURNS, 50, effort=effort, **body), model)["generationConfig"]


def said(reason="STOP", text="Yes.", **response):
    parts = [] if text is None else [{"text": "Hm.", "thought": True}, {"text": text}]
    usage = {"promptTokenCount": 3010, "cachedContentTokenCount": 2900, "candidatesTokenCount": 2}
    return {
        "candidates": [{"content": {"role": "model", "parts": parts}, "finishReason": reason, "index": 0}],
        "usageMetadata": usage | {"thoughtsTokenCount": 5, "totalTokenCount": 3017},
        "modelVersion": "gemini-2.5-flash",
        **response,
    }


def decoded(value, kind="response"):
    (row,) = decode_line(json.dumps({"key": "r1", kind: value}).encode())
    return row


def test_roles_and_the_system_have_their_places_and_all_settings_are_nested():
    body = Body((*TURNS, Message("assistant", "No."), Message("user", "\u2028 Why?")), 50, 0.5, 0.9)
    request = asked(body)
    assert request == {
        "contents": [
            {"role": "user", "parts": [{"text": "Say yes."}]},
            {"role": "model", "parts": [{"text": "No."}]},
            {"role": "user", "parts": [{"text": "\u2028 Why?"}]},
        ],
        "systemInstruction": {"parts": [{"text": "Be brief."}]},
        "generationConfig": {
            "maxOutputTokens": 50,
            "temperature": 0.5,
            "topP": 0.9,
            "thinkingConfig": {"thinkingBudget": 0},
        },
    }
    assert encode_line(ID, FLASH, body) == encode_line(ID, FLASH, body)
    assert "systemInstruction" not in asked(Body(TURNS[1:], 50))
    assert dialect("google", FLASH, body) == "Gemini API v1 batchGenerateContent"


@pytest.mark.parametrize(
    ("model", "effort", "expected"),
    [
        (FLASH, None, {"thinkingBudget": 0}),
        (FLASH, "low", {"thinkingBudget": 1024}),
        (PRO, None, {"thinkingBudget": 8192}),
        (PRO, "high", {"thinkingBudget": 24576}),
        (LEVELS, "minimal", {"thinkingLevel": "MINIMAL"}),
        (LEVELS, None, None),
        ("gemini-9-pro", None, None),
    ],
)
def test_how_much_is_thought_is_a_budget_or_a_level_never_both(model, effort, expected):
    assert config(model, effort).get("thinkingConfig") == expected


def test_what_a_model_ignores_or_refuses_is_left_out():
    assert config(NEWEST, top_p=0.5, n=3).keys() == {"maxOutputTokens"}
    assert config("gemini-9-pro", top_p=0.5, n=3).keys() == {"maxOutputTokens", "temperature", "topP"}
    with pytest.raises(RunnerError, match="takes no effort"):
        config(FLASH, "extreme")


def test_an_answer_is_its_text_without_the_thoughts_and_all_of_its_tokens():
    assert decoded(said()) == Response(
        request_id="r1",
        choice=0,
        status=Status.OK,
        text="Yes.",
        finish_reason="STOP",
        input_tokens=3010,  # the cached ones included
        cached_tokens=2900,
        output_tokens=7,  # the thoughts included
        reasoning_tokens=5,
        model_version="gemini-2.5-flash",
    )
    (inline,) = decode_line(json.dumps({"response": said(), "metadata": {"key": "r2"}}).encode())
    assert (inline.request_id, inline.text) == ("r2", "Yes.")


def test_counts_of_zero_are_left_out_and_no_usage_is_unknown():
    row = decoded(said(usageMetadata={"promptTokenCount": 9, "totalTokenCount": 9}))
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (9, 0, 0, 0)
    row = decoded(said(usageMetadata=None))
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (None,) * 4


def test_several_candidates_are_several_choices_paid_once():
    answers = [{"content": {"parts": [{"text": str(n)}]}, "finishReason": "STOP", "index": n} for n in (2, 0, 1)]
    rows = decode_line(json.dumps({"key": "r1", "response": said(candidates=answers)}).encode())
    assert [(row.choice, row.text, row.output_tokens) for row in rows] == [(0, "0", 7), (1, "1", 0), (2, "2", 0)]


@pytest.mark.parametrize(
    ("reason", "text", "status"),
    [
        ("STOP", "Yes.", Status.OK),
        ("STOP", None, Status.OK),
        ("MAX_TOKENS", "Ye", Status.TRUNCATED),
        ("MAX_TOKENS", None, Status.TRUNCATED),
        *((reason, None, Status.FILTERED) for reason in (
            "SAFETY", "RECITATION", "LANGUAGE", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "MODEL_ARMOR"
        )),
        ("SAFETY", "Ye", Status.FILTERED),
        ("OTHER", None, Status.FILTERED),
        ("OTHER", "Yes.", Status.OK),
        (None, None, Status.UNREAD),
        ("FROM_THE_FUTURE", "Yes.", Status.OK),
    ],
)  # fmt: skip
def test_how_an_answer_ended(reason, text, status):
    row = decoded(said(reason, text))
    assert (row.status, row.text, row.finish_reason) == (
        status,
        None if status is Status.UNREAD else text or "",
        reason,
    )
    assert row.error_code is None
    assert row.output_tokens == 7


def test_a_blocked_prompt_is_filtered_and_no_candidate_at_all_is_not_read():
    row = decoded(said(candidates=[], promptFeedback={"blockReason": "PROHIBITED_CONTENT"}))
    assert (row.status, row.finish_reason, row.input_tokens) == (Status.FILTERED, "PROHIBITED_CONTENT", 3010)
    row = decoded(said(candidates=None))
    assert (row.status, row.error_code) == (Status.UNREAD, None)
    assert decode_line(b'{"key": "r1", "response": {}}')[0].status is Status.UNREAD


@pytest.mark.parametrize("content", ["Yes.", {"parts": "Yes."}, {"parts": ["Yes."]}])
def test_content_in_another_form_arrived_and_is_not_read(content):
    assert decoded(said(candidates=[{"content": content, "finishReason": "STOP"}])).status is Status.UNREAD


def test_a_response_that_is_the_text_of_one_is_read():
    line = json.dumps({"key": "r1", "response": json.dumps(said())}).encode()
    assert decode_line(line) == [decoded(said())]


@pytest.mark.parametrize("odd", [-1, "12", True, 1.5])
@pytest.mark.parametrize("name", ["promptTokenCount", "candidatesTokenCount", "thoughtsTokenCount"])
def test_a_count_that_is_none_leaves_the_usage_untold(name, odd):
    whole = said()
    row = decoded({**whole, "usageMetadata": {**whole["usageMetadata"], name: odd}})
    assert (row.input_tokens, row.output_tokens) == (None, None)


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        ({"code": 3, "message": "no such value"}, Status.REJECTED, "INVALID_ARGUMENT"),
        ({"code": 400, "message": "no such value", "status": "INVALID_ARGUMENT"}, Status.REJECTED, "INVALID_ARGUMENT"),
        ({"code": "400"}, Status.REJECTED, "INVALID_ARGUMENT"),
        ({"code": 8}, Status.FAILED, "RESOURCE_EXHAUSTED"),
        ({"code": 13}, Status.FAILED, "INTERNAL"),
        ({"code": 503}, Status.FAILED, "UNAVAILABLE"),
        ({"code": 4}, Status.FAILED, "DEADLINE_EXCEEDED"),
        ({"code": 9}, Status.FAILED, "FAILED_PRECONDITION"),
        ({"code": 1}, Status.CANCELLED, "CANCELLED"),
        ({"code": 499}, Status.CANCELLED, "CANCELLED"),
        ({"code": 77}, Status.FAILED, "77"),
        ({"code": 7, "message": "no"}, Status.FAILED, "billing_not_active"),
        ({"code": 3, "message": "API key not valid."}, Status.FAILED, "billing_not_active"),
        ({"code": 8, "message": "exceeded its monthly spending cap"}, Status.FAILED, "billing_hard_limit_reached"),
        ({"code": 8, "message": "Your prepayment credits are depleted."}, Status.FAILED, "insufficient_quota"),
        ({"code": 8, "message": "check your plan and billing details"}, Status.FAILED, "RESOURCE_EXHAUSTED"),
        ("it broke", Status.FAILED, None),
        (None, Status.FAILED, None),
    ],
)
def test_how_a_request_failed(error, status, code):
    row = decoded(error, "error")
    assert (row.status, row.error_code, row.text) == (status, code, None)
    assert row.error_message
    if code and code.islower():
        assert code in ACCOUNT_TROUBLE


def test_half_a_surrogate_pair_does_not_lose_an_answer():
    line = json.dumps({"key": "r1", "response": said(text="ok \ud83d")}).encode()
    assert decode_line(line)[0].text == "ok ?"


@pytest.mark.parametrize(
    "line", [b"", b"[]", b"7", b'{"key":null}', b'{"custom_id":"a","response":{}}', b'{"key":"r1"']
)
def test_a_line_that_names_no_request_cannot_be_read(line):
    with pytest.raises(ValueError):
        decode_line(line)


@given(JSON, st.sampled_from(["response", "error", "candidates", "content", "usageMetadata", "promptFeedback"]))
def test_odd_fields_stop_nothing(odd, where):
    response = said()
    if where == "content":
        response["candidates"][0]["content"] = odd
    elif where not in ("response", "error"):
        response[where] = odd
    entry = {"key": "r1", **({where: odd} if where in ("response", "error") else {"response": response})}
    rows = decode_line(json.dumps(entry).encode())
    assert rows and all(row.request_id == "r1" for row in rows)


@given(st.binary(max_size=60))
def test_any_bytes_are_a_row_or_a_value_error(line):
    with contextlib.suppress(ValueError):
        decode_line(line)


@pytest.mark.parametrize(("code", "word"), [("9" * 5000, "9" * 5000), ("3", "INVALID_ARGUMENT")])
def test_a_code_of_any_length_is_read(code, word):
    (row,) = decode_line(json.dumps({"key": "r", "error": {"code": code}}).encode())
    assert row.error_code == word
