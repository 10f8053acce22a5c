"""Reading a SAS table, `.sas7bdat` or `.xpt`, with what pandas' reader of the latter gets wrong put right."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fmim_core.data.tables.limits import check_rows

SAS7BDAT = bytes(12) + b"\xc2\xea\x81\x60"
XPORT = b"HEADER RECORD*******LIBRARY"
CARD_BYTES = 80  # bytes that an .xpt file is a multiple of; blanks fill up the last one
MIN_MAGNITUDE = 1e-70  # below what an IBM number can be: pandas makes 5e-79 of its zero


def is_sas(content: bytes) -> bool:
    """Whether a file's bytes begin as a SAS table does."""
    return content.startswith((SAS7BDAT, XPORT))


def read_sas(path: Path, content: bytes) -> pd.DataFrame:
    """The table in `content`, with NaN for missing numbers; text is taken as Latin-1, of which ASCII is a part.

    Raises:
        ValueError: not a SAS table, a damaged one, or one of too many rows.
    """
    try:
        return _xport(path, content) if content.startswith(XPORT) else _sas7bdat(path, content)
    except Exception as error:  # a decoder fed damaged bytes raises nearly anything
        raise ValueError(f"{path} cannot be read as SAS: {error}") from None


def _sas7bdat(path: Path, content: bytes) -> pd.DataFrame:
    reader: Any = pd.read_sas(io.BytesIO(content), format="sas7bdat", encoding="latin-1", iterator=True)
    stated = reader.row_count
    check_rows(path, stated)
    frame = reader.read()
    if len(frame) != stated:
        raise ValueError(f"it is cut off: {len(frame)} of {stated} rows are there")
    return frame


def _xport(path: Path, content: bytes) -> pd.DataFrame:
    if len(content) % CARD_BYTES:
        raise ValueError(f"it is cut off: not a multiple of {CARD_BYTES} bytes")
    reader: Any = pd.read_sas(io.BytesIO(content), format="xport", encoding="latin-1", iterator=True)
    # The file does not say how many rows it has. pandas subtracts every blank cell of the last card as if it were
    # padding, and so may lose rows; padding is blank to the end, and no row with an ID is.
    data, length = content[reader.record_start :], reader.record_length
    count = len(data) // length
    if data[count * length :].strip(b" "):
        raise ValueError("it is cut off in a row")
    while count and not data[(count - 1) * length : count * length].strip(b" "):
        count -= 1
    check_rows(path, count)
    reader.nobs = count
    frame = reader.read() if count else pd.DataFrame(columns=reader.columns)
    numbers = frame.select_dtypes("number").columns
    frame[numbers] = frame[numbers].mask(np.abs(frame[numbers]) < MIN_MAGNITUDE, 0.0)
    return frame
