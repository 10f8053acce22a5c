"""What a table may be at most, so that a wrong or malicious file is refused before it fills the memory."""

from __future__ import annotations

from pathlib import Path

MAX_BYTES = 2**30  # unpacked; the tables of ChestX-ray14 have 10 MB, the OAI's up to 50
MAX_LINE_BYTES = 2**24
MAX_ROWS = 10_000_000


def check_rows(path: Path, count: int) -> None:
    """Raise `ValueError` for a table of more than `MAX_ROWS` rows."""
    if count > MAX_ROWS:
        raise ValueError(f"{path} has more than {MAX_ROWS} rows, the limit of a table: split it")


def check_bytes(path: Path, count: int) -> None:
    """Raise `ValueError` for a table of more than `MAX_BYTES` bytes."""
    if count > MAX_BYTES:
        raise ValueError(f"{path} holds more than {MAX_BYTES} bytes, the limit of a table: split it")
