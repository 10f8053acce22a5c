"""The figures of a report as a person points at them and switches arms off: in a real browser, without a screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from fmim_reports.reading.results import read_results
from fmim_reports.reading.summary import arm_summaries
from fmim_reports.writing.formats import mean_se_text
from tests.support.browser import DESK, PHONE, visited

pytestmark = pytest.mark.slow
ARM = "triplet_grid"


@pytest.fixture(scope="module")
def url(reported: Path) -> str:
    return (reported / "report" / "index.html").as_uri()


@pytest.fixture(scope="module")
def value(reported: Path) -> str:
    """The test value of an arm, as its mark by cost says it."""
    (found,) = (arm for arm in arm_summaries(read_results(reported)) if arm.name == ARM)
    cost = f"configurations trained, N_s {found.cost.n_s}"
    return f"{found.label}: {cost}: test mAP {mean_se_text(found.test.stat)} % (n = 5)"


@pytest.mark.parametrize("width", [DESK, PHONE])
def test_a_mark_says_its_values_to_mouse_finger_and_keyboard(
    browser: Browser, url: str, value: str, width: int
) -> None:
    with visited(browser, url, width, has_touch=width == PHONE) as visit:
        page = visit.page
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        figure, said = page.locator("#map_vs_search_cost svg"), page.locator(".tip")
        mark = figure.locator(f".hits[data-arm={ARM}] circle").first
        mark.scroll_into_view_if_needed()
        expect(said).to_be_hidden()
        box = mark.bounding_box()
        assert box is not None
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        (page.touchscreen.tap if width == PHONE else page.mouse.move)(*middle)
        expect(said).to_have_text(value)
        place = said.bounding_box()
        assert place is not None
        assert 0 <= place["x"] <= place["x"] + place["width"] <= width
        page.keyboard.press("Escape")
        expect(said).to_be_hidden()
        figure.focus()
        page.keyboard.press("ArrowLeft")
        first = said.text_content()
        page.keyboard.press("ArrowRight")
        assert first != said.text_content() == page.get_by_role("status").text_content()
        assert visit.errors == []


def test_an_arm_that_is_switched_off_is_in_no_figure_until_it_is_switched_on(browser: Browser, url: str) -> None:
    with visited(browser, url) as visit:
        page = visit.page
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        shown = page.locator(f"figure svg [data-arm={ARM}]:visible")
        every, others = shown.count(), page.locator("figure svg [data-arm=adatriplet_grid]:visible")
        theirs = others.count()
        assert page.locator(f"figure:has(svg [data-arm={ARM}]:visible)").count() >= 5
        switch = page.get_by_role("checkbox", name="Triplet + grid search", exact=True)
        switch.focus()
        page.keyboard.press("Space")
        assert (shown.count(), others.count()) == (0, theirs)
        page.keyboard.press("Space")
        assert (shown.count(), others.count()) == (every, theirs)
        key = page.locator(f"#map_vs_search_cost .key[data-arms*={ARM}]").first
        key.click()  # in a legend, which stands for the arms of both losses
        assert (shown.count(), others.count(), switch.is_checked()) == (0, 0, False)
        key.click()
        assert (shown.count(), switch.is_checked()) == (every, True)
        assert visit.barriers() == []
        assert visit.errors == []


def test_without_scripts_the_browser_itself_shows_what_a_mark_says(browser: Browser, url: str, value: str) -> None:
    with visited(browser, url, java_script_enabled=False) as visit:
        mark = visit.page.locator(f"#map_vs_search_cost .hits[data-arm={ARM}] circle title").first
        assert mark.text_content() == value
        assert visit.page.locator(".arms").count() == 0
