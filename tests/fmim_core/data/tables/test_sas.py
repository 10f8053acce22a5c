"""SAS tables: every cell as it was written, and damaged files refused."""

from __future__ import annotations

import contextlib
import gzip
import sys
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.tables.formats import open_sas
from fmim_core.data.tables.reading import read_table

TABLE = Path(__file__).with_name("table.sas7bdat.gz")  # no free program writes this format


def read(content: bytes) -> int:
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
    assert read(content) == 3
    with pytest.raises(ValueError, match="t cannot be read as SAS"):
        read(content[:end])


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
        read(path.read_bytes()[:-1])


def test_tables_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pd.DataFrame({"ID": [1.0]}), str(path), file_format_version=5)
    end = path.read_bytes().index(b"HEADER RECORD*******OBS") + 80
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ValueError, match="has a header and no rows"):
        read_table(path, ["id"])


@given(content=st.binary(max_size=300), start=st.sampled_from([0, 40, 300, 1100, 1500, 5000]))
def test_damaged_bytes_are_refused_or_read(content: bytes, start: int) -> None:
    whole = bytearray(gzip.decompress(TABLE.read_bytes()))
    whole[start : start + len(content)] = content
    with contextlib.suppress(ValueError):
        read(bytes(whole))
