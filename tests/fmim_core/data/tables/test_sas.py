"""SAS tables: every cell as it was written, and damaged files refused."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path

import pandas as pd
import pyreadstat
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fmim_core.data.tables.reading import read_table
from fmim_core.data.tables.sas import read_sas
from tests.support.sas7bdat import sas7bdat

TABLE = {
    "ID": ["9000001", "9000002", "9000003"],
    "V00AGE": [61.0, None, ".A"],
    "V00XRKL": [0.0, 2.0, 4.5],
    "SITE": ["A", "", "Ç"],
}


def test_the_written_file_is_one_that_readstat_reads_too(tmp_path: Path) -> None:
    """The writer of these tests is our own: another library vouches for it."""
    path = tmp_path / "t.sas7bdat"
    path.write_bytes(sas7bdat(TABLE))
    frame, _ = pyreadstat.read_sas7bdat(str(path), user_missing=True)
    assert frame["ID"].tolist() == TABLE["ID"]
    assert frame["V00AGE"].tolist()[::2] == [61.0, "A"]
    assert math.isnan(frame["V00AGE"].tolist()[1])
    assert frame["V00XRKL"].tolist() == [0.0, 2.0, 4.5]
    assert frame["SITE"].tolist() == ["A", "", "Ç"]


def test_cells_as_text(tmp_path: Path) -> None:
    path = tmp_path / "t.sas7bdat"
    path.write_bytes(sas7bdat(TABLE))
    table = read_table(path, ["id"], ["v00age", "v00xrkl", "site"])
    assert table.cells.to_dict("list") == {
        "id": ["9000001", "9000002", "9000003"],
        "v00age": ["61", "", ""],
        "v00xrkl": ["0", "2", "4.5"],
        "site": ["A", "", "Ç"],
    }
    assert table.places == ["row 1", "row 2", "row 3"]


@pytest.mark.parametrize("rows", [1, 5, 300, 2000])
def test_a_file_that_is_cut_off_is_refused(rows: int) -> None:
    content = sas7bdat({"ID": [str(9000000 + n) for n in range(rows)], "X": [1.0] * rows})
    assert len(read_sas(Path("t"), content)) == rows
    for end in {len(content) - 4096, len(content) - 1, 1024 + 4096, 1024, 500, 30}:
        with pytest.raises(ValueError, match="t cannot be read as SAS"):
            read_sas(Path("t"), content[:end])


texts = st.text(st.characters(codec="ascii", categories=("L", "N", "P")), max_size=16)
numbers = st.one_of(st.none(), st.integers(0, 9999), st.sampled_from([0.5, 27.4, -3.25, 0.0]))


@given(
    cells=st.lists(st.tuples(st.integers(9000000, 9999999), numbers, texts), min_size=1, max_size=30),
    width=st.integers(1, 20),
)
def test_any_xport_table(tmp_path_factory: pytest.TempPathFactory, cells: list, width: int) -> None:
    """Zeros, missing numbers, and texts blank at the end, which pandas alone takes for the end of the file."""
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
    content = path.read_bytes()
    with pytest.raises(ValueError, match="cannot be read as SAS"):
        read_sas(path, content[:-1])


def test_tables_without_rows(tmp_path: Path) -> None:
    path = tmp_path / "t.xpt"
    pyreadstat.write_xport(pd.DataFrame({"ID": [1.0]}), str(path), file_format_version=5)
    end = path.read_bytes().index(b"HEADER RECORD*******OBS") + 80
    path.write_bytes(path.read_bytes()[:end])
    with pytest.raises(ValueError, match="has a header and no rows"):
        read_table(path, ["id"])


@given(content=st.binary(max_size=300), start=st.sampled_from([0, 40, 300, 1100, 1500, 5000]))
def test_damaged_bytes_are_refused_or_read(content: bytes, start: int) -> None:
    whole = bytearray(sas7bdat(TABLE))
    whole[start : start + len(content)] = content
    with contextlib.suppress(ValueError):
        read_sas(Path("t"), bytes(whole))
