import base64
import hashlib
import re
from html.parser import HTMLParser

import polars as pl
from answers_to_read import instances
from markdown_it import MarkdownIt
from runs_to_show import NASTY, full_summary, score, scored_rows, summary

from runner.reporting.charts import charts
from runner.reporting.explorer import Explorer, Ruler, pack
from runner.reporting.page import render_markdown, render_page

ITEMS = pl.DataFrame(schema={"instance_id": pl.String, "setting": pl.String, "domain": pl.String, "reason": pl.String})


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
        if self.cdata_elem is not None:  # a script, a style
            return
        self.text += data
        if self.headings:
            self.headings[-1] += data

    def values(self, name: str) -> set[str]:
        return {value or "" for found, value in self.attributes if found == name}


def explorer(n: int = 3, total: int | None = None) -> Explorer:
    return pack(instances(n), Ruler("correct"), total or n)


def test_a_page_asks_nobody_for_anything_and_its_policy_forbids_it() -> None:
    html = render_page(summary(), charts(summary(), ITEMS), explorer())
    page = Page(html)
    assert not {"link", "img", "iframe", "object", "base"} & set(page.tags)
    assert not page.values("src")
    assert all(re.fullmatch(r"charts/[a-z0-9-]+\.(svg|png|pdf)|#\S+", target) for target in page.values("href"))
    assert not re.search(r"https?:|@import|url\(", html)
    policy = next(content for content in page.values("content") if "-src" in content)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy


def test_the_policy_allows_exactly_the_style_and_the_script_of_the_page() -> None:
    html = render_page(summary(), (), explorer())
    assert len(re.findall(r"<style>|<script>", html)) == 2
    for tag in ("style", "script"):
        inline = re.findall(rf"<{tag}>(.*?)</{tag}>", html, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inline[0].encode()).digest()).decode()
        assert f"{tag}-src &#39;sha256-{digest}&#39;" in html


def test_rehearsal_partial_and_caution_stand_over_every_table_and_part() -> None:
    given = summary(venue="emulator:openai", state="partial", caution="Beware of the level.")
    page = Page(render_page(given, charts(given, ITEMS), explorer()))
    tables = page.tags.count("table")
    sections = page.headings[1:]
    assert len(sections) == tables + 2  # charts, answers
    for section in sections:
        assert section.startswith("EMULATOR — rehearsal, not a result PARTIAL 1,610 of 1,920")
    assert page.text.count("Beware of the level.") == tables + 1

    markdown = render_markdown(given)
    headings = [line for line in markdown.splitlines() if line.startswith("#")]
    assert len(headings) == tables + 1
    assert all("EMULATOR — rehearsal, not a result · PARTIAL 1,610 of 1,920" in line for line in headings)
    assert markdown.count("> **Caution:** Beware of the level.") == tables


def test_a_real_and_whole_run_carries_no_mark() -> None:
    for shown in (render_page(summary()), render_markdown(summary())):
        assert "EMULATOR" not in shown
        assert "PARTIAL" not in shown
        assert "Caution" not in shown


def test_a_page_holds_everything_the_summary_says() -> None:
    given = summary(remarks=("The thread brings the parent.",))
    text = Page(render_page(given)).text
    rendered = Page(MarkdownIt("commonmark").enable("table").render(render_markdown(given))).text
    for said in ("0.612 [0.55, 0.67]", "floor: majority", "gaming", "120,345", "$0.0042", "price unknown"):
        assert said in text
        assert said in rendered
    for said in ("numpy 2.4", "0.1.0", "failure: unparsable", "3.1__gpt-9__strict__ab12", "brings the parent"):
        assert said in text
        assert said in rendered


def test_every_chart_is_in_the_page_and_links_to_its_files() -> None:
    drawn = charts(summary(), ITEMS)
    page, markdown = Page(render_page(summary(), drawn)), render_markdown(summary(), drawn)
    assert page.tags.count("svg") == page.tags.count("figure") == len(drawn) > 0
    for chart in drawn:
        assert {f"charts/{chart.name}.{kind}" for kind in ("svg", "png", "pdf")} <= page.values("href")
        assert f"](charts/{chart.name}.png)" in markdown


def test_strangers_texts_are_shown_and_do_nothing() -> None:
    rows = [*scored_rows(), score("p-conv", "balanced_accuracy", 0.5, group=f"domain={NASTY}", note=NASTY)]
    given = summary(
        rows, model=NASTY, title=NASTY, caution=NASTY, explanation=NASTY, versions={NASTY: NASTY}, remarks=(NASTY,)
    )
    page = Page(render_page(given, charts(given, ITEMS)))
    assert "script" not in page.tags
    assert not set("\x1b\u202e") & set(page.text)
    assert "<script>alert(1)</script> a|b red back" in page.text

    shown = Page(MarkdownIt("commonmark", {"html": True}).enable("table").render(render_markdown(given)))
    assert not {"script", "code", "em", "a"} & set(shown.tags)
    assert not set("\x1b\u202e") & set(shown.text)


def test_a_page_says_which_instances_can_be_read_and_warns_of_real_people() -> None:
    assert "All 3 instances" in Page(render_page(summary(), (), explorer())).text
    sampled = Page(render_page(summary(), (), explorer(total=4711))).text
    assert "Showing 3 of 4,711 instances" in sampled
    assert "scores.parquet beside this file" in sampled
    assert "written by real people" in sampled


def test_markdown_folds_everything_but_the_result_its_effects_and_the_charts() -> None:
    given = full_summary("sign")
    lines = render_markdown(given, charts(given, ITEMS)).splitlines()
    fold, end = lines.index("<details>"), lines.index("</details>")
    rows = [line.split(" |")[0].strip("| ") for line in lines[:fold] if line.startswith("| ")]
    assert [row.split()[0].rstrip(":") for row in rows] == [
        *("metric", "---", "balanced_accuracy", "best"),
        *("effect", "---", "personal", "conversation", "interaction"),
    ]
    assert [line for line in lines[fold:end] if line.startswith("## ")][:2] == [
        "## All metrics and floors",
        "## All effects on balanced_accuracy",
    ]
    assert not any(line.startswith("| ") for line in lines[end:])


def test_nothing_to_show_is_explained() -> None:
    given = summary([], [], explanation="No reply has a score of 4 or more.")
    assert "No reply has a score of 4 or more." in Page(render_page(given)).text
    assert "No reply has a score of 4 or more." in render_markdown(given)
