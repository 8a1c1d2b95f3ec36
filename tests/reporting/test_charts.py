import re
from collections.abc import Mapping
from dataclasses import replace

import polars as pl
import pytest
from charts_to_read import made, svg_of, texts_of
from runs_to_show import DOMAINS, SETTINGS, effect, full_items, full_summary, score, summary

from runner.reporting.charts import Chart
from runner.reporting.charts.judged import own_answers
from runner.reporting.summary import Cost, Failure, Spent

KINDS = ("sign", "value", "text")


@pytest.fixture(scope="module")
def every() -> Mapping[str, dict[str, Chart]]:
    return {kind: made(full_summary(kind), full_items(kind, 300)) for kind in KINDS}


def test_each_task_gets_the_charts_that_say_something_about_it(every: Mapping[str, dict[str, Chart]]) -> None:
    around = ["gains", "primary", "domains"], ["failures", "cost"]
    for kind, own in zip(KINDS, ("confusion", "values", "texts"), strict=True):
        assert list(every[kind]) == [*around[0], own, *around[1]]


def test_every_chart_says_where_it_comes_from_and_what_was_counted(every: Mapping[str, dict[str, Chart]]) -> None:
    for kind, some in every.items():
        for chart in some.values():
            assert full_summary(kind).heading in texts_of(chart)
            assert re.search(r"\bn\b|[Ff]inal answers|[Tt]okens", chart.caption)
            assert re.search("failed", chart.caption, re.IGNORECASE) or chart.name in ("primary", "domains")


def test_an_axis_says_the_metric_and_which_way_is_better(every: Mapping[str, dict[str, Chart]]) -> None:
    assert "balanced accuracy, higher is better" in texts_of(every["sign"]["primary"])
    error = texts_of(every["value"]["primary"])
    assert "log error (mean distance of s(answer) from s(score), s(x) = sign(x)·ln(1+|x|)), lower is better" in error
    assert "log error, lower is better" in texts_of(every["value"]["domains"])
    assert every["text"]["primary"].title == "ROUGE-L by setting"


def test_the_forest_says_its_level_and_what_each_row_is_worth() -> None:
    shown = made(full_summary("sign", effects=(effect("personal", 0.031, level=0.975, p_holm=0.0004),)))["gains"]
    words = texts_of(shown)
    assert "difference in balanced accuracy, right of 0 is better; bars: 97.5 % intervals" in words
    assert "+0.031 [0.013, 0.049] p <.001" in " ".join(words.split())
    assert "no interval" not in words


def test_a_missing_interval_is_hollow_and_said() -> None:
    chart = made(full_summary("sign", effects=(effect("personal", 0.031, low=None, high=None),)))["gains"]
    assert "no interval" in texts_of(chart)
    assert 'fill="var(--paper)" stroke="var(--c1)"' in svg_of(chart)


def test_the_best_floor_is_the_settings_own_and_of_errors_the_smallest(every: Mapping[str, dict[str, Chart]]) -> None:
    lines = texts_of(every["sign"]["primary"]).split("\n")
    assert lines.count("author's prior rate 0.570") == 1
    assert lines.count("majority 0.500") == 3
    floors = [score("all", "mae", 5.0, floor="zero"), score("all", "mae", 4.0, floor="median")]
    chart = made(summary([score("p-conv", "mae", 3.0)], floors, primary="mae"))["primary"]
    assert "median 4.000" in texts_of(chart)


def test_domains_are_sorted_best_first_with_their_n(every: Mapping[str, dict[str, Chart]]) -> None:
    words = texts_of(every["sign"]["domains"])
    places = [words.index(f"{name} · {96 - number}") for number, name in enumerate(DOMAINS)]
    assert places == sorted(places)
    rows = [score("p-conv", "mae", value, group=f"domain={name}") for name, value in (("far", 9.0), ("near", 1.0))]
    words = texts_of(made(summary(rows, [], primary="mae"))["domains"])
    assert words.index("near · 480") < words.index("far · 480")


def test_of_many_domains_the_largest_are_drawn_and_the_rest_is_said() -> None:
    rows = [score("p-conv", "accuracy", 0.5, group=f"domain=d{n:02}", n=100 + n) for n in range(30)]
    chart = made(summary(rows, [], primary="accuracy"))["domains"]
    assert "10 smaller domains are in the table only" in chart.caption
    assert "d29 · 129" in texts_of(chart)
    assert "d09" not in texts_of(chart)


def test_the_confusion_counts_failed_answers_apart_weighs_rows_and_says_what_an_answer_is_worth() -> None:
    # By hand: stratum a stands for 300 (2 there), b for 100 (2 there): weights 150 and 50.
    items = pl.DataFrame(
        {
            "instance_id": ["1", "2", "3", "4"],
            "setting": "p-conv",
            "sample": 0,
            "stratum": ["a", "a", "b", "b"],
            "stratum_size": [300, 300, 100, 100],
            "reason": [None, None, None, "refused"],
            "predicted": ["positive", "positive", "negative", "negative"],
            "correct": [True, False, False, False],
        }
    )
    # truths: 1 positive, 2 negative, 3 positive, 4 positive (failed: judged as the opposite)
    chart = made(full_summary("sign"), items)["confusion"]
    shares = [line for line in texts_of(chart).split("\n") if line.endswith("%")]
    assert shares == ["60.0 %", "20.0 %", "20.0 %", "100 %", "0 %", "0 %", "50.0 %", "100 %"]
    assert "positive found 60.0 %, negative found 0 %" in chart.alt


def test_samples_share_the_weight_of_their_instance_and_floors_are_nobodys_answers() -> None:
    items = pl.DataFrame(
        {
            "instance_id": ["1", "1", "2", "1"],
            "setting": ["p-conv"] * 4,
            "sample": [0, 1, 0, 0],
            "floor": [None, None, None, "majority"],
            "weight": [3.0, 3.0, 1.0, 3.0],
        }
    )
    assert own_answers(items)["weight"].to_list() == [1.5, 1.5, 1.0]


def test_the_shares_of_a_row_add_up_to_a_hundred() -> None:
    thirds = pl.DataFrame(
        {
            "instance_id": list("123"),
            "setting": "p-conv",
            "reason": [None, None, "refused"],
            "predicted": ["positive", "negative", "negative"],
            "correct": [True, False, False],
        }
    )
    words = texts_of(made(full_summary("sign"), thirds)["confusion"]).split("\n")
    assert sorted(word for word in words if word.startswith("33.")) == ["33.3 %", "33.3 %", "33.4 %"]


def test_a_class_that_is_not_there_is_not_zero_percent() -> None:
    items = pl.DataFrame({"instance_id": ["1"], "setting": ["p-conv"], "predicted": ["positive"], "correct": [True]})
    assert "negative found n/a" in made(full_summary("sign"), items)["confusion"].alt


def test_many_predictions_become_cells_and_few_stay_points() -> None:
    few, many = (made(full_summary("value"), full_items("value", n))["values"] for n in (50, 600))
    assert "an answer" in texts_of(few)
    assert "answers" in texts_of(many)
    assert len(svg_of(many)) < 300_000


def test_failed_predictions_are_crosses_and_said(every: Mapping[str, dict[str, Chart]]) -> None:
    chart = every["value"]["values"]
    failed = full_items("value", 300).filter(pl.col("floor").is_null() & pl.col("reason").is_not_null())
    for setting in SETTINGS:
        n = failed.filter(pl.col("setting") == setting).height
        assert f"{setting} · n 300, failed {n}" in texts_of(chart)
    assert "failed, as charged" in texts_of(chart)


@pytest.mark.parametrize(("truths", "drawn"), [((4.0, 30.0), 0), ((-4.0, 30.0), 8)], ids=["all above 0", "both signs"])
def test_the_lines_of_zero_stand_where_zero_is_or_nowhere(truths: tuple[float, ...], drawn: int) -> None:
    items = full_items("value", 20).filter(pl.col("floor").is_null()).with_columns(reason=None)
    true = pl.when(pl.int_range(pl.len()) % 2 == 0).then(truths[0]).otherwise(truths[1])
    chart = made(full_summary("value"), items.with_columns(predicted=true + 1, error=pl.lit(1.0)))["values"]
    lines = [(axes, line) for axes in chart.figure.axes for line in axes.lines if line.get_linewidth() == 0.4]
    assert len(lines) == drawn
    for axes, line in lines:
        assert axes.get_xlim()[0] < 0 < axes.get_xlim()[1]
        assert {*line.get_xdata()} == {0} or {*line.get_ydata()} == {0}


def test_a_caption_names_the_metric_that_is_drawn(every: Mapping[str, dict[str, Chart]]) -> None:
    named = {"sign": ("balanced accuracy",), "value": ("log error",), "text": ("ROUGE-L",)}
    for kind, names in named.items():
        for chart in (each for name, each in every[kind].items() if name not in ("failures", "cost")):
            wanted = ("ROUGE-L", "METEOR", "SBERT cosine") if chart.name == "texts" else names
            assert all(name.lower() in chart.caption.lower() for name in wanted), chart.name
            assert "primary metric" not in chart.caption
    paper = made(full_summary("value", primary="mae"), full_items("value", 50))["values"]
    assert "log error" not in paper.caption, "another metric's scale is only a scale"
    domains = every["sign"]["domains"].caption
    assert "own history less a stranger's, in balanced accuracy" in domains


def test_where_metrics_have_different_best_floors_each_is_named_with_its_own() -> None:
    floors = [score("all", "rouge_l", 0.2, floor="newest"), score("all", "meteor", 0.3, floor="copy")]
    given = replace(full_summary("text"), floors=tuple(floors))
    assert "(ROUGE-L: newest; METEOR: copy)" in made(given, full_items("text", 30))["texts"].caption


def test_distributions_are_drawn_for_the_metrics_that_are_there_beside_the_best_floor(
    every: Mapping[str, dict[str, Chart]],
) -> None:
    words = texts_of(every["text"]["texts"])
    assert {"ROUGE-L, right is better", "METEOR, right is better", "SBERT cosine, right is better"} <= set(
        words.split("\n")
    )
    assert "best floor, mean" in words
    assert "the best trivial predictor (author's prior rate)" in every["text"]["texts"].caption
    assert "best answer" not in every["text"]["texts"].caption
    without = full_items("text", 50).drop("sbert").with_columns(meteor=pl.lit(None, pl.Float64))
    words = texts_of(made(full_summary("text"), without)["texts"])
    assert "ROUGE-L, right is better" in words
    assert "METEOR" not in words


def test_an_unknown_price_leaves_tokens_and_is_no_zero() -> None:
    spent = (Spent("p-conv", 480, 1000, 400, 90, 40, None), Spent("np-conv", 480, 900, 0, 90, 40, None))
    chart = made(summary(cost=Cost(None, None, None, None, None, None, by_setting=spent)))["cost"]
    assert "$" not in texts_of(chart)
    assert "No price is known for this model." in chart.caption
    assert "1.09k tokens" in texts_of(chart)


def test_what_was_saved_by_an_unknown_amount_is_named_and_not_drawn(every: Mapping[str, dict[str, Chart]]) -> None:
    chart = every["sign"]["cost"]
    assert "$0.00060 not paid" in texts_of(chart)
    assert "cached prompts" not in texts_of(chart)
    assert "by an amount that is not known: cached prompts" in chart.caption


def test_failures_are_shares_of_the_final_answers_of_their_setting() -> None:
    given = full_summary("sign", failures=(Failure("p-conv", "refused", 5), Failure("p-conv", "unparsable", 20)))
    words = texts_of(made(given, full_items("sign", 100))["failures"])
    assert "25 of 100 failed, coverage 75.0 %" in words
    assert "0 of 100 failed, coverage 100 %" in words
    assert "failures" not in made(full_summary("sign", failures=()), full_items("sign", 20))


def test_items_of_the_paper_protocol_get_the_charts_that_make_sense() -> None:
    three = SETTINGS[:3]
    base = {"instance_id": [str(n // 3) for n in range(60)], "setting": list(three) * 20, "sample": 0, "user": "u"}
    rows = [score(name, "accuracy", 0.8, low=0.7, high=0.9) for name in three]
    given = summary(rows, [], protocol="paper", primary="accuracy", failures=())
    unusable = [None if n % 7 == 0 else n % 2 == 0 for n in range(60)]
    sign = pl.DataFrame(
        {**base, "positive": [n % 3 != 0 for n in range(60)], "said_positive": unusable, "correct": True}
    )
    found = made(given, sign)
    assert list(found) == ["primary", "confusion"]
    assert "failed" in texts_of(found["confusion"])
    guess = [None if n % 7 == 0 else float(n) for n in range(60)]
    value = pl.DataFrame({**base, "score": 5, "prediction": guess, "error": [g and g - 5 for g in guess]})
    found = made(given, value)
    assert list(found) == ["primary", "values"]
    assert "not shown" in found["values"].caption
    text = pl.DataFrame({**base, "rouge_1": 0.2, "rouge_l": [None if g is None else 0.1 for g in guess], "bleu": 0.0})
    found = made(given, text)
    assert list(found) == ["primary", "texts"]
    assert "means, by this protocol of the best answer to each prompt and without zeros" in found["texts"].caption


def test_nothing_scored_draws_nothing() -> None:
    assert made(summary([], [], failures=())) == {}
    empty = full_items("sign", 1).head(0)
    assert made(summary([], [], failures=()), empty) == {}
    undefined = [score("p-conv", "balanced_accuracy", None)]
    assert made(summary(undefined, [], failures=())) == {}
