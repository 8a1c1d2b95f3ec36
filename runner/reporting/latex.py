"""Tables for a paper: LaTeX with booktabs and nothing else, so that it compiles wherever that package is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from runner.reporting.table import Table
from runner.reporting.words import plain

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


def to_latex(tables: Iterable[Table], remarks: Sequence[str] = ()) -> str:
    """One ``table`` environment each: marks and title in the caption, caution and notes in small print under it."""
    parts = ["% needs \\usepackage{booktabs}", *map(_environment, tables)]
    parts += [f"% {plain(remark)}" for remark in remarks]
    return _ascii("\n\n".join(parts)) + "\n"


def escape_latex(text: str) -> str:
    """``text`` as one line that LaTeX prints as it is."""
    from tabulate import LATEX_ESCAPE_RULES

    return "".join(LATEX_ESCAPE_RULES.get(char, char) for char in plain(text))


def _environment(table: Table) -> str:
    caution = [f"Caution: {table.caution}"] if table.caution else []
    below = r" \par ".join(escape_latex(line) for line in (*caution, *table.notes))
    lines = [
        r"\begin{table}",
        r"\centering",
        r"\scriptsize\setlength{\tabcolsep}{3pt}",
        rf"\caption{{{escape_latex(table.heading)}}}",
        _tabular(table) if table.rows else "",
        rf"\par\smallskip\raggedright {below}" if below else "",
        r"\end{table}",
    ]
    return "\n".join(line for line in lines if line)


def _tabular(table: Table) -> str:
    from tabulate import tabulate

    made = tabulate(
        [[plain(cell) for cell in row] for row in table.rows],
        headers=[plain(name) for name in table.columns],
        tablefmt="latex_booktabs",
        disable_numparse=True,
        colalign=["left" if index in table.text_columns else "right" for index in range(len(table.columns))],
    )
    # After \\ or a rule, LaTeX takes a bracket or a star for an argument.
    return re.sub(r"^(\s*)([\[*])", r"\1{}\2", made, flags=re.MULTILINE)


def _ascii(text: str) -> str:
    """Signs by their commands; letters that no engine knows without more packages by their number."""

    def written(found: re.Match[str]) -> str:
        char = found[0]
        return _SIGNS.get(char) or (char if char.isalpha() and ord(char) < 0x180 else f"[U+{ord(char):04X}]")

    return re.sub(r"[^\x00-\x7f]", written, text)
