"""A table once, for CSV (full precision, fractions), Markdown, LaTeX and HTML (rounded, percent)."""

from __future__ import annotations

import csv
import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress, groupby, takewhile
from operator import attrgetter, is_not
from types import SimpleNamespace
from typing import Any

import pandas as pd

from fmim_core.records import without_controls
from fmim_reports.reading.summary import Estimate
from fmim_reports.stats import MeanSE
from fmim_reports.writing.kinds import Column, DataColumn


@dataclass(frozen=True, slots=True)
class Cell:
    """A cell as it is read.

    Args:
        number: at full precision, a mean without its SE; not-a-number for text and for what is missing.
        n: over how many replicates a mean is, unless its header says so; `short` if fewer count than were planned.
        best: it is the best of its column.
    """

    text: str
    number: float
    n: str
    short: bool
    best: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """A row as it is read: one with a `rule` has a line above it; one of totals stays below those that it sums up."""

    cells: tuple[Cell, ...]
    rule: bool
    total: bool


@dataclass(frozen=True)
class Table:
    """A table of the report, which says `empty` without rows.

    A row with `rule` has a line above it; one with `total` is bold as well; a `reference` is no arm. `also` are columns
    that only the CSV file has, before the others. `how` says more of how its numbers come about than a caption can.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    empty: str = "No rows yet."
    also: Sequence[Column] = ()
    how: str = ""

    @property
    def main(self) -> Table:
        """It without the columns that are `more`."""
        return replace(self, columns=[one for one in self.columns if not one.more]) if self.rest else self

    @property
    def rest(self) -> Table | None:
        """The columns that are `more`, beside those that name the rows; None without any."""
        names, more = takewhile(lambda one: not one.numeric, self.columns), [one for one in self.columns if one.more]
        return replace(self, columns=[*(one for one in names if not one.more), *more]) if more else None

    @property
    def headings(self) -> list[tuple[str, int]]:
        """Neighbouring columns under one heading: (heading with their n, how many); none where no column has one."""
        found = [(group, list(columns)) for group, columns in groupby(self.columns, attrgetter("group"))]
        shown = [(f"{group}{self._n_of(columns) if group else ''}", len(columns)) for group, columns in found]
        return shown if any(group for group, _ in found) else []

    @property
    def headers(self) -> list[str]:
        """The headers of its columns, with the n of their means where the heading that they share does not say it."""
        found = [(group, list(columns)) for group, columns in groupby(self.columns, attrgetter("group"))]
        said = [(one, bool(group and self._n_of(columns))) for group, columns in found for one in columns]
        return [one.header if above else f"{one.header}{self._n_of([one])}" for one, above in said]

    def _n_of(self, columns: Sequence[Column]) -> str:
        """Return `, n = 5`; nothing where the columns do not have one."""
        found = {self.n.get(one.key, "") for one in columns}
        return f", n\u00a0=\u00a0{n}" if len(found) == 1 and (n := found.pop()) else ""

    @cached_property
    def n(self) -> dict[str, str]:
        """The n of more than half of the whole means of a column: its header says it, and cells with another theirs."""
        means = {one.key: _whole(self.rows, one.key) for one in self.columns if one.kind == "estimate"}
        common = {key: Counter(found).most_common(1)[0] for key, found in means.items() if found}
        return {key: n for key, (n, times) in common.items() if 2 * times > len(means[key])}

    @cached_property
    def row_groups(self) -> list[list[Row]]:
        """The rows between two lines, as they are read."""
        return [_marked(self.columns, group, self.n) for group in self._groups]

    @property
    def _groups(self) -> list[list[Mapping[str, Any]]]:
        groups: list[list[Mapping[str, Any]]] = []
        for row in self.rows:
            if not groups or row.get("rule"):
                groups.append([])
            groups[-1].append(row)
        return groups

    @cached_property
    def all_notes(self) -> list[str]:
        """The lines below the table: what the mark of best values means, and the notes."""
        marked = any(cell.best for group in self.row_groups for row in group for cell in row.cells)
        several = sum(any(map(_competes, group)) for group in self._groups) > 1
        between = " between two lines" if several else ""
        apart = ", references apart" if any(row.get("reference") for row in self.rows) else ""
        short = any(cell.short for group in self.row_groups for row in group for cell in row.cells)
        whole = ", of those over every planned replicate" if short else ""
        metrics = [column.key for column in self.columns if column.metric]
        unequal = any(len(_planned(rows, key)) > 1 for rows in self._groups for key in metrics)
        anyhow = ", whatever its n" if unequal else ""
        best = f"Bold: the best value of a column{between}{apart}{whole}{anyhow}." if marked else ""
        return [note for note in (best, *self.notes) if note]

    @cached_property
    def stored(self) -> dict[str, tuple[str, DataColumn]]:
        """The columns of its CSV file by name, each beside the key of the value in a row from which its own follows.

        Of columns of one name the last one counts.
        """
        columns = (*self.also, *self.columns)
        return {stored.name: (column.key, stored) for column in columns for stored in column.stored}


def _marked(columns: Sequence[Column], rows: Sequence[Mapping[str, Any]], n: Mapping[str, str]) -> list[Row]:
    """Return rows between two lines, the best value of each metric's column marked; a header has the `n` of most."""
    by_column = [
        _with_best(column, [_cell(column, row.get(column.key), n.get(column.key)) for row in rows], rows)
        for column in columns
    ]
    return [
        Row(cells, rule=bool(row.get("rule") or row.get("total")), total=bool(row.get("total")))
        for row, cells in zip(rows, zip(*by_column, strict=True), strict=True)
    ]


def _cell(column: Column, value: Any, n: str | None) -> Cell:
    stat = value.stat if isinstance(value, Estimate) else value
    number = stat.mean if isinstance(stat, MeanSE) else stat
    return Cell(
        text=column.text(value),
        number=float(number) if isinstance(number, int | float) else math.nan,
        n=value.n_text if isinstance(value, Estimate) and value.n_text != n else "",
        short=isinstance(value, Estimate) and not value.complete,
    )


def _with_best(column: Column, cells: list[Cell], rows: Sequence[Mapping[str, Any]]) -> list[Cell]:
    """Mark the best value of a metric's column, and all that are shown with the same digits.

    Totals, references and means over fewer replicates than planned take no part. Nothing is best without a metric, or
    where no value is worse.
    """
    if column.metric is None:
        return cells
    whole = [_competes(row) and not cell.short for cell, row in zip(cells, rows, strict=True)]
    competing = [
        cell for cell, takes_part in zip(cells, whole, strict=True) if takes_part and not math.isnan(cell.number)
    ]
    shown = {_mean(cell) for cell in competing}
    if len(shown) < 2:
        return cells
    best = (max if column.metric.higher_is_better else min)(competing, key=lambda cell: cell.number)
    return [
        replace(cell, best=takes_part and _mean(cell) == _mean(best))
        for cell, takes_part in zip(cells, whole, strict=True)
    ]


def _mean(cell: Cell) -> str:
    return cell.text.partition(" ± ")[0]


def _competes(row: Mapping[str, Any]) -> bool:
    return not row.get("total") and not row.get("reference")


def _whole(rows: Sequence[Mapping[str, Any]], key: str) -> list[str]:
    """Return the n of each mean of arms over every planned replicate."""
    found = [row[key] for row in rows if _competes(row) and isinstance(row.get(key), Estimate)]
    return [one.n_text for one in found if one.complete and one.stat.n]


def _planned(rows: Sequence[Mapping[str, Any]], key: str) -> set[int]:
    """Return the numbers of replicates that were planned for the values that compete."""
    return {row[key].of for row in rows if _competes(row) and isinstance(row.get(key), Estimate)}


class Generated(Sequence[Mapping[str, Any]]):
    """Rows that are made each time they are read, since all of them together would take GiBs."""

    def __init__(self, make: Callable[[], Iterator[Mapping[str, Any]]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._make()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: Any) -> Any:
        return list(self)[number]


def to_frame(table: Table) -> pd.DataFrame:
    """Return the table as its CSV file has it, text as pandas' `string`; what does not exist is NA."""
    rows, series = list(table.rows), {}
    for name, (key, column) in table.stored.items():
        values = [_value(column, row.get(key)) for row in rows]
        known = any(value is not None for value in values)
        series[name] = pd.Series(values, dtype="string" if column.type == "text" else None if known else "float64")
    return pd.DataFrame(series)


_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # a spreadsheet computes what begins so


def in_csv(value: object) -> object:
    """Return a cell of a CSV file that no spreadsheet takes for a formula; numbers stay numbers.

    A text that begins as a formula does gets an apostrophe before it, which makes it text.
    """
    if not isinstance(value, str):
        return value
    return without_controls(f"'{value}" if value.startswith(_FORMULA) else value)


def csv_lines(table: Table) -> Iterator[str]:
    """Yield CSV at full precision: fractions stay fractions, not-a-number is `nan`, what does not exist is empty.

    No text is a formula of a spreadsheet (`in_csv`).
    """
    quoted = csv.writer(SimpleNamespace(write=str), lineterminator="").writerow  # returns what `write` returns
    yield ",".join(quoted([in_csv(name)]) for name in table.stored) + "\n"
    keys, columns = [key for key, _ in table.stored.values()], [column for _, column in table.stored.values()]
    above, cells = [object() for _ in columns], [""] * len(columns)
    for row in table.rows:
        given = list(map(row.get, keys))
        for at in compress(range(len(cells)), map(is_not, given, above)):  # few differ from the row above
            value = _value(columns[at], given[at])
            cells[at] = "" if value is None or value == "" else quoted([in_csv(value)])
        above = given
        yield ",".join(cells) + "\n"


def to_csv(table: Table) -> str:
    """Return the whole of `csv_lines`."""
    return "".join(csv_lines(table))


def _value(column: DataColumn, value: Any) -> Any:
    return None if value is None or value == "" else column.of(value)
