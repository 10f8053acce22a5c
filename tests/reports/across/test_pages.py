"""The pages on several studies in a real browser: a phone and a desk, light and dark, by keyboard."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import product
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from fmim_core.records import summary_path
from fmim_reports.across.differences import differences
from fmim_reports.across.overview import overview_page, read_overview, summary_of
from fmim_reports.across.page import write_comparison
from fmim_reports.across.studies import read_studies
from fmim_reports.reading.results import read_results
from tests.support.browser import DESK, PHONE, visited

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pages(studies: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """An overview of the studies, and a comparison of three of them."""
    first, folder = studies["first"], tmp_path_factory.mktemp("pages")
    sentences = [f"Sentence {number} of a_very_long_name_{'x' * 60}" for number in range(6)]
    summary_of(read_results(first), sentences, ["Something is missing."]).write(summary_path(first))
    overview = folder / "index.html"
    overview.write_text(
        overview_page("runs", read_overview(first.parent, lambda out: False), datetime.now(UTC)), encoding="utf-8"
    )
    read = read_studies([studies[name] for name in ("first", "code", "data")])
    return [overview, write_comparison(folder / "comparison", read, differences(read))]


def test_pages_fit_the_window_stop_nobody_and_unfold_by_keyboard(browser: Browser, pages: list[Path]) -> None:
    for page, (width, scheme) in product(pages, ((PHONE, "dark"), (DESK, "light"))):
        with visited(browser, page.as_uri(), width, color_scheme=scheme) as visit:
            scrolled, shown = visit.widest()
            assert scrolled <= shown
            assert visit.barriers() == []
            assert visit.errors == []
    with visited(browser, pages[0].as_uri()) as visit:
        last = visit.page.get_by_text("Sentence 5")
        assert not last.is_visible()
        visit.page.locator("details summary").focus()
        visit.page.keyboard.press("Enter")
        assert last.is_visible()
