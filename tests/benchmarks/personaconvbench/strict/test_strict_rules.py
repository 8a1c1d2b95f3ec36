"""Each numbered rule of an instance, in a corpus where only that rule decides."""

from __future__ import annotations

import pytest
from strict_world import (
    DONOR,
    HOST,
    OP,
    TARGET_TEXT,
    bystander,
    comment,
    parent,
    post,
    select,
    taken_by,
    target,
    world,
    written,
)

RULE_1 = "1 reply and parent usable, parent not his own"
RULE_2 = "2 every ancestor earlier"
RULE_3 = "3 the thread shows another's comment"
OWN = "4 at least 3 own history items"
A_DONOR = "4 a donor"
SCORE = "5 |score| of at least 4"
WORDS = "5 a reference of at least 4 words"
OVERLAP = "5 the overlap rule"
USED = "6 a text not used before by its author"


@pytest.mark.parametrize("kind", ["sign", "value", "text"])
def test_the_world_has_one_instance(tmp_path, kind):
    selection = select(world(), tmp_path, kind)
    assert len(selection.frame) == 1
    assert selection.explanation is None
    wanted = {"sign": "positive", "value": "10", "text": TARGET_TEXT}
    assert selection.frame["reference"].to_list() == [wanted[kind]]


OWN_PARENT = parent(comment(OP, "Let me add something to this.", 99.5, target()))
SIGN_CASES = {
    "reply deleted": (world(parent(target("[deleted]")), bystander()), RULE_1),
    "reply empty": (world(parent(target("  ")), bystander()), RULE_1),
    "reply only an edit": (world(parent(target("Edit: thanks all")), bystander()), RULE_1),
    "parent removed": (world(parent(target(), body="[removed]"), bystander()), RULE_1),
    "post without text": (world(target(), bystander(), title="", content=""), RULE_1),
    "parent's clock late": (world(parent(target(), day=100), bystander()), RULE_2),
    "post's clock late": (world(parent(target()), bystander(), day=100), RULE_2),
    "ancestor unreadable": (world({**parent(target()), "timestamp": "yesterday"}, bystander()), RULE_2),
    "reply unreadable": (world(parent({**target(), "timestamp": None}), bystander()), RULE_2),
    "nobody else before": (world(target(), bystander(day=100.5)), RULE_3),
    "a tie is not visible": (world(target(), bystander(day=100)), RULE_3),
    "only a deleted comment": (world(target(), comment("eve_other_5", "[deleted]", 99)), RULE_3),
    "two own items": (world(own=written(OP, [60, 70])), OWN),
    "own items too recent": (world(own=written(OP, [60, 70, 93.1])), OWN),
    "own items in the post": (
        world(parent(target()), comment(OP, "Mine.", 99, score=0), own=written(OP, [60, 70])),
        OWN,
    ),
    "own items repeat": (world(own=written(OP, [60, 70]) + written(OP, [70], host="x")), OWN),
    "own item without score": (
        world(own=[*written(OP, [60, 70]), post(HOST, "t", 79, comment(OP, "no score", 80, score=None))]),
        OWN,
    ),
    "own item's parent removed": (
        world(
            own=[*written(OP, [60, 70]), post(HOST, "t", 79, comment("f", "[removed]", 79.5, comment(OP, "so", 80)))]
        ),
        OWN,
    ),
    "no donor": (world(donors=[]), A_DONOR),
    "score 3": (world(parent(target(score=3)), bystander()), SCORE),
    "score -3": (world(parent(target(score=-3)), bystander()), SCORE),
    "score missing": (world(parent(target(score=None)), bystander()), SCORE),
    "score boolean": (world(parent(target(score=True)), bystander()), SCORE),
    "text used before": (
        world(own=[*written(OP, [60, 70]), post(HOST, "t", 79, comment(OP, TARGET_TEXT.upper() + "!", 79.5))]),
        USED,
    ),
}


@pytest.mark.parametrize(("posts", "rule"), SIGN_CASES.values(), ids=SIGN_CASES)
def test_one_rule_decides(tmp_path, posts, rule):
    selection = select(posts, tmp_path)
    assert taken_by(selection) == rule
    assert rule in (selection.explanation or "")


def test_an_empty_selection_names_the_rule_that_took_most_and_the_option_that_relaxes_it(tmp_path):
    crowd = [one for n in range(8) for one in _one_of_many(n)]
    (tmp_path / "few").mkdir()
    said = select(crowd, tmp_path / "few", min_history=4).explanation or ""
    assert '"4 at least 4 own history items" took most (8 of 8)' in said
    assert "--min-history 1 (now 4)" in said
    assert "--history-lag 0 (now 7)" in said
    (tmp_path / "last").mkdir()
    nearly = select([*crowd, *world(target(score=3))], tmp_path / "last", min_history=4).explanation or ""
    assert '"4 at least 4 own history items" took most' in nearly, "not only the last"


JUST_INSIDE = {
    "parent a second earlier": world(parent(target(), day=100 - 1 / 86400), bystander()),
    "the post answered, another visible": world(target(), bystander(day=99.99)),
    "own item exactly seven days older": world(own=written(OP, [60, 70, 93])),
    "negative score": world(parent(target(score=-4)), bystander()),
    "title alone": world(target(), bystander(), content=""),
    "body alone": world(target(), bystander(), title=""),
    "text used later": world(
        own=[*written(OP, [60, 70, 80]), post(HOST, "t", 110, comment(OP, TARGET_TEXT, 111))],
    ),
    "deleted parent author with a text": world(parent(target(), author="[deleted]"), bystander()),
    "own item that repeats a text of the post itself": world(
        parent(target()), comment(OP, "habit ann_op_1 wrote on 80", 55, score=0), bystander(), day=50
    ),
}


@pytest.mark.parametrize("posts", JUST_INSIDE.values(), ids=JUST_INSIDE)
def test_just_inside_every_rule(tmp_path, posts):
    assert len(select(posts, tmp_path).frame) == 1


@pytest.mark.parametrize("name", ["[deleted]", None, "AutoModerator", "helpful_bot"])
def test_nobody_and_bots_are_no_targets(tmp_path, name):
    own = [{**p, "comments": [{**p["comments"][0], "author": name}]} for p in written(OP, [60, 70, 80])]
    posts = world(parent({**target(), "author": name}), bystander(), own=own, author=name)
    assert taken_by(select(posts, tmp_path)) == "replies by the post's author"


@pytest.mark.parametrize("name", ["[deleted]", None, "AutoModerator", "helpful_bot"])
def test_nobody_and_bots_are_no_donors(tmp_path, name):
    donors = [{**p, "comments": [{**p["comments"][0], "author": name}]} for p in written(DONOR, [61, 71, 81], host="y")]
    assert taken_by(select(world(donors=donors), tmp_path)) == A_DONOR


def test_min_history_and_lag_are_switches(tmp_path):
    posts = world(own=written(OP, [60, 99]), donors=written(DONOR, [61, 98], host="y"))
    assert taken_by(select(posts, tmp_path, min_history=2)) == "4 at least 2 own history items"
    assert len(select(posts, tmp_path, min_history=2, history_lag_days=1).frame) == 1


def test_all_scores_drops_only_the_threshold(tmp_path):
    posts = world(parent(target(score=0)), bystander())
    selection = select(posts, tmp_path, "value", all_scores=True)
    assert selection.frame.select("reference", "label").row(0) == ("0", "zero")
    without = world(parent(target(score=None)), bystander())
    assert taken_by(select(without, tmp_path, "value", all_scores=True)) == "5 a numeric score"


TEXT_CASES = {
    "three words": (world(parent(target("Not so bad")), bystander()), WORDS),
    "three words and a quote": (
        world(parent(target("> quoted words do not count here\n\nNot so bad")), bystander()),
        WORDS,
    ),
    "only the parent is visible": (world(parent(target())), RULE_3),
    "said before by another, whole": (
        world(parent(target()), comment("eve_other_5", f"Well, {TARGET_TEXT.lower()}, you know.", 98.5)),
        OVERLAP,
    ),
    "half of it in the parent": (
        world(
            parent(
                target("one two three four five six seven eight nine ten eleven twelve"),
                body="one two three four five six seven eight nine ten",
            ),
            bystander(),
        ),
        OVERLAP,
    ),
    "a short one of 40 characters, whole": (
        world(
            parent(target("Unquestionably magnificent architecture, gentlemen"), body="Is it?"),
            comment("eve_other_5", "unquestionably magnificent architecture gentlemen!", 98.5),
        ),
        OVERLAP,
    ),
    "in a donor's item": (
        world(donors=[*written(DONOR, [61, 71], host="y"), post("z", "t", 80, comment(DONOR, TARGET_TEXT, 81))]),
        OVERLAP,
    ),
}


@pytest.mark.parametrize(("posts", "rule"), TEXT_CASES.values(), ids=TEXT_CASES)
def test_rules_of_the_text_task(tmp_path, posts, rule):
    assert taken_by(select(posts, tmp_path, "text")) == rule


TEXT_INSIDE = {
    "another's comment besides the parent": world(parent(target()), bystander()),
    "less than half of it in the parent": world(
        parent(
            target("one two three four five six seven eight nine ten eleven twelve"),
            body="one two three four five six seven eight nine",
        ),
        bystander(),
    ),
    "a short phrase that everybody uses": world(
        parent(target("Thank you very much")), comment("eve_other_5", "Thank you very much", 98.5)
    ),
    "said by another after it": world(parent(target()), bystander(), comment("eve_other_5", TARGET_TEXT, 101)),
    "no score at all": world(parent(target(score=None)), bystander()),
}


@pytest.mark.parametrize("posts", TEXT_INSIDE.values(), ids=TEXT_INSIDE)
def test_just_inside_the_rules_of_the_text_task(tmp_path, posts):
    assert len(select(posts, tmp_path, "text").frame) == 1


def test_quotes_are_no_part_of_the_reference(tmp_path):
    posts = world(parent(target(f"> Is the bridge safe for carts?\n\n{TARGET_TEXT}")), bystander())
    assert select(posts, tmp_path, "text").frame["reference"].item() == TARGET_TEXT


def test_a_spoiler_is_no_quote(tmp_path):
    posts = world(parent(target(f">!{TARGET_TEXT}!<\n&gt; a quote")), bystander())
    assert select(posts, tmp_path, "text").frame["reference"].item() == f">!{TARGET_TEXT}!<"


def test_ten_per_author_and_the_same_ten_for_a_seed(tmp_path):
    replies = [parent(target(f"Answer number {n}", day=100 + n / 100), author=f"asker_{n}") for n in range(15)]
    posts = world(*replies)
    first = select(posts, tmp_path, seed=1).frame["instance_id"].to_list()
    assert len(first) == 10
    assert select(posts, tmp_path, seed=1).frame["instance_id"].to_list() == first
    assert set(select(posts, tmp_path, seed=2).frame["instance_id"]) != set(first)


def test_of_two_equal_texts_the_earliest_stays(tmp_path):
    posts = world(parent(target(day=99.5)), parent(target(day=100), author="eve_other_5"))
    frame = select(posts, tmp_path).frame
    assert len(frame) == 1
    assert frame["time"].item().hour == 12


def test_an_answer_to_oneself_is_no_instance(tmp_path):
    posts = world(OWN_PARENT, bystander())
    steps = dict(select(posts, tmp_path).funnel.steps)
    assert steps["replies by the post's author"] == 2
    assert steps[RULE_1] == 1  # the first of them answers another; the target answers himself


def test_duplicate_posts_count_once(tmp_path):
    posts = world()
    assert len(select([posts[0], *posts], tmp_path).frame) == 1


def test_dev_is_a_tenth_of_the_authors_and_never_in_the_report(tmp_path):
    crowd = [p for n in range(250) for p in _one_of_many(n)]
    donors = written(DONOR, [61, 71, 81], host="ivy_host_6")
    report = set(select([*crowd, *donors], tmp_path).frame["user"])
    dev = set(select([*crowd, *donors], tmp_path, dev=True).frame["user"])
    assert not report & dev
    assert len(report | dev) == 250
    assert 10 <= len(dev) <= 45


def test_no_dev_split_below_200_authors(tmp_path):
    selection = select(world(), tmp_path, dev=True)
    assert selection.frame.is_empty()
    assert "200 authors" in (selection.explanation or "")


def _one_of_many(n):
    name = f"author_{n}"
    reply = comment(name, f"Answer of {n} to a question", 100)
    history = [comment(name, f"{n} said {k}", 60 + k) for k in range(3)]
    asked = post(name, f"Question {n}", 98, parent(reply), bystander())
    return [asked, *(post(f"host_{k}", f"Topic {n} {k}", 50, item) for k, item in enumerate(history))]
