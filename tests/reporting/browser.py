"""A real browser for tests of pages: no network, no sandbox, one for all tests of a process."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """Headless Chromium."""
    path = shutil.which("chromium") or shutil.which("google-chrome")
    assert path, "The tests of the report need a browser: install chromium or google-chrome."
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_QUIET))
        yield browser
        browser.close()


@dataclass
class Opened:
    """A page from a file, with everything that it asked for and complained about."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


def open_file(browser: Browser, path: Path, width: int = 1280, *, fragment: str = "", **options: object) -> Opened:
    """Open the file at ``width`` x 900 pixels; ``options`` are those of a playwright context."""
    page = browser.new_context(viewport={"width": width, "height": 900}, **options).new_page()  # type: ignore[arg-type]
    opened = Opened(page)
    page.on("request", lambda request: opened.requests.append(request.url))
    page.on("console", lambda message: opened.complaints.append(message.text))
    page.on("pageerror", lambda error: opened.complaints.append(str(error)))
    page.on("dialog", lambda dialog: (opened.complaints.append(f"dialog {dialog.message}"), dialog.dismiss()))
    page.goto(path.as_uri() + fragment)
    return opened
