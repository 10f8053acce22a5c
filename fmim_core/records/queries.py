"""The queries of a replicate: a Parquet file beside its record, one row a query. Importing this needs no pyarrow."""

from __future__ import annotations

import hashlib
import io
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fmim_core.metric_names import INTERVALS, METRICS
from fmim_core.records.files import read_file, write_bytes
from fmim_core.records.record import record_path

if TYPE_CHECKING:
    import pandas as pd

QUERIES_ENDING = ".queries.parquet"


@dataclass(frozen=True)
class QueryColumn:
    """A column of the file: its name, its Arrow type, and what it holds.

    optional: whether a file may lack it, since the data set does not have it.
    """

    name: str
    type: str
    about: str
    optional: bool = False


QUERY_COLUMNS: dict[str, QueryColumn] = {
    column.name: column
    for column in (
        QueryColumn("query", "string", "the image's name in the data set's index"),
        QueryColumn("subject", "string", "the subject's name there"),
        QueryColumn("side", "string", "L, R, or blank where the data set has no sides"),
        QueryColumn("months", "double", "months after the subject's baseline; null where unknown"),
        *(
            QueryColumn(
                interval.unit,
                "int32",
                f"{interval.after_baseline}, rounded, at least 1, as in metrics by {interval.unit}; null where "
                "months are; only if it is the data set's interval",
                optional=True,
            )
            for interval in INTERVALS.values()
        ),
        QueryColumn("matches", "int32", "images of the query's identity in the gallery"),
        QueryColumn("rank", "int32", "rank of the first match, 1 = found first; null without a match"),
        *(
            QueryColumn(
                metric.of_query, "double", f"0 to 1; the record's {metric.name} is its mean; null without a match"
            )
            for metric in METRICS.values()
        ),
        QueryColumn("chance_ap", "double", "expected AP of a random ranking; null without a match"),
        QueryColumn("query_row", "int32", "the query's row in the bank"),
        QueryColumn("truth_row", "int32", "the bank's row of the nearest match; null without a match"),
        QueryColumn("top_row", "int32", "the bank's row of the image at rank 1; null without a match"),
        QueryColumn("sex", "string", "M, F, or blank where unknown", optional=True),
        QueryColumn("age", "string", "years at that visit; blank where unknown", optional=True),
        QueryColumn("view", "string", "PA, AP, …; blank where unknown", optional=True),
        QueryColumn("disease", "string", "yes, no, or blank where unknown", optional=True),
        QueryColumn("grade", "string", "Kellgren-Lawrence, 0 to 4; blank where unknown", optional=True),
        QueryColumn("tkr", "string", "total knee replacement: yes, no, or blank where unknown", optional=True),
    )
}
"""All columns in the order of the file; rows are in the order of the test index."""


def queries_path(out: Path, trial: str) -> Path:
    """Return the place of a replicate's queries: beside its record."""
    return record_path(out, trial).with_name(trial + QUERIES_ENDING)


def write_queries(out: Path, trial: str, queries: Mapping[str, Any]) -> str:
    """Write a replicate's queries, whole or not at all; return the SHA-256 of the file, which the record names.

    The same queries give the same bytes.

    Args:
        queries: an array `(Q,)` for each of `QUERY_COLUMNS`, but for those that are optional; NaN becomes null.
    """
    import pyarrow as pa
    import pyarrow.parquet as parquet

    columns = [column for column in QUERY_COLUMNS.values() if column.name in queries or not column.optional]
    schema = pa.schema([(column.name, pa.type_for_alias(column.type)) for column in columns])
    arrays = [pa.array(queries[field.name], field.type, from_pandas=True, safe=True) for field in schema]
    buffer = io.BytesIO()
    parquet.write_table(pa.Table.from_arrays(arrays, schema=schema), buffer, compression="zstd")
    write_bytes(queries_path(out, trial), buffer.getvalue())
    return hashlib.sha256(buffer.getvalue()).hexdigest()


def read_queries(path: Path, sha256: str) -> pd.DataFrame:
    """Return the queries in a file, one row each; numbers that are null are NaN.

    Raises:
        ValueError: there is no such file, it is not the one with this SHA-256, or it has not the columns of this
            version; says which.
    """
    import pyarrow.parquet as parquet

    try:
        content = read_file(path, path.name)
    except FileNotFoundError:
        raise ValueError(f"{path.name} is missing") from None
    if hashlib.sha256(content).hexdigest() != sha256:
        raise ValueError(f"{path.name} is damaged or of another record: its SHA-256 differs from the record's")
    table = parquet.read_table(io.BytesIO(content))
    known = {column.name: column.type for column in QUERY_COLUMNS.values()}
    wrong = [field.name for field in table.schema if known.get(field.name) != str(field.type)]
    wrong += [name for name, column in QUERY_COLUMNS.items() if not column.optional and name not in table.column_names]
    times = [name for name in table.column_names if name in INTERVALS]
    wrong += [] if len(times) == 1 else times or list(INTERVALS)
    if wrong:
        raise ValueError(f"{path.name} was written by another version: its columns {', '.join(wrong)} differ")
    return table.to_pandas()
