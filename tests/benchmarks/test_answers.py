"""One parser for all models: plain answers are read in any dress, unclear ones are no answer, nothing raises."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.benchmarks.answers import clean_text_answer, parse_integer, parse_word, strip_reasoning

DRESSES = [
    "{}", " {}\n", "{}.", "**{}**", "*{}*", "_{}_", "`{}`", '"{}"', "“{}”", "'{}'", "({})", "> {}", "# {}",
    "```\n{}\n```",
    "```json\n{{\"answer\": \"{}\"}}\n```", '{{"reason": "x 1 negative?", "answer": "{}"}}', "Answer: {}",
    "Answer:\n\n**{}**",
    "**Answer:** {}", "The answer is {}.", "My final answer is: **{}**", "Final answer: {}!", r"\boxed{{{}}}",
    "<answer>{}</answer>", "<think>either positive or negative, 7 or 8</think>\n{}",
    "7, negative, positive</think>{}",
    "<THINKING>no 3</THINKING>{}<think>5</think>", "At first 99, positive or negative.\nFinal answer: {}",
    "I considered 5 or 6, positive and negative. The final answer is {}", "I would say {}.", "Prediction: {}",
]  # fmt: skip
FORMATS = ["{}", "{:+}", "{:,}", "{:_}", "{:.1f}", "{}.", "{:e}"]


@given(
    st.sampled_from(["positive", "negative"]), st.sampled_from(DRESSES), st.sampled_from([str, str.upper, str.title])
)
def test_a_word_survives_every_dress(word: str, dress: str, case) -> None:
    assert parse_word(dress.format(case(word))) == word


@given(st.integers(-(10**9), 10**9), st.sampled_from(DRESSES))
def test_an_integer_survives_every_dress(number: int, dress: str) -> None:
    # "x 1 negative?" in the JSON dress is beside the answer and must not matter.
    assert parse_integer(dress.format(number)) == number


@given(st.integers(-(10**6), 10**6), st.sampled_from(FORMATS))
def test_an_integer_survives_every_format(number: int, form: str) -> None:
    text = form.format(number)
    assert parse_integer(text) == number
    assert parse_integer(text.replace("-", "−")) == number
    assert parse_integer(text.replace(",", " ")) == number
    assert parse_integer(text.replace(",", "\u202f")) == number
    assert parse_integer(text.replace(",", "'")) == number


GARBLED = st.text() | st.text(alphabet="0123456789 .,-−+eEkK_'%\n:/{}\"<>thinkanswer*`x")


@given(GARBLED)
@example("\ud800")
@example('{"answer": "\ud800 positive"}')
@example("9" * 6_000)
@example("1e" + "9" * 50)
@example('{"a":' * 5_000)
def test_no_text_raises(text: str) -> None:
    assert parse_word(text) in (None, "positive", "negative")
    assert isinstance(parse_integer(text), int | None)
    cleaned = clean_text_answer(text)
    assert cleaned is None or (cleaned and cleaned == cleaned.strip() and clean_text_answer(cleaned) == cleaned)


@pytest.mark.parametrize(
    "text",
    [
        "", "   ", "I cannot tell.", "positive or negative", "Answer: positive or negative", "not negative",
        "It isn't positive", "It isn’t positive.", "non-negative", "neither", "far from positive",
        "anything but negative",
        "positively", "<think>positive", "<think>positive</think>", "positive <think>hm",
        "Answer: positive\nAnswer: negative",
        '{"answer": true}', '{"answer": "unknown", "label": "positive"}',
    ],
)  # fmt: skip
def test_unclear_words_are_no_answer(text: str) -> None:
    assert parse_word(text) is None


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("I am not sure, but positive.", "positive"),
        ("The tone is not the point. Negative.", "negative"),
        ("An important reply: positive", "positive"),
        ("Answer: positive? No.\nFinal answer: negative", "negative"),
        ("ｐｏｓｉｔｉｖｅ", "positive"),
        ("positive, positive, POSITIVE", "positive"),
    ],
)
def test_words_that_a_sentence_makes_plain(text: str, word: str) -> None:
    assert parse_word(text) == word


def test_other_words_than_the_usual_two() -> None:
    assert parse_word("No.", ("yes", "no")) == "no"
    assert parse_word("yes and no", ("yes", "no")) is None


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("−12", -12), ("–12", -12), ("− 12", -12), ("minus 12", -12), ("Negative 12.", -12), ("+ 12", 12),
        ("~40 points", 40),
        ("1.2k", 1_200), ("-3K", -3_000), ("1,234.56", 1_235), ("1 234 567", 1_234_567), ("１２", 12), ("1e3", 1_000),
        ("0.5", 0), ("1.5", 2), ("2.5", 2), ("-0.5", 0), ("-1.5", -2), ("-2.5", -2), ("1.234", 1),
        ("123456789012345678901234567890.5", 123456789012345678901234567890), ("1" * 300, int("1" * 300)),
        ("12, I repeat 12", 12), ("user2 gets 7 for gpt-4", 7), ("...12...", 12), ("---\n12", 12),
        ('{"score": -4.5}', -4),
        ("3 replies, 5 users.\nFinal answer: -7", -7), ("Predicted score: 15", 15),
    ],
)  # fmt: skip
def test_numbers_that_are_plain(text: str, number: int) -> None:
    assert parse_integer(text) == number


@pytest.mark.parametrize(
    "text",
    [
        "", "twelve", "nan", "NaN", "inf", "-Infinity", "1e400", "9" * 400, "between 12 and 15", "12-15",
        "12–15", "10/10",
        "12%", "10²", "12,5", "0,123", "1,23,456", "1.234.567", "2024-05-16", "3rd", "±5", "- 12",
        "Score - 12", "—12",
        "2 thousand", "1.2 k", "1.2M", "1 234 56", "a negative score of 12", "Answer: 12 or 15",
        "Answer: 1\nAnswer: 2",
        "<think>12", '{"answer": [1, 2]}', "0x10", "½", "1½",
    ],
)  # fmt: skip
def test_numbers_that_are_unclear(text: str) -> None:
    assert parse_integer(text) is None


@given(st.text(alphabet="abc \n.", min_size=1).filter(lambda text: text.strip()))
def test_a_text_survives_its_wrapping(text: str) -> None:
    plain = text.strip()
    for wrapping in ("{}", " {}\n", '"{}"', "“{}”", "```\n{}\n```", "```text\n{}```", "Reply: {}", "**Reply:** {}",
                     'Reply: "{}"', "<think>what?</think>{}", "```\nReply: {}\n```"):  # fmt: skip
        assert clean_text_answer(wrapping.format(plain)) == plain


@pytest.mark.parametrize(
    "text", ['"Yes" and "no"', "It's a 'tis", "Use `x`, not `y`", "```a``` then ```b```", "Replying: no"]
)
def test_quotes_inside_a_text_stay(text: str) -> None:
    assert clean_text_answer(text) == text


@pytest.mark.parametrize("text", ["", " \n", '""', "``````", "<think>only this</think>", "<think>cut off", "Reply:"])
def test_empty_texts_are_no_answer(text: str) -> None:
    assert clean_text_answer(text) is None


def test_reasoning_is_dropped_however_it_is_tagged() -> None:
    assert strip_reasoning("a<think>b</think>c") == "ac"
    assert strip_reasoning("b</think>c") == "c"
    assert strip_reasoning("<think>a<think>b</think>c</think>d") == "d"
    assert strip_reasoning("a<think>b") is None


@pytest.mark.parametrize(
    "piece",
    ["a", "1", "- ", " ", "```", "<think>", "answer: ", "answer:\n", "{", "'", "not ", "1 234 ", "positive ", "."],
)
def test_long_garbage_takes_no_time(piece: str) -> None:
    text = piece * (20_000 // len(piece))
    before = time.process_time()
    for garbage in (text, "```" + text + "x", "x" + text + "```"):
        parse_word(garbage), parse_integer(garbage), clean_text_answer(garbage)
    assert time.process_time() - before < 2  # a quadratic pattern takes far longer
