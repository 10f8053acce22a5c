"""Meanings of the cells of a user's own table, and names of people that a program has probably spoilt."""

from __future__ import annotations

import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Callable, Sequence

from fmim_core.data.tables.findings import Findings, shortened

CellParser = Callable[[str], "str | float | None"]

MISSING = frozenset(("na", "n/a", "#n/a", "<na>", "nan", "nat", "null", "none", "unknown", ".", "-", "?"))
"""Words for a missing value, in lower case: such a cell counts as blank."""
MISSING_NAMES = MISSING - {"na"} | {"-9", "-99", "-999", "-9999"}
"""The same for a subject: NA may be initials, and no number stands for a missing one."""
SPLITS = {"train": "train", "train_val": "train", "dev": "train", "development": "train", "test": "test"}
SIDES = {"": "", "l": "L", "left": "L", "r": "R", "right": "R"}
SEXES = {"": "", "m": "M", "male": "M", "f": "F", "female": "F"}
YES, NO = ("yes", "true", "1", "1.0"), ("no", "false", "0", "0.0")
ANSWERS = {"": "", **dict.fromkeys(YES, "yes"), **dict.fromkeys(NO, "no")}
MAX_AGE = 120
MAX_MONTHS = 12 * MAX_AGE

NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_PLAIN = re.compile(r"\+?(-?)0*(\d+)(?:\.(\d*?)0*)?", re.ASCII)
_EXPONENT = re.compile(r"[+-]?\d(\.\d+)?[eE][+-]\d{2,3}", re.ASCII)
_DECIMAL = re.compile(r"\d+\.0+", re.ASCII)
_WHOLE = re.compile(r"\d+", re.ASCII)
_ROUNDED = re.compile(r"[1-9]\d{14}0+", re.ASCII)
_MONTH = "(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"  # as spreadsheets write them; MAR-05 may be a site's
_DATE = re.compile(
    rf"\d{{1,2}}-{_MONTH}(?:-\d{{2,4}})?|{_MONTH}-\d{{2,4}}"  # 5-Mar, 5-Mar-2011, Mar-05
    r"|\d{4}-\d\d-\d\d(?: 00:00(?::00)?)?|\d{1,2}([/.])\d{1,2}\1\d{4}",  # 2011-03-05, 3/5/2011, 05.03.2011
    re.ASCII,
)


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


def check_identifiers(names: Sequence[str], images: Sequence[str], places: Sequence[str], findings: Findings) -> None:
    """Add the subjects whose names look like what a spreadsheet or a data frame made of them.

    A number in exponent form has lost digits, and is an error. What may still be each person's own name is a warning:
    dates, decimals, numbers of 15 digits and zeros where all longer ones end so, numbers without the zeros that others
    begin with, and one number whose images are named by several numbers of zeros, as 07 and 007.

    Args:
        names: of each row's subject, and images: its file, both blank where the row has none. places: where it stands.
    """

    distinct = set(names)

    def where(is_odd: Callable[[str], object]) -> list[str]:
        odd = {name for name in distinct if is_odd(name)}
        rows = zip(places, names, strict=True) if odd else ()
        return [f"{place} {shortened(name)!r}" for place, name in rows if name in odd]

    again = "export the table again with that column as text"
    what = f"subjects in exponent form, which loses digits and may merge people: {again}"
    findings.error(what, where(_EXPONENT.fullmatch))
    what = f"subjects that are dates; if a spreadsheet made them from 3-5 or Mar5, {again}"
    findings.warning(what, where(_DATE.fullmatch))
    what = "subjects in decimal form, as 7.0 for 7: other tables and file names may have the whole number"
    findings.warning(what, where(_DECIMAL.fullmatch))
    numbers = {name for name in distinct if _WHOLE.fullmatch(name)}
    if all(_ROUNDED.fullmatch(name) for name in numbers if len(name) > 15):
        what = f"subjects of more than 15 digits that end in zeros; if a spreadsheet rounded them, {again}"
        findings.warning(what, where(lambda name: len(name) > 15 and name in numbers))
    width = max((len(name) for name in numbers if name.startswith("0") and name != "0"), default=0)
    what = f"subjects shorter than others that begin with zeros; if they lost their leading zeros, {again}"
    findings.warning(what, where(lambda name: name in numbers and name[0] != "0" and len(name) < width))
    what = f"subjects whose images differ in leading zeros and may be of several people: {again}"
    findings.warning(what, _padded_otherwise(names, images, numbers))


def _padded_otherwise(names: Sequence[str], images: Sequence[str], numbers: set[str]) -> list[str]:
    """Find subjects with two images whose paths hold their number, but no way to write it in common."""
    ways: dict[str, list[set[str]]] = defaultdict(list)
    for name, image in zip(names, images, strict=True):
        if name in numbers:
            written = {number for number in _WHOLE.findall(image) if number.lstrip("0") == name.lstrip("0")}
            ways[name] += [written] if written else []
    odd = {name: set.union(*found) for name, found in ways.items() if found and not set.intersection(*found)}
    return [f"{name} ({', '.join(sorted(written))})" for name, written in odd.items()]
