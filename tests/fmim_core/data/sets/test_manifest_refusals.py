"""Other encodings, damaged files, and cells that are no month and no subject: refused, and the place is named."""

from __future__ import annotations

import gzip
import io
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fmim_core.data.sets.manifest import manifest
from fmim_core.data.tables import cells, formats
from tests.support.manifests import read

# 20 subjects with two visits each, one of whose letters is not ASCII
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
    assert cells.months_of(cell) is None
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
        ("a1", "a1\u200b", True),
        ("a b", "a\xa0b", True),
    ],
)
def test_subjects_written_in_two_ways_are_refused_together(a: str, b: str, same: bool) -> None:
    assert (cells.one_spelling(a) == cells.one_spelling(b)) is same
    content = f"{GOOD}a.png,{a},0\nb.png,{b},12\n".encode()
    if not same:
        assert read(content)["subject"].tolist()[-2:] == [a, b]
        return
    with pytest.raises(
        ValueError, match=r"subjects written in several ways, by number or letters the same.*\(1\): '.*' = '.*'"
    ):
        read(content)


def test_a_packed_table_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(GOOD.encode() * 200))
    monkeypatch.setattr(formats, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"table\.csv\.gz holds more than 50000 bytes, the limit of a table"):
        manifest(path)
