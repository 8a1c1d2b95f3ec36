"""LaTeX tables in a real LaTeX: whatever models are called and however many there are, nothing sticks out."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from runner.metrics.score import Effect
from runner.reporting.comparison import Board, Comparison, Entry, best_first
from runner.reporting.latex import Width, to_latex
from runner.reporting.summary import Summary
from tests.reporting.boards_to_show import beside, board, effect, partial, run, two_models
from tests.reporting.runs_to_show import NASTY, SETTINGS, score

LONG = "vllm/meta-llama/Llama-4-Maverick-17B-128E-Instruct_quantised (openai-compatible.example.org, effort high)"
LETTERS = "".join(map(chr, [*range(0xA1, 0x180)])).replace("\xad", "")


def typeset(folder: Path, *texts: str, options: str = "twocolumn") -> tuple[str, str]:
    """The log and the words of a document of these tables. It has to compile without a question."""
    assert shutil.which("pdflatex"), "The tests of LaTeX tables need pdflatex: install texlive-latex-recommended."
    packages = r"\usepackage{booktabs,graphicx}"
    body = "\n".join((*texts, rf"Text. \ref{{{_labels(texts[0])[0]}}}", r"\end{document}"))
    document = rf"\documentclass[{options}]{{article}}{packages}\begin{{document}}" + "\n" + body
    (folder / "paper.tex").write_text(document, encoding="utf-8")
    asked = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "paper.tex"]
    done = subprocess.run(asked, cwd=folder, capture_output=True, timeout=60, check=False)
    log = (folder / "paper.log").read_text(encoding="latin-1")
    assert done.returncode == 0, log[-2000:]
    return log, document


def _labels(text: str) -> list[str]:
    return re.findall(r"\\label\{([^}]*)\}", text)


def twenty() -> Board:
    """Twenty models in six settings, with wide numbers and names as they come."""
    names = [LONG, NASTY, LETTERS, "[b]", "*c", "a & b % c_d #1 {x} ^~ \\input{/etc/passwd}"]
    names += [f"model-{number}" for number in range(14)]
    many = (*SETTINGS, "none-conv", "none-nonconv")
    entries = []
    for place, name in enumerate(names):
        rows = tuple(score(setting, "mae", 1234.5 + place, low=1000.0, high=2034.5) for setting in many)
        entries.append(Entry(name, replace(run(name, 0.7), rows=rows, primary="mae")))
    return board(settings=many, entries=best_first(entries, "p-conv"), primary="mae")


@pytest.mark.parametrize(("width", "options"), [("column", "twocolumn"), ("page", "twocolumn"), ("page", "11pt")])
def test_it_compiles_and_no_box_is_overfull(tmp_path: Path, width: Width, options: str) -> None:
    usual = to_latex(two_models(), width)
    hard = to_latex(Comparison((twenty(),), (beside(run(NASTY, 0.7, caution=NASTY)),)), width)
    log, document = typeset(tmp_path, usual, hard, options=options)
    assert "Overfull" not in log
    assert not re.search(r"multiply.defined|undefined references on input|Missing character", log)
    assert document.count(r"\begin{table*}" if width == "page" else r"\begin{table}") == 4
    assert (tmp_path / "paper.pdf").stat().st_size > 10_000


@pytest.mark.parametrize("width", ["column", "page"])
def test_a_float_of_usual_models_fits_its_page(tmp_path: Path, width: Width) -> None:
    many = 12 if width == "column" else 20
    made = board(*(run(f"some-provider-model-{place}", 0.8 - place / 100) for place in range(many)))
    log, _ = typeset(tmp_path, to_latex(Comparison((made,)), width))
    assert not re.search("Overfull|Float too large", log)


def effects(p_holm: float | None, authors: float) -> tuple[Effect, ...]:
    return (effect("personal", -0.031, -0.05, -0.012, p=0.001, p_holm=p_holm, family="f", authors=authors),)


def summaries() -> list[Summary]:
    return [
        run("winner", 0.8, effects=effects(0.0012, 118.4)),
        run("other", 0.7, effects=effects(None, 97.9)),
        partial("early", 0.9),
    ]


def test_a_table_has_the_best_values_in_bold_effective_authors_and_adjusted_p_and_no_money() -> None:
    text = to_latex(Comparison((board(*summaries()),)), "page")
    assert re.findall(r"\\textbf\{([^}]*)\}", text) == ["0.800", "0.790", "0.780", "0.770"]
    rows = [line for line in text.splitlines() if line.startswith(r"\raggedright")]
    winner, other = (re.sub(r"\\begin.*?\\end\{tabular\}", "+", row).split(" & ") for row in rows[1:3])
    assert (winner[-2:], other[-2:]) == (["118", r"0.0012 \\"], ["97", r"--- \\"])
    assert "$-$0.031" in rows[1] and "[$-$0.050, $-$0.012]" in rows[1]
    assert not re.search(r"\\\$\d|cost|price", text)
    assert "PARTIAL 12 of 40" in text


def test_where_there_is_no_better_one_nothing_is_bold() -> None:
    for alone in ((run("a", 0.8),), (run("a", 0.8), partial("early", 0.9)), (run("a", 0.8), run("b", 0.8))):
        assert r"\textbf" not in to_latex(Comparison((board(*alone),)), "column")


def test_of_errors_the_smallest_is_bold() -> None:
    rows = {name: (score("p-conv", "mae", value, low=1.0, high=9.0),) for name, value in (("far", 5.0), ("near", 3.0))}
    entries = tuple(Entry(name, replace(run(name, 0.5), rows=own, primary="mae")) for name, own in rows.items())
    text = to_latex(Comparison((board(settings=("p-conv",), entries=entries, primary="mae"),)), "column")
    assert re.findall(r"\\textbf\{([^}]*)\}", text) == ["3.000"]


def test_every_board_is_a_table_of_its_own_with_a_label_of_its_own() -> None:
    boards = (
        board(run("a", 0.8)),
        board(run("b", 0.8)),
        board(run("c", 0.8), title="3.3 next text · strict protocol · x"),
    )
    text = to_latex(Comparison((*boards, board(run("a", 0.8), is_rehearsal=True))), "column")
    assert _labels(text) == [
        "tab:3.1-score-sign-strict-protocol",
        "tab:3.1-score-sign-strict-protocol-2",
        "tab:3.3-next-text-strict-protocol",
        "tab:3.1-score-sign-strict-protocol-rehearsal",
    ]
    assert len(re.findall(r"\\caption\{EMULATOR --- rehearsal, not a result", text)) == 1
    assert text.count(r"\begin{table}") == 4 and "pairs" not in text.lower()
