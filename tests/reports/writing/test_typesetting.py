"""Tables in LaTeX are as wide as there is room, whatever their columns, by the widths of LaTeX's own letters."""

from __future__ import annotations

import pytest

from fmim_reports.writing.typesetting import (
    COLUMN,
    GAP,
    PAGE,
    SIZES,
    Content,
    Layout,
    layout,
    lines_of,
    pieces,
    width_of,
)

NUMBERS = ["72.00 ± 0.71"] * 4
ARMS = ["AdaTriplet + AutoMargin without search"] * 4


def column(cells: list[str], heading: str = "mAP", group: str = "", breaks: bool = False) -> Content:
    return Content(heading, group, cells, breaks)


def widest(found: Layout, contents: list[Content]) -> float:
    """Points of the widest panel."""
    return max(
        sum(
            contents[at].natural(found.size) if width is None else width
            for at, width in zip(panel.columns, panel.widths, strict=True)
        )
        + GAP * (len(panel.columns) - 1)
        for panel in found.panels
    )


def test_letters_have_the_widths_of_computer_modern() -> None:
    assert width_of("0" * 10, 8) == pytest.approx(42.5)  # cmr8: 0.53125 em
    assert width_of("0" * 10, 7) == pytest.approx(39.86, abs=0.01)  # cmr7: 0.56944 em
    assert width_of("W", 8) > width_of("m", 8) > width_of("i", 8)


@pytest.mark.parametrize(
    ("numbers", "across", "panels"), [(1, False, 1), (2, False, 1), (5, True, 1), (8, True, 2), (16, True, 3)]
)
def test_a_table_takes_the_room_that_it_needs(numbers: int, across: bool, panels: int) -> None:
    contents = [column(ARMS, "Arm", breaks=True), *(column(NUMBERS) for _ in range(numbers))]
    found = layout(contents, "A caption.", [])
    assert (found.across, len(found.panels)) == (across, panels)
    assert found.size in SIZES
    assert widest(found, contents) <= (PAGE if across else COLUMN)
    assert sorted({at for panel in found.panels for at in panel.columns}) == list(range(numbers + 1))
    assert all(panel.columns[0] == 0 for panel in found.panels)


def test_bold_letters_take_more_room() -> None:
    plain, bold = column(NUMBERS), Content("mAP", "", NUMBERS, False, bold=frozenset({1}))
    assert bold.natural(8) >= plain.natural(8) * 0.59375 / 0.53125  # em of a digit in cmbx8 and cmr8


def test_long_texts_are_broken_and_long_tables_go_on() -> None:
    names = [f"adatriplet_automargin_without_search.c{number:02d}.fold0.json" for number in range(200)]
    contents = [column(names, "Record", breaks=True), column(["x " * 200] * 200, "Reason", breaks=True)]
    found = layout(contents, "A caption. " * 20, ["A note."])
    assert widest(found, contents) <= PAGE
    assert [row for rows in found.rows for row in rows] == list(range(200))
    assert len(found.rows) > 10
    assert "".join(pieces(names[0])) == names[0]
    assert max(map(len, pieces(names[0]))) <= 15


def test_a_heading_of_several_columns_is_in_lines_of_their_width() -> None:
    heading = "Test, %, mean ± SE over seeds (n = 5)"
    lines = lines_of(heading, 60, 7)
    assert " ".join(lines) == heading
    assert all(width_of(line, 7) <= 60 for line in lines)
