import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from runner.reporting.words import duration, estimate, figure, percent, plain, shares, signed, tokens, usd

BIDI = "\u202a\u202b\u202d\u202e\u2066\u2067\u2068\u2069\u200e\u200f"


@given(st.floats(min_value=1e-12, max_value=1e9))
def test_a_cost_is_never_rounded_to_nothing_and_stays_within_five_percent(amount: float) -> None:
    shown = float(usd(amount).lstrip("$").replace(",", ""))
    assert shown > 0
    assert abs(shown - amount) <= 0.05 * amount + 1e-15


def test_small_money_keeps_two_digits_and_unknown_is_not_zero() -> None:
    assert usd(0.0042) == "$0.0042"
    assert usd(1234.5) == "$1,234.50"
    assert usd(0) == "$0.00"
    assert usd(-0.42) == "-$0.42"
    assert usd(None) == "price unknown"


@given(st.floats(min_value=0, max_value=1))
def test_only_all_is_hundred_percent_and_only_none_is_zero(share: float) -> None:
    shown = percent(share)
    assert (shown == "100 %") == (share == 1)
    assert (shown == "0 %") == (share == 0)
    assert shown not in ("0.0 %", "100.0 %")


@given(st.integers(min_value=0, max_value=10**14))
def test_tokens_keep_three_digits(n: int) -> None:
    shown = tokens(n)
    size = {"k": 1e3, "M": 1e6, "B": 1e9, "T": 1e12}.get(shown[-1], 1)
    assert abs(float(shown.rstrip("kMBT")) * size - n) <= 0.005 * n


def test_intervals_and_what_is_undefined() -> None:
    assert estimate(0.612, 0.551, 0.667) == "0.612 [0.55, 0.67]"
    assert estimate(0.612, None, None) == "0.612"
    assert estimate(None, None, None) == "n/a"
    assert figure(float("nan")) == "n/a"
    assert figure(-0.0) == "0"


@given(st.floats(-1000, 1000), st.floats(1e-6, 100), st.floats(1e-6, 100))
def test_an_interval_that_is_not_a_point_is_not_shown_as_one(value: float, below: float, above: float) -> None:
    low, high = value - below, value + above
    shown = estimate(value, low, high)
    left, right = shown.split(" [")[1].rstrip("]").replace(",", "").split(" ")
    assert left != right


def test_durations_have_two_units() -> None:
    assert [duration(s) for s in (0.4, 65, 3600, 90000)] == ["0s", "1m05s", "1h00m", "1d01h"]


@given(st.text(st.characters() | st.sampled_from("\x1b\x9b[]m;31\x07" + BIDI + "\ud800\U000e0041")))
def test_nothing_that_acts_on_a_screen_survives(text: str) -> None:
    for lines in (False, True):
        cleaned = plain(text, lines=lines)
        assert not set(cleaned) & set(BIDI)
        assert all(char == "\n" or unicodedata.category(char) not in ("Cc", "Cs") for char in cleaned)
        assert lines or "\n" not in cleaned
        cleaned.encode()


def test_whole_escape_sequences_go_and_words_stay() -> None:
    assert plain("a\x1b[1;31mred\x1b[0m \x1b]0;title\x07b") == "ared b"
    assert plain("half \ud800 pair") == "half \ufffd pair"
    assert plain("one\r\ntwo\u2028three\tfour", lines=True) == "one\ntwo\nthree    four"
    assert plain("a\u3164b\u115f\u1160\uffa0\u034f\u180b\ufe00\U000e0100c") == "abc", "fillers hide words"
    assert plain("❤\ufe0f") == "❤\ufe0f"
    assert plain("می\u200cخواهم 👩\u200d💻") == "می\u200cخواهم 👩\u200d💻"


def test_an_exact_zero_is_printed_one_way_and_a_rounded_one_is_not_taken_for_it() -> None:
    assert {figure(0), figure(-0.0), figure(1e-15), estimate(0.0, None, None), signed(0.0, None, None)} == {"0"}
    assert estimate(0.0, 0.0, 0.0) == signed(1e-16, 0.0, -0.0) == "0 [0, 0]"
    assert estimate(15.0, 0.0, 30.0) == "15.00 [0, 30.0]"
    assert estimate(0.0001, -0.4, 0.4) == "0.000 [-0.40, 0.40]"


@given(st.lists(st.one_of(st.just(0.0), st.floats(1e-6, 1e6)), min_size=1, max_size=6))
def test_parts_of_a_whole_add_up_to_a_hundred_percent(parts: list[float]) -> None:
    told = shares(parts)
    if not any(parts):
        assert set(told) == {"n/a"}
        return
    assert round(sum(float(said.removesuffix(" %").lstrip("<")) for said in told), 6) == 100
    for part, said in zip(parts, told, strict=True):
        assert (said == "0 %") == (part == 0)
        assert abs(float(said.removesuffix(" %").lstrip("<")) - 100 * part / sum(parts)) < 0.1 * len(parts) + 1e-6
