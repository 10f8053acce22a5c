"""Names in letters that matplotlib's own font lacks: drawn by a font that is there, and silently without one."""

from __future__ import annotations

import warnings

import matplotlib
import pytest
from matplotlib import font_manager
from matplotlib.figure import Figure

from fmim_reports.drawing.plotting import FONT, Plot, drawn, render

NAME = "膝关节"


def test_letters_come_from_a_font_that_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    families: list[list[str]] = []
    plot = Plot("p", "", "", "", 2, lambda figure: families.append(matplotlib.rcParams["font.family"]))
    monkeypatch.setattr(font_manager, "get_font_names", lambda: ["Arial", "Malgun Gothic", "Noto Sans CJK SC"])
    drawn(plot, "data")
    assert families == [[FONT, "Noto Sans CJK SC", "Malgun Gothic"]]


def test_letters_that_no_font_has_are_not_told(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def titled(figure: Figure) -> None:
        figure.add_subplot().set_title(f"{NAME} mAP")

    monkeypatch.setattr("fmim_reports.drawing.plotting.FURTHER_FONTS", ())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert b"<svg" in render(Plot("knees", "Knees", "Knees.", "Knees.", 2, titled), NAME).svg
    assert caplog.messages == []
