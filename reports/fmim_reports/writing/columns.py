"""The data dictionary of a report's CSV files, and columns that several tables have."""

from __future__ import annotations

from collections.abc import Iterable

from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.cells import CsvColumn, Type
from fmim_reports.writing.fields import CONFIGURATION, configuration_columns
from fmim_reports.writing.tables import Column, Table

ALL_TIMES = "all"
"""What a tidy file has instead of a time after baseline, of the values over every query."""
ARM = Column("arm", "Arm", "arm")
_TYPES: dict[str, Type] = {"Int64": "integer", "float64": "number"}  # of hyperparameters; others are text


def configuration_column(
    results: Results, header: str = "Configuration", key: str = "configuration", group: str = ""
) -> Column:
    """A configuration, of which a CSV file has each hyperparameter in a column of its own."""
    parameters = [
        CsvColumn(
            found.name.removeprefix(CONFIGURATION), found.description, _TYPES.get(found.dtype, "text"), found.unit
        )
        for found in configuration_columns(results.arms)
    ]
    return Column(key, header, "configuration", group, parameters=parameters)


def time_column(results: Results) -> Column:
    """The time after baseline of a tidy file's rows, called after the data set's interval."""
    interval = results.interval
    together = f"{ALL_TIMES}: over every query together"
    holds = f"{interval.after_baseline.capitalize()}; {together}" if results.dated else together.capitalize()
    return Column(interval.unit, holds, unit=interval.plural)


def columns_table(results: Results, tables: Iterable[Table]) -> Table:
    """One row per column of every table's CSV file: what it holds, its type, and its unit there."""
    rows = [
        {"table": table.name, "column": column.name, "holds": column.holds, "type": column.type, "unit": column.unit}
        for table in tables
        for column in table.csv_columns
    ]
    columns = [
        Column("table", "Table"),
        Column("column", "Column"),
        Column("holds", "What it holds"),
        Column("type", "Type"),
        Column("unit", "Unit"),
    ]
    text = "The columns of this report's CSV files. Where tables show percent, the files have fractions."
    return Table("columns", "Columns", caption(results, text), columns, rows)
