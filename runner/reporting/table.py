"""One table, shown three ways: on a terminal, in GitHub markdown, in HTML. Cells are words already."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import IO, TYPE_CHECKING

from rich import box
from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from runner.reporting.words import NOT_GIVEN, plain

if TYPE_CHECKING:
    from jinja2 import Environment

PIPE_WIDTH = 120
"""Columns of a table that is written to a file or a pipe, unless COLUMNS says otherwise."""
_WORDS = re.compile(r"[^\s_-]*(?:[_-]+|\s+|$)")
_NUMBERS = re.compile(r"(?:\[[^\]]*\]|\S)+\s*")
"""Pieces that stay whole when a cell takes several lines: a word or part of a name; a number, an interval."""


@dataclass(frozen=True, slots=True)
class Table:
    """``rows`` are as long as ``columns``; every cell is text, and whoever wrote it, it is escaped here.

    ``marks`` begin the heading (a rehearsal, a partial run), ``caution`` stands over the rows, ``notes`` under
    them. ``text_columns`` hold words, the others numbers; ``strong`` rows are set off.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()
    marks: tuple[str, ...] = ()
    caution: str | None = None
    text_columns: tuple[int, ...] = (0,)
    strong: tuple[int, ...] = ()

    @property
    def heading(self) -> str:
        """Marks and title, the same words in every rendering."""
        return " · ".join((*self.marks, self.title))


def without_empty_columns(table: Table, keep: int = 1) -> Table:
    """The table without the columns that say nothing of any row; the first ``keep`` ones stay."""
    said = [
        place
        for place in range(len(table.columns))
        if place < keep or not table.rows or any(row[place] not in ("", NOT_GIVEN) for row in table.rows)
    ]
    return replace(
        table,
        columns=tuple(table.columns[place] for place in said),
        rows=tuple(tuple(row[place] for place in said) for row in table.rows),
        text_columns=tuple(new for new, old in enumerate(said) if old in table.text_columns),
    )


def print_table(table: Table, stream: IO[str]) -> None:
    """Write the table: laid out for a terminal's width, or as plain text without a control code elsewhere."""
    console = console_for(stream)
    console.print(renderable(table, console.width))


def console_for(stream: IO[str]) -> Console:
    """A console that writes control codes to a terminal only, whatever the environment says."""
    terminal = stream.isatty()
    console = Console(file=stream, force_terminal=terminal, highlight=False, emoji=False, markup=False)
    if not terminal and "COLUMNS" not in os.environ:
        console.width = PIPE_WIDTH
    return console


def renderable(table: Table, width: int) -> RenderableType:
    """The table for a terminal: a grid, or one block per row where the grid would have to cut a number."""
    over: list[RenderableType] = [_marks(table)] if table.marks else []
    over.append(Text(plain(table.title), style="bold"))
    if table.caution:
        over.append(Text(f"Caution: {plain(table.caution)}", style="yellow"))
    notes = [Text(f"  {plain(note)}", style="dim") for note in table.notes]
    body = [] if not table.rows else [grid(table, width)] if fits(table, width) else _blocks(table)
    return Group(*over, *body, *notes, Text())


def fits(table: Table, width: int) -> bool:
    """Whether a grid of this width keeps every number and every word whole."""
    return sum(_narrowest(table)) + _gaps(table) <= width


def grid(table: Table, width: int) -> Grid:
    """The rows under their column names, no wider than ``width`` where ``fits`` says so."""
    result = Grid(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0), header_style="bold")
    widths = _widths(table, width)
    columns: list[list[Text]] = []
    for index, (cells, room) in enumerate(zip(_by_column(table), widths, strict=True)):
        name, *column = (_wrapped(cell, room, _pieces(table, index)) for cell in cells)
        words = index in table.text_columns
        result.add_column(name, width=room, justify="left" if words else "right", overflow="fold")
        columns.append(column)
    for number, row in enumerate(zip(*columns, strict=True)):
        result.add_row(*row, style="bold" if number in table.strong else None)
    return result


def to_markdown(table: Table, level: int = 2) -> str:
    """GitHub markdown: heading, caution, pipe table, notes; ends with a line end."""
    parts = [f"{'#' * level} {escape_markdown(table.heading)}"]
    if table.caution:
        parts.append(f"> **Caution:** {escape_markdown(table.caution)}")
    if table.rows:
        ruler = ("---" if index in table.text_columns else "---:" for index in range(len(table.columns)))
        lines = [map(escape_markdown, table.columns), ruler]
        lines += [map(escape_markdown, row) for row in table.rows]
        parts.append("\n".join(f"| {' | '.join(line)} |" for line in lines))
    if table.notes:
        parts.append("\n".join(f"- {escape_markdown(note)}" for note in table.notes))
    return "\n\n".join(parts) + "\n"


def folded_markdown(title: str, tables: Sequence[Table]) -> str:
    """Tables behind one line that opens them (GitHub and most viewers know ``<details>``)."""
    shown = "\n".join(map(to_markdown, tables))
    return f"<details>\n<summary>{escape_markdown(title)}</summary>\n\n{shown}\n</details>\n"


def to_html(table: Table) -> str:
    """A ``<section>`` with heading, caution, ``<table>`` and notes."""
    return templates().get_template("table.html.j2").render(table=table)


def escape_markdown(text: str) -> str:
    """``text`` as one line that markdown and the HTML inside it show as it is."""
    text = plain(text).strip().replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"[\\|`*~$]", r"\\\g<0>", text)
    text = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", text)  # inside a word an underscore means nothing
    text = re.sub(r"^[#+=-](?!\d)|^\d+(?=[.)](?:\s|$))", _escape_start, text)
    return re.sub(r"\](?=[(\[:])", r"]\\", text)  # only these make a link of a bracket


@cache
def templates() -> Environment:
    """The HTML templates; every value that enters one is cleaned and escaped."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("runner.reporting", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: plain(value, lines=True) if type(value) is str else value,
    )


def _escape_start(found: re.Match[str]) -> str:
    """What begins a heading, a rule or a list at the start of a line."""
    return f"{found[0]}\\" if found[0].isdigit() else f"\\{found[0]}"


def _marks(table: Table) -> Text:
    return Text("  ").join(Text(f" {plain(mark)} ", style="bold black on yellow") for mark in table.marks)


def _blocks(table: Table) -> list[RenderableType]:
    names = [plain(name) for name in table.columns[1:]]
    room = max(map(cell_len, names), default=0)
    result: list[RenderableType] = []
    for number, (first, *cells) in enumerate(table.rows):
        result.append(Text(plain(first), style="bold" if number in table.strong else ""))
        result += [
            Text(f"  {name}{' ' * (room - cell_len(name))}  {plain(cell)}")
            for name, cell in zip(names, cells, strict=True)
            if cell
        ]
    return result


def _wrapped(text: str, room: int, pieces: re.Pattern[str]) -> Text:
    lines = [""]
    for piece in pieces.findall(text):
        if cell_len((lines[-1] + piece).rstrip()) > room and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return Text("\n".join(line.rstrip() for line in lines))


def _pieces(table: Table, index: int) -> re.Pattern[str]:
    return _WORDS if index in table.text_columns else _NUMBERS


def _gaps(table: Table) -> int:
    return 2 * (len(table.columns) - 1)


def _narrowest(table: Table) -> list[int]:
    return [
        max((cell_len(piece.rstrip()) for cell in cells for piece in _pieces(table, index).findall(cell)), default=1)
        for index, cells in enumerate(_by_column(table))
    ]


def _widths(table: Table, width: int) -> list[int]:
    """Numbers unbroken or broken, words in the room that is left: whichever makes the table lower."""
    least, columns = _narrowest(table), _by_column(table)
    full = [max(map(cell_len, cells)) for cells in columns]
    whole = [least[index] if index in table.text_columns else full[index] for index in range(len(columns))]

    def widened(widths: list[int]) -> list[int]:
        wish = sum(full[index] - widths[index] for index in table.text_columns)
        spare = min(wish, width - _gaps(table) - sum(widths))
        return [
            low + (full[index] - low) * spare // max(wish, 1) if index in table.text_columns else low
            for index, low in enumerate(widths)
        ]

    def height(widths: list[int]) -> int:
        heights = (
            [len(_wrapped(cell, room, _pieces(table, index)).plain.split("\n")) for cell in cells]
            for index, (cells, room) in enumerate(zip(columns, widths, strict=True))
        )
        return sum(map(max, zip(*heights, strict=True)))

    ways = [widened(start) for start in (whole, least) if sum(start) + _gaps(table) <= width]
    return min(ways or [least], key=height)


def _by_column(table: Table) -> list[tuple[str, ...]]:
    return [tuple(map(plain, cells)) for cells in zip(table.columns, *table.rows, strict=True)]
