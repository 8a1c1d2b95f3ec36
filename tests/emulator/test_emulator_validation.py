"""Every row of the table of refusals: at the call, or as a failed batch that names all its bad lines."""

import json

import openai
import pytest

ENDPOINT = "/v1/chat/completions"
NO_MODEL = {"messages": [{"role": "user", "content": "x"}]}


@pytest.mark.parametrize(
    ("change", "code", "param"),
    [
        ({"endpoint": "/v1/nothing"}, "invalid_value", "endpoint"),
        ({"completion_window": "48h"}, "invalid_value", "completion_window"),
        ({"metadata": {"k": 1}}, "invalid_type", "metadata.k"),
        ({"metadata": "text"}, "invalid_type", "metadata"),
        ({"metadata": {str(k): "v" for k in range(17)}}, "object_too_large", "metadata"),
        ({"metadata": {"k": "v" * 513}}, "string_above_max_length", "metadata.k"),
        ({"metadata": {"k" * 65: "v"}}, "string_above_max_length", "metadata." + "k" * 65),
        ({"input_file_id": None}, "missing_required_parameter", "input_file_id"),
        ({"extra_body": {"surprise": 1}}, "unknown_parameter", "surprise"),
        ({"output_expires_after": {"anchor": "created_at", "seconds": 5}}, "invalid_value", "expires_after"),
    ],
)
def test_a_bad_create_is_refused_and_nothing_is_made(desk, request_line, change, code, param):
    call = {
        "input_file_id": desk.upload([request_line()]).id,
        "endpoint": ENDPOINT,
        "completion_window": "24h",
    }
    before = len(desk.control("jobs")["jobs"])
    with pytest.raises(openai.BadRequestError) as caught:
        desk.client.batches.create(**(call | change))
    assert (caught.value.code, caught.value.param) == (code, param)
    assert caught.value.type == "invalid_request_error"
    assert len(desk.control("jobs")["jobs"]) == before


def without(line, name):
    return {key: value for key, value in line.items() if key != name}


@pytest.mark.parametrize(
    ("bad", "code", "param", "said"),
    [
        (lambda a: b"{broken", "invalid_json_line", None, "This line is not parseable as valid JSON."),
        (lambda a: b"[1]", "invalid_json_line", None, "not parseable"),
        (lambda a: b"", "invalid_json_line", None, "not parseable"),
        (lambda a: without(a, "custom_id"), "missing_required_parameter", "custom_id", "'custom_id'"),
        (lambda a: without(a, "method"), "missing_required_parameter", "method", "'method'"),
        (lambda a: without(a, "url"), "missing_required_parameter", "url", "'url'"),
        (lambda a: without(a, "body"), "missing_required_parameter", "body", "'body'"),
        (lambda a: a | {"custom_id": 7}, "invalid_type", "custom_id", "string"),
        (lambda a: a | {"method": "GET"}, "invalid_method", "method", "POST"),
        (lambda a: a | {"url": "/v1/other"}, "invalid_url", "url", "does not match the batch endpoint"),
        (lambda a: a | {"body": a["body"] | {"stream": True}}, "streaming_unsupported", "body.stream", "Streaming"),
        (lambda a: a | {"body": a["body"] | {"model": "gpt-0"}}, "model_not_found", "body.model", "'gpt-0'"),
        (lambda a: a | {"body": a["body"] | {"model": "gpt-4o"}}, "mismatched_model", "body.model", "gpt-4o"),
        (lambda a: a | {"body": NO_MODEL}, "invalid_request", "body.model", "Model parameter is required."),
        (
            lambda a: a | {"body": {"model": "gpt-4.1-mini"}},
            "invalid_request",
            "body.messages",
            "Messages parameter is required.",
        ),
        (lambda a: a | {"custom_id": "first"}, "duplicate_custom_id", "custom_id", "'first'"),
    ],
)
def test_one_bad_line_fails_the_whole_batch(desk, request_line, bad, code, param, said):
    lines = [request_line("first"), bad(request_line("second")), request_line("third")]
    batch = desk.run(lines)
    assert batch.status == "failed"
    assert batch.failed_at >= batch.created_at
    assert (batch.output_file_id, batch.error_file_id) == (None, None)
    assert [(error.code, error.line, error.param) for error in batch.errors.data] == [(code, 2, param)]
    assert said in batch.errors.data[0].message
    assert batch.id not in {row["job"] for row in desk.bill()["requests"]}


def test_all_bad_lines_are_listed(desk, request_line):
    batch = desk.run([request_line("a"), b"{", request_line("a"), without(request_line("c"), "url"), b"{"])
    assert [(error.line, error.code) for error in batch.errors.data] == [
        (2, "invalid_json_line"),
        (3, "duplicate_custom_id"),
        (4, "missing_required_parameter"),
        (5, "invalid_json_line"),
    ]


def test_an_unknown_input_file_is_found_out_after_the_create(desk):
    batch = desk.client.batches.create(input_file_id="file-none", endpoint=ENDPOINT, completion_window="24h")
    assert batch.status == "validating"
    error = desk.finish(batch).errors.data[0]
    assert (error.code, error.param, error.line) == ("invalid_request", "file_id", None)
    assert error.message.startswith("Cannot find file file-none, or organization")


def test_50_000_requests_are_the_most(open_desk, request_line):
    desk = open_desk(clock="driven")
    parts = json.dumps(request_line("#", "x")).encode().partition(b"#")
    lines = [parts[0] + str(number).encode() + parts[2] + b"\n" for number in range(50_001)]
    too_many, just_right = desk.create(b"".join(lines)), desk.create(b"".join(lines[:-1]))
    desk.advance(30)
    refused = desk.client.batches.retrieve(too_many.id)
    assert (refused.status, refused.errors.data[0].code) == ("failed", "too_many_tasks")
    assert desk.client.batches.retrieve(just_right.id).request_counts.total == 50_000


def test_a_model_is_gone_from_the_day_of_its_retirement(open_desk, request_line):
    desk = open_desk(clock="driven")

    def ends(model, snapshot=None):
        batch = desk.create([request_line(model=model, max_tokens=None)])
        desk.advance(3600)
        batch = desk.client.batches.retrieve(batch.id)
        return batch.status if batch.errors is None else batch.errors.data[0].code

    assert ends("gpt-4.1-nano") == "model_not_found"
    assert ends("o4-mini") == "model_not_found"
    assert ends("gpt-5") == ends("gpt-5-2025-08-07") == ends("gpt-6-sol") == "completed"
    desk.advance(21 * 24 * 3600)  # past 2026-12-11
    assert ends("gpt-5") == "model_not_found"
    assert ends("gpt-5.1") == "completed"


def test_the_queue_of_a_model_is_limited_by_the_tier(open_desk, request_line):
    desk = open_desk(clock="driven", tier=1)
    half = "word " * 50_000  # 50,000 tokens or, where they are counted as bytes / 4, 62,500
    first = desk.create([request_line(content=half, model="gpt-4o")])
    second = desk.create([request_line(content=half, model="gpt-4o")])
    elsewhere = desk.create([request_line(content=half)])
    desk.advance(30)
    failed = desk.client.batches.retrieve(second.id)
    assert desk.client.batches.retrieve(first.id).status == "in_progress"
    assert desk.client.batches.retrieve(elsewhere.id).status == "in_progress"
    assert failed.status == "failed"
    assert failed.errors.data[0].model_dump() == {
        "code": "token_limit_exceeded",
        "line": None,
        "param": None,
        "message": "Enqueued token limit reached for gpt-4o in organization org-emulator. Limit: 90,000 enqueued "
        "tokens. Please try again once some in_progress batches have been completed.",
    }
    desk.advance(3600)
    third = desk.create([request_line(content=half, model="gpt-4o")])
    desk.advance(30)
    assert desk.client.batches.retrieve(third.id).status == "in_progress"


BAD_MESSAGES = {"messages": [{"role": "nobody", "content": "x"}]}


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"model": "gpt-5", "max_tokens": 50}, "max_tokens", "unsupported_parameter"),
        ({"model": "gpt-5", "max_tokens": None, "temperature": 0.0}, "temperature", "unsupported_value"),
        ({"model": "o3", "max_tokens": None, "top_p": 0.5}, "top_p", "unsupported_value"),
        ({"max_tokens": 5, "max_completion_tokens": 5}, "max_tokens", "invalid_parameter_combination"),
        ({"max_tokens": 40_000}, "max_tokens", "invalid_value"),
        ({"max_tokens": 0}, "max_tokens", "integer_below_min_value"),
        ({"max_tokens": "5"}, "max_tokens", "invalid_type"),
        ({"temperature": 2.5}, "temperature", "decimal_out_of_range"),
        ({"n": 0}, "n", "invalid_value"),
        ({"top_k": 5}, "top_k", "unknown_parameter"),
        ({"messages": []}, "messages", "empty_array"),
        (BAD_MESSAGES, "messages[0].role", "invalid_value"),
        ({"messages": [{"role": "user", "content": None}]}, "messages[0].content", "invalid_type"),
        (
            {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "many words " * 80_000}]},
            "messages",
            "context_length_exceeded",
        ),
    ],
)
def test_what_the_endpoint_refuses_is_a_line_of_the_error_file_and_free(desk, request_line, body, param, code):
    good = {key: body[key] for key in ("model",) if key in body}
    batch = desk.run([request_line("good", max_tokens=None, **good), request_line("bad", **body)])
    assert batch.status == "completed"
    assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 1)
    assert set(desk.results(batch.output_file_id)) == {"good"}
    line = desk.results(batch.error_file_id)["bad"]
    assert line["error"] is None
    assert line["response"]["status_code"] == 400
    error = line["response"]["body"]["error"]
    assert (error["type"], error["param"], error["code"]) == ("invalid_request_error", param, code)
    billed = [row["custom_id"] for row in desk.bill()["requests"] if row["job"] == batch.id]
    assert billed == ["good"]


@pytest.mark.parametrize("body", [{"temperature": 1}, {"reasoning_effort": "low"}, {"max_completion_tokens": 9000}])
def test_what_a_reasoning_model_does_accept(desk, request_line, body):
    batch = desk.run([request_line(model="gpt-5", **({"max_tokens": None} | body))])
    assert batch.request_counts.completed == 1
