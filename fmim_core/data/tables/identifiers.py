"""Names of people that a program has probably spoilt: two people who became one name would be a false match."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Sequence

from fmim_core.data.tables.findings import Findings
from fmim_core.data.tables.formats import shortened

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
    what = f"subjects in exponent form, which has lost digits, so that people may have become one: {again}"
    findings.error(what, where(_EXPONENT.fullmatch))
    what = f"subjects that are dates, as a spreadsheet makes of 3-5 or Mar5: if so, {again}"
    findings.warning(what, where(_DATE.fullmatch))
    what = "subjects in decimal form, as programs make of whole numbers: other tables and file names have none"
    findings.warning(what, where(_DECIMAL.fullmatch))
    numbers = {name for name in distinct if _WHOLE.fullmatch(name)}
    if all(_ROUNDED.fullmatch(name) for name in numbers if len(name) > 15):
        what = f"subjects of more than 15 digits, all zeros after these, as a spreadsheet rounds: if so, {again}"
        findings.warning(what, where(lambda name: len(name) > 15 and name in numbers))
    width = max((len(name) for name in numbers if name.startswith("0") and name != "0"), default=0)
    what = f"subjects shorter than others that begin with zeros, which these may have lost: if so, {again}"
    findings.warning(what, where(lambda name: name in numbers and name[0] != "0" and len(name) < width))
    what = f"subjects whose images have numbers that differ in leading zeros, perhaps of several people: {again}"
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
