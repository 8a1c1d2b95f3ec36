"""The life of a batch: states, times, files, lists, cancellation, the shapes of answers."""

import email.utils
import time

import openai
import pytest


def test_each_poll_moves_a_batch_one_state_on(open_desk, request_line):
    desk = open_desk()
    batch = desk.create([request_line(str(number)) for number in range(5)], tag="mine")
    assert batch.status == "validating"
    assert batch.expires_at == batch.created_at + 24 * 3600
    assert (batch.model, batch.metadata, batch.usage.total_tokens) == (None, {"tag": "mine"}, 0)
    seen = [batch.created_at]
    for state, stamp in (
        ("in_progress", "in_progress_at"),
        ("finalizing", "finalizing_at"),
        ("completed", "completed_at"),
    ):
        assert (batch.output_file_id, batch.error_file_id) == (None, None)
        assert getattr(batch, stamp) is None
        batch = desk.client.batches.retrieve(batch.id)
        assert batch.status == state
        seen.append(getattr(batch, stamp))
    assert seen == sorted(set(seen))
    assert batch.output_file_id and batch.error_file_id is None
    assert batch.model == "gpt-4.1-mini"
    assert batch.request_counts.model_dump() == {"total": 5, "completed": 5, "failed": 0}
    assert batch.usage.total_tokens > 0
    assert desk.client.batches.retrieve(batch.id) == batch


def test_progress_can_be_watched(open_desk, request_line):
    desk = open_desk(clock="driven")
    batch = desk.create([request_line(str(number)) for number in range(100)])
    desk.advance(20)
    counts = []
    while (batch := desk.client.batches.retrieve(batch.id)).status == "in_progress":
        counts.append(batch.request_counts.completed)
        desk.advance(30)
    assert len(counts) > 4
    assert counts == sorted(set(counts))
    assert counts[0] >= 0 and counts[-1] < 100


def test_a_result_line_is_a_whole_chat_completion(desk, request_line):
    batch = desk.run([request_line("one", "Name a colour. Any colour will do!", temperature=0.0)])
    line = desk.results(batch.output_file_id)["one"]
    assert set(line) == {"id", "custom_id", "response", "error"}
    assert (line["error"], line["response"]["status_code"]) == (None, 200)
    body = openai.types.chat.ChatCompletion.model_validate(line["response"]["body"])
    assert body.model == "gpt-4.1-mini-2025-04-14"
    assert body.choices[0].finish_reason == "stop"
    assert body.choices[0].message.content == "Name a colour. Any colour will do!"
    assert body.usage.total_tokens == body.usage.prompt_tokens + body.usage.completion_tokens
    assert batch.usage.input_tokens == body.usage.prompt_tokens


def test_an_answer_longer_than_its_limit_is_cut(desk, request_line):
    long = "This sentence has a good many words in it, so that it cannot be said in three tokens."
    new_name = {"max_completion_tokens": 3, "max_tokens": None}
    batch = desk.run([request_line("a", long, max_tokens=3), request_line("b", long, **new_name)])
    for line in desk.results(batch.output_file_id).values():
        choice = line["response"]["body"]["choices"][0]
        assert choice["finish_reason"] == "length"
        assert 0 < len(choice["message"]["content"]) < len(long)
        assert long.startswith(choice["message"]["content"])
        assert line["response"]["body"]["usage"]["completion_tokens"] == 3


def test_n_asks_for_n_choices(desk, request_line):
    text = "The first sentence is this one. The second sentence is that one. A third one comes at the last."
    batch = desk.run([request_line("n", text, n=3, temperature=1.0)])
    body = desk.results(batch.output_file_id)["n"]["response"]["body"]
    assert [choice["index"] for choice in body["choices"]] == [0, 1, 2]
    assert len({choice["message"]["content"] for choice in body["choices"]}) == 3


def test_reasoning_counts_as_output_and_can_eat_the_whole_limit(desk, request_line):
    lines = [request_line(str(k), model="gpt-5", max_tokens=None, max_completion_tokens=100) for k in range(40)]
    bodies = [row["response"]["body"] for row in desk.results(desk.run(lines).output_file_id).values()]
    reasoned = [body["usage"]["completion_tokens_details"]["reasoning_tokens"] for body in bodies]
    assert len(set(reasoned)) > 1
    for body, tokens in zip(bodies, reasoned, strict=True):
        assert tokens <= body["usage"]["completion_tokens"] <= 100
        if tokens == 100:
            assert body["choices"][0]["finish_reason"] == "length"
            assert body["choices"][0]["message"]["content"] == ""
    assert any(tokens == 100 for tokens in reasoned)


def test_the_list_is_newest_first_and_paged(open_desk, request_line):
    desk = open_desk()
    file = desk.upload([request_line()]).id
    call = {"input_file_id": file, "endpoint": "/v1/chat/completions", "completion_window": "24h"}
    ids = [desk.client.batches.create(**call).id for _ in range(45)]
    assert [batch.id for batch in desk.client.batches.list()] == ids[::-1]
    first = desk.client.batches.list(limit=100)
    assert (len(first.data), first.has_more) == (45, False)
    page = desk.client.batches.list(limit=2, after=ids[10])
    assert [batch.id for batch in page.data] == [ids[9], ids[8]]
    raw = desk.client.batches.with_raw_response.list(limit=2).http_response.json()
    assert (raw["first_id"], raw["last_id"], raw["has_more"]) == (ids[44], ids[43], True)
    for limit in (0, 101):
        with pytest.raises(openai.BadRequestError):
            desk.client.batches.list(limit=limit)


def test_a_cancelled_batch_has_both_files_and_keeps_what_was_answered(open_desk, request_line):
    desk = open_desk(clock="driven")
    batch = desk.create([request_line(str(number)) for number in range(200)])
    desk.advance(20 + 90)  # validated, and some of it run
    batch = desk.client.batches.cancel(batch.id)
    assert (batch.status, batch.output_file_id, batch.error_file_id) == ("cancelling", None, None)
    assert desk.client.batches.cancel(batch.id).status == "cancelling"
    desk.advance(600)
    batch = desk.client.batches.retrieve(batch.id)
    assert batch.status == "cancelled"
    assert batch.cancelled_at > batch.cancelling_at
    answered, rest = desk.results(batch.output_file_id), desk.results(batch.error_file_id)
    assert len(answered) == batch.request_counts.completed > 0
    assert len(answered) + len(rest) == 200 and not set(answered) & set(rest)
    assert {row["error"]["code"] for row in rest.values()} == {"batch_cancelled"}
    assert {row["response"] for row in rest.values()} == {None}
    assert {row["custom_id"] for row in desk.bill()["requests"]} == set(answered)
    assert desk.client.batches.cancel(batch.id).status == "cancelled"


def test_a_batch_cancelled_while_validating_has_no_files(open_desk, request_line):
    desk = open_desk()
    batch = desk.create([request_line()])
    assert desk.client.batches.cancel(batch.id).status == "cancelling"
    batch = desk.finish(batch)
    assert (batch.status, batch.output_file_id, batch.error_file_id) == ("cancelled", None, None)
    assert desk.bill()["requests"] == []


def test_what_has_ended_cannot_be_cancelled(desk, request_line):
    for lines in ([request_line()], [b"{}"]):
        batch = desk.run(lines)
        with pytest.raises(openai.ConflictError, match=f"Cannot cancel a batch with status '{batch.status}'"):
            desk.client.batches.cancel(batch.id)


def test_unknown_batches_are_not_found(desk):
    for call in (desk.client.batches.retrieve, desk.client.batches.cancel):
        with pytest.raises(openai.NotFoundError, match="No batch found with id 'batch_x'"):
            call("batch_x")


def test_the_input_file_may_be_deleted_while_the_batch_runs(open_desk, request_line):
    desk = open_desk()
    batch = desk.client.batches.retrieve(desk.create([request_line()]).id)
    desk.client.files.delete(batch.input_file_id)
    assert desk.finish(batch).request_counts.completed == 1


class TestClock:
    def date(self, desk, call):
        return email.utils.parsedate_to_datetime(call().headers["date"]).timestamp()

    def test_every_reply_is_dated_by_the_emulated_clock(self, open_desk):
        desk = open_desk(clock="driven")
        files = desk.client.files.with_raw_response.list
        before = self.date(desk, files)
        time.sleep(1.1)
        assert self.date(desk, files) == before
        desk.advance(3600)
        assert self.date(desk, files) == before + 3600
        with pytest.raises(openai.NotFoundError) as caught:
            desk.client.files.retrieve("none")
        assert caught.value.response.headers.get_list("date") == [email.utils.formatdate(before + 3600, usegmt=True)]

    def test_a_day_passes_in_no_time(self, open_desk, request_line):
        desk = open_desk(clock="driven")
        batch = desk.create([request_line()])
        assert desk.client.batches.retrieve(batch.id).status == "validating"
        desk.advance(24 * 3600)
        batch = desk.client.batches.retrieve(batch.id)
        assert batch.status == "completed"
        assert batch.completed_at < batch.created_at + 3600

    def test_a_page_of_the_list_takes_31_seconds_in_auto(self, open_desk):
        desk = open_desk()
        batches = desk.client.batches.with_raw_response.list
        first = self.date(desk, batches)
        assert 31 <= self.date(desk, batches) - first <= 33

    def test_real_time_waits_for_nobody(self, open_desk, request_line):
        desk = open_desk(clock="real")
        batch = desk.create([request_line()])
        assert [desk.client.batches.retrieve(batch.id).status for _ in range(3)] == ["validating"] * 3
        before = desk.now()
        time.sleep(0.2)
        assert 0.2 <= desk.now() - before < 5
