"""Task 3.3: the newest reply of a rich thread; np-conv's other test set."""

from pathlib import Path

import pytest
from paper_corpora import Json, at, comment, opened, post, selected


def rich(**other: object) -> Json:
    """Two answered trees in which the author wrote; the newest reply is in the second."""
    return post(
        comment("ann", "First question", 1, 10, comment("op", "First answer", 1, 20)),
        comment("bob", "Second question", 1, 11, comment("op", "Newest answer\nin two lines", 1, 21)),
        **other,
    )


def references(tmp_path: Path, made: Json) -> list[tuple[str, str]]:
    frame = selected(opened(tmp_path, [made]), "text", "p-conv").frame
    return frame.select("target", "reference").rows()


def changed(tree: int, **changes: object) -> Json:
    made = rich()
    made["comments"][tree]["replies"][0] |= changes
    return made


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        pytest.param(rich(), [("u1p1-c3-c4", "Newest answer in two lines")], id="newest, breaks are blanks"),
        pytest.param(changed(0, timestamp=at(22)), [("u1p1-c1-c2", "First answer")], id="newest by time"),
        pytest.param(changed(0, timestamp=at(21)), [("u1p1-c1-c2", "First answer")], id="a tie goes to the first"),
        pytest.param(changed(0, body=None), [], id="a null body is no reply"),
        pytest.param(changed(0, body="[deleted]"), [("u1p1-c3-c4", "Newest answer in two lines")], id="deleted counts"),
        pytest.param(changed(0, timestamp="?"), [], id="an unreadable time is no reply"),
        pytest.param(changed(1, body="[removed]"), [], id="a removed newest reply skips the post"),
        pytest.param(changed(1, body="[Removed]"), [("u1p1-c3-c4", "[Removed]")], id="compared with its case"),
        pytest.param(changed(1, body="  "), [("u1p1-c3-c4", "")], id="an empty newest reply passes"),
        pytest.param(changed(1, score=None), [("u1p1-c3-c4", "Newest answer in two lines")], id="scores do not matter"),
    ],
)
def test_rules_of_the_newest_reply(tmp_path: Path, made: Json, expected: list[tuple[str, str]]) -> None:
    assert references(tmp_path, made) == expected


def test_two_answered_trees_with_the_author_are_needed(tmp_path: Path) -> None:
    lonely = rich()
    lonely["comments"][0] = comment("op", "An answer to nobody", 1, 20)  # no direct reply
    assert references(tmp_path, lonely) == []
    (tmp_path / "b").mkdir()
    lonely["comments"][0]["replies"] = [comment("ann", "Now it is answered", 1, 21)]  # the author is at the top
    assert len(references(tmp_path / "b", lonely)) == 1
    (tmp_path / "c").mkdir()
    strangers = rich()
    strangers["comments"][0]["replies"][0]["author"] = "ann"
    strangers["comments"][1]["replies"].append(comment("op", "Older answer", 1, 12))
    assert references(tmp_path / "c", strangers) == []


@pytest.mark.parametrize(("alive", "passes"), [(3, False), (5, True)])
def test_a_third_of_the_tree_may_be_deleted(tmp_path: Path, alive: int, passes: bool) -> None:
    made = rich()
    tree = made["comments"][1]
    dead = [comment("x", "[removed]"), comment("y", "[deleted]")]
    tree["replies"] += dead + [comment("z", f"text {n}") for n in range(alive - 2)]
    # 2 of 5 are over 33 %, 2 of 7 are not; another tree's dead do not count.
    made["comments"][0]["replies"] += [comment("x", "[removed]")] * 9
    assert bool(references(tmp_path, made)) == passes


def test_exactly_33_percent_passes(tmp_path: Path) -> None:
    made = rich()
    made["comments"][1]["replies"] += [comment("x", "[removed]")] * 33 + [comment("x", "fine")] * 65
    assert len(references(tmp_path, made)) == 1  # 33 of 100
    (tmp_path / "b").mkdir()
    made["comments"][1]["replies"].pop()
    assert references(tmp_path / "b", made) == []  # 33 of 99


def test_np_conv_is_another_test_set(tmp_path: Path) -> None:
    # 7 posts: the context of place i is (i + 200) % 7 = (i + 4) % 7. Only place 0 is rich.
    bare = post(comment("op", "Said alone", 1, 5), title="bare")
    posts = [rich(), *(bare | {"title": f"bare {n}"} for n in range(6))]
    corpus = opened(tmp_path, posts)
    frame = selected(corpus, "text").frame
    rows = frame.select("place", "donor", "in_settings", "few_shot").rows()
    assert rows == [(0, None, ["p-conv", "p-nonconv"], "dynamic"), (3, 0, ["np-conv"], None)]
    assert selected(corpus, "text", "np-conv").frame["place"].to_list() == [3]
    assert selected(corpus, "text", "p-conv", "p-nonconv").frame["place"].to_list() == [0]
    assert selected(corpus, "text", limit=1).frame["place"].to_list() == [0]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"body": "[deleted]"}, id="example deleted"),
        pytest.param({"body": " "}, id="example empty"),
        pytest.param({"replies": [comment("x", "[deleted]")] * 2}, id="example's tree too dead"),
    ],
)
def test_np_conv_asks_more_of_the_context_than_p_conv_of_its_post(tmp_path: Path, changes: Json) -> None:
    poor = changed(0, **changes)
    corpus = opened(tmp_path, [poor])  # 1 divides 200: the post is its own context
    assert selected(corpus, "text").frame["in_settings"].to_list() == [["p-conv", "p-nonconv"]]
    (tmp_path / "b").mkdir()
    own = selected(opened(tmp_path / "b", [rich()]), "text")
    assert own.frame.select("in_settings", "donor").rows() == [(["p-conv", "p-nonconv", "np-conv"], 0)]
    assert own.funnel.notes["np-conv: the target's own post as context"] == 1


def test_np_conv_needs_a_usable_target(tmp_path: Path) -> None:
    # Contexts of places 0, 1, 2: 2 (its newest reply is empty), 0 (rich), 1 (rich, but the target is empty).
    posts = [rich(), rich(title="b"), changed(1, body="")]
    frame = selected(opened(tmp_path, posts), "text", "np-conv").frame
    assert frame.select("place", "donor").rows() == [(1, 0)]


def test_the_example_may_be_a_top_level_reply_and_then_is_the_default(tmp_path: Path) -> None:
    made = rich()
    made["comments"].append(comment("op", "To everybody", 1, 20.5))
    selection = selected(opened(tmp_path, [made]), "text", "p-conv")
    assert selection.frame["few_shot"].to_list() == ["default"]
    assert selection.funnel.notes["p-conv: default examples"] == 1
