"""Parquet and SAS tables: what a CSV would mean, or a refusal that names the place; damaged files refused."""

from __future__ import annotations

import contextlib
import decimal
import gzip
import io
import math
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.tables import formats
from fmim_core.data.tables.formats import open_sas
from fmim_core.data.tables.reading import read_table
from tests.support.manifests import read

TYPED: list[tuple[str, Callable[[list[Any]], pa.Array]]] = [
    ("int8", lambda v: pa.array(v, pa.int8())),
    ("uint64", lambda v: pa.array(v, pa.uint64())),
    ("float64", lambda v: pa.array(v, pa.float64())),
    ("float32", lambda v: pa.array(v, pa.float32())),
    ("decimal", lambda v: pa.array([None if x is None else decimal.Decimal(x) for x in v], pa.decimal128(9, 2))),
    ("text", lambda v: pa.array([None if x is None else str(x) for x in v], pa.string())),
    ("large text", lambda v: pa.array([None if x is None else str(x) for x in v], pa.large_string())),
    ("bytes", lambda v: pa.array([None if x is None else str(x).encode() for x in v], pa.binary())),
    ("dictionary", lambda v: pa.array([None if x is None else str(x) for x in v]).dictionary_encode()),
    ("dictionary of numbers", lambda v: pa.array(v, pa.int64()).dictionary_encode()),
    ("pandas with gaps", lambda v: pa.array(pd.Series(v, dtype="float64"), from_pandas=False)),
    ("pandas Int64", lambda v: pa.array(pd.Series(v, dtype="Int64"))),
    ("pandas category", lambda v: pa.array(pd.Series(v, dtype="object").astype("category"))),
]


def parquet(**columns: Any) -> bytes:
    file = io.BytesIO()
    pyarrow.parquet.write_table(pa.table(columns), file)
    return file.getvalue()


IMAGES = pa.array([f"{n}.png" for n in range(8)])
NUMBERS = [1, 1, 2, 2, 3, 3, 44, 44]
VISITS = [0, 12, 0, None, 0, 24, 0, 100]


@pytest.mark.parametrize(("kind", "make"), TYPED)
def test_parquet_columns_of_any_type_mean_what_a_csv_would(kind: str, make: Callable[[list[Any]], pa.Array]) -> None:
    expected = [f"{n}.00" if kind == "decimal" else str(n) for n in NUMBERS]
    index = read(parquet(image=IMAGES, subject=make(NUMBERS), months=make(VISITS)), "table.parquet")
    assert index["subject"].tolist() == expected
    np.testing.assert_array_equal(index["months"], [math.nan if m is None else m for m in VISITS])


def test_names_beyond_the_exact_floating_point_numbers_are_kept_or_refused() -> None:
    """With a gap, pandas turns whole numbers into floating-point ones: two people could become one."""
    people = [2**60 + n // 2 for n in range(8)]
    exact = read(parquet(image=IMAGES, subject=pa.array(people), months=pa.array(VISITS)), "table.parquet")
    assert exact["subject"].tolist() == [str(person) for person in people]
    with pytest.raises(ValueError, match=r"column 'subject': a cell holds 1\.15292e\+18, too large"):
        read(parquet(image=IMAGES, subject=pa.array(map(float, people)), months=pa.array(VISITS)), "table.parquet")


def odd_columns() -> Iterator[tuple[str, dict[str, pa.Array], str]]:
    days = pd.date_range("2011-03-05", periods=8)
    yield (
        "timestamps",
        {"months": pa.array(days)},
        r"months that are neither blank nor a number .* or a date.*row 1 '2011-03-05",
    )
    yield "dates", {"months": pa.array([day.date() for day in days])}, "months that are neither blank nor a number"
    yield "durations", {"months": pa.array(days - days[0])}, "months that are neither blank nor a number"
    yield "truth", {"months": pa.array([True] * 8)}, "months that are neither blank nor a number"
    yield "infinity", {"months": pa.array([math.inf] * 8)}, "months that are neither blank nor a number"
    yield "lists", {"subject": pa.array([[n] for n in NUMBERS])}, r"column 'subject': a cell holds \[1\], not a text"
    yield "structures", {"image": pa.array([{"bytes": b"", "path": "x"}] * 8)}, "column 'image': a cell holds {'bytes'"
    yield "bytes", {"subject": pa.array([b"\xff\xfe"] * 8)}, "column 'subject': .*decode"
    yield "nothing", {"subject": pa.nulls(8)}, r"rows without a subject \(8\): row 1 ''"
    yield (
        "line breaks",
        {"subject": pa.array(["a\nb"] * 8)},
        r"subject with a line break or a NUL character in it \(8\)",
    )
    yield "NUL", {"image": pa.array(["a\0b"] * 8)}, "image with a line break or a NUL character"


@pytest.mark.parametrize(("kind", "columns", "message"), list(odd_columns()))
def test_parquet_columns_without_a_meaning_are_refused(kind: str, columns: dict[str, pa.Array], message: str) -> None:
    good = {"image": IMAGES, "subject": pa.array(NUMBERS), "months": pa.array(VISITS)}
    with pytest.raises(ValueError, match=message):
        read(parquet(**(good | columns)), "table.parquet")


def test_a_parquet_column_twice_and_a_pandas_index() -> None:
    twice = pa.table(
        [IMAGES, pa.array(NUMBERS), pa.array(NUMBERS), pa.array(VISITS)],
        names=["image", "subject", "Subject", "months"],
    )
    file = io.BytesIO()
    pyarrow.parquet.write_table(twice, file)
    with pytest.raises(ValueError, match=r"the columns \['subject'\] more than once"):
        read(file.getvalue(), "table.parquet")
    file = io.BytesIO()
    frame = pd.DataFrame({"image": IMAGES.to_pylist(), "subject": NUMBERS, "months": VISITS}).set_index("image")
    frame.to_parquet(file)
    assert read(file.getvalue(), "table.parquet")["image"].tolist() == IMAGES.to_pylist()


def test_rows_that_take_no_place_in_the_file_are_counted_before_they_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    content = parquet(image=["a.png"] * 101, subject=["a"] * 101, months=[0.0] * 101)
    monkeypatch.setattr(formats, "MAX_ROWS", 100)
    with pytest.raises(ValueError, match="more than 100 rows"):
        read(content)


TABLE = Path(__file__).with_name("table.sas7bdat.gz")  # no free program writes this format


def sas_rows(content: bytes) -> int:
    """How many rows there are in a file of that content."""
    _, take = open_sas(Path("t"), content)
    return len(take([0]))


def test_cells_as_text() -> None:
    """Numbers are 61 and two kinds of missing ones, then 0, 2 and 4.5; the last text is in Latin-1."""
    table = read_table(TABLE, ["id"], ["v00age", "v00xrkl", "site"])
    assert table.cells.to_dict("list") == {
        "id": ["9000001", "9000002", "9000003"],
        "v00age": ["61", "", ""],
        "v00xrkl": ["0", "2", "4.5"],
        "site": ["A", "", "Ç"],
    }
    assert table.places == ["row 1", "row 2", "row 3"]


@pytest.mark.parametrize("end", [-4096, -1, 1024 + 4096, 1024, 500, 30])
def test_a_file_that_is_cut_off_is_refused(end: int) -> None:
    content = gzip.decompress(TABLE.read_bytes())
    assert sas_rows(content) == 3
    with pytest.raises(ValueError, match="t cannot be read as SAS"):
        sas_rows(content[:end])


def test_without_pyreadstat_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyreadstat", None)
    with pytest.raises(ValueError, match=r"table\.sas7bdat\.gz: .* pip install 'fmim-studies\[sas\]'"):
        read_table(TABLE, ["id"])


texts = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=16)
numbers = st.one_of(st.none(), st.integers(0, 9999), st.sampled_from([0.5, 27.4, -3.25, 0.0]))


@given(
    cells=st.lists(st.tuples(st.integers(9000000, 9999999), numbers, texts), min_size=1, max_size=30),
    width=st.integers(1, 20),
)
def test_any_xport_table(tmp_path_factory: pytest.TempPathFactory, cells: list, width: int) -> None:
    """Zeros, missing numbers, and texts blank at the end, which pandas takes for the end of the file."""
    path = tmp_path_factory.mktemp("xpt") / "t.xpt"
    ids, values, words = zip(*cells, strict=True)
    words = [word[:width] for word in words]
    frame = pd.DataFrame(
        {"ID": [float(i) for i in ids], "X": pd.Series(values, dtype=float), "T": pd.Series(words, dtype=str)}
    )
    pyreadstat.write_xport(frame, str(path), file_format_version=5)
    table = read_table(path, ["id", "x", "t"])
    assert table.cells["id"].tolist() == [str(i) for i in ids]
    assert table.cells["x"].tolist() == ["" if value is None else f"{value:g}" for value in values]
    assert table.cells["t"].tolist() == words
    with pytest.raises(ValueError, match="cannot be read as SAS"):
        sas_rows(path.read_bytes()[:-1])


def test_tables_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pd.DataFrame({"ID": [1.0]}), str(path), file_format_version=5)
    end = path.read_bytes().index(b"HEADER RECORD*******OBS") + 80
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ValueError, match="has a header but no rows"):
        read_table(path, ["id"])


@given(content=st.binary(max_size=300), start=st.sampled_from([0, 40, 300, 1100, 1500, 5000]))
def test_damaged_bytes_are_refused_or_read(content: bytes, start: int) -> None:
    whole = bytearray(gzip.decompress(TABLE.read_bytes()))
    whole[start : start + len(content)] = content
    with contextlib.suppress(ValueError):
        sas_rows(bytes(whole))
