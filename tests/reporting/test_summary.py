import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runner.errors import RunnerError
from runner.metrics.score import Score
from runner.reporting.summary import Cost, Failure, Requests, Summary

words = st.text(max_size=12)
counts = st.integers(0, 2**53)
numbers = st.floats(allow_nan=False, allow_infinity=False)
maybe = st.none() | numbers
scores = st.builds(
    Score,
    setting=words,
    group=words,
    metric=words,
    value=maybe,
    low=maybe,
    high=maybe,
    n=counts,
    coverage=numbers,
    floor=st.none(),
    note=st.none() | words,
)
floors = scores.flatmap(lambda score: words.map(lambda name: Score(**{**_fields(score), "floor": name})))
statuses = st.dictionaries(st.sampled_from(["ok", "refused", "missing"]), counts)
summaries = st.builds(
    Summary,
    **dict.fromkeys(("run", "task", "title", "model", "venue", "protocol", "corpus", "primary"), words),
    state=st.sampled_from(["complete", "partial"]),
    instances=counts,
    rows=st.lists(scores, max_size=3).map(tuple),
    floors=st.lists(floors, max_size=3).map(tuple),
    cost=st.builds(Cost, *[maybe] * 6),
    requests=st.builds(Requests, counts, counts, counts, statuses),
    failures=st.lists(st.builds(Failure, words, words, counts), max_size=3).map(tuple),
    caution=st.none() | words,
    explanation=st.none() | words,
    funnel=st.lists(st.tuples(words, counts), max_size=3).map(tuple),
    funnel_notes=st.dictionaries(words, words | counts | numbers, max_size=3),
    versions=st.dictionaries(words, words, max_size=3),
    signatures=st.dictionaries(words, words, max_size=3),
)


def _fields(score: Score) -> dict[str, object]:
    return {name: getattr(score, name) for name in Score.__dataclass_fields__}


@settings(max_examples=60, deadline=None)
@given(summaries)
def test_what_is_written_reads_back_equal(summary: Summary) -> None:
    text = summary.to_json()
    assert Summary.from_json(text) == summary
    assert Summary.from_json(text.encode()).to_json() == text


@settings(max_examples=20, deadline=None)
@given(summaries)
def test_the_file_has_the_shape_that_others_read(summary: Summary) -> None:
    raw = json.loads(summary.to_json())
    assert raw["cost"]["estimated_usd"] == {
        "low": summary.cost.low_usd,
        "mid": summary.cost.mid_usd,
        "high": summary.cost.high_usd,
    }
    assert raw["requests"] == {
        **summary.requests.by_status,
        "total": summary.requests.total,
        "unique": summary.requests.unique,
        "final": summary.requests.final,
    }
    assert raw["funnel"]["steps"] == [list(step) for step in summary.funnel]
    assert all("floor" not in row for row in raw["rows"])
    assert all("floor" in row for row in raw["floors"])


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"run": 1', '{"funnel": 1, "requests": {}}'])
def test_anything_else_is_an_error_in_one_sentence(text: str) -> None:
    with pytest.raises(RunnerError, match="score again"):
        Summary.from_json(text)


def test_an_unknown_state_is_refused() -> None:
    whole = _minimal()
    broken = whole.to_json().replace('"complete"', '"finished"')
    with pytest.raises(RunnerError, match="finished"):
        Summary.from_json(broken)


def _minimal() -> Summary:
    return Summary(
        *("r", "t", "title", "m", "v", "strict", "c"),
        state="complete",
        primary="p",
        instances=0,
        rows=(),
        floors=(),
        cost=Cost(None, None, None, None, None, None),
        requests=Requests(0, 0, 0, {}),
    )
