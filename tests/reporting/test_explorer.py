import base64
import gzip
import json
from typing import Any

import polars as pl
import pytest
from answers_to_read import answer, instance, instances, prompt
from hypothesis import given
from hypothesis import strategies as st
from runs_to_show import SETTINGS

from runner.reporting.explorer import PER_BLOCK, Explorer, Instance, Ruler, opening_words, pack, reading_order, ruler

RIGHT = Ruler("correct")


def opened(block: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(block)))


def rows(explorer: Explorer) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = opened(explorer.rows)["instances"]
    return found


def test_what_is_packed_comes_out_again() -> None:
    explorer = pack(instances(45), RIGHT, 45)
    assert (explorer.shown, explorer.total, len(explorer.prompts)) == (45, 45, 3)
    assert [row["id"] for row in rows(explorer)] == [f"reply-{number:05d}" for number in range(45)]
    row = rows(explorer)[30]
    content = opened(explorer.prompts[row["block"]])
    for packed in row["answers"]:
        asked = [
            (role, "\n".join(content["lines"][line] for line in lines))
            for role, lines in content["prompts"][packed["request"]]
        ]
        assert tuple(asked) == prompt(30, packed["setting"])


@given(st.text(), st.text())
def test_any_text_survives(said: str, asked: str) -> None:
    given = instance(0, (answer(0, "p-conv", text=said, prompt=(("user", asked),)),))
    explorer = pack([given], RIGHT, 1)
    packed = rows(explorer)[0]["answers"][0]
    content = opened(explorer.prompts[0])
    [[_, lines]] = content["prompts"][packed["request"]]
    assert packed["text"] == said
    assert "\n".join(content["lines"][line] for line in lines) == asked


def told(*prompts: str, reference: str = "positive", number: int = 0) -> Instance:
    settings = zip(SETTINGS, prompts, strict=False)
    return instance(
        number,
        tuple(answer(number, name, prompt=(("user", text),)) for name, text in settings),
        reference=reference,
    )


def test_words_are_what_all_prompts_of_an_instance_share_and_no_other_has() -> None:
    common = "Predict the score of a reply."
    one = told(
        f"{common}\n<title>Own history here</title>\n<post>About cats at home", f"{common}\n<post>About cats at home"
    )
    two = told(f"{common}\n<post>About dogs at home</post>", f"{common}\n<post>About dogs at home</post>", number=1)
    assert opening_words([one, two]) == {"reply-00000": "About cats at home", "reply-00001": "About dogs at home"}


def test_without_such_a_line_the_reference_is_shown_where_it_is_words() -> None:
    same = [told("The very same words", number=number, reference="I would say so") for number in (0, 1)]
    assert set(opening_words(same).values()) == {"I would say so"}
    assert opening_words([told("short one"), instance(1, (answer(1, "p-conv", prompt=()),))]) == {
        "reply-00000": "",
        "reply-00001": "",
    }
    (long,) = opening_words([told("many words " * 40)]).values()
    assert len(long) == 90 and long.endswith("…")


def test_a_lone_surrogate_is_replaced() -> None:
    explorer = pack([instance(0, (answer(0, "p-conv", text="a\ud800b"),))], RIGHT, 1)
    assert rows(explorer)[0]["answers"][0]["text"] == "a\ufffdb"


def test_a_page_holds_whole_instances_within_its_budget() -> None:
    told: list[int] = []
    small = pack(instances(200), RIGHT, 200, budget=20_000, advance=told.append)
    assert 0 < small.shown < 200
    assert small.shown % PER_BLOCK == 0
    assert len(small.rows) + sum(map(len, small.prompts)) <= 20_000
    assert sum(told) == small.shown
    assert all(len(row["answers"]) == len(SETTINGS) for row in rows(small))
    assert pack(instances(5), RIGHT, 5, budget=0).shown == 5


def test_instances_that_came_early_for_their_failure_stand_in_sample_order() -> None:
    explorer = pack([instance(7), instance(900), instance(8)], RIGHT, 3)
    assert [row["place"] for row in rows(explorer)] == [7, 8, 900]


@given(st.lists(st.text(min_size=1), unique=True), st.data())
def test_reading_order_is_all_of_the_sample_with_failures_early(ids: list[str], data: st.DataObject) -> None:
    failed = set(data.draw(st.lists(st.sampled_from(ids)))) if ids else set()
    order = list(reading_order(ids, failed))
    assert sorted(order) == sorted(ids)
    for end in range(len(order) + 1):
        assert len(failed & set(order[:end])) >= min(end // 4, len(failed))
    if not failed:
        assert order == ids


def test_grades_are_right_and_wrong_and_what_could_not_be_used_is_failed() -> None:
    assert RIGHT.grade(answer(1, "p-conv")) == "right"
    assert RIGHT.grade(answer(0, "p-conv")) == "wrong"
    assert RIGHT.grade(answer(3, "np-conv")) == "failed"


@pytest.mark.parametrize(
    ("primary", "column", "lower", "grades"),
    [("rouge_l", "rouge_l", False, "worst middle best"), ("log_mae", "log_error", True, "best middle worst")],
)
def test_other_answers_are_graded_by_quarters_of_the_whole_run(
    primary: str, column: str, lower: bool, grades: str
) -> None:
    found = ruler(pl.DataFrame({column: [float(number) for number in range(101)]}), primary)
    assert found == Ruler(column, lower, 25.0, 75.0)
    values = (answer(1, "p-conv", values={column: value}) for value in (25.0, 50.0, 75.0))
    assert [found.grade(one) for one in values] == grades.split()
    assert found.grade(answer(1, "p-conv", values={column: 0.0}, reason="refused")) == "failed"


def test_an_error_counts_by_its_size() -> None:
    found = ruler(pl.DataFrame({"error": [-100.0, -1.0, 0.0, 1.0, 100.0]}), "rmse")
    assert found.grade(answer(1, "p-conv", values={"error": -100.0})) == "worst"


def test_the_same_answers_give_the_same_page() -> None:
    assert pack(instances(30), RIGHT, 30) == pack(instances(30), RIGHT, 30)
