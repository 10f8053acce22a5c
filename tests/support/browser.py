"""A real browser without a screen, in which a test presses what a person presses; it never reaches the network."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:  # every test imports this file, those on a machine without Playwright, too
    from playwright.sync_api import Browser, Page

PHONE, DESK = 390, 1400  # widths of a window, in pixels
QUIET = ("--disable-quic", "--disable-background-networking", "--disable-component-update", "--disable-sync")


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium; a test is skipped where there is none."""
    program = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if program is None:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program, args=[*QUIET, "--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Chromium, once a file: Playwright keeps an event loop running, where others' tests start theirs."""
    with chromium() as browser:
        yield browser


@dataclass(frozen=True)
class Visit:
    """A page that a person looks at, and what went wrong there: errors of the console, of scripts and of loading."""

    page: Page
    errors: list[str] = field(default_factory=list)

    def widest(self) -> tuple[int, int]:
        """Return the width of the page and of what the window shows of it, in pixels."""
        width, shown = self.page.evaluate(
            "() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]"
        )
        return width, shown

    def barriers(self) -> list[str]:
        """Return what axe-core finds serious or critical for people who use the keyboard or a screen reader."""
        from axe_playwright_python.sync_playwright import Axe

        context = {"exclude": ["svg"]}  # each is one image with a text, and its thousands of paths take long
        found = Axe().run(self.page, context, {"resultTypes": ["violations"]}).response["violations"]
        return [
            f"{one['id']} ({one['impact']}): {one['help']}, at {[node['target'] for node in one['nodes']][:5]}"
            for one in found
            if one["impact"] in ("serious", "critical")
        ]


@contextmanager
def visited(browser: Browser, url: str, width: int = DESK, height: int = 900, **options: Any) -> Iterator[Visit]:
    """Open `url` in a window of its own, with what else Playwright's `new_context` takes (`color_scheme="dark"`)."""
    context = browser.new_context(viewport={"width": width, "height": height}, **options)
    visit = Visit(context.new_page())
    visit.page.on("console", lambda said: visit.errors.append(said.text) if said.type == "error" else None)
    visit.page.on("pageerror", lambda error: visit.errors.append(str(error)))
    visit.page.on("requestfailed", lambda request: visit.errors.append(f"not loaded: {request.url}"))
    visit.page.goto(url)
    yield visit
    context.close()
