"""The engine on prompts made by hand: what it answers, from what, and that it answers everything."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.emulator.engine import answer

SIGN = "Is its score positive or negative? Answer with one word: positive or negative."
VALUE = "What is its score? Answer with one integer, positive or negative, and nothing else."
TEXT = "Write only the text of the reply."


def strict(question, scores=(5, -7), message=None, parents=("about cats", "about dogs"), replies=("Meow.", "Woof.")):
    lines = ["<instruction>Read on.</instruction>", "<post>\nA post, positive or negative 99\n</post>"]
    if replies:
        lines.append('<history author="OP">')
        for parent, reply, score in zip(parents, replies, scores or [None] * len(replies), strict=True):
            lines += ["<item>", "<title>A title</title>", f"<parent>{parent}</parent>", f"<reply>{reply}</reply>"]
            lines += [] if score is None else [f"<score>{score}</score>"]
            lines += ["</item>"]
        lines.append("</history>")
    lines.append(f"<message>{message}</message>" if message else "<target>The reply to judge, 42.</target>")
    return "\n".join([*lines, f"<question>{question}</question>"])


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (strict(SIGN), "negative"),
        (strict(SIGN, scores=(-5, 7)), "positive"),
        (strict(SIGN, replies=()), "positive"),
        (strict(VALUE), "-7"),
        (strict(VALUE, scores=(-5, 1234)), "1234"),
        (strict(VALUE, replies=()), "10"),
        (strict(TEXT, None, "I like cats a lot"), "Meow."),
        (strict(TEXT, None, "I like dogs a lot"), "Woof."),
        (strict(TEXT, None, "nothing in common"), "Woof."),
        (strict(TEXT, None, "about", replies=("One\nand two.", "Three.")), "Three."),
    ],
)
def test_strict_prompts(prompt, expected):
    assert answer(prompt, plain=True) == expected


QUARREL = ("That is wrong and a waste of time.", "Stop this nonsense.", "You are a lazy liar.")
PEACE = ("Thank you, this helped.", "Glad you like it.", "What a kind reply.")


def with_thread(prompt, *texts):
    lines = [f"#{number} (to #{number - 1}) user{number + 1}: {text}" for number, text in enumerate(texts, 1)]
    return prompt.replace("<history", "\n".join(["<thread>", *lines, "The reply answers #0.", "</thread>", "<history"]))


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (with_thread(strict(SIGN, scores=(-5, 7)), *QUARREL), "negative"),
        (with_thread(strict(SIGN, scores=(-5, 7)), *PEACE), "positive"),
        (with_thread(strict(SIGN, scores=(-5, 7)), *QUARREL, *PEACE, *PEACE), "positive"),
        (with_thread(strict(SIGN, scores=(-5, 7)), *QUARREL[:2]), "positive"),
        (with_thread(strict(VALUE, scores=(-5, 7)), *QUARREL), "-7"),
        (with_thread(strict(VALUE, scores=(-5, 7)), *PEACE), "7"),
    ],
)
def test_a_quarrel_in_the_thread_makes_scores_negative(prompt, expected):
    assert answer(prompt, plain=True) == expected


def test_what_the_author_said_in_the_thread_is_an_answer_too():
    thread = "<thread>\n#1 (to #0) user2: all about birds\n#2 (to #1) OP: Tweet.\n#3 (to #2) user2: Why?\n</thread>\n"
    prompt = thread + strict(TEXT, None, "I like birds, all about them")
    assert answer(prompt, plain=True) == "Tweet."
    assert answer(prompt.removeprefix(thread), plain=True) in ("Meow.", "Woof.")
    assert answer(thread + strict(TEXT, None, "about dogs"), plain=True) == "Woof."


@pytest.mark.parametrize(
    ("scores", "expected"), [((9, 2, -3, 4), "4"), ((9, -2, -3, 4), "-4"), ((-8, 1), "1"), ((1, -8), "-8")]
)
def test_of_a_longer_history_the_usual_score_counts(scores, expected):
    n = len(scores)
    prompt = strict(VALUE, scores=scores, parents=("parent",) * n, replies=("reply",) * n)
    assert answer(prompt, plain=True) == expected


EXAMPLE = "The post score is 137.\nExample: a reply.\nAnswer: {label}\n\nNow the task: another reply (score hidden).\n"


@pytest.mark.parametrize(
    ("prompt", "expected"),
    [
        (EXAMPLE.format(label="negative") + "Will it be positive or negative? Answer with one word.", "negative"),
        (EXAMPLE.format(label="positive") + "Will it be positive or negative? Answer with one word.", "positive"),
        ("No example. Will it be positive or negative? Answer: positive or negative", "positive"),
        (EXAMPLE.format(label="-25") + "The true score is negative. Predict it. Give an integer only.", "-25"),
        ("No example of 55 things. Predict the exact score, an integer only.", "10"),
        ("Write a reply to this. It rained all day in the whole country!", "Write a reply to this."),
        ("Positive or negative, in one word? I say 7, an integer.\nWrite only the text of the reply.", "Positive or "),
        ("hi", "hi"),
        ("", "I see."),
    ],
)
def test_prompts_without_tags(prompt, expected):
    assert answer(prompt, plain=True).startswith(expected)


def test_form_varies_rarely_and_always_the_same_way():
    prompts = [strict(VALUE, scores=(0, number)) for number in range(4, 1004)]
    answers = [answer(prompt) for prompt in prompts]
    assert answers == [answer(prompt) for prompt in prompts]
    odd = [text for text, number in zip(answers, range(4, 1004), strict=True) if text != str(number)]
    assert 50 < len(odd) < 250
    for text, number in zip(answers, range(4, 1004), strict=True):
        assert re.findall(r"\d+", text) == [str(number)]


def test_choices_differ_now_and_then():
    values = {answer(strict(VALUE), choice=choice, plain=True) for choice in range(10)}
    assert len(values) > 1
    replies = {answer(strict(TEXT, None, "cats"), choice=choice, plain=True) for choice in range(2)}
    assert replies == {"Meow.", "Woof."}


TAGS = [
    "<thread>",
    "</thread>",
    "\n#1 (to #0) OP: ",
    "<history",
    "<history>",
    "</history>",
    "<item>",
    "</item>",
    "<score>",
    "</score>",
    "<question>",
    "positive",
]


@settings(deadline=None)
@given(st.lists(st.sampled_from([*TAGS, "negative", "one word", "integer", "9"]) | st.text(max_size=9)).map("".join))
def test_nothing_makes_it_fail(prompt):
    assert answer(prompt)
    assert answer(prompt, choice=3)
