"""Reads tables as manifests."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd

from fmim_core.data.sets.manifest import manifest


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
