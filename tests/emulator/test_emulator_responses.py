"""The second endpoint, and how much a model is told to think."""

import openai
import pytest

RESPONSES = "/v1/responses"


def line(custom_id="r", content="Say something.", **body):
    """A request line of /v1/responses; a body parameter that is None is left out."""
    full = {"model": "gpt-5-mini", "input": [{"role": "user", "content": content}], "store": False, **body}
    kept = {key: value for key, value in full.items() if value is not None}
    return {"custom_id": custom_id, "method": "POST", "url": RESPONSES, "body": kept}


def run(desk, lines, endpoint=RESPONSES):
    file_id = desk.upload(lines).id
    batch = desk.client.batches.create(input_file_id=file_id, endpoint=endpoint, completion_window="24h")
    return desk.finish(batch)


def only(desk, batch):
    (row,) = desk.results(batch.output_file_id).values()
    return row["response"]["body"]


def refusal(desk, batch, custom_id="bad"):
    row = desk.results(batch.error_file_id)[custom_id]
    assert (row["response"]["status_code"], row["error"]) == (400, None)
    return row["response"]["body"]["error"]


def billed(desk, batch):
    return [row for row in desk.bill()["requests"] if row["job"] == batch.id]


def test_an_answer_is_a_response_that_the_sdk_reads(desk):
    batch = run(desk, [line(model="gpt-5-pro", reasoning={"effort": "high"}, max_output_tokens=9000)])
    assert (batch.status, batch.endpoint) == ("completed", RESPONSES)
    body = openai.types.responses.Response.model_validate(only(desk, batch))
    assert (body.object, body.status, body.model) == ("response", "completed", "gpt-5-pro-2025-10-06")
    assert body.output_text
    assert body.output[-1].type == "message"
    assert body.reasoning.effort == "high"
    (row,) = billed(desk, batch)
    assert (body.usage.input_tokens, body.usage.output_tokens) == (row["input_tokens"], row["output_tokens"])
    assert body.usage.output_tokens_details.reasoning_tokens == row["reasoning_tokens"]
    assert row["usd"] == pytest.approx((row["input_tokens"] * 15 + row["output_tokens"] * 120) / 2e6)


def test_a_text_is_a_prompt_too(desk):
    body = run(desk, [line(input="Say something.")])
    assert only(desk, body)["output"][-1]["content"][0]["text"]


def test_one_that_was_cut_while_thinking_holds_no_message(desk):
    batch = run(desk, [line(str(n), max_output_tokens=16, reasoning={"effort": "high"}) for n in range(20)])
    bodies = [row["response"]["body"] for row in desk.results(batch.output_file_id).values()]
    cut = [body for body in bodies if body["usage"]["output_tokens_details"]["reasoning_tokens"] == 16]
    assert cut
    for body in cut:
        assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "max_output_tokens"})
        assert [item["type"] for item in body["output"]] == ["reasoning"]


def test_what_the_filter_stopped_is_incomplete(open_desk):
    desk = open_desk(faults=["filtered:1"])
    body = only(desk, run(desk, [line()]))
    assert (body["status"], body["incomplete_details"]) == ("incomplete", {"reason": "content_filter"})


@pytest.mark.parametrize(
    ("body", "param", "code"),
    [
        ({"max_output_tokens": 15}, "max_output_tokens", "integer_below_min_value"),
        ({"max_output_tokens": 200_000}, "max_output_tokens", "invalid_value"),
        ({"max_tokens": 50}, "max_tokens", "unknown_parameter"),
        ({"n": 2}, "n", "unknown_parameter"),
        ({"messages": []}, "messages", "unknown_parameter"),
        ({"temperature": 0.0}, "temperature", "unsupported_value"),
        ({"reasoning": {"effort": "max"}}, "reasoning.effort", "unsupported_value"),
        ({"reasoning": "low"}, "reasoning", "invalid_type"),
        ({"input": []}, "input", "empty_array"),
        ({"input": [{"role": "nobody", "content": "x"}]}, "input[0].role", "invalid_value"),
        ({"input": "many words " * 140_000}, "input", "context_length_exceeded"),
    ],
)
def test_what_the_endpoint_refuses_is_a_line_of_the_error_file_and_free(desk, body, param, code):
    batch = run(desk, [line("good"), line("bad", **body)])
    assert (batch.request_counts.completed, batch.request_counts.failed) == (1, 1)
    assert (refusal(desk, batch)["param"], refusal(desk, batch)["code"]) == (param, code)
    assert [row["custom_id"] for row in billed(desk, batch)] == ["good"]


@pytest.mark.parametrize(
    ("bad", "code", "param"),
    [
        ({"url": "/v1/chat/completions"}, "invalid_url", "url"),
        ({"body": {"model": "gpt-5"}}, "invalid_request", "body.input"),
        ({"body": {"model": "gpt-5", "input": "x", "stream": True}}, "streaming_unsupported", "body.stream"),
    ],
)
def test_a_line_for_the_other_endpoint_fails_the_batch(desk, bad, code, param):
    batch = run(desk, [line() | bad])
    assert [(error.code, error.line, error.param) for error in batch.errors.data] == [(code, 1, param)]


def test_some_models_are_served_there_alone(desk, request_line):
    chat = request_line("bad", model="o3-pro", max_tokens=None)
    batch = run(desk, [chat], "/v1/chat/completions")
    assert refusal(desk, batch)["message"] == (
        "This model is only supported in v1/responses and not in v1/chat/completions."
    )
    assert run(desk, [line(model="o3-pro")]).request_counts.completed == 1


@pytest.mark.parametrize(
    ("model", "effort", "said"),
    [
        ("gpt-4.1", "low", "Unrecognized request argument supplied: reasoning_effort"),
        ("o3", "none", "Supported values are: 'low', 'medium', and 'high'."),
        ("gpt-5", "none", "Supported values are: 'minimal', 'low', 'medium', and 'high'."),
        ("gpt-5.1", "xhigh", "Supported values are: 'none', 'low', 'medium', and 'high'."),
        ("gpt-6-astra", "none", "Supported values are: 'low', 'medium', 'high', 'xhigh', and 'max'."),
        ("gpt-6-luna", ["low"], "Supported values are"),
    ],
)
def test_an_effort_that_a_model_does_not_take_is_refused(desk, request_line, model, effort, said):
    batch = run(
        desk, [request_line("bad", model=model, reasoning_effort=effort, max_tokens=None)], "/v1/chat/completions"
    )
    assert said in refusal(desk, batch)["message"]


def test_more_effort_is_more_thinking_and_none_is_none(desk, request_line):
    def thought(effort, model="gpt-5.6-luna", **body):
        lines = [request_line(str(n), model=model, reasoning_effort=effort, max_tokens=None, **body) for n in range(20)]
        batch = run(desk, lines, "/v1/chat/completions")
        assert batch.request_counts.completed == 20
        return batch.usage.output_tokens_details.reasoning_tokens

    assert thought("none") == 0 < thought("low") < thought(None) < thought("max")
    assert thought(None, "gpt-5.2") == 0 < thought("low", "gpt-5.2")
    assert thought("none", "gpt-5.2", temperature=0.0) == 0


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({"reasoning_effort": "low", "temperature": 0.0, "max_tokens": None}, "temperature"),
        ({"max_tokens": 50}, "max_tokens"),
    ],
)
def test_a_model_that_can_think_refuses_what_does_not_go_with_it(desk, request_line, body, param):
    batch = run(desk, [request_line("bad", model="gpt-5.2", **body)], "/v1/chat/completions")
    assert refusal(desk, batch)["param"] == param


def test_cache_writes_are_told_of_the_models_that_charge_them(desk, request_line):
    def told(model):
        asked = request_line(model=model, content="word " * 3000, max_tokens=None)
        body = only(desk, run(desk, [asked], "/v1/chat/completions"))
        return body["usage"]["prompt_tokens_details"].get("cache_write_tokens")

    assert told("gpt-6-luna") >= 1024
    assert told("gpt-4.1") is None
    usage = only(desk, run(desk, [line(model="gpt-6-luna", content="word " * 3000)]))["usage"]
    assert usage["input_tokens_details"]["cache_write_tokens"] >= 1024


def test_a_rehearsal_signs_itself_at_either_endpoint(desk, request_line):
    assert only(desk, run(desk, [line()]))["system_fingerprint"] == "fp_emulator"
    assert only(desk, run(desk, [request_line()], "/v1/chat/completions"))["system_fingerprint"] == "fp_emulator"
