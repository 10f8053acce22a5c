"""The report as a person sees it, presses it and prints it: in a real browser, without a screen."""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from urllib.parse import quote

import pypdfium2
import pytest
from playwright.sync_api import Browser, Page, expect

from fmim_reports.build import tables_of
from fmim_reports.reading.results import read_results
from fmim_reports.writing.markup import latex
from tests.support.browser import DESK, PHONE, visited

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def url(reported: Path) -> str:
    return (reported / "report" / "index.html").as_uri()


OPEN = "document.querySelectorAll('details').forEach((one) => { one.open = true; })"
SCREENS, SHEETS, WORDS = 7, 14, 60  # of the window, of A4, and of a caption that a report has at most, details folded
CAPTION = "all => all.map((one) => one.innerText.replace(/^.*\\n/, '').replace(/\\n[^]*/, '').split(/\\s+/).length)"
OVERFLOW = "all => all.filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.ariaLabel)"


@pytest.mark.parametrize(("width", "scheme"), [(PHONE, "dark"), (DESK, "light")])
def test_the_report_fits_the_window_and_has_no_barriers(browser: Browser, url: str, width: int, scheme: str) -> None:
    with visited(browser, url, width, color_scheme=scheme) as visit:
        page = visit.page
        assert page.locator("figure svg").count() == 12
        assert width == PHONE or page.evaluate("document.documentElement.scrollHeight") <= SCREENS * 900
        if width == DESK:  # the answer, its picture and its table are in the first screen
            boxes = [page.locator(f"#answer {part}").first.bounding_box() for part in (".answer", "svg", "table")]
            assert all(box and box["y"] + box["height"] <= 900 for box in boxes)
        assert visit.barriers() == []
        score = page.locator("#test_metrics tbody td:nth-child(2)").first.bounding_box()
        assert score is not None
        assert score["x"] + score["width"] <= width
        page.evaluate(OPEN)
        scrolled, shown = visit.widest()
        assert scrolled <= shown
        assert width == PHONE or page.locator(".scroll:visible").evaluate_all(OVERFLOW) == []
        assert max(page.locator("caption:visible").evaluate_all(CAPTION)) <= WORDS
        ids = page.locator(".table, figure").evaluate_all("all => all.map((one) => one.id)")
        anchors = page.locator(".table .anchor, figure .anchor").evaluate_all("all => all.map((one) => one.hash)")
        assert anchors == [f"#{name}" for name in ids]
        assert visit.errors == []


def test_links_and_finding_open_what_is_folded(browser: Browser, url: str) -> None:
    with visited(browser, url) as visit:
        page = visit.page
        ids = page.locator(".table, figure").evaluate_all("all => all.map((one) => one.id)")
        assert len(ids) > 30
        for name in ids:
            page.goto(f"{url}#{name}")
            expect(page.locator(f"#{name}")).to_be_in_viewport()
        chosen = page.locator(".choice select").input_value()
        other = page.locator(f".choice .table:not(#{chosen})").first.get_attribute("id")
        page.locator(".choice select").select_option(other)
        expect(page.locator(f"#{chosen}")).to_be_hidden()
        expect(page.locator(f"#{other}")).to_be_visible()
        assert visit.errors == []
    for name, text in (("power", "how often a true difference"), ("by_side", "by side of the query")):
        with visited(browser, f"{url}#:~:text={quote(text)}") as visit:  # opens what it finds, as the search does
            expect(visit.page.locator(f"#{name}")).to_be_in_viewport()


def test_everything_that_can_be_pressed_does_what_it_says(browser: Browser, url: str, reported: Path) -> None:
    permissions = ["clipboard-read", "clipboard-write"]
    with visited(browser, url, permissions=permissions) as visit:
        page = visit.page
        page.goto(f"{url}#search_cost")
        costs = page.locator("#search_cost table").first
        heading = costs.locator("thead tr").last.locator("th").nth(4)
        first = "costs => [...costs.tBodies[0].rows].map((row) => Number(row.cells[4].dataset.value))"
        before = costs.evaluate(first)
        heading.get_by_role("button").focus()
        for direction, expected in (
            ("ascending", sorted(before)),
            ("descending", sorted(before, reverse=True)),
            (None, before),
        ):
            page.keyboard.press("Enter")
            assert heading.get_attribute("aria-sort") == direction
            assert costs.evaluate(first) == expected
        page.goto(f"{url}#grid_vs_automargin")
        sums = page.locator("#grid_vs_automargin")
        sums.get_by_role("button", name="Validation mAP").click()
        last = "table => [...table.tBodies].map((body) => body.rows[body.rows.length - 1].className)"
        assert sums.locator("table").evaluate(last) == ["total", "total"]  # means stay below what they are of
        tables = {table.name: table for found in tables_of(read_results(reported)).values() for table in found}
        for name in ("search_cost", "power"):
            page.goto(f"{url}#{name}")
            button = page.locator(f"#{name} button.copy")
            button.click()
            expect(button).to_have_text("Copied")  # the browser copies while the page goes on
            expect(page.get_by_role("status")).to_have_text("Copied")
            assert page.evaluate("navigator.clipboard.readText()") == latex(tables[name])
        page.goto("about:blank")
        page.goto(url)
        for summary in page.locator("summary").all():
            if summary.is_visible():  # by now, unless it is in a table that is not chosen
                summary.click()
        links = page.locator("a").evaluate_all("all => all.map((one) => one.href)")
        files = [Path(link.removeprefix("file://")) for link in links if not link.startswith(f"{url}#")]
        assert len(files) > 100
        assert [str(file) for file in files if not file.exists()] == []
        assert visit.errors == []


def test_a_page_loads_nothing_from_outside_whatever_is_in_it(browser: Browser, reported: Path, tmp_path: Path) -> None:
    """As it would if a name of somebody else's folder became markup."""
    text = (reported / "report" / "index.html").read_text(encoding="utf-8")
    there = "http://127.0.0.1:9"
    loads = f'<img src="{there}/a.png"><link rel="stylesheet" href="{there}/a.css"><script src="{there}/a.js"></script>'
    loads += f'<iframe src="{there}/"></iframe><script>fetch("{there}/a.json").catch(() => 0)</script>'
    page = tmp_path / "index.html"
    page.write_text(text.replace("<main>", f"<main>{loads}", 1), encoding="utf-8")
    with visited(browser, page.as_uri()) as visit:
        refused = [error for error in visit.errors if "Content Security Policy" in error]
        assert {kind for kind in ("a.png", "a.css", "a.js", "a.json") if any(kind in one for one in refused)} == {
            *("a.png", "a.css", "a.js", "a.json")
        }
        assert not [error for error in visit.errors if "net::ERR_CONNECTION" in error]


def test_without_scripts_everything_is_there(browser: Browser, url: str, tmp_path: Path, reported: Path) -> None:
    alone = tmp_path / "index.html"
    alone.write_bytes((reported / "report" / "index.html").read_bytes())
    with visited(browser, alone.as_uri(), java_script_enabled=False) as visit:
        assert visit.page.locator("button:visible").count() == 0
        visit.page.goto(f"{alone.as_uri()}#power")
        expect(visit.page.locator("#power table").first).to_be_visible()
        visit.page.evaluate(OPEN)
        assert visit.page.locator("figure svg:visible").count() == 12
        assert visit.page.locator(".table:visible").count() == visit.page.locator(".table").count()
        assert visit.errors == []


def words(text: str) -> str:
    """A text as a printed page holds it: without its spaces, breaks and ligatures."""
    return re.sub(r"[\s\u00ad\ufffe-]+", "", unicodedata.normalize("NFKC", text))


def printed(page: Page) -> tuple[int, str]:
    """How many sheets of A4 a page takes, and their words; nothing is cut."""
    document, found, outside = pypdfium2.PdfDocument(page.pdf(prefer_css_page_size=True)), [], 0
    for sheet in map(document.get_page, range(len(document))):
        width, height = sheet.get_size()
        assert sorted((round(width), round(height))) == [595, 842]  # A4 in points
        text = sheet.get_textpage()
        found.append(text.get_text_range())
        boxes = (text.get_charbox(number) for number in range(text.count_chars()))
        outside += sum(left < 0 or bottom < 0 or right > width or top > height for left, bottom, right, top in boxes)
    assert outside == 0
    return len(document), words("".join(found))


@pytest.mark.parametrize("scripts", [True, False])
def test_paper_has_what_is_open_and_cuts_nothing(browser: Browser, url: str, scripts: bool) -> None:
    with visited(browser, url, java_script_enabled=scripts) as visit:
        sheets, folded = printed(visit.page)
        assert sheets <= SHEETS
        visit.page.evaluate(OPEN)
        _, paper = printed(visit.page)
        visit.page.locator("nav, .unseen, .arms").evaluate_all(
            "all => all.forEach((one) => one.remove())"
        )  # not for paper
        kinds = ("th", "td", "summary", "dt", "dd", ".verdict li")
        shown = visit.page.locator(", ".join(f"{one}:visible" for one in kinds)).all_text_contents()
    texts = [*dict.fromkeys(map(words, shown))]
    assert [text for text in texts if text not in paper] == []
    assert [text for text in texts if text not in folded]
