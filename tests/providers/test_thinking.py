"""Thoughts are no part of an answer."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runner.providers.thinking import spoken, without_thinking


@pytest.mark.parametrize(
    ("said", "answer"),
    [
        ("yes", "yes"),
        ("<think>\nHm.\n</think>\n\nyes", "yes"),
        ("  <think>Hm.</think>yes", "yes"),
        ("Hm.\n</think>\n\nyes", "yes"),
        ("<think>Hm, and then", ""),
        ("<think></think>", ""),
        ("Use <think> and </think> as marks.", "Use <think> and </think> as marks."),
        ("<think>a</think>b</think>c", "b</think>c"),
        ("", ""),
    ],
)
def test_thoughts_are_no_part_of_the_answer(said, answer):
    assert without_thinking(said) == answer


@given(st.text(), st.text())
def test_whatever_was_thought_the_answer_stays(thought, answer):
    said = f"<think>{thought.replace('<', '')}</think>{answer}"
    assert without_thinking(said) == answer.lstrip()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_odd_content_is_no_text_and_no_error(content):
    assert isinstance(spoken(content), str | None)
