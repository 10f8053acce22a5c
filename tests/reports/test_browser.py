"""The report as a person sees it: in a real browser, without a screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.support.browser import DESK, PHONE, visited

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("width", [PHONE, DESK])
def test_the_report_fits_the_window_and_shows_its_figures(browser: Browser, reported: Path, width: int) -> None:
    with visited(browser, (reported / "report" / "index.html").as_uri(), width) as visit:
        scrolled, shown = visit.widest()
        assert scrolled <= shown
        assert visit.page.locator("figure svg:visible").count() == 9
        assert visit.barriers() == []
        assert visit.errors == []
