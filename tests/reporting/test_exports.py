"""A comparison in other forms: nothing is lost in the long frame, and no text of a stranger can do anything."""

from __future__ import annotations

import io
import json
import re
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from runner.errors import RunnerError
from runner.reporting.comparison import Comparison
from runner.reporting.exports import EFFECTS, SCHEMA, exported, long_frame
from runner.reporting.latex import Width, escape_latex
from runner.reporting.summary import REHEARSAL
from tests.reporting.boards_to_show import beside, board, effect, pair, run, two_models
from tests.reporting.runs_to_show import NASTY, score

BOOKTABS = {
    "begin",
    "end",
    "caption",
    "centering",
    "scriptsize",
    "setlength",
    "tabcolsep",
    "toprule",
    "midrule",
    "bottomrule",
}
BOOKTABS |= {"par", "smallskip", "raggedright", "approx", "downarrow", "cdot", "geq"}
BOOKTABS |= {"textbackslash", "textasciitilde", "ensuremath", "ldots", "label", "textbf", "multicolumn", "allowbreak"}
BOOKTABS |= {"penalty", "footnotesize", "addlinespace", "tiny", "tabularnewline", "linewidth"}
BOOKTABS |= {"sbox", "ifdim", "wd", "resizebox", "usebox", "else", "fi"}  # graphicx: no wider than there is room


def _text(comparison: Comparison, name: str) -> str:
    return exported(comparison, Path(name)).decode()


def _nasty() -> Comparison:
    nasty = run(NASTY, 0.7, caution=NASTY)
    tested = (pair(NASTY, "b", 0.1, 0.05, 0.2, 0.01, 0.01),)
    made = board(nasty, run("b", 0.6), pairs=tested, title=NASTY)
    footnoted = replace(beside(nasty, title=NASTY), source=NASTY, footnotes=(NASTY,))
    return Comparison((made,), (footnoted,), (NASTY,))


def test_the_long_frame_holds_every_value_of_every_run_and_floor_unrounded() -> None:
    third = 1 / 3
    made = run("a", 0.7)
    made = replace(made, rows=(*made.rows, score("p-conv", "mcc", third), score("p-conv", "mae", None, note="n/a")))
    frame = long_frame(Comparison((board(made, run("b", 0.6)),)))
    assert frame.schema == pl.Schema({**SCHEMA, **EFFECTS})
    values = frame.filter(pl.col("effect").is_null())
    assert values.height == sum(len(each.rows) + len(each.floors) for each in (made, run("b", 0.6)))
    row = frame.row(by_predicate=pl.col("metric") == "mcc", named=True)
    assert (row["value"], row["model"], row["cost_usd"], row["floor"]) == (third, "a", 2.0, None)
    assert frame.filter(pl.col("metric") == "mae")["value"].to_list() == [None], "undefined is no zero"


def test_csv_json_and_parquet_hold_the_same_frame() -> None:
    made = two_models()
    frame = long_frame(made)
    assert pl.read_parquet(io.BytesIO(exported(made, Path("t.parquet")))).equals(frame)
    assert pl.read_csv(exported(made, Path("t.csv")), schema={**SCHEMA, **EFFECTS}).equals(frame)
    scores = json.loads(exported(made, Path("t.json")))["scores"]
    values = frame.filter(pl.col("effect").is_null()).select(*SCHEMA)
    assert pl.DataFrame(scores, schema=dict(SCHEMA), orient="row").equals(values)


def test_csv_and_parquet_carry_the_effects_and_the_pairs_of_models() -> None:
    made = two_models()
    for frame in (
        pl.read_parquet(io.BytesIO(exported(made, Path("t.parquet")))),
        pl.read_csv(exported(made, Path("t.csv")), schema={**SCHEMA, **EFFECTS}),
    ):
        found = frame.filter(~pl.col("rehearsal") & pl.col("effect").is_not_null())
        assert found.group_by("kind").len().sort("kind").rows() == [("floor", 2), ("main", 2), ("model", 1)]
        personal = found.row(by_predicate=(pl.col("effect") == "personal") & (pl.col("model") == "gpt-9"), named=True)
        assert (personal["value"], personal["low"], personal["p_holm"], personal["authors"]) == (
            0.031,
            0.012,
            0.003,
            120,
        )
        assert (personal["setting"], personal["floor"], personal["level"]) == (None, None, 0.95)
        (tested,) = found.filter(pl.col("kind") == "model").iter_rows(named=True)
        assert (tested["effect"], tested["setting"], tested["run"]) == ("gpt-9 - tiny-1", "p-conv", None)
        assert (tested["task"], tested["p_holm"]) == ("3.1", 0.0004)


def test_in_every_raw_form_each_row_of_a_rehearsal_says_that_it_is_one() -> None:
    frame = long_frame(two_models())
    assert set(frame.filter("rehearsal")["venue"]) == {"emulator:openai"}
    assert set(frame.filter(~pl.col("rehearsal"))["venue"].drop_nulls()) == {"openai"}
    assert frame["rehearsal"].null_count() == 0


def test_json_also_holds_effects_pairs_published_values_and_remarks() -> None:
    made = two_models()
    content = json.loads(exported(replace(made, published=(beside(run("a", 0.7)),)), Path("t.json")))
    assert content["pairs"][0]["p_holm"] == 0.0004
    assert {each["name"] for each in content["effects"]} == {"personal", "p-conv - majority"}
    assert content["published"][0]["rows"][0]["value"] == 0.9122
    assert content["published"][0]["footnotes"] == ["F1 is of two kinds"]
    assert content["remarks"] == ["A run was left out."]


def test_markdown_holds_every_table_with_its_marks_and_remarks() -> None:
    text = _text(two_models(), "t.md")
    assert text.count("\n## ") == 4, "two leaderboards, the pairs, how to read them"
    assert text.index("\n## EMULATOR") < text.index("<details>") < text.index("\n## Pairs")
    assert f"## {REHEARSAL} · Leaderboard" in text
    assert "| gpt-9 | 0.700 [0.65, 0.75] |" in text
    assert "- A run was left out." in text


@pytest.mark.parametrize("width", ["column", "page"])
def test_latex_needs_nothing_but_two_packages_and_every_brace_and_environment_is_closed(width: Width) -> None:
    for made in (two_models(), _nasty(), replace(two_models(), published=(beside(run("a", 0.7)),))):
        text = exported(made, Path("t.tex"), width).decode().removeprefix("% needs \\usepackage{booktabs,graphicx}\n")
        assert set(re.findall(r"\\([a-zA-Z]+)", text.replace(r"\\", ""))) <= BOOKTABS
        bare = re.sub(r"\\[{}\\%&#_$^]", "", text)
        assert bare.count("{") == bare.count("}")
        assert bare.count("$") % 2 == 0
        kinds = set(re.findall(r"\\begin\{([\w*]+)\}", text))
        assert kinds == {"table" if width == "column" else "table*", "tabular"}
        assert text.count(r"\begin{") == text.count(r"\end{")
        assert text.isascii()


def test_every_row_of_a_latex_table_has_as_many_cells_as_its_columns() -> None:
    made = board(run("a & b % c_d #1 {x} ^~ \\input{/etc/passwd}", 0.7), run("[b]", 0.6))
    text = _text(Comparison((made,)), "t.tex")
    lines = [line for line in text.splitlines() if line.startswith(r"\raggedright")]
    assert [len(re.findall(r"(?<!\\)&", line)) for line in lines] == [7] * 4
    assert r"\input" not in text
    given = replace(beside(run("a", 0.7)), rows=(("[b]", "p-conv", "accuracy", 0.9),))
    rows = [line for line in _text(Comparison((), (given,)), "t.tex").splitlines() if line.endswith(r"\\")]
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {2}


def test_a_letter_that_latex_does_not_know_is_named_by_its_number() -> None:
    assert escape_latex("50 % & $1_000") == r"50 \% \& \$1\_000"
    assert "[U+9B5A]" in _text(Comparison((board(run("魚", 0.7)),)), "t.tex")


def test_nothing_that_a_stranger_wrote_becomes_markup_or_a_control_code() -> None:
    page = _text(_nasty(), "t.html")
    assert "<script" not in page
    assert "alert(1)" in page
    for name in ("t.html", "t.md", "t.csv", "t.tex"):
        text = _text(_nasty(), name)
        assert not re.search("[\x1b\u202e]", text), name
    assert "<script" not in _text(_nasty(), "t.md")


def test_a_name_that_a_spreadsheet_would_compute_is_a_text_in_csv_and_itself_in_parquet() -> None:
    made = Comparison((board(run('=HYPERLINK("http://x")', 0.7)),))
    assert set(pl.read_csv(exported(made, Path("t.csv")))["model"]) == {'\'=HYPERLINK("http://x")'}
    assert set(long_frame(made)["model"]) == {'=HYPERLINK("http://x")'}


def test_the_page_asks_nobody_for_anything_and_draws_each_board_that_has_values() -> None:
    page = _text(two_models(), "t.html")
    assert not re.search(r"""(?:src|href)=["'](?!#)|url\((?!#)|@import""", page)
    assert "default-src 'none'" in page
    assert page.count("<svg") == 2
    assert page.count("<table>") == 3
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids)), "two drawings of a page must not share an id"
    empty = Comparison((board(run("a", 0.7, explanation=None)),))
    bare = replace(empty.boards[0].entries[0].summary, rows=())
    assert "<svg" not in _text(Comparison((board(bare),)), "t.html")


def test_a_page_of_rehearsals_only_begins_with_the_word() -> None:
    rehearsal = board(run("a", 0.7, venue="emulator:openai"), is_rehearsal=True)
    page = _text(Comparison((rehearsal,)), "t.html")
    assert f"<title>{REHEARSAL} · Leaderboard</title>" in page
    assert "<title>Leaderboard</title>" in _text(two_models(), "t.html")


def test_the_same_comparison_gives_the_same_bytes() -> None:
    for name in ("t.md", "t.csv", "t.tex", "t.json", "t.parquet", "t.html"):
        assert exported(two_models(), Path(name)) == exported(two_models(), Path(name))


def test_an_undefined_effect_is_null_in_json() -> None:
    made = board(run("a", 0.7, effects=(effect("personal", None, None, None, note="no interval"),)))
    assert json.loads(exported(Comparison((made,)), Path("t.json")))["effects"][0]["value"] is None


@pytest.mark.parametrize("name", ["table.xlsx", "table", "table.md.gz"])
def test_an_unknown_suffix_is_told_the_known_ones(name: str) -> None:
    with pytest.raises(RunnerError, match=r"\.md, \.csv, \.tex, \.json, \.parquet, \.html"):
        exported(two_models(), Path(name))
