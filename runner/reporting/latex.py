"""Tables for a paper: one for each board, as wide as a column or as the page, with booktabs and graphicx alone.

A table that would be too wide all the same (many settings, narrow columns) is scaled down to what there is, and
every long word may break, so that nothing sticks out.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from runner.metrics.score import Effect, Score
from runner.reporting.comparison import Board, Comparison, Entry, value_of
from runner.reporting.effects import p_value, percent_level
from runner.reporting.leaderboard import ALIKE, best_floors, is_alike, leaderboard_table
from runner.reporting.published import published_table
from runner.reporting.table import Table
from runner.reporting.tables import LOWER_IS_BETTER
from runner.reporting.words import NOT_GIVEN, count, estimate, plain, signed

Width = Literal["column", "page"]

_OF_NAMES, _OF_PROSE = 6, 20
"""Letters of a word that a column of names, or of text, is never too narrow for."""
_AT_A_SIGN, _INSIDE = r"\allowbreak{}", r"\penalty9000 "
"""Where a line may end: rather after a hyphen or a slash than between two letters."""
_NO_WIDER = r"}\ifdim\wd0>\linewidth\resizebox{\linewidth}{!}{\usebox0}\else\usebox0\fi"
_FONTS: Mapping[Width, str] = {
    "column": r"\scriptsize\setlength{\tabcolsep}{2pt}",
    "page": r"\footnotesize\setlength{\tabcolsep}{4pt}",
}
_SMALL: Mapping[Width, str] = {"column": r"\tiny", "page": r"\scriptsize"}
_LETTERS = "ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ"
_SIGNS = {
    "≈": r"$\approx$",
    "≥": r"$\geq$",
    "≤": r"$\leq$",
    "↓": r"$\downarrow$",
    "↑": r"$\uparrow$",
    "→": r"$\rightarrow$",
    "−": "$-$",
    "×": r"$\times$",
    "±": r"$\pm$",
    "·": r"$\cdot$",
    "√": r"$\surd$",
    "§": r"\S{}",
    "—": "---",
    "–": "--",
    "…": r"\ldots{}",
    "‘": "`",
    "’": "'",
    "“": "``",
    "”": "''",
    "\u00a0": "~",
}


def to_latex(comparison: Comparison, width: Width) -> str:
    """A float for each board, and for each table of published numbers where they were asked for."""
    labels: dict[str, int] = {}
    parts = [r"% needs \usepackage{booktabs,graphicx}"]
    parts += [_board(board, _label(board, labels), width) for board in comparison.boards]
    parts += [_plain(published_table(one), _label(one.board, labels), width) for one in comparison.published]
    parts += [f"% {plain(remark)}" for remark in comparison.remarks]
    return _ascii("\n\n".join(parts)) + "\n"


def escape_latex(text: str, longest: int = _OF_PROSE) -> str:
    """``text`` as one line that LaTeX prints as it is, and may break inside longer words."""

    def broken(word: str) -> str:
        pieces = re.findall(rf"[^\W_]{{1,{longest}}}[\W_]?|[\W_]", word)
        last = pieces.pop()
        return "".join(f"{_escaped(piece)}{_INSIDE if piece.isalnum() else _AT_A_SIGN}" for piece in pieces) + _escaped(
            last
        )

    return " ".join(broken(word) if len(word) > longest else _escaped(word) for word in plain(text).split(" "))


def _board(board: Board, label: str, width: Width) -> str:
    """A row for each model: the settings, the personal effect with its effective authors and adjusted p. No money."""
    effects = {entry.label: effect for entry in board.leading if (effect := entry.effect("personal")) is not None}
    best = {setting: _best(board, setting) for setting in board.settings}
    rows = [
        (_name(entry, board), [*_scores(entry, best, width), *_effect(effects.get(entry.label), effects, width)])
        for entry in board.leading
    ]
    floors = best_floors(board)
    columns = [*map(_heading, board.settings)]
    columns += ["personal", "authors", "Holm $p$"] if effects else []
    lines = [r"\toprule", *_row("model" if width == "page" else "", columns, width), r"\midrule"]
    for name, cells in rows:
        lines += _row(name, cells, width)
    if floors:
        cells = [_cell(floors.get(setting), width) for setting in board.settings]
        lines += [r"\midrule", *_row("best floor", [*cells, *([""] * (len(columns) - len(cells)))], width)]
    first = "" if width == "column" else r"p{0.2\linewidth}"
    body = [rf"\begin{{tabular}}{{@{{}}{first}{'c' * len(columns)}@{{}}}}", *lines, r"\bottomrule", r"\end{tabular}"]
    table = leaderboard_table(board)
    return _float(_caption(board, table, effects.values()), label, body, table, width)


def _plain(table: Table, label: str, width: Width) -> str:
    """Any table of ours, cell by cell."""
    from tabulate import tabulate

    made = tabulate(
        [[plain(cell) for cell in row] for row in table.rows],
        headers=[plain(name) for name in table.columns],
        tablefmt="latex_booktabs",
        disable_numparse=True,
        colalign=["left" if index in table.text_columns else "right" for index in range(len(table.columns))],
    )
    return _float(f"{escape_latex(table.heading)}.", f"{label}-published", [_safe(made)], table, width)


def _float(caption: str, label: str, body: Sequence[str], table: Table, width: Width) -> str:
    """Marks and title in the caption, caution and notes in small print under the rows."""
    kind = "table" if width == "column" else "table*"
    caution = [f"Caution: {table.caution}"] if table.caution else []
    below = r" \par ".join(escape_latex(line) for line in (*caution, *table.notes))
    lines = [
        rf"\begin{{{kind}}}",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{{label}}}",
        _FONTS[width],
        *([r"\sbox0{%", *body, _NO_WIDER] if table.rows else []),
        rf"\par\smallskip\scriptsize\raggedright {below}" if below else "",
        rf"\end{{{kind}}}",
    ]
    return "\n".join(line for line in lines if line)


def _caption(board: Board, table: Table, effects: Iterable[Effect]) -> str:
    lower = "lower" if board.primary in LOWER_IS_BETTER else "higher"
    title = " · ".join((*table.marks, board.title))
    said = [f"{title}: {board.primary} ({lower} is better) with 95 % intervals, bootstrap over authors"]
    if _best(board, board.lead) is not None:
        said.append("bold: the best value of a setting")
    levels = " / ".join(dict.fromkeys(percent_level(effect.level) for effect in effects))
    if levels:
        said.append(
            f"personal: own history rather than a comparable stranger's, {levels} interval; authors: what its "
            "instances are worth; p: Holm-adjusted"
        )
    return f"{escape_latex('; '.join(said))}."


def _row(name: str, cells: Sequence[str], width: Width) -> list[str]:
    """In a column the name has a line of its own over its numbers."""
    numbers = rf"{' & '.join(cells)} \\"
    if width == "page":
        return [r"\addlinespace[2pt]", rf"\raggedright {name} & {numbers}"]
    over = rf"\multicolumn{{{len(cells)}}}{{@{{}}p{{0.75\linewidth}}}}{{\raggedright {name}}} \tabularnewline"
    return [*([r"\addlinespace[2pt]", over] if name else []), numbers]


def _name(entry: Entry, board: Board) -> str:
    done = entry.summary.requests
    partial = f" PARTIAL {count(done.final)} of {count(done.total)}" if entry.is_partial else ""
    alike = f" {ALIKE}" if is_alike(board, entry) else ""
    return escape_latex(entry.label, _OF_NAMES) + escape_latex(f"{alike}{partial}")


def _scores(entry: Entry, best: Mapping[str, float | None], width: Width) -> list[str]:
    """The values in all settings; the best of a setting is bold."""
    found = ((setting, entry.score(setting)) for setting in best)
    return [
        _cell(
            score, width, bold=score is not None and not entry.is_partial and score.value == best[setting] is not None
        )
        for setting, score in found
    ]


def _best(board: Board, setting: str) -> float | None:
    """Of complete runs; None where there are no two different ones to choose from."""
    known = [
        value for entry in board.leading if not entry.is_partial and (value := value_of(entry, setting)) is not None
    ]
    return None if len(set(known)) < 2 else (min if board.primary in LOWER_IS_BETTER else max)(known)


def _cell(score: Score | None, width: Width, *, bold: bool = False) -> str:
    return _stacked(NOT_GIVEN if score is None else estimate(score.value, score.low, score.high), width, bold=bold)


def _effect(effect: Effect | None, among: Mapping[str, Effect], width: Width) -> list[str]:
    """Difference, effective authors, adjusted p; nothing where no model has the effect."""
    if not among:
        return []
    if effect is None:
        return [_escaped(NOT_GIVEN)] * 3
    mixed = len({each.level for each in among.values()}) > 1
    said = signed(effect.value, effect.low, effect.high) + (f" ({percent_level(effect.level)})" if mixed else "")
    return [_stacked(said, width), count(int(effect.authors)), _math(p_value(effect.p_holm))]


def _stacked(text: str, width: Width, *, bold: bool = False) -> str:
    """A value over its interval."""
    value, *below = re.findall(r"\([^)]*\)|\[[^\]]*\]|\S+", text)
    value = rf"\textbf{{{_math(value)}}}" if bold else _math(value)
    if not below:
        return value
    small = "".join(rf"\\{{{_SMALL[width]} {_escaped(part).replace('-', '$-$')}}}" for part in below)
    return rf"\begin{{tabular}}[t]{{@{{}}c@{{}}}}{value}{small}\end{{tabular}}"


def _math(text: str) -> str:
    """A minus and a comparison as they are printed."""
    return re.sub(r"^[<-]", lambda found: f"${found[0]}$", text)


def _heading(setting: str) -> str:
    """A setting over one column: a long name takes two lines."""
    first, dash, rest = setting.partition("-")
    if len(setting) <= len("p-conv") or not rest:
        return escape_latex(setting)
    return rf"\begin{{tabular}}[b]{{@{{}}c@{{}}}}{_escaped(first + dash)}\\{_escaped(rest)}\end{{tabular}}"


def _escaped(word: str) -> str:
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(char, char) for char in word)


def _label(board: Board, known: dict[str, int]) -> str:
    """``tab:3.1-score-sign-strict-protocol``; a second one of these words has a number, a rehearsal says so."""
    words = " ".join(board.title.split(" · ")[:2]).lower()
    name = "tab:" + re.sub(r"[^a-z0-9.]+", "-", words).strip("-") + ("-rehearsal" if board.is_rehearsal else "")
    known[name] = known.get(name, 0) + 1
    return name if known[name] == 1 else f"{name}-{known[name]}"


def _safe(rows: str) -> str:
    """After \\\\ or a rule, LaTeX takes a bracket or a star for an argument."""
    return re.sub(r"^(\s*)([\[*])", r"\1{}\2", rows, flags=re.MULTILINE)


def _ascii(text: str) -> str:
    """Signs by their commands; letters that not every engine and font knows by their number."""

    def written(found: re.Match[str]) -> str:
        char = found[0]
        return _SIGNS.get(char) or (char if char in _LETTERS else rf"[U+{ord(char):04X}]\allowbreak{{}}")

    return re.sub(r"[^\x00-\x7f]", written, text)
