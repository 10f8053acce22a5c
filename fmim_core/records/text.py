"""Text that others wrote (names of files and people, messages of libraries), made harmless where it is shown."""

from __future__ import annotations

import re

# Of C0 and C1 all but tab and line feed, what turns the direction of writing, line ends that few know, and halves of
# characters, as file names that are no UTF-8 have them. A terminal obeys the first, a reader is deceived by the second.
_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # a spreadsheet computes what begins so


def without_controls(text: str) -> str:
    """Return the text with � for each control character, which might move a cursor, colour a terminal or turn text."""
    return _CONTROLS.sub("�", text)


def in_csv(value: object) -> object:
    """Return a cell of a CSV file that no spreadsheet takes for a formula; numbers stay numbers.

    A text that begins as a formula does gets an apostrophe before it, which makes it text.
    """
    if not isinstance(value, str):
        return value
    return without_controls(f"'{value}" if value.startswith(_FORMULA) else value)
