import json

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.providers.openai_lines import decode_line, encode_line
from runner.request import Body, Message, RequestId, Response, Status

ID = RequestId("abc234")
ASK = Body((Message("system", "Be brief."), Message("user", "Hi\u2028there 🙂")), 7)


def sent(model: str, body: Body) -> dict[str, object]:
    return orjson.loads(encode_line(ID, model, body))["body"]


def line(response: object = None, error: object = None) -> bytes:
    return json.dumps({"id": "r", "custom_id": ID, "response": response, "error": error}).encode()


def answer(choices: object, usage: object = None, **body: object) -> bytes:
    return line({"status_code": 200, "body": {"choices": choices, "usage": usage, **body}})


def blocked(is_filtered: bool) -> list[object]:
    return [{"prompt_index": 0, "content_filter_results": {"hate": {"filtered": is_filtered, "severity": "high"}}}]


def only(raw: bytes) -> Response:
    (row,) = decode_line(raw)
    return row


def test_a_request_line_is_what_the_batch_endpoint_documents():
    raw = encode_line(ID, "gpt-4.1-mini", ASK)
    assert raw == encode_line(ID, "gpt-4.1-mini", ASK)
    assert b"\n" not in raw
    assert orjson.loads(raw) == {
        "custom_id": "abc234",
        "method": "POST",
        "url": "/v1/chat/completions",
        "body": {
            "model": "gpt-4.1-mini",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi\u2028there 🙂"},
            ],
            "max_tokens": 7,
            "temperature": 0.0,
        },
    }


def test_a_thinking_model_gets_its_own_limit_and_no_refused_parameter():
    body = sent("gpt-5-mini", Body(ASK.messages, 7, temperature=0.0, top_p=0.5))
    assert body["max_completion_tokens"] == 7
    assert not body.keys() & {"max_tokens", "temperature", "top_p"}


def test_an_effort_is_sent_when_asked_for_and_what_it_forbids_is_not():
    assert "reasoning_effort" not in sent("gpt-5.2", ASK)
    assert sent("gpt-5.2", Body(ASK.messages, 7, effort="none"))["temperature"] == 0.0
    body = sent("gpt-5.2", Body(ASK.messages, 7, effort="low"))
    assert body["reasoning_effort"] == "low"
    assert "temperature" not in body
    with pytest.raises(RunnerError, match="takes none"):
        sent("gpt-4.1", Body(ASK.messages, 7, effort="low"))


def test_sampling_parameters_are_sent_only_where_they_say_something():
    assert sent("gpt-4.1", Body(ASK.messages, 7, temperature=None)).keys() == {"model", "messages", "max_tokens"}
    body = sent("gpt-4.1", Body(ASK.messages, 7, temperature=0.7, top_p=0.9, n=3))
    assert (body["temperature"], body["top_p"], body["n"]) == (0.7, 0.9, 3)


def test_the_name_of_a_self_hosted_model_may_contain_a_slash():
    assert sent("meta-llama/Llama-3.1-8B", ASK)["model"] == "meta-llama/Llama-3.1-8B"


def test_tokens_stand_on_choice_0_whatever_the_order():
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 30,
        "prompt_tokens_details": {"cached_tokens": 64},
        "completion_tokens_details": {"reasoning_tokens": 12},
    }
    choices = [
        {"index": 1, "message": {"content": "b"}, "finish_reason": "stop"},
        {"index": 0, "message": {"content": "a\u2028a"}, "finish_reason": "length"},
    ]
    first, second = decode_line(answer(choices, usage, model="gpt-4.1-2025-04-14", system_fingerprint="fp_1"))
    assert first == Response(
        ID, 0, Status.TRUNCATED, "a\u2028a", "length", 100, 64, 30, 12, model_version="gpt-4.1-2025-04-14 fp_1"
    )
    assert second == Response(ID, 1, Status.OK, "b", "stop", 0, 0, 0, 0, 0, model_version="gpt-4.1-2025-04-14 fp_1")


def test_what_was_written_to_the_cache_is_told_where_it_is_told():
    def written(details):
        usage = {"prompt_tokens": 9, "prompt_tokens_details": details}
        return only(answer([{"message": {"content": "a"}}], usage)).cache_write_tokens

    assert written({"cached_tokens": 0, "cache_write_tokens": 7}) == 7
    assert written({"cached_tokens": 0}) is None


def test_missing_usage_is_unknown_and_not_zero():
    row = only(answer([{"message": {"content": "a"}, "finish_reason": "stop"}]))
    assert (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens) == (None,) * 4
    assert row.status is Status.OK


@pytest.mark.parametrize(
    ("message", "reason", "status", "text"),
    [
        ({"content": None, "refusal": "I will not."}, "stop", Status.REFUSED, "I will not."),
        ({"content": "fine", "refusal": ""}, "stop", Status.OK, "fine"),
        ({"content": "par"}, "content_filter", Status.FILTERED, "par"),
        ({"content": ""}, "length", Status.TRUNCATED, ""),
        ({"content": None}, "stop", Status.OK, ""),
    ],
)
def test_how_an_answer_ended(message, reason, status, text):
    row = only(answer([{"index": 0, "message": message, "finish_reason": reason}]))
    assert (row.status, row.text, row.finish_reason) == (status, text, reason)


SPENT = {"error": {"code": "organization_spend_limit_exceeded", "type": "insufficient_quota"}}
OPENAI_ERROR = {"error": {"message": "Too long.", "type": "invalid_request_error", "code": "too_long"}}


@pytest.mark.parametrize(
    ("raw", "status", "code", "message"),
    [
        (line({"status_code": 400, "body": OPENAI_ERROR}), Status.REJECTED, "too_long", "Too long."),
        (line({"status_code": 429, "body": OPENAI_ERROR}), Status.FAILED, "too_long", "Too long."),
        (line({"status_code": 429, "body": SPENT}), Status.FAILED, "insufficient_quota", None),
        (line({"status_code": 408, "body": None}), Status.FAILED, "408", None),
        (line({"status_code": 409, "body": None}), Status.FAILED, "409", None),
        (line({"status_code": 401, "body": None}), Status.FAILED, "401", None),
        (line({"status_code": 503, "body": {}}), Status.FAILED, "503", None),
        (line({"status_code": 0, "body": None}), Status.FAILED, "0", None),
        (line(None, {"code": "batch_expired", "message": "Too late."}), Status.EXPIRED, "batch_expired", "Too late."),
        (line(None, {"code": "batch_cancelled"}), Status.CANCELLED, "batch_cancelled", None),
        (line(None, {"code": "odd", "message": "Hm."}), Status.FAILED, "odd", "Hm."),
        # vllm run-batch: the body is null and the error stands outside, as a string or an object
        (line({"status_code": 400, "body": None}, "Bad prompt"), Status.REJECTED, "400", "Bad prompt"),
        (
            line({"status_code": 400, "body": None}, {"object": "error", "message": "Bad", "code": 400}),
            Status.REJECTED,
            "400",
            "Bad",
        ),
        (
            line({"status_code": 400, "body": {"error": {"code": "billing_hard_limit_reached"}}}),
            Status.FAILED,
            "billing_hard_limit_reached",
            None,
        ),
    ],
)
def test_how_a_request_failed(raw, status, code, message):
    row = only(raw)
    assert (row.status, row.error_code, row.text, row.choice) == (status, code, None, 0)
    assert row.error_message == message if message else row.error_message


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (None, None),
        ("positive", None),
        ({"choices": []}, None),
        ({"choices": [], "prompt_filter_results": blocked(False)}, None),
        ({"choices": [], "prompt_filter_results": blocked(True)}, "content_filter"),
        ({"choices": [], "promptFeedback": {"blockReason": "SAFETY"}}, "SAFETY"),
        ({"choices": [], "finish_reason": "safety"}, "safety"),
        ({"choices": [None]}, None),
        ({"choices": [{"text": "positive", "finish_reason": "stop"}]}, None),
        ({"choices": [{"message": {"content": {"text": "positive"}}, "finish_reason": "stop"}]}, None),
        ({"answer": "positive"}, None),
    ],
)  # fmt: skip
def test_a_reply_that_arrived_is_never_bought_again(body, reason):
    row = only(line({"status_code": 200, "body": body}))
    assert (row.status, row.finish_reason) == (
        Status.FILTERED if reason else Status.UNREAD,
        reason or row.finish_reason,
    )
    assert row.error_code is None


def test_an_envelope_that_nobody_knows_is_not_read_and_one_that_is_empty_has_failed():
    assert only(b'{"custom_id": "abc234", "output": {"text": "positive"}}').status is Status.UNREAD
    assert only(b'{"id": "r", "custom_id": "abc234", "response": null, "error": null}').status is Status.FAILED


def test_a_body_that_is_the_text_of_one_is_read():
    raw = answer([{"message": {"content": "Yes."}, "finish_reason": "stop"}], {"prompt_tokens": 9})
    whole = json.loads(raw)
    whole["response"]["body"] = json.dumps(whole["response"]["body"])
    assert only(json.dumps(whole).encode()) == only(raw)
    assert only(raw).text == "Yes."


def test_half_a_surrogate_pair_does_not_lose_a_paid_answer():
    raw = answer([{"message": {"content": "cut \ud83d"}, "finish_reason": "length"}])
    row = only(raw)
    assert row.text is not None
    assert row.text.startswith("cut ")
    row.text.encode()


@pytest.mark.parametrize(
    "raw",
    [b"", b"{", b"[]", b"null", b"{}", b'{"custom_id": ""}', b'{"custom_id": 7}', b"\xff", b'"\\ud83d', b"[" * 5000],
)
def test_a_line_that_is_nobodys_is_a_value_error(raw):
    with pytest.raises(ValueError):
        decode_line(raw)


@given(st.binary())
def test_any_bytes_give_rows_or_a_value_error(raw):
    try:
        decode_line(raw)
    except ValueError:
        return


KEYS = st.sampled_from(["custom_id", "content", "refusal", "message", "index", "error", "code", "prompt_tokens"])
TEXTS = st.text(st.characters(exclude_categories=()))  # half surrogate pairs too
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_infinity=False) | TEXTS | st.just("batch_expired"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=20,
)


@settings(max_examples=150)
@given(
    st.fixed_dictionaries(
        {
            "response": ANYTHING
            | st.fixed_dictionaries(
                {
                    "status_code": st.sampled_from([200, 400, 500, None]) | ANYTHING,
                    "body": ANYTHING
                    | st.fixed_dictionaries({"choices": st.lists(ANYTHING), "usage": ANYTHING, "model": ANYTHING}),
                }
            ),
            "error": ANYTHING,
        }
    )
)
def test_any_object_with_an_id_becomes_rows_that_fit_the_columns(entry):
    rows = decode_line(json.dumps({"custom_id": ID, **entry}).encode())
    assert [row.choice for row in rows] == list(range(len(rows))) != []
    for row in rows:
        assert row.request_id == ID
        for tokens in (row.input_tokens, row.cached_tokens, row.output_tokens, row.reasoning_tokens):
            assert tokens is None or 0 <= tokens < 2**63
        for text in (row.text, row.error_code, row.error_message, row.model_version, row.finish_reason):
            assert text is None or text.encode() is not None
