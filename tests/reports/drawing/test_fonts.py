"""Names in letters that matplotlib's own font lacks: drawn by a font that is there, and silently without one."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import pytest
from fontTools.fontBuilder import FontBuilder
from fontTools.pens.ttGlyphPen import TTGlyphPen
from matplotlib import font_manager
from matplotlib.figure import Figure

from fmim_reports.drawing.plotting import Plot, render

NAME = "膝关节"


def titled(figure: Figure) -> None:
    figure.add_subplot().set_title(f"{NAME} mAP")


PLOT = Plot("knees", "Knees", "Knees.", "Knees.", 2, titled)


@pytest.fixture
def chinese_font(tmp_path: Path) -> Iterator[None]:
    """A font of the three letters, each a square, as if it were installed."""
    pen = TTGlyphPen(None)
    for move, point in ((pen.moveTo, (0, 0)), (pen.lineTo, (0, 900)), (pen.lineTo, (900, 900)), (pen.lineTo, (900, 0))):
        move(point)
    pen.closePath()
    names = [".notdef", *(f"uni{ord(letter):04X}" for letter in NAME)]
    font = FontBuilder(1000)
    font.setupGlyphOrder(names)
    font.setupCharacterMap({ord(letter): f"uni{ord(letter):04X}" for letter in NAME})
    font.setupGlyf(dict.fromkeys(names, pen.glyph()))
    font.setupHorizontalMetrics(dict.fromkeys(names, (1000, 0)))
    font.setupHorizontalHeader(ascent=900, descent=-100)
    font.setupNameTable({"familyName": "Noto Sans CJK SC", "styleName": "Regular", "psName": "NotoSansCJKsc"})
    font.setupOS2()
    font.setupPost()
    font.save(tmp_path / "cjk.ttf")
    before = list(font_manager.fontManager.ttflist)
    font_manager.fontManager.addfont(tmp_path / "cjk.ttf")
    yield
    font_manager.fontManager.ttflist = before


def drawn_quietly(caplog: pytest.LogCaptureFixture) -> str:
    """The figure's SVG, of which nothing was told."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        svg = render(PLOT, NAME).svg.decode()
    assert caplog.messages == []
    return svg


def test_letters_come_from_a_font_that_has_them(chinese_font: None, caplog: pytest.LogCaptureFixture) -> None:
    svg = drawn_quietly(caplog)
    assert svg.count("#NotoSansCJKsc-") == 2 * len(NAME)  # in the title and below the axes
    assert "#DejaVuSans-Bold-" in svg  # mAP


def test_letters_that_no_font_has_are_not_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fmim_reports.drawing.plotting.FURTHER_FONTS", ())
    assert "NotoSansCJK" not in drawn_quietly(caplog)
