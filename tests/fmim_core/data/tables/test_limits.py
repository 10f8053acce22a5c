"""Tables that would fill the memory are refused first, and what the limit is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pandas as pd
import pytest

from fmim_core.data.tables import content, formats
from fmim_core.data.tables.reading import read_table

COLUMNS = ("image", "subject", "months")
HEADER = b"image,subject,months\n"


def test_a_packed_table_that_grows_beyond_the_limit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "table.csv.gz"
    path.write_bytes(gzip.compress(HEADER + b"a.png,a,0\n" * 10_000))
    monkeypatch.setattr(content, "MAX_BYTES", 50_000)
    with pytest.raises(ValueError, match=r"table\.csv\.gz holds more than 50000 bytes, the limit of a table"):
        read_table(path, COLUMNS)


def test_too_many_rows_are_refused_however_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = pd.DataFrame({"image": ["a.png"] * 101, "subject": "a", "months": 0})
    monkeypatch.setattr(formats, "MAX_ROWS", 100)
    for path, write in ((tmp_path / "t.csv", frame.to_csv), (tmp_path / "t.parquet", frame.to_parquet)):
        write(path, index=False)
        with pytest.raises(ValueError, match=rf"{path.name} has more than 100 rows, the limit of a table: split it"):
            read_table(path, COLUMNS)
    frame[1:].to_csv(tmp_path / "t.csv", index=False)
    assert len(read_table(tmp_path / "t.csv", COLUMNS)) == 100
