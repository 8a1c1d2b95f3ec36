"""Own histories and donors: what is in them, in which order, and who the donor is."""

from __future__ import annotations

import re

import pytest
from strict_world import (
    DONOR,
    HOST,
    OP,
    bystander,
    comment,
    open_corpus,
    options,
    parent,
    post,
    prompts,
    select,
    taken_by,
    target,
    world,
    written,
)

from runner.benchmarks.personaconvbench import strict


def histories(posts, folder, kind="sign", **variants):
    """``(own replies, donor replies)`` as printed, and the instance."""
    corpus = open_corpus(posts, folder)
    selection = strict.select(corpus, options(**variants), kind)
    (texts,) = prompts(corpus, selection)
    own, donor = (re.findall(r"<reply>(.*?)</reply>", texts[setting], re.DOTALL) for setting in ("p-conv", "np-conv"))
    return own, donor, selection.frame.to_dicts()[0]


def test_the_eight_most_recent_oldest_first(tmp_path):
    days = [10 + 5 * n for n in range(12)]
    donors = written(DONOR, [day + 1 for day in days], host="ivy_host_6")
    own, donor, row = histories(world(own=written(OP, days), donors=donors), tmp_path)
    assert own == [f"habit user2 wrote on {day}" for day in days[-8:]]
    assert len(donor) == len(own) == row["dose"] == 8
    assert row["own_ages"] == [100.0 - day for day in days[-8:]]
    assert row["newest_own_score"] == 10


def test_of_repeats_the_earliest_stays(tmp_path):
    again = post(HOST, "again", 84, comment(OP, "HABIT ann_op_1, wrote on 60!", 85))
    donors = written(DONOR, [61, 71, 81], host="ivy_host_6")
    own, _, _ = histories(world(own=[*written(OP, [60, 70, 80]), again], donors=donors), tmp_path)
    assert own == [f"habit user2 wrote on {day}" for day in (60, 70, 80)]


def test_items_of_the_post_itself_and_later_ones_do_not_count(tmp_path):
    posts = world(
        parent(target()),
        comment(OP, "Said in the same post.", 98.2, score=0),
        bystander(),
        day=50,
        own=written(OP, [60, 70, 80, 94, 120]),
    )
    own, _, _ = histories(posts, tmp_path)
    assert own == [f"habit user2 wrote on {day}" for day in (60, 70, 80)]


def test_an_item_whose_parent_has_a_later_clock_is_no_item(tmp_path):
    odd = post(HOST, "odd", 79, comment("fay_x_9", "from the future", 120, comment(OP, "impossible", 80)))
    assert taken_by(select(world(own=[*written(OP, [60, 70]), odd]), tmp_path)).startswith("4 at least 3")


def test_an_ancestor_that_is_not_printed_may_have_a_later_clock(tmp_path):
    asked = comment("fay_x_9", "asked in time", 79.5, comment(OP, "answered", 80))
    odd = post(HOST, "odd", 79, comment("gus_y_9", "a clock gone wrong", 120, asked))
    own, _, _ = histories(world(own=[*written(OP, [60, 70]), odd]), tmp_path)
    assert own[-1] == "answered"


def test_limits_of_an_item(tmp_path):
    own = [
        post(
            HOST,
            "t" * 400,
            60 + n,
            comment("f_asker_9", "p" * 900, 60.1 + n, comment(OP, f"{n} " + "r" * 900, 60.2 + n)),
        )
        for n in range(3)
    ]
    corpus = open_corpus(world(own=own), tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "sign"))
    for tag, chars in (("title", 150), ("parent", 320), ("reply", 600)):
        for text in re.findall(rf"<{tag}>(.*?)</{tag}>", texts["p-conv"]):
            assert len(text) == chars
            assert text.endswith("…")


def test_scores_are_printed_in_the_score_tasks_only(tmp_path):
    own = [post(HOST, f"t{n}", 60 + n, comment(OP, f"reply {n}", 60.5 + n, score=n - 5)) for n in range(3)]
    corpus = open_corpus(world(own=own), tmp_path)
    scores = {}
    for kind in ("sign", "value", "text"):
        (texts,) = prompts(corpus, strict.select(corpus, options(), kind))
        scores[kind] = re.findall(r"<score>(.*?)</score>", texts["p-conv"])
    assert scores == {"sign": ["-5", "-4", "-3"], "value": ["-5", "-4", "-3"], "text": []}


def test_an_unscored_item_counts_in_the_text_task_only(tmp_path):
    own = [*written(OP, [60, 70]), post(HOST, "t", 79, comment(OP, "no score here", 80, score=None))]
    assert taken_by(select(world(own=own), tmp_path)).startswith("4 at least 3")
    assert len(select(world(own=own), tmp_path, "text").frame) == 1


NO_DONOR = {
    "wrote in the post": world(parent(target()), bystander(), comment(DONOR, "later, but here", 120)),
    "wrote in the post, deleted since": world(parent(target()), bystander(), comment(DONOR, "[removed]", 99)),
    "wrote a parent in the own items": world(
        own=[
            *written(OP, [60, 70]),
            post(HOST, "t", 79, comment(DONOR, "dan asks", 79.5, comment(OP, "ann answers", 80), score=None)),
        ]
    ),
    "wrote a title in the own items": world(own=[*written(OP, [60, 70]), *written(OP, [80], host=DONOR)]),
    "his items answer the author": world(
        donors=[
            *written(DONOR, [61, 71], host="ivy_host_6"),
            post("ivy_host_6", "t", 79, comment(OP, "ann", 80, comment(DONOR, "answers ann", 81), score=None)),
        ]
    ),
    "his items stand under the author's posts": world(
        donors=[*written(DONOR, [61, 71], host="ivy_host_6"), *written(DONOR, [81], host=OP)]
    ),
    "too few items": world(donors=written(DONOR, [61, 71], host="ivy_host_6")),
    "too recent": world(donors=written(DONOR, [61, 71, 94], host="ivy_host_6")),
}


@pytest.mark.parametrize("posts", NO_DONOR.values(), ids=NO_DONOR)
def test_who_is_no_donor(tmp_path, posts):
    assert taken_by(select(posts, tmp_path)) == "4 a donor"


def test_a_donor_needs_as_many_items_as_the_author_has(tmp_path):
    posts = world(own=written(OP, [50, 60, 70, 80]))
    assert taken_by(select(posts, tmp_path)) == "4 a donor"


def test_only_the_items_that_would_be_printed_must_be_free_of_the_author(tmp_path):
    old = post("ivy_host_6", "t", 39, comment(OP, "ann", 40, comment(DONOR, "answers ann", 41), score=None))
    posts = world(donors=[old, *written(DONOR, [61, 71, 81], host="ivy_host_6")])
    _, donor, _ = histories(posts, tmp_path)
    assert len(donor) == 3
    assert not any("answers ann" in reply for reply in donor)


def level(folder, donors, own=None, **variants):
    row = select(world(own=own, donors=donors), folder, **variants).frame.to_dicts()[0]
    return row["donor_level"], row["donor_scores"]


def scored(name, score, days=(61, 71, 81), **fields):
    made = written(name, list(days), host=f"host_of_{name}", **fields)
    return [{**p, "comments": [{**c, "score": score} for c in p["comments"]]} for p in made]


def test_the_ladder_prefers_the_same_place_then_the_domain_then_anybody(tmp_path):
    url = "https://www.reddit.com/r/Fantasy/comments/{}/x/"
    own = written(OP, [60, 70, 80], url=url.format("a"))
    same = scored("same_1", 1, days=(1, 2, 3), url=url.format("b"))
    domain = scored("domain_1", 2, url="https://www.reddit.com/r/printSF/comments/c/x/")
    other = scored("other_1", 3, __sub__="movies")
    assert level(tmp_path, [*same, *domain, *other], own) == (0, [1, 1, 1])
    assert level(tmp_path, [*domain, *other], own) == (1, [2, 2, 2])
    assert level(tmp_path, other, own) == (2, [3, 3, 3])


def test_without_addresses_the_domain_is_the_place(tmp_path):
    assert level(tmp_path, scored("domain_1", 2)) == (0, [2, 2, 2])


def test_the_role_decides_before_the_domain(tmp_path):
    host = written("host_1", [61, 71, 81], host="host_1")  # replies in own posts
    guest = scored("guest_1", 5, days=(1, 2, 3))
    assert level(tmp_path, [*host, *guest]) == (0, [5, 5, 5])
    assert level(tmp_path, host) == (1, [10, 10, 10])


def test_most_items_decide_where_a_history_comes_from(tmp_path):
    mixed = [*scored("mixed_1", 7, days=(61, 71)), *scored("mixed_1", 7, days=(81,), __sub__="movies")]
    away = [*scored("away_1", 8, days=(61,)), *scored("away_1", 8, days=(71, 82), __sub__="movies")]
    assert level(tmp_path, [*mixed, *away]) == (0, [7, 7, 7])


def test_where_two_places_are_equally_frequent_the_newest_item_decides(tmp_path):
    def two_places(name, days, first, last):
        old, new = list(days[:2]), list(days[2:])
        return [
            *written(name, old, host="ivy_host_6", __sub__=first),
            *written(name, new, host="ivy_host_6", __sub__=last),
        ]

    books = written(OP, [50, 60, 70, 80])
    assert level(tmp_path, two_places("tied_one_1", (51, 61, 71, 81), "movies", "books"), books)[0] == 0
    assert level(tmp_path, two_places("tied_one_1", (51, 61, 71, 81), "books", "movies"), books)[0] == 2
    own = two_places(OP, (50, 60, 70, 80), "movies", "books")
    assert level(tmp_path, written(DONOR, [51, 61, 71, 81], host="ivy_host_6"), own)[0] == 0


def test_the_twenty_nearest_in_time_are_drawn_from(tmp_path):
    crowd = [p for n in range(30) for p in scored(f"donor_{n}", n, days=(1, 2, 79 - n))]
    found = {level(tmp_path, crowd, seed=seed)[1][0] for seed in range(25)}
    assert found <= set(range(20))
    assert len(found) > 5


def test_a_window_ends_at_the_cutoff_of_the_target(tmp_path):
    _, donor, row = histories(world(donors=written(DONOR, [51, 61, 71, 92, 94, 99], host="ivy_host_6")), tmp_path)
    assert donor == [f"habit user2 wrote on {day}" for day in (61, 71, 92)]
    assert row["donor_ages"] == [39.0, 29.0, 8.0]


def test_both_np_settings_have_the_same_donor_and_both_p_settings_the_same_own(tmp_path):
    corpus = open_corpus(world(), tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "text"))
    block = {setting: re.search(r"<history.*</history>", text, re.DOTALL)[0] for setting, text in texts.items()}
    assert block["p-conv"] == block["p-nonconv"] != block["np-conv"] == block["np-nonconv"]


def test_match_length_takes_the_donor_of_equal_length(tmp_path):
    crowd = [
        p for n in range(10) for p in written(f"d_donor_{n}", [61, 71, 81], host="ivy_host_6", text="w" * (40 * n))
    ]
    own = written(OP, [60, 70, 80], text="v" * 200)
    chars = {seed: select(world(own=own, donors=crowd), tmp_path, match_length=True, seed=seed) for seed in range(3)}
    for selection in chars.values():
        row = selection.frame.to_dicts()[0]
        assert abs(sum(row["own_chars"]) - sum(row["donor_chars"])) <= 60


def test_no_dates_and_no_other_scores_anywhere(tmp_path):
    posts = world(parent(target(score=777)), bystander(), score=888)
    posts = [{**p, "score": 999} for p in posts]
    corpus = open_corpus(posts, tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "value"))
    for text in texts.values():
        assert not re.search(r"777|888|999|2020|00:00", text)
