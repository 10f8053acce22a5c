"""Meanings of the cells of a user's own table: each parser takes a stripped cell and gives None for a mistake."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable

CellParser = Callable[[str], "str | float | None"]

MISSING = frozenset(("na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "unknown", ".", "-", "?"))
"""Words of programs and people for what they do not know, in lower case: such a cell is blank."""
MISSING_NAMES = MISSING - {"na"} | {"-9", "-99", "-999", "-9999"}
"""The same for a person's name: NA may be initials, and numbers that stand for a missing value are none."""
SPLITS = {"train": "train", "train_val": "train", "dev": "train", "development": "train", "test": "test"}
SIDES = {"": "", "l": "L", "left": "L", "r": "R", "right": "R"}
SEXES = {"": "", "m": "M", "male": "M", "f": "F", "female": "F"}
YES, NO = ("yes", "true", "1", "1.0"), ("no", "false", "0", "0.0")
ANSWERS = {"": "", **dict.fromkeys(YES, "yes"), **dict.fromkeys(NO, "no")}
MAX_AGE = 120
MAX_MONTHS = 12 * MAX_AGE

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"\+?(-?)0*(\d+)(?:\.(\d*?)0*)?", re.ASCII)


def one_of(known: dict[str, str]) -> CellParser:
    """Return a parser of the words that may stand there, whatever their case."""
    return lambda cell: known.get(cell.lower())


def months_of(cell: str) -> float | None:
    """Return months from 0 to `MAX_MONTHS`, which years and dates written as one number exceed; NaN for a blank."""
    if not cell:
        return math.nan
    value = _number(cell)
    return value + 0.0 if value is not None and 0 <= value <= MAX_MONTHS else None  # + 0.0: no negative zero


def age_of(cell: str) -> str | None:
    """Return years from 0 to `MAX_AGE` as short text, blank for a blank."""
    if not cell:
        return ""
    value = _number(cell)
    return f"{value:g}" if value is not None and 0 <= value <= MAX_AGE else None


def one_form(text: str) -> str:
    """Return the text as it looks: letters and blanks in one of their Unicode forms, without characters of no width."""
    normal = unicodedata.normalize("NFKC", text)
    return "".join(letter for letter in normal if unicodedata.category(letter) != "Cf")


def one_spelling(cell: str) -> str:
    """Return one text for all ways to write a number or a word: 7 for 007 and 7.0; letters as they look."""
    text = one_form(cell).strip()
    if not (number := _PLAIN.fullmatch(text)):
        return text
    sign, whole, fraction = number.groups()
    return f"{sign}{whole}.{fraction}" if fraction else f"{sign}{whole}"


def caseless(name: str) -> str:
    """Return one text for names that differ in case, in how their accents are made, or in what cannot be seen."""
    return one_form(name).casefold()


def _number(cell: str) -> float | None:
    """Return a plain decimal number; `float` alone would also take "1_2" and digits of other scripts."""
    return float(cell) if NUMBER.fullmatch(cell) else None
