"""What is sent: the same information as in the reference, in its order, with its cuts and its leaks."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from paper_corpora import Json, at, comment, opened, post, prompts, selected, sent

from runner.benchmarks.personaconvbench import paper
from runner.benchmarks.personaconvbench.paper.trees import pretty

PARENT = "p" * 130
CONTENT = "c" * 400 + "\n" + "d" * 200


def thread(**other: object) -> Json:
    return post(
        comment("ann", "Question one", 3, 10, comment("op", "Reply one", 1, 20)),
        comment("bob", "b" * 110, 4, 11, comment("op", "Reply\ntwo", 6, 21)),
        comment("cat", PARENT, 77, 12, comment("op", "Reply three", -9, 22, comment("bob", "Never shown", 2, 23))),
        **({"content": CONTENT, "score": 51} | other),
    )


def in_order(text: str, *pieces: str) -> bool:
    """Whether all pieces stand in the text, one after the other."""
    start = 0
    for piece in pieces:
        start = text.find(piece, start) + len(piece)
        if start < len(piece):
            return False
    return True


@pytest.mark.parametrize(("kind", "shown", "printed"), [("sign", "positive", "u1p1"), ("value", "6", "N/A")])
def test_p_conv_shows_the_sibling_and_its_answer_then_the_task(
    tmp_path: Path, kind: paper.Kind, shown: str, printed: str
) -> None:
    (text,) = prompts(opened(tmp_path, [thread()]), kind, "p-conv")
    summary = (printed, "books", "op", "51", "2022-03-04T00:00:00Z", "The title", "c" * 400 + " " + "d" * 99 + "...")
    first = (
        "id u1p1",
        "bob",
        "b" * 100 + "...",
        "u1p1-c3-c4",
        "2022-03-04T00:21:00Z",
        "Reply two",
        f"Answer: {shown}\n",
    )
    second = ("id u1p1", "cat", "p" * 100 + "...", "u1p1-c5-c6", "2022-03-04T00:22:00Z", "Reply three")
    assert in_order(text, *summary, *first, *summary, *second)
    # Neither more of the content and the parents, nor what stands around them, nor the hidden score.
    assert not any(piece in text for piece in ("d" * 100, "b" * 101, "p" * 101, "Never shown", "Reply one", "77", "-9"))


def test_a_short_parent_still_ends_in_dots_and_a_short_content_does_not(tmp_path: Path) -> None:
    made = thread(content="Short content")
    made["comments"][2]["body"] = "Short parent"
    (text,) = prompts(opened(tmp_path, [made]), "sign", "p-conv")
    assert "Short parent..." in text
    assert "Short content\n" in text


@pytest.mark.parametrize(("kind", "answer"), [("sign", "positive"), ("value", "25")])
def test_the_default_example_is_by_nobody(tmp_path: Path, kind: paper.Kind, answer: str) -> None:
    made = thread()
    for branch in made["comments"][:2]:
        branch["replies"][0]["score"] = None
    (text,) = prompts(opened(tmp_path, [made]), kind, "p-conv")
    assert in_order(text, "default_fs_post1", "DefaultAuthorOP", "UserBeta", f"Answer: {answer}\n", "Reply three")


def test_p_nonconv_has_neither_parent_nor_score_nor_time(tmp_path: Path) -> None:
    (text,) = prompts(opened(tmp_path, [thread()]), "sign", "p-nonconv")
    assert in_order(text, "books", "u1p1", "op", "The title", "d" * 99 + "...", "Reply three")
    assert not any(piece in text for piece in ("ppp", "51", "2022", "cat", "Answer:", "Reply two", "d" * 100))


def test_the_value_task_tells_the_sign_in_every_setting(tmp_path: Path) -> None:
    corpus = opened(tmp_path, [thread(), thread(title="b")])
    for setting in paper.SETTINGS:
        assert all("true score is negative" in text for text in prompts(corpus, "value", setting))
        assert not any("true score" in text for text in prompts(corpus, "sign", setting))
    nonconv = prompts(corpus, "value", "p-nonconv")[0]
    assert in_order(nonconv, "printing", "Answer: 18", "Reply three", "at least 3")


@pytest.mark.parametrize(
    ("kind", "limit", "ids"), [("sign", 150, ("internal_p2", "task_u1p1")), ("value", 300, ("u3p1", "u1p1"))]
)
def test_np_conv_shows_a_stranger_and_more_of_the_target(
    tmp_path: Path, kind: paper.Kind, limit: int, ids: tuple[str, str]
) -> None:
    # Three owners, so (0 + 200) % 3 = 2; the value's ring is shuffled and may give another stranger.
    def by(owner: str) -> Json:
        made = thread(author=owner, title=f"Post of {owner}")
        for branch in made["comments"]:
            branch["replies"][0] |= {"author": owner, "body": branch["replies"][0]["body"] + f" by {owner}"}
        return made

    corpus = opened(tmp_path, [by("op"), by("xen"), by("yak")])
    (row, *_) = selected(corpus, kind, seed=3).frame.iter_rows(named=True)
    other = {1: "xen", 2: "yak"}[row["donor"]]
    answer = "negative" if kind == "sign" else "-9"
    text = prompts(corpus, kind, "np-conv", seed=3)[0]
    cut = "c" * limit + "..."
    example = (f"Post of {other}", cut, "cat", "p" * 100 + "...", f"Reply three by {other}", f"Answer: {answer}\n")
    assert in_order(text, *example, "Post of op", cut, "cat", "score 77", at(12)[11:], PARENT, "Reply three by op")
    assert "c" * (limit + 1) not in text
    assert all(name in text for name in ids) or row["donor"] == 1


def test_parameters_of_the_requests(tmp_path: Path) -> None:
    corpus = opened(tmp_path, [thread()])
    for kind, limit, temperature in (("sign", 10, 0.0), ("value", 25, 0.0), ("text", 256, 0.7)):
        requests = sent(corpus, kind, samples=10)
        assert {(len(r.body.messages), r.body.messages[0].role) for r in requests} == {(1, "user")}
        assert {(r.body.max_output_tokens, r.body.temperature, r.body.top_p) for r in requests} == {
            (limit, temperature, None)
        }
        per_setting = [(r.draw, r.body.n) for r in requests if r.setting == "p-conv"]
        assert per_setting == ([(0, 10)] if kind == "text" else [(draw, 1) for draw in range(10)])


def test_settings_of_an_instance_stand_together_in_sample_order(tmp_path: Path) -> None:
    corpus = opened(tmp_path, [thread(title="a"), thread(title="b")])
    ids = selected(corpus, "sign").frame["instance_id"].to_list()
    asked = [(r.instance_id, r.setting) for r in sent(corpus, "sign", "p-conv", "np-conv")]
    assert asked == [(one, setting) for one in ids for setting in ("p-conv", "np-conv")]


def embedded(text: str) -> list[Json]:
    """The JSON objects of a prompt, in order."""
    found, start = [], text.find("\n{\n") + 1
    while start:
        value, end = json.JSONDecoder().raw_decode(text, start)
        found.append(value)
        start = text.find("\n{\n", end) + 1
    return found


def conversation() -> Json:
    """The example (second-newest) and the target are in other branches of one tree."""
    late = comment("bob", "Later than the example", 1, 24)
    example = comment("op", "The example", 1, 20, comment("ann", "Below the example", 1, 21))
    asked = comment("ann", "Asked here", 1, 12, comment("dan", "Earlier sibling", 1, 13), late, example)
    target = comment("op", "The target text", 5, 30, comment("bob", "Below the target", 1, 31))
    top = comment("ann", "Top", 1, 10, asked, comment("bob", "Other\nbranch", 8, 11, target))
    elsewhere = comment("cat", "Elsewhere", 1, 10, comment("op", "Oldest", 1, 15), comment("cat", "Late", 1, 40))
    return post(elsewhere, top, __srcfile__="file.json")


def test_text_p_conv_cuts_the_example_and_removes_the_target(tmp_path: Path) -> None:
    (text,) = prompts(opened(tmp_path, [conversation()]), "text", "p-conv")
    tree, whole = embedded(text)
    assert tree["body"] == "Top"
    other, asked = tree["replies"]  # by time
    assert [reply["body"] for reply in asked["replies"]] == ["Earlier sibling"]
    # The known leak: the other branch stays whole, and the reference text is in it.
    assert other["replies"][0]["body"] == "The target text"
    assert (asked["id"], asked["parent_id"], asked["type"]) == ("u1p1-c4-c5", "u1p1-c4", "comment")
    assert in_order(text, "(id u1p1-c4-c5):\nAsked here", "Reply: The example", "(id u1p1-c4-c10):\nOther branch")
    # The task shows the whole post, later comments and all keys included, without the target and what is below.
    assert whole["__srcfile__"] == "file.json"
    assert [reply["body"] for reply in whole["comments"][0]["replies"]] == ["Oldest", "Late"]
    assert whole["comments"][1]["replies"][1]["replies"] == []
    assert "Below the target" not in json.dumps(whole)
    assert "Below the example" in json.dumps(whole)
    assert text.count("{main_author_name}") == 2


def test_the_leak_is_counted_before_anything_is_paid(tmp_path: Path) -> None:
    leaking = "p-conv: prompts whose example prints the reference text"
    assert selected(opened(tmp_path, [conversation()]), "text").funnel.notes[leaking] == 1
    (tmp_path / "b").mkdir()
    safe = conversation()
    safe["comments"][0]["replies"][0]["timestamp"] = at(25)  # now the example is in the tree without the target
    assert selected(opened(tmp_path / "b", [safe]), "text").funnel.notes[leaking] == 0


def test_text_p_nonconv_has_the_post_and_the_parent_only(tmp_path: Path) -> None:
    (text,) = prompts(opened(tmp_path, [conversation()]), "text", "p-nonconv")
    (shown,) = embedded(text)
    expected = {key: value for key, value in conversation().items() if key != "comments"}
    assert shown == expected | {"id": "u1p1", "type": "post", "parent_id": None}
    assert in_order(text, "bob", "Other branch")
    assert not any(piece in text for piece in ("The example", "The target text", "Elsewhere"))


def test_text_np_conv_has_another_conversation_and_the_bare_parent(tmp_path: Path) -> None:
    corpus = opened(
        tmp_path,
        [
            conversation(),
            post(comment("ann", "Mine", 9, 1, comment("xen", "Reply", 1, 2)), author="xen", title="X"),
            post(author="zed"),
        ],
    )
    frame = selected(corpus, "text", "np-conv").frame
    assert frame.select("place", "donor").rows() == [(1, 0)]  # (1 + 200) % 3
    (text,) = prompts(corpus, "text", "np-conv")
    tree, whole = embedded(text)
    assert tree["id"] == "ctx_idx0-c4"
    assert whole == conversation()  # uncut and without ids
    assert in_order(text, "Reply: The example", "xen", "ann", "orig_idx1-c1", "score 9", "Mine")
    assert '"X"' not in text


def test_np_conv_leaves_the_text_of_a_post_as_parent_empty(tmp_path: Path) -> None:
    said = post(comment("xen", "To all", 1, 2), author="xen", title="X", content="The post that is answered")
    (text,) = prompts(opened(tmp_path, [conversation(), said, post(author="zed")]), "text", "np-conv")
    assert "(id orig_idx1, score 50):\n\n" in text
    assert "that is answered" not in text


def test_an_empty_reference_is_selected_but_not_sent(tmp_path: Path) -> None:
    made = conversation()
    made["comments"][1]["replies"][1]["replies"][0]["body"] = ""
    corpus = opened(tmp_path, [made])
    assert selected(corpus, "text", "p-conv").frame["reference"].to_list() == [""]
    assert sent(corpus, "text", "p-conv") == []


def test_a_prompt_over_the_window_is_not_sent(tmp_path: Path) -> None:
    corpus = opened(tmp_path, [conversation()])
    settings = [request.setting for request in sent(corpus, "text", "p-conv", "p-nonconv", window=400)]
    assert settings == ["p-nonconv"]
    assert len(sent(corpus, "text", "p-conv", "p-nonconv", window=4000)) == 2


def test_threads_nest_as_deep_as_they_like(tmp_path: Path) -> None:
    deepest = comment("op", "At the bottom", -9, 59)
    for level in range(400):
        deepest = comment("op" if level % 2 else f"user{level}", f"Level {level}", 1, 10, deepest)
    made = post(deepest, comment("ann", "Question", 1, 1, comment("op", "Reply", 2, 2)))
    corpus = opened(tmp_path, [made])
    for kind in ("sign", "value", "text"):
        assert [request.setting for request in sent(corpus, kind)] == list(paper.SETTINGS)
    (text,) = prompts(corpus, "text", "p-conv")
    assert embedded(text)[1]["title"] == "The title"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(JSON, st.integers(0, 300))
def test_json_is_written_the_same_at_any_depth(value: object, depth: int) -> None:
    for level in range(depth):
        value = [value] if level % 2 else {"inner": value, "after": level}
    assert json.loads(pretty(value)) == value
    if depth < 150:
        assert pretty(value) == json.dumps(value, indent=2, ensure_ascii=False)
