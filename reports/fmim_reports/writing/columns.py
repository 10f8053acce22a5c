"""What the columns of a report's CSV files hold: a table of its own, so that no file needs guessing."""

from __future__ import annotations

from collections.abc import Iterable

from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.tables import Column, Kind, Table

UNITS: dict[Kind, str] = {
    "text": "",
    "count": "count",
    "percent": "fraction",
    "points": "fraction",
    "seconds": "s",
    "p": "probability",
    "number": "",
    "published": "percent, as printed",
    "published_mean": "percent, as printed",
    "estimate": "fraction",
}
"""The unit of a column in CSV, by its kind; blank for text and pure numbers."""


def columns_table(results: Results, tables: Iterable[Table]) -> Table:
    """One row per column of every table's CSV file: what it holds, and its unit there."""
    rows = {  # by table and name, since neighbours may share the count of their replicates
        (table.name, name): {"table": table.name, "column": name, "holds": holds, "unit": unit}
        for table in tables
        for column in table.columns
        for name, holds, unit in _in_csv(column)
    }
    columns = [
        Column("table", "Table"),
        Column("column", "Column"),
        Column("holds", "What it holds"),
        Column("unit", "Unit"),
    ]
    text = "The columns of this report's CSV files. Where tables show percent, the files have fractions."
    return Table("columns", "Columns", caption(results, text), columns, list(rows.values()))


def _in_csv(column: Column) -> list[tuple[str, str, str]]:
    """Name, meaning and unit of each column that it takes in a CSV file; the last of an estimate counts replicates."""
    heading = f"{column.group}: {column.header}" if column.group else column.header
    if column.kind != "estimate":
        meanings = (heading, f"{heading}, SE")
        return [(name, what, UNITS[column.kind]) for name, what in zip(column.csv_names, meanings, strict=False)]
    mean, se, n = column.csv_names
    unit = UNITS[column.kind]
    return [(mean, f"{heading}, mean", unit), (se, f"{heading}, SE", unit), (n, "replicates of the mean", "count")]
