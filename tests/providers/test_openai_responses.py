import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers import dialect
from runner.providers.openai_lines import decode_line, encode_line
from runner.request import Body, Message, RequestId, Response, Status

ID = RequestId("abc234")
ASK = Body((Message("system", "Be brief."), Message("user", "Hi\u2028there 🙂")), 700, effort="high")
USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 32},
    "output_tokens": 30,
    "output_tokens_details": {"reasoning_tokens": 12},
    "total_tokens": 130,
}


def said(text="Yes.", **more):
    return {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}], **more}


def refused(text="I will not."):
    return {"type": "message", "content": [{"type": "refusal", "refusal": text}]}


def line(output, status="completed", code=200, **body):
    whole = {"object": "response", "model": "gpt-5-pro-2025-10-06", "status": status, "output": output, **body}
    return json.dumps({"custom_id": ID, "response": {"status_code": code, "body": whole}, "error": None}).encode()


def only(raw: bytes) -> Response:
    (row,) = decode_line(raw)
    return row


def test_a_model_of_that_endpoint_alone_is_asked_there():
    assert orjson.loads(encode_line(ID, "gpt-5-pro", ASK)) == {
        "custom_id": "abc234",
        "method": "POST",
        "url": "/v1/responses",
        "body": {
            "model": "gpt-5-pro",
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi\u2028there 🙂"},
            ],
            "max_output_tokens": 700,
            "reasoning": {"effort": "high"},
            "store": False,
        },
    }
    assert dialect("openai", "gpt-5-pro", ASK) == "/v1/responses"
    assert dialect("openai", "gpt-5", ASK) == "/v1/chat/completions"


def test_an_effort_is_said_only_when_asked_for_and_only_one_that_the_model_takes():
    assert "reasoning" not in orjson.loads(encode_line(ID, "o3-pro", Body(ASK.messages, 7)))["body"]
    with pytest.raises(RunnerError, match="minimal"):
        encode_line(ID, "gpt-5-pro", Body(ASK.messages, 7, effort="minimal"))


def test_an_answer_in_full():
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "content": []}
    assert only(line([thought, said("Ye"), said("s.\u2028")], usage=USAGE)) == Response(
        ID,
        0,
        Status.OK,
        "Yes.\u2028",
        "completed",
        100,
        64,
        30,
        12,
        cache_write_tokens=32,
        model_version="gpt-5-pro-2025-10-06",
    )


@pytest.mark.parametrize(
    ("output", "status", "reason", "ending", "text"),
    [
        ([said("Ye")], "incomplete", "max_output_tokens", Status.TRUNCATED, "Ye"),
        ([{"type": "reasoning"}], "incomplete", "max_output_tokens", Status.TRUNCATED, ""),
        ([], "incomplete", "content_filter", Status.FILTERED, ""),
        ([said("Ye")], "incomplete", None, Status.TRUNCATED, "Ye"),
        ([said("Ye")], "incomplete", "content_filter", Status.FILTERED, "Ye"),
        ([refused()], "completed", None, Status.REFUSED, "I will not."),
        ([{"type": "reasoning"}], "completed", None, Status.OK, ""),
        ([said("Ye", phase="commentary"), said("Yes.", phase="final_answer")], "completed", None, Status.OK, "Yes."),
        ([said("Yes.", phase="commentary")], "completed", None, Status.OK, "Yes."),
        ([said("Yes.")], None, None, Status.OK, "Yes."),
    ],
)
def test_how_an_answer_ended(output, status, reason, ending, text):
    row = only(line(output, status, incomplete_details=reason and {"reason": reason}))
    assert (row.status, row.text) == (ending, text)


@pytest.mark.parametrize(
    ("raw", "status", "code"),
    [
        (line([], "failed", error={"code": "server_error", "message": "Sorry."}), Status.FAILED, "server_error"),
        (line([said()], "failed", error={"code": "server_error"}), Status.FAILED, "server_error"),
        (line([], "failed", error={"code": "invalid_prompt", "message": "No."}), Status.FILTERED, "invalid_prompt"),
        (line([], "failed"), Status.FAILED, None),
        (line([said()], "cancelled"), Status.FAILED, None),
        (line([], "queued"), Status.UNREAD, None),
        (line([]), Status.UNREAD, None),
        (line([], None, code=400, error={"code": "unknown_parameter"}), Status.REJECTED, "unknown_parameter"),
        (line([said()], code=500), Status.FAILED, "500"),
    ],
)
def test_how_a_request_failed(raw, status, code):
    row = only(raw)
    assert (row.status, row.error_code, row.text, row.choice) == (status, code, None, 0)


def test_what_a_failed_response_used_is_told():
    row = only(line([], "failed", error={"code": "server_error"}, usage=USAGE))
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.cache_write_tokens) == (100, 64, 30, 32)


SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | st.text()
WORD = st.sampled_from(["completed", "incomplete", "failed", "message", "output_text", "refusal", "content_filter"])
KEYS = st.sampled_from(
    "status output type content text refusal phase incomplete_details reason error code message usage input_tokens "
    "input_tokens_details cached_tokens output_tokens choices model".split()
)
ANYTHING = st.recursive(
    SCALAR | WORD,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
PART = st.fixed_dictionaries({"type": WORD | ANYTHING, "text": ANYTHING, "refusal": ANYTHING})
ITEM = st.fixed_dictionaries({"type": st.just("message") | ANYTHING, "content": st.lists(PART) | ANYTHING})


@settings(max_examples=100, deadline=None)
@given(
    st.fixed_dictionaries(
        {"status": WORD | ANYTHING, "output": st.lists(ITEM | ANYTHING) | ANYTHING},
        optional={"incomplete_details": ANYTHING, "error": ANYTHING, "usage": ANYTHING, "model": ANYTHING},
    ),
    st.sampled_from([200, None, 400, 500]),
)
def test_any_body_under_an_id_becomes_a_row_that_fits_the_columns(body, code):
    entry = {"custom_id": ID, "response": {"status_code": code, "body": body}}
    rows = decode_line(json.dumps(entry).encode())
    assert [row.choice for row in rows] == list(range(len(rows))) != []
    for row in rows:
        assert row.request_id == ID
        for tokens in (row.input_tokens, row.cached_tokens, row.output_tokens, row.cache_write_tokens):
            assert tokens is None or 0 <= tokens < 2**63
        for text in (row.text, row.error_code, row.error_message, row.model_version, row.finish_reason):
            assert text is None or text.encode() is not None
