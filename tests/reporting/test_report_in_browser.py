"""The page in a real browser, from a file, without a network."""

import json
from base64 import b64encode
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from random import Random
from statistics import median

import polars as pl
import pytest
from answers_to_read import answer, instance, instances, prompt
from browser import Opened, open_file
from PIL import Image
from playwright.sync_api import Browser, Locator, Page, expect
from runs_to_show import SETTINGS, full_summary, score, scored_rows, summary

from runner.reporting.charts import charts
from runner.reporting.explorer import Instance, Ruler, pack, ruler
from runner.reporting.page import render_page

HOSTILE = (
    "<script>document.title = 'owned'; alert(1)</script></script><!-- ]]> <img src=x onerror=alert(1)> "
    "&amp; {{ 7 * 7 }} \x1b[31mred\x1b[0m \u202eback\u202c zero\u200bwidth \x00 lone \ud800 \U000e0041tag"
)
SHOWN = HOSTILE.replace("\x1b", "⟨U+001B⟩").replace("\u202e", "⟨U+202E⟩").replace("\u202c", "⟨U+202C⟩")
SHOWN = SHOWN.replace("\u200b", "⟨U+200B⟩").replace("\x00", "⟨U+0000⟩").replace("\ud800", "\ufffd")
SHOWN = SHOWN.replace("\U000e0041", "⟨U+E0041⟩")
ITEMS = pl.DataFrame(schema={"instance_id": pl.String, "setting": pl.String, "domain": pl.String, "reason": pl.String})
NO_COPIES = "Object.defineProperty(navigator, 'clipboard', { value: undefined })"


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("report") / "report.html"
    given = summary(venue="emulator:openai", caution="Beware of the level.", remarks=("A remark.",))
    path.write_text(render_page(given, charts(given, ITEMS), pack(instances(120), Ruler("correct"), 4711)))
    return path


def found(page: Page) -> list[str]:
    """The instances of the list, once it is drawn."""
    expect(page.locator("[data-part=panes]")).to_be_visible()
    return page.locator("[data-part=list] .id").all_inner_texts()


def settled(page: Page, count: str) -> list[str]:
    expect(page.locator("[data-part=count]")).to_have_text(count)
    return found(page)


def block(page: Page, label: str) -> str:
    shown = page.get_by_role("region", name=label, exact=True)
    expect(shown).to_be_visible()
    return shown.text_content() or ""


def test_it_opens_from_a_file_without_a_request_or_a_complaint(browser: Browser, report: Path) -> None:
    opened = open_file(browser, report)
    assert len(found(opened.page)) == 50
    assert opened.requests == [report.as_uri()]
    assert opened.complaints == []
    expect(opened.page.locator("header .banner").first).to_have_text("EMULATOR — rehearsal, not a result")
    expect(opened.page.get_by_text("Showing 120 of 4,711 instances")).to_be_visible()
    opened.page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_charts_are_drawn_in_the_colours_of_the_page(browser: Browser, report: Path, scheme: str) -> None:
    page = open_file(browser, report, color_scheme=scheme).page
    figures = page.locator("figure svg")
    assert figures.count() == len(charts(summary(), ITEMS))
    for number in range(figures.count()):
        box = figures.nth(number).bounding_box()
        assert box is not None
        assert min(box["width"], box["height"]) > 80
    colours = page.evaluate("""() => {
        const texts = [...document.querySelectorAll('figure text')].filter((text) => text.textContent.trim());
        return [getComputedStyle(document.body).color, ...texts.map((text) => getComputedStyle(text).fill)];
    }""")
    assert colours[0] in colours[1:]
    page.context.close()


def test_filters_sorting_search_and_pages_find_what_they_say(browser: Browser, report: Path) -> None:
    page = open_file(browser, report).page
    first = settled(page, "120 instances found")
    page.get_by_role("button", name="Next").click()
    expect(page.locator("[data-part=where]")).to_have_text("51–100 of 120")
    assert not set(first) & set(found(page))

    page.get_by_role("combobox", name="Domain").select_option("science")
    assert settled(page, "40 instances found")[:2] == ["reply-00001", "reply-00004"]
    page.get_by_role("combobox", name="Setting").select_option("np-conv")
    page.get_by_role("combobox", name="Result").select_option("failed")
    assert settled(page, "6 instances found")[0] == "reply-00010"
    page.get_by_role("combobox", name="Result").select_option(
        "wrong"
    )  # wrong answers and failures, which are counted as wrong
    names = settled(page, "14 instances found")
    assert {"reply-00010", "reply-00022"} <= set(names)

    page.get_by_role("combobox", name="Order").select_option("worst")
    expect(page.locator("[data-part=list] .id").nth(5)).to_have_text("reply-00115")  # six failures come first
    page.get_by_label("Search").fill("REPLY-00022")
    assert settled(page, "1 instance found") == ["reply-00022"]
    page.get_by_label("Search").fill("no such words")
    expect(page.locator("[data-part=count]")).to_have_text("Nothing matches these filters.")
    page.context.close()


def test_prompts_are_searched_when_that_is_asked(browser: Browser, report: Path) -> None:
    page = open_file(browser, report).page
    found(page)
    page.get_by_label("Search").fill("comment 4 of thread 77:")
    expect(page.locator("[data-part=count]")).to_have_text("Nothing matches these filters.")
    page.get_by_label("in all prompts too").check()
    assert settled(page, "1 instance found") == ["reply-00077"]
    page.context.close()


def test_an_instance_is_read_in_all_settings_and_the_address_keeps_the_place(browser: Browser, report: Path) -> None:
    page = open_file(browser, report).page
    found(page)
    page.get_by_role("button", name="reply-00003").click()
    tabs = page.get_by_role("tab")
    assert [text.split()[0] for text in tabs.all_inner_texts()] == list(SETTINGS)
    tabs.nth(0).press("ArrowRight")
    tabs.nth(1).press("ArrowRight")
    expect(tabs.nth(2)).to_be_focused()
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("failed: refused")
    expect(panel).to_contain_text("n/a: no answer")
    for fact in ("gpt-9-2031-05-01", "3.1__gpt-9__strict__ab12", "aaaaaaaaaaaaaaaaaaa0000320", "1.25"):
        expect(panel).to_contain_text(fact)
    for role, content in prompt(3, "np-conv"):
        assert block(page, f"Prompt, {role}") == content

    address = page.url
    page.context.close()
    again = open_file(browser, report, fragment=f"#{address.partition('#')[2]}&domain=gaming").page
    settled(again, "40 instances found")
    expect(again.get_by_role("tab", selected=True)).to_contain_text("np-conv")
    again.context.close()


@pytest.mark.parametrize("clipboard", [True, False])
def test_what_is_copied_is_the_text_as_it_is(browser: Browser, report: Path, clipboard: bool) -> None:
    context = browser.new_context(permissions=["clipboard-read", "clipboard-write"])
    if not clipboard:
        context.add_init_script(NO_COPIES)
    page = context.new_page()
    page.goto(f"{report.as_uri()}#open=reply-00002&tab=p-conv")
    reader = context.new_page()
    expected = {"Copy prompt": "Is the next reply", "Copy answer": "positive", "Copy as JSON": "messages"}
    for number, (label, said) in enumerate(expected.items()):
        page.bring_to_front()
        button = page.locator(".copies button").nth(number)
        expect(button).to_have_text(label)
        button.click()
        expect(button).to_have_text("Copied")
        reader.bring_to_front()
        reader.goto("about:blank")
        reader.set_content("<textarea autofocus></textarea>")
        reader.locator("textarea").press("Control+v")
        copied = reader.locator("textarea").input_value()
        assert said in copied
    row = json.loads(copied)
    assert row["id"] == "reply-00002"
    assert [message["content"] for message in row["messages"]] == [content for _, content in prompt(2, "p-conv")]
    context.close()


def hostile_page(path: Path) -> None:
    asked = (("user", HOSTILE), (HOSTILE, "x"))
    first = answer(0, "p-conv", text=HOSTILE, prompt=asked, model_version=HOSTILE)
    answers = (first, replace(first, setting=HOSTILE))
    given = Instance(0, HOSTILE, HOSTILE, HOSTILE, answers)
    rows = [*scored_rows(), score("p-conv", "balanced_accuracy", 0.5, group=f"domain={HOSTILE}", note=HOSTILE)]
    shown = summary(rows, model=HOSTILE, title=HOSTILE, caution=HOSTILE, remarks=(HOSTILE,))
    path.write_text(render_page(shown, charts(shown, ITEMS), pack([given, instance(1)], Ruler("correct"), 2)))


def test_hostile_texts_neither_run_nor_hide_nor_break_the_page(browser: Browser, tmp_path: Path) -> None:
    hostile_page(tmp_path / "report.html")
    opened = open_file(browser, tmp_path / "report.html")
    page = opened.page
    assert len(found(page)) == 2
    page.locator("[data-part=list] button").first.click()
    for label in ("Answer", "Reference", "Prompt, user"):
        assert block(page, label) == SHOWN
    page.get_by_role("combobox", name="Domain").select_option(index=1)
    page.get_by_role("combobox", name="Setting").select_option(index=2)
    expect(page.locator("[data-part=count]")).to_have_text("1 instance found")
    assert opened.complaints == []
    assert opened.requests == [(tmp_path / "report.html").as_uri()]
    assert page.title() != "owned"
    assert page.locator("main img, body > img").count() == 0
    assert not set("\x1b\u202e\u200b") & set(page.locator("body").inner_text())
    page.context.close()


def test_beside_an_id_stand_words_by_which_an_instance_is_known_and_found(browser: Browser, tmp_path: Path) -> None:
    def about(number: int) -> Instance:
        thing = f"A question about the number {number} and its neighbours"
        asked = (("user", f"<instruction>The same for all of them.\n<post>{thing}</post>\n<target>Yes it is</target>"),)
        return instance(number, tuple(answer(number, setting, prompt=asked) for setting in SETTINGS))

    given = pack((about(number) for number in range(12)), Ruler("correct"), 12)
    (tmp_path / "report.html").write_text(render_page(summary(), (), given))
    page = open_file(browser, tmp_path / "report.html").page
    assert found(page)[7] == "reply-00007"
    shown = page.locator("[data-part=list] .words")
    expect(shown.nth(7)).to_have_text("A question about the number 7 and its neighbours")
    page.get_by_label("Search").fill("NUMBER 11 and")
    assert settled(page, "1 instance found") == ["reply-00011"]
    page.context.close()


def test_scripts_and_emoji_keep_the_joiners_they_need(browser: Browser, tmp_path: Path) -> None:
    said = "می\u200cخواهم 👨\u200d👩\u200d👧 ❤\ufe0f\u200d🔥 1\ufe0f\u20e3"
    given = instance(0, (answer(0, "p-conv", text=f"{said} a\u200db"),))
    (tmp_path / "report.html").write_text(render_page(summary(), (), pack([given], Ruler("correct"), 1)))
    page = open_file(browser, tmp_path / "report.html", fragment="#open=reply-00000").page
    assert block(page, "Answer") == f"{said} a⟨U+200D⟩b"
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_on_a_phone_nothing_but_tables_is_wider_than_the_screen(browser: Browser, report: Path, scheme: str) -> None:
    page = open_file(browser, report, 375, color_scheme=scheme, has_touch=True).page
    found(page)
    page.get_by_role("button", name="reply-00003").click()
    for folded in page.locator("summary").all():
        folded.click()
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.context.close()


def brightness(page: Page, region: Locator) -> float:
    """Of the last pixels before a table's right edge: the median, so that no letter decides."""
    box = region.bounding_box()
    assert box is not None
    edge = {"x": box["x"] + box["width"] - 4, "y": box["y"], "width": 3, "height": box["height"]}
    seen = Image.open(BytesIO(page.screenshot(clip=edge, full_page=True))).convert("L")  # type: ignore[arg-type]
    return median(seen.tobytes())


@pytest.mark.parametrize(("scheme", "paper"), [("light", 255), ("dark", 22)])
def test_on_a_phone_a_table_shows_that_it_goes_on_to_the_side(
    browser: Browser, tmp_path: Path, scheme: str, paper: int
) -> None:
    given = full_summary("sign")
    (tmp_path / "report.html").write_text(render_page(given, charts(given, ITEMS)))
    page = open_file(browser, tmp_path / "report.html", 375, color_scheme=scheme, has_touch=True).page
    for name in ("Results", "Balanced accuracy by setting"):
        region = page.get_by_role("region", name=name)
        assert abs(brightness(page, region) - paper) > 25
        region.evaluate("region => { region.scrollLeft = region.scrollWidth; }")
        assert abs(brightness(page, region) - paper) < 4
    page.context.close()
    wide = open_file(browser, tmp_path / "report.html", color_scheme=scheme).page
    assert abs(brightness(wide, wide.get_by_role("region", name="Results")) - paper) < 4
    wide.context.close()


def test_at_first_only_the_result_its_floor_and_the_three_effects_are_seen(browser: Browser, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_text(render_page(full_summary("sign")))
    page = open_file(browser, tmp_path / "report.html").page
    rows = page.locator("tbody th").all()
    assert [row.inner_text().split()[0].rstrip(":") for row in rows if row.is_visible()] == [
        *("balanced_accuracy", "best", "personal", "conversation", "interaction")
    ]
    page.get_by_text("All metrics and floors").click()
    expect(page.get_by_role("rowheader", name="floor: majority").first).to_be_visible()
    page.context.close()


def test_on_paper_all_tables_are_open_and_the_explorer_is_not_there(browser: Browser, report: Path) -> None:
    page = open_file(browser, report).page
    found(page)
    expect(page.get_by_role("cell", name="120,345")).to_be_hidden()
    page.emulate_media(media="print")
    expect(page.get_by_role("cell", name="120,345")).to_be_visible()
    expect(page.locator("#explorer")).to_be_hidden()
    assert page.pdf(format="A4").startswith(b"%PDF")
    page.context.close()


def test_without_scripts_the_page_can_be_read_and_says_what_is_missing(browser: Browser, report: Path) -> None:
    page = open_file(browser, report, java_script_enabled=False).page
    expect(page.get_by_text("your browser has to allow scripts")).to_be_visible()
    expect(page.get_by_text("balanced_accuracy (primary)").first).to_be_visible()
    expect(page.locator("form")).to_be_hidden()
    page.context.close()


def test_samples_and_texts_without_right_or_wrong_are_read_too(browser: Browser, tmp_path: Path) -> None:
    items = [
        instance(
            number,
            tuple(
                answer(number, "p-conv", sample, text=f"text {sample}", values={"rouge_l": (number + sample) / 100})
                for sample in range(3)
            ),
        )
        for number in range(40)
    ]
    scale = ruler(pl.DataFrame({"rouge_l": [(n + s) / 100 for n in range(40) for s in range(3)]}), "rouge_l")
    (tmp_path / "report.html").write_text(render_page(summary(), (), pack(items, scale, 40)))
    page = open_file(browser, tmp_path / "report.html", fragment="#sort=best").page
    assert settled(page, "40 instances found")[:2] == ["reply-00039", "reply-00038"]
    page.get_by_role("combobox", name="Result").select_option("best")
    page.get_by_role("button", name="reply-00039").click()
    page.get_by_role("tab", name="sample 3").click()
    assert block(page, "Answer") == "text 2"
    expect(page.get_by_role("tabpanel")).to_contain_text("best quarter")
    page.context.close()


def test_a_hundred_thousand_instances_make_a_page_below_ten_megabytes(browser: Browser, tmp_path: Path) -> None:
    total = 100_000
    random = Random(0)

    def long(number: int) -> Instance:
        asked = (("user", f"{number}\n{b64encode(random.randbytes(1_500)).decode()}"),)
        return instance(number, tuple(answer(number, setting, prompt=asked) for setting in SETTINGS))

    explorer = pack((long(number) for number in range(total)), Ruler("correct"), total)
    assert 0 < explorer.shown < total
    path = tmp_path / "report.html"
    path.write_text(render_page(summary(), (), explorer))
    assert path.stat().st_size < 10_000_000
    opened: Opened = open_file(browser, path)
    expect(opened.page.get_by_text(f"of {total:,} instances, as many as")).to_be_visible()
    opened.page.get_by_role("combobox", name="Result").select_option("wrong")
    last = opened.page.locator("[data-part=list] button").last
    last.click()
    expect(opened.page.get_by_role("region", name="Prompt, user")).to_contain_text("\n")
    assert opened.complaints == []
    opened.page.context.close()
