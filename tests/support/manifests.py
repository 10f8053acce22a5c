"""Manifests of given content with their pictures, and what is read of them."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from PIL import Image

from fmim_core.data.sets.base import FileSource, Listing
from fmim_core.data.sets.manifest import manifest

GOOD = """image,subject,months,side,split
x/a.png,007,0,R,train
x/b.png,007,12.5,left,dev
x/c.png,NA,,,train_val
x/d.png,9,0,l,test
x/e.png,9,24,RIGHT,Test
"""


def source(folder: Path, content: str | bytes = GOOD, **options: object) -> FileSource:
    """The images that table.csv of this content names, in the folder."""
    path = folder / "table.csv"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return FileSource(manifest(path, **options))  # type: ignore[arg-type]


def listed(folder: Path, content: str) -> Listing:
    """Return what table.csv of this content lists, with everything that was found about it."""
    (folder / "table.csv").write_text(content, encoding="utf-8")
    return manifest(folder / "table.csv")


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
    """Check that a ValueError names the file, and is short enough to be read."""
    try:
        yield
    except ValueError as error:
        message = str(error)
        assert str(path) in message
        assert len(message) < 5000
        raise


def picture(seed: int, height: int = 24, width: int = 20) -> np.ndarray:
    return np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)


def folder_of(folder: Path, rows: list[str], header: str = "image,subject,months,side,split") -> Path:
    """A manifest of these lines, with a picture of its own for each image that is not there yet."""
    folder.mkdir(exist_ok=True)
    for number, row in enumerate(rows):
        path = folder / row.partition(",")[0]
        path.parent.mkdir(exist_ok=True)
        if not path.exists():
            Image.fromarray(picture(number)).save(path)
    (folder / "manifest.csv").write_text("\n".join([header, *rows, ""]), encoding="utf-8")
    return folder / "manifest.csv"


GOOD_ROWS = [f"{split}{n}_{months}.png,{split}{n},{months},,{split}" for split in ("train", "test") for n in range(3)
        for months in (0, 12)]  # fmt: skip
