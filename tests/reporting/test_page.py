import re
from html.parser import HTMLParser

from markdown_it import MarkdownIt
from runs_to_show import NASTY, score, scored_rows, summary

from runner.reporting.page import Example, render_markdown, render_page


class Page(HTMLParser):
    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.headings: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag in ("h1", "h2"):
            self.headings.append("")

    def handle_data(self, data: str) -> None:
        self.text += data
        if self.headings:
            self.headings[-1] += data


EXAMPLE = Example("abc", "p-conv", "  indented\n\n prompt " + NASTY, NASTY, "the reference", "wrong")


def test_a_page_asks_nobody_for_anything() -> None:
    html = render_page(summary(), [EXAMPLE])
    page = Page(html)
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not {"src", "href"} & {name for name, _ in page.attributes}
    assert not re.search(r"https?:|@import|url\(", html)
    assert ("http-equiv", "Content-Security-Policy") in page.attributes


def test_rehearsal_partial_and_caution_stand_over_every_table() -> None:
    given = summary(venue="emulator:openai", state="partial", caution="Beware of the level.")
    page = Page(render_page(given, [EXAMPLE]))
    assert page.tags.count("table") == 6
    sections = page.headings[1:]
    assert len(sections) == 7
    for section in sections:
        assert section.startswith("EMULATOR — rehearsal, not a result PARTIAL 1,610 of 1,920")
    assert all("Beware of the level." in section for section in sections[:6])

    markdown = render_markdown(given)
    headings = [line for line in markdown.splitlines() if line.startswith("#")]
    assert len(headings) == 7
    assert all("EMULATOR — rehearsal, not a result · PARTIAL 1,610 of 1,920" in line for line in headings)
    assert markdown.count("> **Caution:** Beware of the level.") == 6


def test_a_real_and_whole_run_carries_no_mark() -> None:
    for shown in (render_page(summary()), render_markdown(summary())):
        assert "EMULATOR" not in shown
        assert "PARTIAL" not in shown
        assert "Caution" not in shown


def test_a_page_holds_everything_the_summary_says() -> None:
    text = Page(render_page(summary(), [EXAMPLE])).text
    rendered = Page(MarkdownIt("commonmark").enable("table").render(render_markdown(summary()))).text
    for said in ("0.612 [0.55, 0.67]", "floor: majority", "gaming", "120,345", "$0.0042", "price unknown"):
        assert said in text
        assert said in rendered
    for said in ("numpy 2.4", "0.1.0", "failure: unparsable", "3.1__gpt-9__strict__ab12"):
        assert said in text
        assert said in rendered


def test_strangers_texts_are_shown_and_do_nothing() -> None:
    rows = [*scored_rows(), score("p-conv", "balanced_accuracy", 0.5, group=f"domain={NASTY}", note=NASTY)]
    given = summary(rows, model=NASTY, title=NASTY, caution=NASTY, explanation=NASTY, versions={NASTY: NASTY})
    page = Page(render_page(given, [Example(*[NASTY] * 6)]))
    assert "script" not in page.tags
    assert not set("\x1b\u202e") & set(page.text)
    assert "<script>alert(1)</script> a|b red back" in page.text
    assert page.tags.count("details") == 1

    shown = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(render_markdown(given)))
    assert not {"script", "code", "em", "a"} & set(shown.tags)
    assert not set("\x1b\u202e") & set(shown.text)


def test_examples_keep_their_lines_and_say_when_there_is_no_answer() -> None:
    page = Page(render_page(summary(), [EXAMPLE, Example("def", "np-conv", "p", None, "r", "pending")]))
    assert "  indented\n\n prompt" in page.text
    assert "no answer" in page.text
    assert page.tags.count("details") == 2


def test_nothing_to_show_is_explained() -> None:
    given = summary([], [], explanation="No reply has a score of 4 or more.")
    assert "No reply has a score of 4 or more." in Page(render_page(given)).text
    assert "No reply has a score of 4 or more." in render_markdown(given)
