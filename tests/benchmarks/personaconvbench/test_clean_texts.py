from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from runner.benchmarks.personaconvbench.clean import (
    clean_text,
    is_deleted,
    is_person,
    is_usable,
    normalise,
    parse_score,
    parse_time,
    true_subreddit,
)

INSTANTS = st.datetimes(min_value=datetime(1980, 1, 1), max_value=datetime(2200, 1, 1), timezones=st.just(UTC))
JSON_SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text()
    | st.decimals(allow_nan=True, allow_infinity=True)
    | st.lists(st.integers())
)


@given(INSTANTS, st.integers(min_value=-14 * 60, max_value=14 * 60))
def test_every_way_of_writing_an_instant_reads_the_same(time: datetime, minutes: int) -> None:
    there = time.astimezone(timezone(timedelta(minutes=minutes)))
    for text in (there.isoformat(), there.isoformat(" "), f" {there.isoformat()}\n"):
        assert parse_time(text) == time
    naive = time.replace(tzinfo=None)
    for text in (naive.isoformat(), naive.isoformat(" "), f"{naive.isoformat()}Z", f"{naive.isoformat(' ')}z"):
        assert parse_time(text) == time
    whole = time.replace(microsecond=0)
    seconds = int(whole.timestamp())
    for epoch in (seconds, float(seconds), str(seconds), f"{seconds}.0", Decimal(seconds)):
        assert parse_time(epoch) == whole
    assert parse_time(naive.strftime("%Y-%m-%d %H:%M:%S.%f") + "789") == time  # nanoseconds are cut


@given(JSON_SCALARS)
@example("9" * 5000)
@example("0001-01-01T00:00:00+14:00")
@example(10**400)
def test_no_value_makes_a_reader_fail(value: object) -> None:
    time, score = parse_time(value), parse_score(value)
    assert time is None or time.utcoffset() == timedelta(0)
    assert score is None or (type(score) is int and -(2**63) <= score < 2**63)


@pytest.mark.parametrize("value", [None, True, "", "x", "2020", "yesterday", "2020-13-01", "20-01-2020", []])
def test_what_is_no_time(value: object) -> None:
    time = parse_time(value)
    assert time is None or value == "2020"  # a bare number is seconds since 1970


def test_milliseconds_since_1970_are_told_from_seconds() -> None:
    assert parse_time(1_700_000_000_000) == parse_time(1_700_000_000) == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@given(st.integers(min_value=-(2**53), max_value=2**53))
def test_a_score_is_read_from_numbers_and_numeric_strings(score: int) -> None:
    assert parse_score(score) == parse_score(float(score)) == parse_score(f" {score} ") == score
    assert parse_score(Decimal(score)) == score


@pytest.mark.parametrize(
    "value", [True, False, None, float("nan"), float("inf"), "", "many", "1e3", "2,412", "0x1f", 2**63, "٣"]
)
def test_what_is_no_score(value: object) -> None:
    assert parse_score(value) is None


@pytest.mark.parametrize(("value", "score"), [(3.6, 3), (-3.9, -3), ("3.99", 3), (Decimal("-4.5"), -4), (0.9, 0)])
def test_a_fraction_makes_no_score_larger(value: object, score: int) -> None:
    assert parse_score(value) == score


MARKED = (
    """
Edit: x|EDIT 2 - x|**Edit**: x|**Edit:** x|Update: x|ETA: x|eta - x|edit2: x|Edit #3: x|EDIT thanks for the gold
*edit* x|[Edit] x|(edit: typo)|Edited to add: x|Edit to add x|edit for spelling|EDIT|Edit|Second edit: x|2nd Edit: x
UPDATE 2: x|Update (3/14): x|Update 3/14: x|UPDATE - x|__EDIT__ x|Edit – x|Edit; x|Edit. Forgot this|edit... x
NINJA EDIT: x|EDIT!!!|**EDIT 2:** x|^(edit: x)|- Edit: x|---Edit: x|Updated: x|***UPDATE***: x|[UPDATE] x
Final update: it works|edit -- x|edit clarity|update to answer some questions:|Edits: x
Edit—x|edit—x|Edit–x|Edit -x|Edit-thanks|Edit, x|edit, thanks for that|EDIT EDIT: x|UPDATE! x|Edit! x|UPDATE x
UPDATE 2 x|Edit #2 x|Edit/Update: x
Edit & update - x|&#x200B;Edit: x|&nbsp;Edit: x|&amp;#x200B;Edit&nbsp;: x|Edit&nbsp;- x
mini edit: x|One more edit: x
1. Edit: x|Edit：x|ETA I forgot|EDIT THANKS FOR THE GOLD|\u00a0Edit: x|\u200bEdit\u200b: x
Edit\u00a0- x|\ufeffEDIT x|EDIT\u00a0x|edit 2 thanks for that|edit-forgot this|edit --x
UPDATE I was wrong|a quick edit: x
""".strip()
    .replace("\n", "|")
    .split("|")
)
PROSE = (
    """
Editing is hard|Editors know|updated my drivers|Edit the file first|Update your drivers - it helps|ETA is 5 minutes
ETA 5 minutes|Edit button is missing|Edit 3 files in the folder|> Edit: x|Updates come often|Edition: two|credit: me
Edit, compile, run|Editor: Bob|etat: x|UPDATE statements are slow|I edit: yes|Edited videos are fine
edit distance is a metric|Edit wars are tiring|Edit-war|edit -n opens it|Edit, save and close|UPDATE users SET x = 1
ETA for that is June|1. Edit the file|1. Edit|he said\u00a0edit: x|Update on my drivers
UPDATE your drivers|Edit & Sons
Update-heavy load|edit-war on the wiki|EDIT MODE is on|update.exe is bad|Eta Carinae: a star|edit/delete buttons
""".strip()
    .replace("\n", "|")
    .split("|")
)


@pytest.mark.parametrize("marker", MARKED)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\u2028", "\n\n   "])
def test_a_text_ends_before_its_edit(marker: str, end: str) -> None:
    assert clean_text(f" first{end}{marker}{end}I was right") == ("first", True)
    assert clean_text(f"{marker}{end}I was right") == ("", True)


@pytest.mark.parametrize("prose", PROSE)
def test_prose_about_editing_is_not_an_edit(prose: str) -> None:
    assert clean_text(f"first\r\n{prose}\rlast") == (f"first\n{prose}\nlast", False)


@given(st.text())
def test_cleaning_twice_changes_nothing_and_leaves_one_kind_of_line_end(text: str) -> None:
    cleaned, _ = clean_text(text)
    assert clean_text(cleaned) == (cleaned, False)
    assert cleaned == cleaned.strip()
    assert cleaned.splitlines() == (cleaned.split("\n") if cleaned else [])


def test_deleted_texts_and_nobodies() -> None:
    for notice in ("[deleted]", " [Removed] ", "[ Removed by Reddit ]", "\\[deleted\\]", "**[deleted by user]**"):
        assert is_deleted(notice) and not is_usable(notice) and not is_person(notice)
    for text in ("[deleted] he said", "deleted", "see [removed] above"):
        assert not is_deleted(text) and is_usable(text)
    assert not any(is_usable(text) for text in (None, "", " \n\u2028"))
    assert not any(is_person(name) for name in (None, "", "AutoModerator", "automoderator", "RemindMeBot", "x_BOT"))
    assert all(is_person(name) for name in ("botanist", "Robot_fan", "somebody"))


@given(st.text())
def test_a_normalised_text_is_its_own_normal_form(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert once == " ".join(once.split())


@given(st.text(alphabet=st.characters(categories=["Ll", "Lu"], max_codepoint=0x24F), min_size=1))
def test_case_punctuation_and_spacing_do_not_make_a_text_another(word: str) -> None:
    assert normalise(f"  **{word.upper()}**,\n“{word}”!") == normalise(f"{word.upper()} {word}")


def test_what_normalising_keeps_apart() -> None:
    assert normalise("Don't") == normalise("don’t") == "dont"
    assert normalise("हिन्दी 😂 ﬁn") == "हिन्दी 😂 fin"
    assert len({normalise(text) for text in ("?", "!!", "...", "😂", "")}) == 5


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://www.reddit.com/r/Art/comments/1/x/", "art"),
        ("http://old.reddit.com/r/AskScience", "askscience"),
        ("https://np.reddit.com/r/x_1/", "x_1"),
        ("//m.reddit.com/r/Foo/top", "foo"),
        ("/r/Foo/comments/1", "foo"),
        ("https://www.reddit.com/r/u_Some_Body/comments/1", "u_some_body"),
        ("https://www.reddit.com/user/Some-Body/comments/1", "u_some-body"),
        ("https://notreddit.com/r/art/", None),
        ("https://example.org/?u=https://www.reddit.com/r/art/", None),
        ("https://i.redd.it/1.jpg", None),
        ("https://www.reddit.com/", None),
        ("", None),
        (None, None),
    ],
)
def test_the_true_subreddit(url: str | None, name: str | None) -> None:
    assert true_subreddit(url) == name
