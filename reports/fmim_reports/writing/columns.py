"""Columns and rows that several tables have, and the data dictionary of a report's CSV files.

References are no arms: nothing is selected from them, and no comparison, correction or cost of a search counts them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from fmim_core.records import ArmEntry, ReferenceEntry
from fmim_reports.reading.results import Results
from fmim_reports.writing.captions import caption
from fmim_reports.writing.kinds import KindName
from fmim_reports.writing.tables import Column, Table

ALL_TIMES = "all"
"""What a tidy file has instead of a time after baseline, of the values over every query."""
ARM = Column("arm", "Arm", "arm")


@dataclass(frozen=True)
class RowName:
    """The name and the label of a row that is of no declared arm; without a name it is of several."""

    name: str
    label: str


def under(group: str, kind: KindName, /, **headers: str) -> list[Column]:
    """Return neighbouring columns of one kind under one heading: key → header; without a heading if it is empty."""
    return [Column(key, header, kind, group) for key, header in headers.items()]


def folded(*columns: Column) -> list[Column]:
    """Return columns that a page shows folded, below the others."""
    return [replace(column, more=True) for column in columns]


def configuration_column(
    results: Results, header: str = "Configuration", key: str = "configuration", group: str = ""
) -> Column:
    """Return the column of a configuration, of which a CSV file has each hyperparameter in a column of its own."""
    return Column(key, header, "configuration", group, arms=results.arms)


def time_column(results: Results) -> Column:
    """Return the time after baseline of a tidy file's rows, called after the data set's interval."""
    interval = results.interval
    together = f"{ALL_TIMES}: over every query together"
    holds = f"{interval.after_baseline.capitalize()}; {together}" if results.dated else together.capitalize()
    return Column(interval.unit, holds, unit=interval.plural)


def reference_rows(
    results: Results, of: Callable[[ReferenceEntry], Mapping[str, Any]], column: str = "arm"
) -> list[dict[str, Any]]:
    """Return a row for each reference, to stand below the arms' and a line; `column` is the one that names the arms."""
    return [
        {"rule": number == 0, "reference": True, column: row.label, "arm": row, **of(reference)}
        for number, reference in enumerate(results.references)
        for row in [reference_row(reference)]
    ]


def reference_row(reference: ReferenceEntry) -> RowName:
    """Return the name of a row of a reference."""
    return RowName(reference.name, f"Reference: {reference.label}")


def row_name(results: Results, name: str) -> ArmEntry | RowName:
    """Return the arm, or the name of the row of the reference, by the name that a record has."""
    references = {reference.name: reference_row(reference) for reference in results.references}
    return references[name] if name in references else results.arm(name)


def columns_table(results: Results, tables: Iterable[Table]) -> Table:
    """Return one row per column of every table's CSV file: what it holds, its type, and its unit there."""
    rows = [
        {"table": table.name, "column": column.name, "type": column.type, "unit": column.unit}
        | {"holds": column.description}
        for table in tables
        for _, column in table.stored.values()
    ]
    columns = under("", "text", table="Table", column="Column", holds="What it holds", type="Type", unit="Unit")
    text = "The columns of this report's CSV files. Where tables show percent, the files have fractions."
    return Table("columns", "Columns", caption(results, text), columns, rows)
