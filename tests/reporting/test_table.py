import io
import re
from html.parser import HTMLParser

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from rich.console import Console
from runs_to_show import NASTY

from runner.reporting.table import Table, print_table, renderable, to_html, to_markdown

NUMBERS = ("0.612 [0.55, 0.67]", "-0.5", "1,234,567", "n/a")
TABLE = Table(
    title="Results",
    columns=("metric", "one", "two", "three", "four"),
    rows=(("a_rather_long_metric_name (primary)", *NUMBERS), ("floor: majority", "0.5", "", "0.25", "$0.0042")),
    notes=("a note",),
    marks=("EMULATOR — rehearsal, not a result", "PARTIAL 3 of 9"),
    caution="Beware of the level.",
)


def on_terminal(table: Table, width: int) -> str:
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(renderable(table, width))
    return console.file.getvalue()  # type: ignore[attr-defined]


def piped(table: Table) -> str:
    stream = io.StringIO()
    print_table(table, stream)
    return stream.getvalue()


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize("show", [piped, to_markdown, lambda table: Page(to_html(table)).text])
def test_every_rendering_says_the_same(show) -> None:
    shown = show(TABLE)
    for text in (*TABLE.marks, TABLE.title, "Caution:", TABLE.caution, "a note", *NUMBERS, "$0.0042"):
        assert text in shown
    assert shown.index("EMULATOR") < shown.index("Results") < shown.index("Beware") < shown.index("0.612")


@pytest.mark.parametrize("width", [30, 40, 60, 80, 120, 200])
def test_no_width_cuts_a_number_or_a_word(width: int) -> None:
    lines = on_terminal(TABLE, width).splitlines()
    assert all(len(line) <= width for line in lines)
    for piece in ("0.612", "[0.55, 0.67]", "1,234,567", "$0.0042", "majority", "metric"):
        assert any(piece in line for line in lines), piece


@settings(max_examples=80, deadline=None)
@given(
    st.integers(24, 120),
    st.lists(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=6), min_size=1, max_size=4),
)
def test_all_numbers_survive_any_width(width: int, values: list[list[float]]) -> None:
    rows = tuple((f"row{i}", *(f"{value:.3f}" for value in row)) for i, row in enumerate(values))
    shown = on_terminal(Table("t", ("name", *"abcdef"), rows), width).split()
    assert not [cell for row in rows for cell in row if cell not in shown]


def test_a_pipe_gets_no_control_code_even_when_colour_is_forced(monkeypatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", piped(TABLE))


NASTY_TABLE = Table(NASTY, ("", NASTY), ((NASTY, NASTY),), (NASTY,), (NASTY,), NASTY)


def test_a_strangers_text_cannot_act_on_a_terminal() -> None:
    for shown in (piped(NASTY_TABLE), on_terminal(NASTY_TABLE, 40)):
        assert "\u202e" not in shown
        assert "\x1b[31m" not in shown
        assert "red" in shown


def test_a_strangers_text_cannot_act_in_html() -> None:
    page = Page(to_html(NASTY_TABLE))
    assert "script" not in page.tags
    assert page.tags.count("table") == 1
    assert "<script>alert(1)</script>" in page.text
    assert not set("\x1b\u202e") & set(page.text)


def test_a_strangers_text_cannot_act_in_markdown() -> None:
    html = MarkdownIt("commonmark").enable("table").render(to_markdown(NASTY_TABLE))
    page = Page(html)
    assert set(page.tags) <= {
        "h2",
        "blockquote",
        "p",
        "strong",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "ul",
        "li",
    }
    assert page.tags.count("td") == 2
    assert page.text.count("<script>alert(1)</script> a|b red back next `code` </table>") == 7


def test_dollars_never_begin_a_formula() -> None:
    assert "\\$1.00 to \\$2.00" in to_markdown(Table("t", ("a",), (("$1.00 to $2.00",),)))


@settings(max_examples=200, deadline=None)
@given(st.text("ab12 |\\`*_~[]()<>&!#+-.:\n$", min_size=1, max_size=20))
def test_markdown_shows_the_text_as_it_is(text: str) -> None:
    table = Table("t", ("head", "x"), ((text, "1"),), notes=(text,))
    page = Page(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(to_markdown(table)))
    assert not {"a", "em", "code", "img", "s", "hr", "h1", "ol", "pre"} & set(page.tags)
    said = " ".join(text.split())
    assert " ".join(page.text.split()).count(said) >= (2 if said else 0)
