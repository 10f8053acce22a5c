"""Tables as people and programs write them: exactly the rows that were meant, or a refusal that names the place."""

from __future__ import annotations

import csv
import decimal
import gzip
import io
import math
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fmim_core.data.sets.manifest import manifest
from fmim_core.data.tables import cells
from fmim_core.data.tables.formats import SEPARATORS
from fmim_core.data.tables.reading import read_table

REQUIRED = ("image", "subject", "months")
BLANKS = ["", " ", "NA", "nan", "N/A", "null", "None", ".", "?", "#N/A", "<NA>"]
printable = st.characters(exclude_categories=("C", "Z"), include_characters=" ")
words = st.text(printable, min_size=1, max_size=6).map(str.strip)
subjects = (words | st.sampled_from(["007", "12", "3.50", "1e5", "NA", "-4", "É"])).filter(
    lambda name: name and name.lower() not in cells.MISSING_NAMES
)


def read(content: bytes, name: str = "table.csv") -> pd.DataFrame:
    """The index of a table that is there by itself; a ValueError must name the file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(content)
        with naming(path):
            listing = manifest(path, metadata_only=True)
            listing.findings.refuse_errors(path)
        return listing.index


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Checks that a ValueError names the file, and is short enough to be read."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        assert str(path) in message
        assert len(message) < 5000
        raise


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
    names = draw(st.lists(subjects, min_size=2, max_size=5, unique_by=cells.form))
    assume(len({cells.canonical(name) for name in names}) == len(names))
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


def slow_reader(text: str, separator: str) -> list[list[str]] | None:
    """Rows of a CSV by the letter: a state for each character; None where a quote is not where it may be."""
    rows: list[list[str]] = [[""]]
    state = "start"  # of a cell; or plain, quoted, closed
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    for letter in text:
        if state == "quoted":
            if letter == '"':
                state = "closed"
            else:
                rows[-1][-1] += letter
        elif letter == '"' and state == "start":
            state = "quoted"
        elif letter == '"' and state == "closed":
            rows[-1][-1] += '"'
            state = "quoted"
        elif letter == separator:
            rows[-1].append("")
            state = "start"
        elif letter == "\n":
            rows.append([""])
            state = "start"
        elif state == "closed":
            return None
        else:
            rows[-1][-1] += letter
            state = "plain"
    return None if state == "quoted" else [row for row in rows if any(cell.strip() for cell in row)]


@settings(deadline=None, max_examples=300)
@given(
    body=st.text(st.sampled_from('ab0,;"\n\r .'), max_size=40)
    | st.lists(st.sampled_from(['a,b,"c"\n', '"a,b\n', "a,b,c\r\n", '"a","b\n",c\n', "a,b,\n"])).map("".join),
    header=st.sampled_from(["image,subject,months\n", '"image","subject","months",\r\n']),
)
def test_arbitrary_text_is_read_as_a_slow_reader_does_or_refused(body: str, header: str) -> None:
    slow = slow_reader(body, ",")
    faultless = bool(slow) and all(len(row) == 3 and "\n" not in "".join(map(str.strip, row)) for row in slow or ())
    if header.rstrip().endswith(","):  # then a row that ends blank may lack a cell
        faultless = faultless and all(row[-1].strip() for row in slow or ())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        path.write_bytes((header + body).encode())
        try:
            with naming(path):
                found = read_table(path, REQUIRED).cells.to_numpy().tolist()
        except ValueError:
            assert not faultless
            return
    assert slow is not None
    assert found == [[cell.strip() for cell in row[:3]] for row in slow]
    assert not any(cell.strip() for row in slow for cell in row[3:])


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


GOOD = "image,subject,months\n" + "".join(f"{n}.png,é{n // 2},{12 * (n % 2)}\n" for n in range(40))


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-16-be", "utf-32", "mac-roman"])
def test_other_encodings_are_refused_and_the_line_is_named(encoding: str) -> None:
    with pytest.raises(ValueError, match=r"line (1|2)\)?.*: save it as CSV UTF-8"):
        read(GOOD.encode(encoding))


@settings(deadline=None, max_examples=60)
@given(data=st.data(), parquet=st.booleans())
def test_a_packed_table_that_lost_its_end_is_refused(data: st.DataObject, parquet: bool) -> None:
    if parquet:
        file = io.BytesIO()
        pd.read_csv(io.StringIO(GOOD)).to_parquet(file)
        content = file.getvalue()
    else:
        content = gzip.compress(GOOD.encode())
    cut = data.draw(st.integers(4, len(content) - 1))
    with pytest.raises(ValueError, match=r"damaged gzip file|cannot be read as Parquet"):
        read(content[:cut], "table.parquet" if parquet else "table.csv.gz")


@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_a_parquet_file_with_changed_bytes_gives_a_table_or_a_refusal(data: st.DataObject) -> None:
    file = io.BytesIO()
    pd.read_csv(io.StringIO(GOOD)).to_parquet(file)
    content = bytearray(file.getvalue())
    for place in data.draw(st.lists(st.integers(0, len(content) - 1), min_size=1, max_size=4)):
        content[place] ^= data.draw(st.integers(1, 255))
    try:
        read(bytes(content), "table.parquet")
    except ValueError:
        return


@settings(max_examples=200)
@given(st.text(max_size=12) | st.text("0123456789+-.,eE", max_size=8))
def test_months_are_plain_numbers_in_their_range_or_a_mistake(cell: str) -> None:
    """Against exact decimal arithmetic."""
    found = cells.months(cell)
    plain = cell.isascii() and set(cell) <= set("0123456789+-.eE")
    try:
        exact = decimal.Decimal(cell) if plain else None
    except decimal.InvalidOperation:
        exact = None
    if cell == "":
        assert found is not None
        assert math.isnan(found)
    elif exact is None or not 0 <= exact <= 1440:
        assert found is None
    else:
        assert found == float(exact)
        assert math.copysign(1, found) == 1


@pytest.mark.parametrize(
    "cell",
    [
        "12,5",
        "１２",
        "2011-03-05",
        "05.03.2011",
        "20110305",
        "2011",
        "1_2",
        "0x10",
        "-1",
        "-999",
        "inf",
        "12 months",
        "½",
        "1e4",
        "١٢",
    ],
)
def test_what_months_are_not(cell: str) -> None:
    assert cells.months(cell) is None
    content = GOOD.replace("1.png,é0,12", f'1.png,é0,"{cell}"').encode()
    with pytest.raises(
        ValueError, match=r"months that are not a number from 0 to 1440 \(12.5; not 12,5, nor a date\).*line 3 "
    ):
        read(content)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("1", "01", True),
        ("1", "1.0", True),
        ("1", "１", True),
        ("é", "e\u0301", True),
        ("1.5", "1.50", True),
        ("+1", "1", True),
        ("-1", "1", False),
        ("10", "1", False),
        ("0", "000", True),
        ("1e2", "100", False),
        ("a1", "a01", False),
    ],
)
def test_subjects_written_in_two_ways_are_refused_together(a: str, b: str, same: bool) -> None:
    assert (cells.canonical(a) == cells.canonical(b)) is same
    content = f"{GOOD}a.png,{a},0\nb.png,{b},12\n".encode()
    if not same:
        assert read(content)["subject"].tolist()[-2:] == [a, b]
        return
    with pytest.raises(
        ValueError, match=r"subjects written in several ways, by number or letters the same.*\(1\): '.*' = '.*'"
    ):
        read(content)


@pytest.mark.parametrize("word", ["nan", "None", "NULL", "n/a", ".", "-999", "?"])
def test_a_subject_that_is_a_missing_value_is_no_person(word: str) -> None:
    with pytest.raises(ValueError, match=r"rows without a subject \(2\): line 42 '"):
        read(f"{GOOD}a.png,{word},0\nb.png,{word},12\n".encode())


def test_very_long_cells_are_told_shortly() -> None:
    long = "y" * 100_000
    with pytest.raises(ValueError, match=r"y{40,60}…"):
        read(f"{GOOD}a.png,x,{long}\n".encode())
    with pytest.raises(ValueError, match="field larger than field limit"):
        read(f"{GOOD}a.png,x,{long}{long}\n".encode())
    with pytest.raises(ValueError, match="field larger than field limit"):
        read(f"image,subject,months,{long}{long}\n".encode())
    with pytest.raises(ValueError, match="lacks the columns"):
        read(f"{long}\n".encode())
