"""Whole corpora: the sample, both forms of a file, other processes, random small ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from random import Random

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from strict_world import bystander, comment, open_corpus, options, parent, post, prompts, target, world, written

from runner.benchmarks.base import Context
from runner.benchmarks.personaconvbench import strict
from runner.benchmarks.personaconvbench.sample import write_sample
from runner.benchmarks.personaconvbench.strict.threads import ready

KINDS = ("sign", "value", "text")


@pytest.fixture(scope="module")
def sample_posts(tmp_path_factory):
    return json.loads(write_sample(tmp_path_factory.mktemp("sample") / "s.json", posts=160, seed=3).read_text())


@pytest.fixture(scope="module")
def sampled(sample_posts, tmp_path_factory):
    return open_corpus(sample_posts, tmp_path_factory.mktemp("opened"))


@pytest.mark.parametrize("kind", KINDS)
def test_every_larger_sample_contains_every_smaller_one(sampled, kind):
    whole = strict.select(sampled, options(), kind).frame["instance_id"].to_list()
    hundred = strict.select(sampled, options(100), kind).frame
    fifty = strict.select(sampled, options(50), kind).frame
    assert len(whole) > 120
    assert hundred["instance_id"].to_list() == whole[:100]
    assert fifty["instance_id"].to_list() == whole[:50]
    assert fifty["none_arm"].to_list() == hundred["none_arm"].to_list()[:50]
    if kind != "text":
        assert (hundred["label"] == "negative").sum() == pytest.approx(30, abs=2)
    assert hundred["weight"].mean() == pytest.approx(1)


def test_score_sign_and_score_value_are_one_sample(sampled):
    sign, value = (strict.select(sampled, options(80), kind).frame for kind in ("sign", "value"))
    assert sign["instance_id"].to_list() == value["instance_id"].to_list()
    assert sign["own_items"].to_list() == value["own_items"].to_list()
    assert [("negative" if int(r) < 0 else "positive") for r in value["reference"]] == sign["reference"].to_list()


@pytest.mark.parametrize("kind", KINDS)
def test_both_forms_and_any_order_of_the_file_give_the_same_prompts(sampled, sample_posts, tmp_path, kind):
    shuffled = sample_posts[:]
    Random(1).shuffle(shuffled)
    processed = defaultdict(list)
    for made in shuffled:
        processed[made.get("author") or "null"].append(made)
    other = open_corpus(processed, tmp_path)
    first, second = (strict.select(corpus, options(30), kind) for corpus in (sampled, other))
    assert first.frame.equals(second.frame)
    assert first.funnel == second.funnel
    assert prompts(sampled, first) == prompts(other, second)


SCRIPT = """
import hashlib, sys
from pathlib import Path
from runner.benchmarks.base import Context, Options
from runner.benchmarks.personaconvbench import strict
from runner.benchmarks.personaconvbench.corpus import PersonaCorpus
corpus = PersonaCorpus(Path(sys.argv[1]), "x")
for kind in ("sign", "text"):
    options = Options(strict.SETTINGS, limit=20)
    selection = strict.select(corpus, options, kind)
    bodies = [r.body.to_json() for r in strict.requests(selection.frame, Context(corpus, options, len, 100_000))]
    print(hashlib.sha256("".join([selection.frame.write_ndjson(), *bodies]).encode()).hexdigest())
"""


def test_another_process_gives_the_same_bytes(sampled):
    root = Path(strict.__file__).parents[4]
    outputs = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(root), "POLARS_MAX_THREADS": seed}
        command = [sys.executable, "-c", SCRIPT, str(sampled.folder)]
        outputs.add(subprocess.run(command, env=environment, capture_output=True, check=True).stdout)
    assert len(outputs) == 1
    assert len(outputs.pop().split()) == 2


def test_the_optional_arms_are_every_fourth_instance(sampled):
    frame = strict.select(sampled, options(20), "sign").frame
    both = Context(sampled, options(settings=("p-conv", "none-nonconv")), len, 100_000)
    found = [(r.instance_id, r.setting) for r in strict.requests(frame, both)]
    order = frame["instance_id"].to_list()
    assert [i for i, setting in found if setting == "none-nonconv"] == order[::4]
    assert [i for i, setting in found if setting == "p-conv"] == order
    assert found[:2] == [(order[0], "p-conv"), (order[0], "none-nonconv")]


def test_the_funnel_says_what_a_reader_must_know(sampled):
    selection = strict.select(sampled, options(100), "sign")
    left = [n for _, n in selection.funnel.steps]
    assert left == sorted(left, reverse=True)
    notes, frame = selection.funnel.notes, selection.frame
    assert notes["instances"] == 100
    assert notes["authors"] == frame["user"].n_unique()
    per_author = frame["user"].value_counts()["count"].to_list()
    assert notes["effective authors"] == pytest.approx(100**2 / sum(n * n for n in per_author), abs=0.05)
    assert notes["negatives"] == (frame["label"] == "negative").sum()
    assert sum(notes[f"donor level {level}"] for level in range(3)) == pytest.approx(1, abs=1e-3)
    weights = frame["weight"]
    assert notes["weights' effective n"] == pytest.approx(weights.sum() ** 2 / (weights**2).sum(), abs=0.05)


def test_what_the_floors_need(sampled):
    frame = strict.select(sampled, options(), "value").frame
    rows = frame.to_dicts()
    for row in rows[:60]:
        others = [r for r in rows if r["domain"] == row["domain"] and r["user"] != row["user"]]
        scores = sorted(r["score"] for r in others)
        middle = len(scores) // 2
        median = scores[middle] if len(scores) % 2 else (scores[middle - 1] + scores[middle]) / 2
        assert row["domain_median_score"] == median
        assert row["domain_median_abs_score"] >= 4
        assert row["newest_own_score"] == row["own_scores"][-1]
        assert row["newest_donor_score"] == row["donor_scores"][-1]
        assert row["prior_positive_rate"] == sum(s > 0 for s in row["own_scores"]) / row["dose"]
        assert min(row["own_scores"]) <= row["prior_median_score"] <= max(row["own_scores"])


def test_texts_to_rank_against_are_real_and_in_no_prompt(sampled):
    selection = strict.select(sampled, options(), "text")
    threads = ready(sampled)
    for row, texts in zip(selection.frame.to_dicts(), prompts(sampled, selection), strict=True):
        assert len(set(row["stranger_replies"])) >= 8  # by 9 authors, who may say the same
        assert len(row["own_elsewhere"]) <= 9
        both = texts["p-conv"] + texts["np-conv"]
        assert row["reference"] not in row["stranger_replies"] + row["own_elsewhere"]
        printed = set(re.findall(r"<reply>(.*?)</reply>", both, re.DOTALL))
        ranked = row["stranger_replies"] + row["own_elsewhere"]
        assert not printed & {text for text in ranked if len(text) > 60}
        assert row["newest_own_reply"].removesuffix("…") in texts["p-nonconv"]
        assert row["similar_donor_reply"].removesuffix("…") in texts["np-nonconv"]
        assert f"<message>{row['parent_text']}</message>" in texts["np-conv"]
    assert len(threads) > 1000


def test_an_author_alone_in_his_domain_falls_back_to_the_others(tmp_path):
    zoe = "zoe_alone_9"
    reply = {**target("Somebody should paint the mill"), "author": zoe}
    second = world(parent(reply), bystander(), author=zoe, own=[], donors=[], __sub__="art")
    own = written(zoe, [60, 70, 80], host="ivy_host_6", __sub__="art")
    first = world(parent(target(score=-40)), bystander())
    frame = strict.select(open_corpus([*first, *second, *own], tmp_path), options(), "value").frame
    found = dict(zip(frame["domain"], frame["domain_median_abs_score"], strict=True))
    assert found == {"books": 10.0, "art": 40.0}  # each from the other


NAMES = tuple(f"{name}_writer_{n}" for n, name in enumerate(("ann", "bob", "cy", "dee", "eve", "fay", "gus", "hal")))


@st.composite
def corpora(draw):
    """Short posts by a few busy people with odd clocks; every text is unique."""
    rng = Random(draw(st.integers(0, 10**6)))
    number = iter(range(10**6))

    def node(people, depth, day):
        words = " ".join(f"w{next(number)}x" for _ in range(rng.choice([5, 9, 14])))
        naming = f"{words} u/{rng.choice(NAMES)} {rng.choice(NAMES)}"
        body = rng.choice([words, words, words, naming, "[removed]", f"> {words}\n\n{words} more"])
        when = day + rng.choice([0, 0.1, 0.1, 0.2, 0.5, -0.2])
        replies = [node(people, depth + 1, when) for _ in range(rng.choice([0, 1, 2]) if depth < 3 else 0)]
        return comment(rng.choice(people), body, when, *replies, score=rng.choice([None, -9, -4, 4, 5, 12]))

    posts = []
    for n in range(40):
        day = 12 * rng.randrange(12)
        people = [*rng.sample(NAMES, 2), "odd_extra_55", rng.choice(["[deleted]", None])]
        made = [node(people, 0, day + 0.1) for _ in range(1 + rng.randrange(3))]
        title = f"title {n} by {rng.choice(NAMES)}"
        posts.append(post(people[0], title, day, *made, __sub__=rng.choice(["a", "b"])))
    return posts


@pytest.mark.parametrize("kind", ["sign", "text"])
@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(posts=corpora())
def test_nothing_hidden_is_in_any_prompt_of_any_small_corpus(tmp_path, kind, posts):
    corpus = open_corpus(posts, tmp_path)
    threads = ready(corpus)
    ids = threads.comments.ids.to_list()
    first_words = [text.removeprefix("> ").split(" ")[0] for text in threads.comments.text]
    selection = strict.select(corpus, options(min_history=1), kind)
    assume(len(selection.frame) >= 5)
    context = Context(corpus, options(settings=(*strict.SETTINGS, *strict.ARMS), min_history=1), len, 100_000)
    for request in strict.requests(selection.frame, context):
        text = request.body.messages[0].content
        words = set(re.findall(r"w\d+x", text))
        row = ids.index(request.instance_id)
        time = threads.comments.time[row]
        assert not [name for name in (*NAMES, "odd_extra_55") if name in text]
        hidden = {first_words[other] for other in range(len(ids)) if threads.comments.time[other] >= time}
        if kind == "sign":  # the target itself is shown, and hides nothing but its score
            hidden.discard(first_words[row])
        assert not words & hidden
