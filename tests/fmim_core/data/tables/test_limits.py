"""Tables that would fill the memory are refused first, and what the limit is."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from fmim_core.data.oai.landmarks import _kneel
from fmim_core.data.tables import limits
from fmim_core.data.tables.reading import read_table

COLUMNS = ("image", "subject", "months")
HEADER = b"image,subject,months\n"


def sparse(path: Path, start: bytes, size: int) -> Path:
    """A file of so many bytes, of which the disk holds nothing but the start."""
    with path.open("wb") as file:
        file.write(start)
        file.truncate(size)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_line_without_an_end_is_not_held(packed: bool, tmp_path: Path) -> None:
    path = sparse(tmp_path / "table.csv", HEADER, 2**30)
    if packed:
        (tmp_path / "table.csv").write_bytes(gzip.compress(HEADER + bytes(2**26), 1))
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=r"table\.csv has a line of more than 16777216 bytes"):
            read_table(path, COLUMNS)
        assert tracemalloc.get_traced_memory()[1] < 2**27
    finally:
        tracemalloc.stop()


def test_a_packed_table_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(HEADER + b"a.png,a,0\n" * 10_000))
    monkeypatch.setattr(limits, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"table\.csv\.gz holds more than 50000 bytes, the limit of a table"):
        read_table(path, COLUMNS)


def test_too_many_rows_are_refused_however_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"image": ["a.png"] * 101, "subject": "a", "months": 0})
    monkeypatch.setattr(limits, "MAX_ROWS", 100)
    for path, write in ((tmp_path / "t.csv", frame.to_csv), (tmp_path / "t.parquet", frame.to_parquet)):
        write(path, index=False)
        with pytest.raises(ValueError, match=rf"{path.name} has more than 100 rows, the limit of a table: split it"):
            read_table(path, COLUMNS)
    frame[1:].to_csv(tmp_path / "t.csv", index=False)
    assert len(read_table(tmp_path / "t.csv", COLUMNS)) == 100


def test_arrays_that_unpack_beyond_the_limit_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("preds.npy", bytes(100_000))
    (tmp_path / "landmarks.npz").write_bytes(content.getvalue())
    monkeypatch.setattr(limits, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"landmarks\.npz .*holds more than 50000 bytes"):
        _kneel(tmp_path / "landmarks.npz")
