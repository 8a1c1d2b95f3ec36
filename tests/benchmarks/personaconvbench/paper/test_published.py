"""The published table: all of it, in our names, with what a reader has to know."""

import re
from collections import Counter
from importlib.resources import files

import pytest

from runner.benchmarks.personaconvbench import BENCHMARK, paper

GPT_AND_CLAUDE = {"GPT-4.1", "GPT-4o-mini", "Claude-3.5"}
WEIGHTED = {"LLaMA-3.3", "DeepSeek-R1"}


def test_five_models_have_ten_metrics_in_two_settings_and_one_has_np_conv() -> None:
    assert BENCHMARK.published is not None
    table = BENCHMARK.published()
    cells = Counter((model, setting) for model, _, setting, _, _ in table.rows)
    assert cells == {
        **{(model, setting): 10 for model in GPT_AND_CLAUDE | WEIGHTED for setting in ("p-conv", "p-nonconv")},
        ("GPT-4.1", "np-conv"): 10,
    }
    assert len({row[:4] for row in table.rows}) == len(table.rows)
    assert table.protocol == "paper" and "2505.14106" in table.source


def test_metrics_are_called_as_ours_and_each_f1_is_of_its_models() -> None:
    rows = paper.published().rows
    kinds = {"3.1": "sign", "3.2": "value", "3.3": "text"}
    assert {(task, metric) for _, task, _, metric, _ in rows} == {
        (task, metric) for task, kind in kinds.items() for metric in paper.METRICS[kind]
    }
    assert {model for model, _, _, metric, _ in rows if metric == "f1_positive"} == GPT_AND_CLAUDE
    assert {model for model, _, _, metric, _ in rows if metric == "f1_weighted"} == WEIGHTED
    found = {row[:4]: row[4] for row in rows}
    assert found["GPT-4.1", "3.1", "p-conv", "mcc"] == 0.677
    assert found["DeepSeek-R1", "3.3", "p-nonconv", "bleu"] == 0.0083
    assert found["GPT-4.1", "3.2", "np-conv", "mae"] == 97.83


def test_values_are_kept_as_they_were_printed() -> None:
    text = files(paper).joinpath("published.toml").read_text(encoding="utf-8")
    printed = re.findall(r'(?<!\.)"(\d+\.\d+)"', text)
    assert sorted(map(float, printed)) == sorted(row[4] for row in paper.published().rows)
    assert {"0.1540", "0.6770", "351.50"} <= set(printed)


def test_the_footnotes_figures_follow_from_the_table() -> None:
    table = paper.published()
    said = " ".join(table.footnotes)
    found = {row[:4]: row[4] for row in table.rows}
    prevalence = 0.8205
    f1 = 2 * prevalence / (1 + prevalence)
    assert f"{f1:.4f}"[1:] == ".9014" and ".9014" in said
    assert f"{prevalence * f1:.4f}"[1:] == ".7396" and ".7396" in said
    below = {(m, s) for (m, _, s, metric), v in found.items() if metric == "accuracy" and v < prevalence}
    both, one = {"GPT-4o-mini"}, {"GPT-4.1", "Claude-3.5", "LLaMA-3.3", "DeepSeek-R1"}
    assert below == {*((m, "p-nonconv") for m in both | one), *((m, "p-conv") for m in both)}
    mcc = {m: found[m, "3.1", "p-nonconv", "mcc"] for m in GPT_AND_CLAUDE | WEIGHTED}
    top = found["GPT-4.1", "3.1", "p-conv", "mcc"]
    assert max(mcc, key=lambda model: mcc[model]) == "Claude-3.5"
    assert top / mcc["Claude-3.5"] - 1 == pytest.approx(0.85, abs=0.005)
    assert top / mcc["GPT-4.1"] - 1 == pytest.approx(1.98, abs=0.01)
    for word in ("best of ten", "leave the mean", "unequal subsets", "198 %", "85 %", "read off a figure"):
        assert word in said
