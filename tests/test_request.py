from dataclasses import replace

import orjson
from hypothesis import given
from hypothesis import strategies as st

from runner.request import Body, Message, Status, request_id

texts = st.text(max_size=60)
bodies = st.builds(
    Body,
    messages=st.lists(st.builds(Message, st.sampled_from(["system", "user", "assistant"]), texts), min_size=1).map(
        tuple
    ),
    max_output_tokens=st.integers(1, 100_000),
    temperature=st.none() | st.floats(0, 2),
    top_p=st.none() | st.floats(0, 1),
    n=st.integers(1, 20),
)


@given(bodies)
def test_a_body_is_read_back_as_it_was(body: Body) -> None:
    assert Body.from_json(body.to_json()) == body


@given(bodies)
def test_the_json_is_sorted_and_says_nothing_that_is_not_sent(body: Body) -> None:
    raw = orjson.loads(body.to_json())
    assert list(raw) == sorted(raw)
    assert None not in raw.values()


@given(bodies, st.sampled_from(["openai", "emulator"]), st.sampled_from(["gpt-4.1", "o3"]), st.integers(0, 5))
def test_an_id_is_legal_everywhere_and_changes_with_each_of_its_parts(
    body: Body, venue: str, model: str, draw: int
) -> None:
    text = body.to_json()
    name = request_id(venue, model, draw, text)
    assert len(name) == 26
    assert set(name) <= set("abcdefghijklmnopqrstuvwxyz234567")
    others = {
        request_id(venue + "x", model, draw, text),
        request_id(venue, model + "x", draw, text),
        request_id(venue, model, draw + 1, text),
        request_id(venue, model, draw, replace(body, n=body.n + 1).to_json()),
    }
    assert name not in others
    assert len(others) == 4


def test_known_id_stays_what_it_was() -> None:
    # Answers that users have paid for are found by this value: a change here is a change of every key.
    body = Body((Message("user", "Hällo\u2028"),), 16)
    assert request_id("openai", "gpt-4.1", 0, body.to_json()) == "awatjo6wj4popxdanjafm3hlcq"
    assert body.to_json() == (
        '{"max_output_tokens":16,"messages":[{"content":"Hällo\u2028","role":"user"}],"n":1,"temperature":0.0}'
    )


def test_only_what_would_be_answered_the_same_again_is_final() -> None:
    assert {status for status in Status if status.is_final} == {
        Status.OK,
        Status.REFUSED,
        Status.FILTERED,
        Status.TRUNCATED,
        Status.REJECTED,
    }
