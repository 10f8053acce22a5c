"""The files that `fmim embed` and `fmim match` write: Parquet or CSV. Nothing is ever overwritten."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from fmim_core.records import in_csv, write_bytes, write_text


def check_embeddings_file(path: Path) -> None:
    """Raise a `ValueError` where embeddings cannot be written to the path: its ending, or something is there."""
    if path.suffix.lower() not in WRITERS:
        raise ValueError(f"--to {path}: its ending must say what to write, {' or '.join(WRITERS)}")
    if path.exists():
        raise ValueError(f"--to {path} is there already, and nothing is overwritten: give another name or move it")


def write_embeddings(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    """Write one row an image: what is known of it, and its embedding `(N, D)`, by the ending of `path`.

    Parquet has it in a column `embedding`, a list of D numbers, and the `sentence` on their model in its metadata under
    `fmim`; CSV has it in columns e0, e1, …, in full precision.
    """
    WRITERS[path.suffix.lower()](path, about, embeddings, sentence)


def _write_parquet(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    import pyarrow as pa
    import pyarrow.parquet as parquet

    table = pa.Table.from_pandas(about, preserve_index=False)
    lists = pa.FixedSizeListArray.from_arrays(pa.array(embeddings.ravel()), embeddings.shape[1])
    table = table.append_column("embedding", lists)
    buffer = io.BytesIO()
    parquet.write_table(table.replace_schema_metadata({"fmim": sentence}), buffer, compression="zstd")
    write_bytes(path, buffer.getvalue())


def _write_csv(path: Path, about: pd.DataFrame, embeddings: np.ndarray, sentence: str) -> None:
    numbers = pd.DataFrame(embeddings, about.index).add_prefix("e")
    write_text(path, as_csv(pd.concat([about, numbers], axis=1)))


WRITERS: dict[str, Callable[[Path, pd.DataFrame, np.ndarray, str], None]] = {
    ".parquet": _write_parquet,
    ".csv": _write_csv,
}


def as_csv(table: pd.DataFrame) -> str:
    """Return a table as CSV for programs and spreadsheets: unknowns are blank, and no text is a formula (`in_csv`)."""
    return table.map(in_csv).to_csv(index=False, lineterminator="\n")
