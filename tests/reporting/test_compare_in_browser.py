"""The page of all runs in a real browser: results first, one row a model, the rest to be opened."""

from pathlib import Path

from browser import open_file
from playwright.sync_api import Browser, expect

from runner.reporting.compare_page import render_comparison
from runner.reporting.comparison import Board, Comparison, Entry, best_first
from tests.reporting.boards_to_show import board, pair, run, two_models

_SCREEN = 900


def task(name: str, models: int, smaller: int = 0, **changes: object) -> Board:
    """A board of ``models`` with a leading run each, of the first ones also a smaller one, and all pairs tested."""
    labels = [f"some-model-{number}" for number in range(models)]
    entries = [Entry(label, run(label, 0.8 - place / 100)) for place, label in enumerate(labels)]
    entries += [Entry(f"{label} (first 100)", run(label, 0.9), is_superseded=True) for label in labels[:smaller]]
    pairs = [pair(one, other, 0.02, -0.01, 0.05, 0.2, 0.2) for one in labels for other in labels if one < other]
    title = f"{name} score sign · strict protocol · corpus f00d"
    return board(title=title, entries=best_first(entries, "p-conv"), pairs=tuple(pairs), **changes)


def test_twenty_runs_are_seen_on_two_screens(browser: Browser, tmp_path: Path) -> None:
    path = tmp_path / "table.html"
    path.write_text(render_comparison(Comparison((task("3.1", 6, 2), task("3.2", 6), task("3.3", 5, 1)))))
    opened = open_file(browser, path)
    assert opened.page.evaluate("document.documentElement.scrollHeight") <= 2 * _SCREEN
    assert opened.page.evaluate("document.documentElement.scrollWidth") == 1280
    seen = [row.inner_text() for row in opened.page.locator("tbody th").all() if row.is_visible()]
    assert len([name for name in seen if name.startswith("some-model")]) == 17
    assert not any("first 100" in name for name in seen)
    opened.page.get_by_text("Chart, pairs of models, other runs").first.click()
    expect(opened.page.get_by_role("rowheader", name="some-model-0 (first 100)")).to_be_visible()
    expect(opened.page.get_by_role("rowheader", name="some-model-0 - some-model-1").first).to_be_visible()
    assert opened.complaints == []
    opened.page.context.close()


def test_results_lead_and_rehearsals_are_folded_behind_them_unless_there_is_nothing_else(
    browser: Browser, tmp_path: Path
) -> None:
    path = tmp_path / "table.html"
    path.write_text(render_comparison(two_models()))
    page = open_file(browser, path).page
    headings = page.get_by_role("heading", name="Leaderboard ·")
    expect(headings).to_have_count(1)
    page.get_by_text("Rehearsals on the emulator, not results").click()
    expect(headings).to_have_count(2)
    expect(headings.last).to_contain_text("EMULATOR")
    page.context.close()
    path.write_text(render_comparison(Comparison((task("3.1", 2, is_rehearsal=True),))))
    alone = open_file(browser, path).page
    expect(alone.get_by_role("heading", name="Leaderboard ·")).to_be_visible()
    alone.context.close()
