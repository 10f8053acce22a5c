"""The console takes text as it is, and a table fits any terminal."""

from __future__ import annotations

import io

import pytest

from fmim.printing import TextConsole, TextTable


def printed(*parts: TextTable | str, **terminal: object) -> list[str]:
    file = io.StringIO()
    console = TextConsole(file=file, color_system=None, **terminal)  # type: ignore[arg-type]
    for part in parts:
        if isinstance(part, str):
            console.say(part)
        else:
            console.show(part)
    return [line.rstrip() for line in file.getvalue().splitlines()]


def test_markup_and_control_characters_are_shown_and_no_line_breaks() -> None:
    assert printed("[red]a\x1b[1m 1.5 :smile:", "x " * 99, width=20) == ["[red]a�[1m 1.5 :smile:", ("x " * 99).rstrip()]


TABLE = TextTable(("arm", "trials"), [("[b]AdaTriplet\x1b with a long name", "12"), ("b", "–")], frozenset({"trials"}))
ROW = "[b]AdaTriplet� with a long name"


@pytest.mark.parametrize(
    ("terminal", "lines"),
    [
        ({"width": 20}, ["arm trials", "", f"{ROW} 12", "b –"]),  # no terminal: a row is a line
        ({"width": 80, "force_terminal": True}, ["arm trials", "", f"{ROW} 12", "b –"]),
        ({"width": 15, "force_terminal": True}, ["[b]AdaTriplet�", "with a long", "name", "trials: 12", "b"]),
    ],
)
def test_a_table_becomes_lines_where_it_does_not_fit(terminal: dict[str, object], lines: list[str]) -> None:
    assert [" ".join(line.replace("─", "").split()) for line in printed(TABLE, **terminal)] == lines
