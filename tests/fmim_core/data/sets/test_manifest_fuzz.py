"""Generated tables: exactly the rows that were meant, or a refusal that names the place."""

from __future__ import annotations

import csv
import gzip
import io
import math
from typing import Any

import pandas as pd
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fmim_core.data.tables import cells
from fmim_core.data.tables.formats import SEPARATORS
from tests.support.manifests import read

REQUIRED = ("image", "subject", "months")
BLANKS = ["", " ", "NA", "nan", "N/A", "null", "None", ".", "?", "#N/A", "<NA>"]
printable = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
words = st.text(printable, min_size=1, max_size=6).map(str.strip)
subjects = (words | st.sampled_from(["007", "12", "3.50", "1e5", "NA", "-4", "É"])).filter(
    lambda name: name and name.lower() not in cells.MISSING_NAMES
)


@st.composite
def months(draw: st.DrawFn) -> tuple[float, str]:
    """Months and a way to write them."""
    value = draw(st.sampled_from([0.0, 1.0, 12.0, 12.5, 100.0, 0.25, 1440.0, math.nan]))
    if math.isnan(value):
        return value, draw(st.sampled_from(BLANKS))
    ways = [
        str(value),
        f"{value:g}",
        f"{value:.3f}",
        f"{value:e}",
        f"{value:E}",
        f"+{value}",
        f" {value} ",
        f"0{value}",
    ]
    return value, draw(st.sampled_from([*ways, *(["-0", "-0.0"] if value == 0 else [])]))


@st.composite
def sides(draw: st.DrawFn) -> tuple[str, str]:
    """A side and a way to write it."""
    return draw(
        st.sampled_from([("L", "l"), ("L", "LEFT"), ("R", "R"), ("R", "right"), *(("", blank) for blank in BLANKS)])
    )


@st.composite
def meanings(draw: st.DrawFn) -> tuple[list[tuple[str, str, float, str]], list[list[str]]]:
    """Rows as they are meant (image, subject, months, side), and as they are written."""
    names = draw(st.lists(subjects, min_size=2, max_size=5, unique_by=cells.caseless))
    assume(len({cells.one_spelling(name) for name in names}) == len(names))
    meant, written = [], []
    for number, name in enumerate([*names, *names]):
        m, month = (0.0, "0") if number < len(names) else (5.0, "5")  # so that every subject can be scored
        meant.append((f"x/{number}.png", name, m, ""))
        written.append([f"x/{number}.png", name, month, ""])
    for number in range(draw(st.integers(0, 6))):
        image, way = (
            f"é {number}.png",
            draw(st.sampled_from(["é {}.png", "./é {}.png", "x/../é {}.png", ".\\é {}.png"])),
        )
        (m, month), (side, written_side), name = draw(months()), draw(sides()), draw(st.sampled_from(names))
        meant.append((image, name, m, side))
        written.append([way.format(number), f" {name} " if draw(st.booleans()) else name, month, written_side])
    return meant, written


def assert_is(index: pd.DataFrame, meant: list[tuple[str, str, float, str]]) -> None:
    found = list(zip(index["image"], index["subject"], index["months"], index["side"], strict=True))
    assert repr(found) == repr(meant)  # NaN is NaN, and 0.0 is not -0.0


@settings(deadline=None, max_examples=100)
@given(
    rows=meanings(),
    separator=st.sampled_from(SEPARATORS),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
    newlines=st.lists(st.sampled_from(["\n", "\r\n", "\r"]), min_size=1, max_size=3),
    encoding=st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    header=st.permutations(["image", " Subject ", "MONTHS", "side"]),
    extra=st.lists(st.text(printable | st.sampled_from([*SEPARATORS, '"', "\n"]), max_size=8), max_size=2),
    trailing=st.booleans(),
    blank_lines=st.booleans(),
    last_newline=st.booleans(),
    zipped=st.booleans(),
)
def test_a_table_means_the_same_however_it_is_written(
    rows: tuple[list[tuple[str, str, float, str]], list[list[str]]],
    separator: str,
    quoting: Any,
    newlines: list[str],
    encoding: str,
    header: list[str],
    extra: list[str],
    trailing: bool,
    blank_lines: bool,
    last_newline: bool,
    zipped: bool,
) -> None:
    meant, written = rows
    order = [["image", "subject", "months", "side"].index(name.strip().lower()) for name in header]
    table = [
        [*header, *(f"note {n}" for n in range(len(extra)))],
        *([*(row[n] for n in order), *extra] for row in written),
    ]
    lines = []
    for number, row in enumerate(table):
        line = io.StringIO(newline="")
        csv.writer(line, delimiter=separator, quoting=quoting, lineterminator="\r\n").writerow(row)  # quotes these
        lines.append(
            line.getvalue().removesuffix("\r\n")
            + separator * trailing
            + newlines[number % len(newlines)] * (1 + blank_lines)
        )
    text = "".join(lines) if last_newline else "".join(lines).rstrip("\r\n")
    content = text.encode(encoding)
    assert_is(read(gzip.compress(content) if zipped else content), meant)


@settings(deadline=None, max_examples=150)
@given(
    content=st.binary(max_size=200),
    start=st.sampled_from([b"", b"image,subject,months\n", b"\x1f\x8b\x08", b"PAR1", b"\xff\xfe"]),
)
def test_arbitrary_bytes_give_a_table_or_a_refusal(content: bytes, start: bytes) -> None:
    try:
        read(start + content)
    except ValueError:
        return
