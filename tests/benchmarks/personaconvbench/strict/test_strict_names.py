"""Names: one function of the content, the same in every place, and no real name or link in any prompt."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strict_world import OP, bystander, comment, open_corpus, options, parent, post, prompts, target, world, written

from runner.benchmarks.personaconvbench import strict
from runner.benchmarks.personaconvbench.strict.checks import known_name
from runner.benchmarks.personaconvbench.strict.names import Names, holds_link, telling_names

TELLING = telling_names(
    ["far_away_77", "iPhone", "Science", "covid-19", "gpt4", "user22", "GallowBoob", "Poem-for-sprog"]
)
NAMES = Names({"ann_op_1": "OP", "Ben": "user2", "CamelCase": "user3", "x-ray": "user4", "señor ó": "user5"}, TELLING)


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("u/ann_op_1 and /u/BEN, /user/nobody_9!", "OP and user2, another user!"),
        ("@Ben: ask @somebody", "user2: ask another user"),
        ("r/u_Ben, /r/u_ann_op_1 but r/books", "user2, OP but r/books"),
        ("Ben said so, ben or benefit did not", "user2 said so, ben or benefit did not"),
        ("camelcase's _CamelCase_ *camelCase*", "user3's _user3_ *user3*"),
        ("an X-RAY of x-rays", "an user4 of x-rays"),
        ("thanks, señor ó.", "thanks, user5."),
        ("Far_Away_77 wrote it", "another user wrote it"),
        ("my iPhone, Science, covid-19 and gpt4", "my iPhone, Science, another user and gpt4"),
        ("OP, user7 and user22 stay", "OP, user7 and user22 stay"),
        ("ann\\_op\\_1 and u/far\\_away\\_77", "OP and another user"),
        (
            "ann_op_1-style, pro-far_away_77, CamelCaseさん far_away_77さん",
            "OP-style, pro-another user, user3さん another userさん",
        ),
        (
            "GallowBoob, gallowboob, Poem-for-sprog's and poem-for",
            "another user, gallowboob, another user's and poem-for",
        ),
        ("archive.ph/x bsky.social/x foo.cz/x foo.com.br/x foo.com:8080/x", "<link> <link> <link> <link> <link>"),
        ("foo.com?x=1 and пример.рф/путь", "<link> and <link>"),
        ("and/or, e.g./i.e., 3.5/10, v1.2/1.3, readme.txt", "and/or, e.g./i.e., 3.5/10, v1.2/1.3, readme.txt"),
        ("https://x.org/a?b=ann_op_1#c and www.x.org", "<link> and <link>"),
        ("[this](http://x.org/a) (HTTP://X.ORG)", "[this](<link>) (<link>)"),
        ("see imgur.com/abc or node.js/v8", "see <link> or node.js/v8"),
        ("mail ann.x@mail.example.com", "mail <link>"),
        ("/r/books/comments/abc/ann_op_1/ and/or", "<link> and/or"),
        ("u/ann_op_1://x and ann_op_1://x", "<link> and <link>"),
        ("www. and http:// alone", "www. and http:// alone"),
        ("50 @ 3pm, 24/7, w/o", "50 @ 3pm, 24/7, w/o"),
        ("a < b, <b>, <post>, </ Thread >, <posture>", "a < b, <b>, ‹post>, ‹/ Thread >, <posture>"),
    ],
)
def test_masking(text, masked):
    assert NAMES.mask(text) == masked


def test_a_number_is_not_known_before_its_owner_writes():
    names = Names({"ann_op_1": "OP", "bob77x": "user2"}, frozenset(["bob77x"]), {"user2": 5})
    for text in ("u/bob77x", "bob77x", "@BOB77X"):
        assert [names.mask(text, now) for now in (0, 4, 5, 9)] == ["another user"] * 2 + ["user2"] * 2


@pytest.mark.parametrize("text", ["ann\\_op\\_1", "x-ANN_OP_1-y", "_ann_op_1ö", "the GallowBoob's", "(Poem-for-sprog)"])
def test_the_last_check_finds_a_name_however_it_stands(text):
    assert known_name(text, telling_names(["ann_op_1", "GallowBoob", "Poem-for-sprog"])) is not None
    assert known_name("gallowboob bann_op_1 ann_op_12", telling_names(["ann_op_1", "GallowBoob"])) is None


def is_there(text, telling):
    """Every place of every name, one after another."""
    text = text.replace("\\_", "_").replace("\\-", "-")
    for name in telling:
        seen = text.casefold() if name == name.lower() else text
        for low in range(len(seen)):
            around = seen[low - 1 : low] if low else "", seen[low + len(name) : low + len(name) + 1]
            if seen.startswith(name, low) and not any(sign.isascii() and sign.isalnum() for sign in around):
                return True
    return False


NAMES_OF_ANY_FORM = st.text("aB1_-", min_size=2, max_size=6).filter(lambda name: any(sign in "aB1" for sign in name))


@given(st.text("aB1_- \\", max_size=25), st.frozensets(NAMES_OF_ANY_FORM, max_size=6))
def test_the_last_check_finds_what_looking_everywhere_finds(text, telling):
    assert (known_name(text, telling) is not None) is is_there(text, telling)


@given(st.text(alphabet=st.sampled_from("ab1_-\\é /@"), max_size=40))
def test_what_is_masked_passes_the_last_check(noise):
    telling = telling_names(["ab_a1b", "a_b-a1", "bab11", "Ab-Ba-Ab", "ab-ab1"])
    text = f"{noise}ab_a1b{noise}bab11-{noise}a_b-a1_{noise}"
    assert known_name(Names({"ab_a1b": "user2"}, telling).mask(text), telling) is None


@given(st.text(alphabet=st.sampled_from("ab @/_-.:<>[]()uUrtps\nOP2"), max_size=60))
def test_nothing_telling_is_left_in_any_text(noise):
    masked = NAMES.mask(f"{noise} ann_op_1 u/Ben {noise} far_away_77 http://a.b/{noise} <history")
    assert "ann_op_1" not in masked
    assert "far_away_77" not in masked
    assert holds_link(masked) is None
    assert "<history" not in masked


def test_the_same_mapping_in_every_block_and_in_the_reference(tmp_path):
    own = [
        post(
            "hal_host_4",
            f"hal_host_4 asks u/{OP} for the {day}th time",
            day - 1,
            comment(
                "ivan_x_7",
                f"@{OP}, see https://example.com/{day}",
                day - 0.5,
                comment(OP, f"ivan_x_7 is right {day}", day),
            ),
        )
        for day in (60, 70, 80)
    ]
    posts = world(
        parent(target("ben_parent_2 and u/eve_other_5 never repaired that stone bridge, ask @zed or far_away_77")),
        bystander(),
        comment("far_away_77", "I come later than anybody", 120),
        own=own,
        content=f"I, {OP}, wonder about u/ben_parent_2's bridge",
    )
    corpus = open_corpus(posts, tmp_path)
    selection = strict.select(corpus, options(), "text")
    wanted = "user3 and user2 never repaired that stone bridge, ask another user or another user"
    assert selection.frame["reference"].item() == wanted
    (texts,) = prompts(corpus, selection)
    text = texts["p-conv"]
    assert "I, OP, wonder about another user's bridge" in text
    assert "<title>OP asks another user for the 60th time</title>" in text  # hal is OP there; ann has not written yet
    assert "<parent>another user, see <link></parent>" in text
    assert "<reply>user2 is right 60</reply>" in text
    (signs,) = prompts(corpus, strict.select(corpus, options(), "sign"))
    assert f"<target>{wanted}</target>" in signs["np-nonconv"]


def test_no_name_of_anybody_is_in_any_prompt(tmp_path):
    names = [OP, "ben_parent_2", "eve_other_5", "dan_donor_3", "hal_host_4", "ivy_host_6"]
    chatter = " ".join(f"{name} u/{name} @{name} r/u_{name}" for name in names)
    donors = written("dan_donor_3", [61, 71, 81], host="ivy_host_6", text=chatter)
    own = written(OP, [60, 70, 80], text=chatter)
    for kind in ("sign", "text"):
        reply = target(f"{chatter} crossed it") if kind == "sign" else target()  # a text that is said before is out
        posts = world(parent(reply, body=chatter), bystander(), own=own, donors=donors, title=chatter)
        corpus = open_corpus(posts, tmp_path)
        (texts,) = prompts(corpus, strict.select(corpus, options(), kind), (*strict.SETTINGS, *strict.ARMS))
        for text in texts.values():
            assert not [name for name in names if name in text]


def test_the_shown_name_is_nothing_but_op_or_another_user(tmp_path):
    corpus = open_corpus(world(), tmp_path)
    (texts,) = prompts(corpus, strict.select(corpus, options(), "sign"))
    assert '<history author="OP">' in texts["p-conv"]
    assert '<history author="another user">' in texts["np-conv"]
