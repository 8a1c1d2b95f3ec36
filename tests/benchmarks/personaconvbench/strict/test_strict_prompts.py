"""The prompts: only declared blocks differ, the same block is the same bytes, and a leak stops the build."""

from __future__ import annotations

import re

import numpy as np
import polars as pl
import pytest
from strict_world import (
    DONOR,
    OP,
    bystander,
    comment,
    open_corpus,
    options,
    parent,
    post,
    prompts,
    target,
    world,
    written,
)

from runner.benchmarks.base import Context
from runner.benchmarks.personaconvbench import strict
from runner.benchmarks.personaconvbench.strict.checks import check_bytes, check_identities
from runner.benchmarks.personaconvbench.strict.limits import Switches
from runner.benchmarks.personaconvbench.strict.prompts import blocks, prompt
from runner.benchmarks.personaconvbench.strict.requests import sources_of_instances
from runner.benchmarks.personaconvbench.strict.threads import ready
from runner.errors import RunnerError

ALL = (*strict.SETTINGS, *strict.ARMS)
BLOCK = re.compile(r"<(instruction|post|thread|history|target|message|question)\b.*?</\1>", re.DOTALL)


@pytest.fixture
def opened(tmp_path):
    return open_corpus(world(), tmp_path)


def blocks_of(text):
    found = {match[1]: match[0] for match in BLOCK.finditer(text)}
    assert "\n".join(found.values()) == text
    return found


@pytest.mark.parametrize("kind", ["sign", "value", "text"])
def test_settings_differ_in_their_declared_blocks_only(opened, kind):
    (texts,) = prompts(opened, strict.select(opened, options(), kind), ALL)
    parts = {setting: blocks_of(text) for setting, text in texts.items()}
    item = "message" if kind == "text" else "target"
    for setting, found in parts.items():
        history = [] if setting.startswith("none") else ["history"]
        thread = [] if setting.endswith("nonconv") else ["thread"]
        assert list(found) == ["instruction", "post", *thread, *history, item, "question"]
    for block in ("instruction", "post", "thread", item, "question"):
        assert len({found[block] for found in parts.values() if block in found}) == 1
    assert len({found["history"] for found in parts.values() if "history" in found}) == 2


def test_what_is_asked(opened):
    wanted = {
        ("sign", False): ("Answer with one word: positive or negative.", 16),
        ("value", False): ("Answer with one integer and nothing else.", 16),
        ("value", True): ("Answer with one integer and nothing else.", 16),
        ("text", False): ("Write only the text of the reply.", 400),
    }
    for (kind, all_scores), (question, tokens) in wanted.items():
        selection = strict.select(opened, options(), kind, all_scores=all_scores)
        (request,) = strict.requests(selection.frame, Context(opened, options(settings=("p-conv",)), len, 100_000))
        text = request.body.messages[0].content
        assert text.endswith(f"<question>{question}</question>")
        assert ("4 or more, or -4 or less" in text) is (kind != "text" and not all_scores)
        assert (request.body.max_output_tokens, request.body.temperature, request.body.n) == (tokens, 0.0, 1)


def test_the_text_task_shows_the_message_also_without_thread(opened):
    (texts,) = prompts(opened, strict.select(opened, options(), "text"))
    for text in texts.values():
        assert "<message>Is the bridge safe for carts?</message>" in text


def test_a_reply_to_the_post_has_the_post_as_its_message(tmp_path):
    corpus = open_corpus(world(target(), bystander()), tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "text"))
    assert "<message>The old bridge\n\nAbout The old bridge.</message>" in texts["np-nonconv"]


def test_samples_are_choices_of_one_request(opened):
    frame = strict.select(opened, options(), "text").frame
    chosen = options(settings=("p-conv", "np-conv"))
    several = Context(opened, type(chosen)(chosen.settings, samples=5), len, 100_000)
    found = list(strict.requests(frame, several))
    assert [(r.setting, r.draw, r.body.n, r.body.temperature) for r in found] == [
        ("p-conv", 0, 5, 0.7),
        ("np-conv", 0, 5, 0.7),
    ]


def test_limits_of_post_and_target(tmp_path):
    long = "word " * 1000
    corpus = open_corpus(world(parent(target(long)), bystander(), content=long, title="t" * 301), tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "sign"))
    found = blocks_of(texts["p-conv"])
    title, body = found["post"].removeprefix("<post>").removesuffix("</post>").split("\n\n")
    assert len(title) == 300
    assert 2390 < len(body) <= 2400
    assert 2390 < len(found["target"]) - len("<target></target>") <= 2400


def test_unknown_settings_and_identities_are_explained(opened):
    frame = strict.select(opened, options(), "sign").frame
    with pytest.raises(RunnerError, match="no setting 'conv'"):
        list(strict.requests(frame, Context(opened, options(settings=("conv",)), len, 100_000)))
    lost = frame.with_columns(thread=pl.lit(["0" * 32]))
    with pytest.raises(RunnerError, match="does not have"):
        list(strict.requests(lost, Context(opened, options(), len, 100_000)))


def test_a_window_that_is_too_small_is_refused(opened):
    frame = strict.select(opened, options(), "sign").frame
    texts = prompts(opened, strict.select(opened, options(), "sign"))[0]
    room = max(len(text) for text in texts.values()) + 16
    assert len(list(strict.requests(frame, Context(opened, options(), len, room)))) == 4
    with pytest.raises(RunnerError, match="larger window"):
        list(strict.requests(frame, Context(opened, options(), len, room - 1)))


def test_no_instances_are_no_requests(opened):
    frame = strict.select(opened, options(limit=0), "sign").frame
    assert list(strict.requests(frame, Context(opened, options(), len, 100_000))) == []


# A violation must stop the build: a good instance, broken in one place, by identity.


@pytest.fixture
def leaky(tmp_path):
    to_ann = comment(DONOR, "to ann", 72, score=None)  # no item of the score tasks by itself
    posts = world(
        parent(target(day=100), comment("late_user_7", "after it", 101)),
        bystander(),
        comment(OP, "in the same post", 98.6, score=0),
        own=written(OP, [60, 70, 80, 95], text="own"),
        donors=[
            *written(DONOR, [61, 71, 81], host="ivy_host_6", text="donor"),
            *written("kim_third_8", [62], host="ivy_host_6", text="third"),
            post("hal_host_4", "asked", 70, comment(OP, "ann asks", 71, to_ann, score=None)),
        ],
    )
    return open_corpus(posts, tmp_path)


BREAKS = {
    "later comment": ("thread", "after it", "at or after the reply"),
    "the target": ("thread", "Nobody in our village", "at or after the reply"),
    "comment of another post": ("thread", "own user2 wrote on 60", "another post is in the thread"),
    "own item too recent": ("own_items", "own user2 wrote on 95", "too recent"),
    "own item of the post": ("own_items", "in the same post", "of the same post"),
    "own item of another": ("own_items", "third user2", "not the author's"),
    "donor item of a third": ("donor_items", "third user2", "not one other author"),
    "donor item by the author": ("donor_items", "own user2 wrote on 60", "not one other author"),
    "donor item to the author": ("donor_items", "to ann", "holds a text by the author"),
}


@pytest.mark.parametrize(("column", "text", "problem"), BREAKS.values(), ids=BREAKS)
def test_a_leak_by_identity_stops_the_build(leaky, column, text, problem):
    threads = ready(leaky)
    frame = strict.select(leaky, options(), "sign").frame
    (row,) = (row for row, shown in enumerate(threads.comments.text) if shown.startswith(text))
    kept = frame[column][0].to_list() if column == "thread" else frame[column][0].to_list()[1:]
    broken = frame.with_columns(pl.Series(column, [[*kept, threads.comments.ids[row]]]))
    with pytest.raises(RunnerError, match=problem) as stopped:
        list(strict.requests(broken, Context(leaky, options(), len, 100_000)))
    assert stopped.value.code == "leak"


def test_unequal_histories_stop_the_build(opened):
    frame = strict.select(opened, options(), "sign").frame
    short = frame.with_columns(pl.col("donor_items").list.head(2))
    with pytest.raises(RunnerError, match="differ in number"):
        list(strict.requests(short, Context(opened, options(), len, 100_000)))


BYTES = {
    "a link": ("post", "title", "see https://example.com", "link"),
    "a name": ("thread", "carts", "ben_parent_2", "name 'ben_parent_2'"),
    "the target's text": (
        "item",
        "carts",
        "Nobody in our village ever repaired that old stone bridge properly",
        "can be read",
    ),
    "a score in the thread": ("thread", "carts", "<score>10</score>", "tag that is not its own"),
    "an item too many": ("own", "</history>", "<item>\n</item></history>", "one reply and one score"),
    "a longer thread": ("thread", "carts", "c" * 12_001, "longer than its budget"),
    "a broken tag": ("post", "<post>", "<pots>", "does not stand in its tag"),
}


@pytest.mark.parametrize(("block", "old", "new", "problem"), BYTES.values(), ids=BYTES)
def test_a_leak_in_the_bytes_stops_the_build(opened, block, old, new, problem):
    threads = ready(opened)
    ((sources, _),) = sources_of_instances(threads, strict.select(opened, options(), "text").frame)
    parts = blocks(threads, sources, "text")
    good = {setting: prompt(parts, setting) for setting in ALL}
    check_bytes(threads, sources, parts, good, "text")
    old = old if old in parts[block] else "About"
    parts[block] = parts[block].replace(old, new, 1)
    with pytest.raises(RunnerError, match=problem):
        check_bytes(threads, sources, parts, {setting: prompt(parts, setting) for setting in ALL}, "text")
    with pytest.raises(RunnerError, match="not made of its declared blocks"):
        check_bytes(threads, sources, parts, good, "text")


def test_a_missing_parent_stops_the_build(opened):
    threads = ready(opened)
    ((sources, _),) = sources_of_instances(threads, strict.select(opened, options(), "sign").frame)
    without = type(sources)(sources.row, np.array([], dtype=np.int64), 0, sources.own, sources.donor)
    with pytest.raises(RunnerError, match="parent is missing"):
        check_identities(threads, without, "sign", Switches())
