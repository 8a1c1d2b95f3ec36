"""A file is packed by what its lines can have at most: never less than what is then written."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from runner.caching import rules_of
from runner.chain.batching import items_of, texts_of
from runner.chain.build import BODIES
from runner.chain.files import write_frame
from runner.chain.runs import Folders, Workspace
from runner.models import all_models
from runner.providers import connect
from runner.request import Body, Hint, Mark, Message, RequestId

TEXTS = st.text('ab \n"role":\\é😀', max_size=30) | st.text(max_size=40)
MESSAGES = st.lists(
    st.builds(Message, st.sampled_from(["system", "user", "assistant"]), TEXTS), min_size=1, max_size=12
)
MARKS = st.lists(st.integers(0, 60), max_size=4, unique=True).map(
    lambda ends: [Mark(end, "30m") for end in sorted(ends)]
)
MODELS = {
    provider: max((model.id for model in all_models() if model.provider == provider), key=len)
    for provider in {model.provider for model in all_models()}
}


def bodies_of(folder: Path, bodies: list[Body]) -> tuple[Folders, pl.DataFrame]:
    folders = Folders(Workspace(folder), "run")
    columns = {"request_id": [str(n) for n in range(len(bodies))], "body": [body.to_json() for body in bodies]}
    numbers = dict.fromkeys(("tokens", "input_bound", "max_output"), 1)
    frame = pl.DataFrame({**columns, **numbers, "instance": range(len(bodies)), "beginning": None}, schema=BODIES)
    write_frame(folders.bodies(1), frame)
    return folders, frame.drop("body")


@pytest.mark.parametrize("provider", sorted(MODELS))
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=MESSAGES, marks=MARKS)
def test_no_providers_line_is_longer_than_it_was_packed_for(
    tmp_path: Path, provider: str, messages: list[Message], marks: list[Mark]
) -> None:
    model = MODELS[provider]
    body = Body(tuple(messages), 100_000, 0.123, 0.456, n=1)
    rules = rules_of(provider, model)
    hint = Hint(tuple(marks), "k" * 32, only_marked=True) if rules and rules.lifetimes else None
    line = connect(provider, {}, base_url="http://127.0.0.1:9").encode(RequestId("r" * 26), model, body, hint)
    folders, chosen = bodies_of(tmp_path, [body])
    [most] = items_of(folders, 1, chosen, rules).encoded_bytes
    assert len(line) <= most


def test_sizes_and_texts_are_those_of_the_chosen_in_their_order(tmp_path: Path) -> None:
    bodies = [Body((Message("user", "x" * n),), 10) for n in range(0, 5_000, 500)]
    folders, frame = bodies_of(tmp_path, bodies)
    chosen = frame[[7, 3, 5]]
    sizes = items_of(folders, 1, chosen, None).encoded_bytes
    assert [size - sizes[1] for size in sizes] == [2_000, 0, 1_000]
    assert set(texts_of(folders, 1, chosen).collect()["request_id"]) == {"7", "3", "5"}
