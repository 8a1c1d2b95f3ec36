"""Tasks 3.1 and 3.2: which reply of which post, in which order, with which example."""

from pathlib import Path

import pytest
from paper_corpora import Json, at, comment, opened, post, selected


def thread(*, target: int = -9, example: object = 6, **other: object) -> Json:
    """A post that passes: four people, three replies by its author, the newest one the most extreme."""
    return post(
        comment("ann", "Question one", 3, 10, comment("op", "Reply one", 1, 20)),
        comment("bob", "Question two", 3, 11, comment("op", "Reply two", example, 21)),
        comment("cat", "Question three", 3, 12, comment("op", "Reply three", target, 22)),
        **other,
    )


def targets(tmp_path: Path, posts: list[Json], kind: str = "sign") -> list[tuple[str, str, str]]:
    frame = selected(opened(tmp_path, posts), kind).frame
    return frame.select("target", "reference", "few_shot").rows()


def test_the_most_extreme_reply_of_a_post_is_its_target(tmp_path: Path) -> None:
    corpus = opened(tmp_path, [thread()])
    for kind, label, shown in (("sign", "negative", "positive"), ("value", "-9", "6")):
        (row,) = selected(corpus, kind).frame.iter_rows(named=True)
        assert (row["target"], row["reference"], row["example"]) == ("u1p1-c5-c6", label, shown)
        assert (row["domain"], row["score"], row["few_shot"]) == ("books", -9.0, "dynamic")
        assert row["time"].isoformat() == "2022-03-04T00:22:00+00:00"


def with_reply_three(**changes: object) -> Json:
    made = thread()
    made["comments"][2]["replies"][0] |= changes
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(thread(author="ann"), [], id="a post whose author replied too little"),
        pytest.param(thread(target=-4, example=3), ["u1p1-c5-c6"], id="|score| 4 is enough"),
        pytest.param(thread(target=-3, example=3), [], id="|score| 3 is not"),
        pytest.param(with_reply_three(score="-9"), ["u1p1-c3-c4"], id="a numeric string is no score"),
        pytest.param(with_reply_three(score=None), ["u1p1-c3-c4"], id="null is no score"),
        pytest.param(with_reply_three(body="[Removed]"), [], id="a deleted reply is not usable, in any case"),
        pytest.param(with_reply_three(timestamp="soon"), ["u1p1-c3-c4"], id="an unreadable time is no candidate"),
        pytest.param(with_reply_three(timestamp=1646352000), ["u1p1-c3-c4"], id="an epoch is no candidate"),
        pytest.param(with_reply_three(timestamp="2022-03-04T09:00:00.5Z"), ["u1p1-c5-c6"], id="ISO with Z"),
        pytest.param(with_reply_three(author="OP"), [], id="names are compared as they are"),
    ],
)
def test_rules_of_a_candidate(tmp_path: Path, made: Json, expected: list[str]) -> None:
    assert [target for target, _, _ in targets(tmp_path, [made])] == expected


def test_a_bool_is_a_score_of_one(tmp_path: Path) -> None:
    # True is a candidate with |score| 1: third of three, so never shown, and False keeps |score| 0.
    assert targets(tmp_path, [thread(example=True)])[0][2] == "dynamic"
    made = thread(example=False)
    made["comments"][0]["replies"][0]["score"] = 0
    (tmp_path / "b").mkdir()
    corpus = opened(tmp_path / "b", [made])
    assert selected(corpus, "sign").frame["few_shot"].to_list() == ["default"]  # the second has score 0
    assert selected(corpus, "value").frame.select("few_shot", "example").rows() == [("dynamic", "0")]


def test_one_candidate_alone_takes_the_default_example(tmp_path: Path) -> None:
    made = thread(example=None)
    made["comments"][0]["replies"][0]["score"] = "1"
    corpus = opened(tmp_path, [made])
    assert selected(corpus, "sign").frame.select("few_shot", "example").rows() == [("default", "positive")]
    assert selected(corpus, "value").frame.select("few_shot", "example").rows() == [("default", "25")]


def test_participants_are_names_and_deleted_users_are_one_of_them(tmp_path: Path) -> None:
    three = thread()
    three["comments"][2]["author"] = "bob"
    assert targets(tmp_path, [three]) == []
    three["comments"].append(comment("[deleted]", "[deleted]"))
    (tmp_path / "b").mkdir()
    assert len(targets(tmp_path / "b", [three])) == 1
    nameless = thread()
    nameless["comments"][2]["author"] = ""
    nameless["comments"].append(comment(None, "text"))
    (tmp_path / "c").mkdir()
    assert targets(tmp_path / "c", [nameless]) == []


def test_a_reply_needs_a_usable_parent_and_a_post_is_one_by_its_content(tmp_path: Path) -> None:
    made = thread()
    made["comments"].append(comment("op", "Said to all", -50, 30))
    assert targets(tmp_path, [made])[0][0] == "u1p1-c7"
    made["content"] = ""
    (tmp_path / "b").mkdir()
    assert targets(tmp_path / "b", [made])[0][0] == "u1p1-c5-c6"
    made["comments"][2]["body"] = "[deleted]"
    (tmp_path / "c").mkdir()
    assert targets(tmp_path / "c", [made])[0][0] == "u1p1-c3-c4"


def test_ties_go_to_the_newest_and_then_to_the_first_in_the_tree(tmp_path: Path) -> None:
    newest = thread(target=9, example=-9)
    newest["comments"][1]["replies"][0]["timestamp"] = at(40)
    newest["comments"][2]["replies"][0]["score"] = 9
    lowest = thread(target=-9, example=9)
    lowest["comments"][2]["replies"][0]["timestamp"] = lowest["comments"][1]["replies"][0]["timestamp"]
    found = targets(tmp_path, [newest, lowest])
    # Two posts: a negative one first, then the upper half of one positive, which is that one.
    assert [(target, label) for target, label, _ in found] == [("u1p1-c3-c4", "negative"), ("u1p2-c3-c4", "positive")]


def test_negatives_come_first_and_the_lower_half_of_the_positives_goes(tmp_path: Path) -> None:
    scores = [30, -5, 8, 20, -70, 8, 40]
    posts = [thread(target=score, example=1, title=str(score), author="op") for score in scores]
    selection = selected(opened(tmp_path, posts), "value")
    assert selection.frame["reference"].to_list() == ["-5", "-70", "20", "30", "40"]  # of 5 positives 2 go
    assert selection.funnel.steps[:6] == (
        ("posts", 7),
        ("4 or more participants", 7),
        ("3 or more usable replies by the post's author", 7),
        ("a reply with score, time and usable parent", 7),
        ("largest |score| 4 or more", 7),
        ("without the lower half of the positives", 5),
    )


def test_equal_scores_lose_the_earlier_posts(tmp_path: Path) -> None:
    posts = [thread(target=9, example=1, title=str(n)) for n in range(4)]
    assert [row[0] for row in targets(tmp_path, posts)] == ["u1p3-c5-c6", "u1p4-c5-c6"]


def test_owners_are_grouped_by_first_appearance(tmp_path: Path) -> None:
    other = thread(author="ann", title="other")
    other["comments"] = [
        comment("op", "Q", 1, 1, *(comment("ann", f"R{n}", -n, n) for n in (5, 6, 7))),
        comment("bob", "x"),
    ]
    other["comments"].append(comment("cat", "y"))
    found = targets(tmp_path, [thread(title="first"), other, thread(title="second")])
    assert [row[0] for row in found] == ["u1p1-c5-c6", "u1p2-c5-c6", "u2p1-c1-c4"]


def test_limit_takes_the_first_lines_which_are_of_one_class(tmp_path: Path) -> None:
    posts = [thread(target=score, example=1, title=str(score)) for score in (50, 60, -5, -6)]
    selection = selected(opened(tmp_path, posts), "sign", limit=2)
    assert selection.frame["reference"].to_list() == ["negative", "negative"]
    assert "one class" in str(selection.funnel.notes["order"])
    assert "positives begin after 2 instances" in (selection.caution or "")
    (tmp_path / "more").mkdir()
    assert selected(opened(tmp_path / "more", posts), "sign", limit=3).caution is None
    (tmp_path / "all").mkdir()
    assert selected(opened(tmp_path / "all", posts[:2]), "sign").caution is None, "no LIMIT did that"


def test_nothing_left_is_explained(tmp_path: Path) -> None:
    selection = selected(opened(tmp_path, [post()]), "sign")
    assert selection.frame.is_empty()
    assert '"4 or more participants" took most (1 of 1)' in (selection.explanation or "")


def test_an_instance_is_its_content_wherever_it_stands(tmp_path: Path) -> None:
    posts = [thread(title="one"), thread(title="two"), thread(title="two")]
    (tmp_path / "b").mkdir()
    first = selected(opened(tmp_path, posts), "sign").frame
    moved = selected(opened(tmp_path / "b", [post(author="new"), *posts]), "sign").frame
    assert first["instance_id"].to_list() == moved["instance_id"].to_list()
    assert first["instance_id"].n_unique() == 3
    assert first["user"].n_unique() == 1
    assert not set(first["user"]) & {"op"}
    value = selected(opened(tmp_path / "b", [post(author="new"), *posts]), "value").frame
    assert not set(value["instance_id"]) & set(first["instance_id"])


def test_np_sign_takes_the_pool_post_at_the_place_plus_200(tmp_path: Path) -> None:
    # Places 0 and 1 never lend; three posts do, the last of them under weaker rules than a target needs.
    weak = post(comment("ann", "Q", 1, 1, comment("op", "R", 2, 2)), comment("bob", "x"), title="weak")
    posts = [post(title="a"), post(title="b"), thread(title="c"), thread(title="d", target=-5, example=1), weak]
    frame = selected(opened(tmp_path, posts), "sign").frame
    # (2 + 200) % 3 = 1 -> place 3; (3 + 200) % 3 = 2 -> place 4.
    assert frame.select("place", "donor", "donor_example").rows() == [(2, 3, "negative"), (3, 4, "positive")]


def test_np_value_is_its_own_example_where_the_number_divides_200(tmp_path: Path) -> None:
    posts = [thread(target=-score, example=1, title=str(score)) for score in range(10, 17)]
    (tmp_path / "b").mkdir()
    four = selected(opened(tmp_path, posts[:4]), "value")
    assert four.frame["donor"].to_list() == four.frame["place"].to_list()
    assert four.funnel.notes["np-conv: example from the target's own post"] == 4
    corpus = opened(tmp_path / "b", posts)  # 7 does not divide 200
    seven = selected(corpus, "value", seed=1).frame
    assert sorted(seven["donor"]) == list(range(7))
    assert all(donor != place for donor, place in seven.select("donor", "place").iter_rows())
    assert seven.equals(selected(corpus, "value", seed=1).frame)
    assert not seven.equals(selected(corpus, "value", seed=2).frame)
