import re
from collections.abc import Mapping
from pathlib import Path

import polars as pl
import pytest
from charts_to_read import drawn, made, svg_of, texts_of
from runs_to_show import NASTY, full_items, full_summary, score, summary

from runner.reporting.charts import Chart, inline_svg, save


@pytest.fixture(scope="module")
def every() -> Mapping[str, dict[str, Chart]]:
    """One whole run, one rehearsed and partial, and of a third what only it has."""
    rehearsal = full_summary("text", venue="emulator:openai", state="partial")
    return {
        "sign": made(full_summary("sign"), full_items("sign", 30)),
        "text": made(rehearsal, full_items("text", 30)),
        "value": {"values": made(full_summary("value"), full_items("value", 550))["values"]},
    }


def test_an_inline_chart_is_whole_scalable_named_and_asks_nobody_for_anything(
    every: Mapping[str, dict[str, Chart]],
) -> None:
    for chart in (chart for some in every.values() for chart in some.values()):
        text = svg_of(chart)
        svg = drawn(chart)
        assert text.startswith("<svg ")
        assert svg.get("role") == "img"
        assert {"viewBox"} == {"viewBox", "width", "height"} & set(svg.attrib)
        assert (svg[0].tag, svg[0].text, svg[1].tag, svg[1].text) == ("title", chart.title, "desc", chart.alt)
        assert not re.search(r"https?:|url\(|@import|<style|style=|<script|<image|<\?xml", text)
        assert all(link.startswith(f"#{chart.name}-") for link in re.findall(r'href="([^"]*)"', text))


def test_ids_of_two_charts_never_meet_and_every_reference_is_kept(every: Mapping[str, dict[str, Chart]]) -> None:
    ids: list[str] = []
    for chart in every["text"].values():
        text = svg_of(chart)
        own = re.findall(r'\bid="([^"]*)"', text)
        assert set(re.findall(r'href="#([^"]*)"', text)) <= set(own)
        ids += own
    assert len(ids) == len(set(ids))


def test_colours_are_the_pages_so_that_dark_and_print_work(every: Mapping[str, dict[str, Chart]]) -> None:
    for chart in (chart for some in every.values() for chart in some.values()):
        text = svg_of(chart)
        assert not re.search(r'(?:fill|stroke)="(?!none|var\(--(?:ink|dim|line|paper|warn|c[1-6])\))', text), chart.name
        assert "var(--ink)" in text
        for use in drawn(chart).iter("text"):
            assert "fill" in use.attrib  # an unnamed colour would be black on a dark page


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = (made(summary(failures=()))["primary"] for _ in "12")
    assert inline_svg(first) == svg_of(second)
    saved = [path.read_bytes() for path in save(first, tmp_path / "a")]
    again = [path.read_bytes() for path in save(second, tmp_path / "b")]
    assert saved == again
    assert inline_svg(first) == svg_of(second)  # writing files moved nothing


def test_saved_files_are_for_papers(every: Mapping[str, dict[str, Chart]], tmp_path: Path) -> None:
    svg, png, pdf = save(every["sign"]["gains"], tmp_path / "charts")
    assert [path.name for path in (svg, png, pdf)] == ["gains.svg", "gains.png", "gains.pdf"]
    assert "var(" not in svg.read_text()
    assert "own history less a stranger's" in svg.read_text()
    width = int.from_bytes(png.read_bytes()[16:20])
    assert width == 1300  # 6.5 inches at 200 dpi
    assert b"/FontFile2" in pdf.read_bytes()  # TrueType, whole: a journal's checker accepts it
    assert b"/Type3" not in pdf.read_bytes()
    assert b"CreationDate" not in pdf.read_bytes()


def test_a_saved_rehearsal_or_partial_run_can_not_pass_for_a_result(every: Mapping[str, dict[str, Chart]]) -> None:
    for chart in every["text"].values():
        words = texts_of(chart).split("\n")
        assert "EMULATOR — rehearsal, not a result · PARTIAL 1,610 of 1,920" in words
        assert "REHEARSAL" in words
    partial = made(full_summary("sign", state="partial"))["primary"]
    assert {"PARTIAL", "PARTIAL 1,610 of 1,920"} <= set(texts_of(partial).split("\n"))
    for chart in every["sign"].values():
        assert not re.search("REHEARSAL|PARTIAL|EMULATOR", texts_of(chart))


def test_strangers_words_stay_words() -> None:
    name = "$x^2$ " + NASTY[:24]
    rows = [score(name, "balanced_accuracy", 0.6), score(name, "balanced_accuracy", 0.6, group=f"domain={NASTY}")]
    given = summary(rows, [score("all", "balanced_accuracy", 0.5, floor=NASTY)], model=f"$\\frac$ {NASTY}")
    items = full_items("sign", 20).with_columns(setting=pl.lit(name))
    found = made(given, items)
    assert {"primary", "domains", "confusion"} <= set(found)
    for chart in found.values():
        text = svg_of(chart)
        assert "<script" not in text
        assert "&lt;script&gt;" in text
        assert not re.search("[\x00-\x08\x0b-\x1f\u202e]", text)
    assert "$x^2$ <script>" in texts_of(found["primary"])  # no formula
