from runs_to_show import NASTY, effect, effects, full_summary, score, summary

from runner.reporting.headline import headline

FAMILY = {"family": "3.1: personal effect on balanced_accuracy"}


def test_the_two_by_two_is_told_with_intervals_and_grounds() -> None:
    assert headline(full_summary("sign")) == (
        "Own history rather than a comparable stranger's: balanced accuracy +0.031 [0.013, 0.049]; "
        "thread rather than none: +0.004 [-0.014, 0.022], no difference shown; "
        "interaction of history and thread: -0.006 [-0.024, 0.012], no difference shown "
        "(95 % intervals, 480 instances, worth 118 authors, Holm-adjusted)."
    )


def test_an_error_is_told_as_lower_where_it_is_better_and_as_higher_with_turned_bounds_where_it_is_worse() -> None:
    better = effect("personal", 0.12, metric="log_mae", low=0.05, high=0.19, p_holm=0.001, **FAMILY)
    worse = effect("conversation", -0.1, metric="log_mae", low=-0.2, high=-0.01, p_holm=0.002, **FAMILY)
    said = headline(full_summary("value", effects=(better, worse)))
    assert "log error lower by 0.120 [0.05, 0.19]; thread rather than none: higher by 0.100 [0.01, 0.20] (" in said


def test_the_level_of_a_later_look_is_said() -> None:
    assert "(99.17 % intervals, " in headline(full_summary("sign", effects=effects(level=1 - 0.05 / 6)))


def test_an_interval_clear_of_zero_is_no_shown_difference_when_the_adjusted_test_says_otherwise() -> None:
    said = headline(full_summary("sign", effects=(effect("personal", 0.031, p=0.02, p_holm=0.06, **FAMILY),)))
    assert "+0.031 [0.013, 0.049], no difference shown (adjusted p 0.06)" in said


def test_fewer_than_twenty_authors_have_neither_interval_nor_test_and_it_is_said() -> None:
    few = tuple(effect(name, 0.05, low=None, high=None, authors=19.9) for name in ("personal", "conversation"))
    said = headline(full_summary("sign", effects=few))
    assert "balanced accuracy +0.050; thread rather than none: +0.050 (no interval and no test: " in said
    assert "fewer than 20 effective authors, 480 instances, worth 19 authors)" in said
    assert "shown" not in said


def test_one_missing_interval_among_others_is_named_where_it_is_missing() -> None:
    said = headline(full_summary("sign", effects=(effect("personal", 0.05), effect("interaction", 0.02, low=None))))
    assert "interaction of history and thread: +0.020, no interval (95 % intervals" in said


def test_an_undefined_effect_is_not_a_zero() -> None:
    said = headline(full_summary("sign", effects=(effect("personal", None, note="undefined on these instances"),)))
    assert "balanced accuracy n/a (no interval: undefined on these instances" in said


def test_a_rehearsal_and_a_partial_run_say_so_first_and_claim_no_test() -> None:
    untested = tuple(effect("personal", 0.031, note="no test: partial", **FAMILY) for _ in "1")
    said = headline(full_summary("sign", venue="emulator:openai", state="partial", effects=untested))
    assert said.startswith("EMULATOR — rehearsal, not a result · PARTIAL 1,610 of 1,920: Own history")
    assert "+0.031 [0.013, 0.049] (95 % intervals" in said and said.endswith(", not tested: partial).")
    unclear = effect("personal", 0.004, note="no test: partial", **FAMILY)
    assert "shown" not in headline(full_summary("sign", state="partial", effects=(unclear,)))


def test_exploratory_and_domain_effects_never_become_the_headline() -> None:
    others = tuple(row for row in effects() if row.group != "all" or row.kind != "main")
    assert "history" not in headline(full_summary("sign", effects=others))


def test_without_effects_the_first_setting_stands_beside_its_best_floor() -> None:
    assert headline(full_summary("sign", effects=())) == (
        "p-conv: balanced accuracy 0.640 [0.59, 0.69] (95 % interval, 480 instances, coverage 98.5 %); "
        "best trivial predictor, author's prior rate: 0.570."
    )
    beats = effect("p-conv - author's prior rate", 0.07, kind="floor", low=-0.01, high=0.15)
    said = headline(full_summary("sign", effects=(beats,)))
    assert said.endswith("0.570, difference: +0.070 [-0.01, 0.15], no difference shown.")
    early = headline(full_summary("sign", effects=(beats,), state="partial"))
    assert early.endswith("difference: +0.070 [-0.01, 0.15], not tested: partial.")


def test_of_errors_the_smallest_floor_is_the_best() -> None:
    floors = [score("all", "mae", 5.0, floor="zero"), score("all", "mae", 4.0, floor="median")]
    said = headline(summary([score("p-conv", "mae", 3.0)], floors, primary="mae"))
    assert "best trivial predictor, median: 4.000" in said


def test_nothing_scored_has_a_sentence_too() -> None:
    assert headline(summary([], [])) == "No answer has been scored."
    assert headline(summary([], [], explanation="No author has enough replies.")) == "No author has enough replies."


def test_a_strangers_name_cannot_move_the_cursor() -> None:
    said = headline(summary([score(NASTY, "accuracy", 0.5)], [], primary="accuracy"))
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\n" not in said
