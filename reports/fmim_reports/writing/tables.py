"""A table once, as CSV (full precision, fractions), Markdown, LaTeX and HTML (rounded, percent)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from io import TextIOWrapper
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pandas as pd

from fmim_core.metric_names import Metric
from fmim_core.records import replacing
from fmim_reports.reading.once import once
from fmim_reports.reading.summary import Estimate
from fmim_reports.stats import MeanSE
from fmim_reports.writing import cells
from fmim_reports.writing.cells import CsvCell, CsvColumn, CsvSource, csv_lines
from fmim_reports.writing.formats import (
    NOTHING,
    configuration_text,
    decimal,
    in_percent,
    mean_se_text,
    points,
    to_md,
)

Kind = Literal[
    "text", "listing", "metric", "arm", "configuration",
    "count", "percent", "points", "seconds", "p", "number", "size", "value", "needed",
    "published", "published_mean", "estimate",
]  # fmt: skip
_TEXTS = ("text", "listing", "metric", "arm", "configuration")
READABLE = 1000  # rows that a page, a Markdown or a LaTeX table has


@dataclass(frozen=True)
class Column:
    """A column: `key` of the row, what it holds, and the heading it shares with its neighbours (`group`).

    In a CSV file an `estimate` takes three columns: KEY_mean, KEY_se and, once for neighbours that share it, `n_key`;
    an `arm` two, its name as KEY and KEY_label; a `metric` its name; a `listing`, of several values in a cell, none;
    a `configuration` KEY and one for each of the `parameters`. Published values are in percent as printed; a
    `published_mean` also takes a mean ± SE in percent. `digits` are those of a mean ± SE; `unit` is what a CSV file has
    instead of the kind's. Of a `metric` the best value is marked.
    """

    key: str
    header: str
    kind: Kind = "text"
    group: str = ""
    n_key: str = ""
    digits: int = 2
    unit: str = ""
    parameters: Sequence[CsvColumn] = ()
    metric: Metric | None = None

    @property
    def numeric(self) -> bool:
        return self.kind not in _TEXTS

    @cached_property
    def _csv_cell(self) -> CsvCell:
        return _IN_CSV[self.kind](self)

    @cached_property
    def csv_columns(self) -> list[CsvColumn]:
        """The columns that it takes in a CSV file."""
        holds = f"{self.group}: {self.header}" if self.group else self.header
        found = self._csv_cell.columns(self.key, holds)
        return [replace(column, unit=self.unit or column.unit) for column in found]

    @cached_property
    def csv_source(self) -> CsvSource:
        """How these columns follow from a row."""
        return CsvSource(self.key, self._csv_cell, [column.name for column in self.csv_columns])

    def in_csv(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """A row's value in each of these columns by its name; what does not exist is None."""
        return dict(zip(self.csv_source.names, self._csv_cell.values(row.get(self.key)), strict=True))

    def text(self, row: Mapping[str, Any]) -> str:
        """The cell as shown, without n."""
        value = row.get(self.key)
        if value is None or value == "":
            return NOTHING
        if isinstance(value, Estimate):
            return mean_se_text(value.stat, self.digits)
        if isinstance(value, MeanSE):
            return mean_se_text(value, self.digits, scale=1)
        return value if isinstance(value, str) else _SHOW[self.kind](value)

    def number(self, row: Mapping[str, Any]) -> float:
        """The cell's number at full precision, a mean without its SE; not-a-number for text and for what is missing."""
        value = row.get(self.key)
        stat = value.stat if isinstance(value, Estimate) else value
        number = stat.mean if isinstance(stat, MeanSE) else stat
        return float(number) if isinstance(number, int | float) else math.nan

    def n_text(self, row: Mapping[str, Any]) -> str:
        value = row.get(self.key)
        return value.n_text if isinstance(value, Estimate) else ""

    def short(self, row: Mapping[str, Any]) -> bool:
        """Whether fewer replicates count than were planned."""
        value = row.get(self.key)
        return isinstance(value, Estimate) and not value.complete


_IN_CSV: Mapping[Kind, Callable[[Column], CsvCell]] = {
    "text": lambda _: cells.single("text"),
    "listing": lambda _: cells.nothing,
    "metric": lambda _: cells.metric,
    "arm": lambda _: cells.arm,
    "configuration": lambda column: cells.configuration(column.parameters),
    "count": lambda _: cells.single("integer", "count"),
    "percent": lambda _: cells.single("number", cells.FRACTION),
    "points": lambda _: cells.single("number", cells.FRACTION),
    "seconds": lambda _: cells.single("number", "s"),
    "p": lambda _: cells.single("number", "probability"),
    "number": lambda _: cells.single("number"),
    "size": lambda _: cells.single("number"),
    "value": lambda _: cells.single("number"),
    "needed": lambda _: cells.single("number", "count; inf: no number is enough"),
    "published": lambda _: cells.single("number", cells.PRINTED),
    "published_mean": lambda _: cells.published_mean,
    "estimate": lambda column: cells.estimate(column.n_key),
}
_SHOW: dict[str, Callable[[Any], str]] = {
    "text": str,
    "listing": str,
    "metric": lambda value: value.label,
    "arm": lambda value: value.label,
    "configuration": configuration_text,
    "count": lambda value: decimal(value, 0),
    "percent": in_percent,
    "points": points,
    "seconds": lambda value: decimal(value, 1),
    "p": lambda value: "< 0.001" if value < 0.001 else decimal(value, 3),
    "number": lambda value: decimal(value, 2),
    "size": lambda value: decimal(value, 0),
    "value": lambda value: f"{value:g}",
    "needed": lambda value: decimal(value, 0) if math.isfinite(value) else "none",
    "published": str,
    "published_mean": lambda value: decimal(value, 2),
}


@dataclass(frozen=True)
class Table:
    """A table of the report, which says `empty` without rows.

    A row with `rule` has a line above it; one with `total` is bold as well; a `reference` is no
    arm. `also` are columns that only the CSV file
    has, before the others. `computed` keeps what functions marked `once` made of it.
    """

    name: str
    title: str
    caption: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    notes: Sequence[str] = ()
    empty: str = "No rows yet."
    also: Sequence[Column] = ()
    computed: dict[Callable[..., Any], Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def readable(self) -> Table:
        """The table as people read it: of a very long one the first rows, and where the others are."""
        if len(self.rows) <= READABLE:
            return self
        note = f"The first {READABLE} of {len(self.rows):,} rows; tables/{self.name}.csv has all, and the best of them."
        columns = [replace(column, metric=None) for column in self.columns]  # the best of those alone means nothing
        return replace(self, columns=columns, rows=self.rows[:READABLE], notes=[note, *self.notes])

    @property
    def groups(self) -> list[tuple[str, int]]:
        """Neighbouring columns under one heading: (heading, how many)."""
        return [(group, len(list(found))) for group, found in groupby(c.group for c in self.columns)]

    @property
    def csv_columns(self) -> list[CsvColumn]:
        """The columns of its CSV file, each once."""
        columns = [one for column in (*self.also, *self.columns) for one in column.csv_columns]
        return list({one.name: one for one in columns}.values())

    @property
    def grouped(self) -> bool:
        return any(column.group for column in self.columns)

    @property
    def row_groups(self) -> list[list[int]]:
        """The numbers of the rows between two lines."""
        groups: list[list[int]] = []
        for number, row in enumerate(self.rows):
            if not groups or row.get("rule"):
                groups.append([])
            groups[-1].append(number)
        return groups

    def best_rows(self, column: Column) -> frozenset[int]:
        """The rows of each group with the best value of a metric's column, and all that are shown with the same digits.

        Totals and references take no part. Nothing is best without a metric, or where no value is worse.
        """
        if column.metric is None:
            return frozenset()
        best = max if column.metric.higher_is_better else min
        found: set[int] = set()
        for group in self.row_groups:
            numbers = {i: column.number(self.rows[i]) for i in group if _competes(self.rows[i])}
            known = {i: number for i, number in numbers.items() if not math.isnan(number)}
            shown = {i: column.text(self.rows[i]).partition(" ± ")[0] for i in known}
            if len(set(shown.values())) > 1:
                found |= {i for i in known if shown[i] == shown[best(known, key=lambda i: known[i])]}
        return frozenset(found)

    @property
    def best_note(self) -> str:
        """What the mark of the best values means; empty where none is marked."""
        if not any(map(self.best_rows, self.columns)):
            return ""
        several = sum(any(_competes(self.rows[i]) for i in group) for group in self.row_groups) > 1
        between = " between two lines" if several else ""
        apart = ", references apart" if any(row.get("reference") for row in self.rows) else ""
        return f"Bold: the best value of a column{between}{apart}."

    @property
    def notes_with_best(self) -> list[str]:
        """What stands below the table: what the mark of best values means, and the notes."""
        return [note for note in (self.best_note, *self.notes) if note]


def _competes(row: Mapping[str, Any]) -> bool:
    return not row.get("total") and not row.get("reference")


def to_csv(table: Table) -> str:
    """CSV at full precision; fractions stay fractions, not-a-number is `nan`, what does not exist is empty.

    No text is a formula of a spreadsheet (`in_csv`).
    """
    return "".join(csv_lines([column.csv_source for column in (*table.also, *table.columns)], table.rows))


def write_csv(table: Table, path: Path) -> None:
    """Write `to_csv` to a file line by line, since all of it may take a GiB."""
    lines = csv_lines([column.csv_source for column in (*table.also, *table.columns)], table.rows)
    with replacing(path) as file:
        text = TextIOWrapper(file, encoding="utf-8", newline="")
        text.writelines(lines)
        text.detach()


def to_frame(table: Table) -> pd.DataFrame:
    """The table as its CSV file has it: the same columns and values, text as pandas' `string`; what is empty is NA."""
    rows = [{name: None if value == "" else value for name, value in row.items()} for row in _csv_rows(table)]
    frame = pd.DataFrame(rows, columns=[column.name for column in table.csv_columns])
    texts = {column.name for column in table.csv_columns if column.type == "text"}
    unknown = {name for name in frame if name not in texts and frame[name].isna().all()}
    return frame.astype(dict.fromkeys(texts, "string") | dict.fromkeys(unknown, "float64"))


def _csv_rows(table: Table) -> Iterator[dict[str, Any]]:
    for row in table.rows:
        found: dict[str, Any] = {}
        for column in (*table.also, *table.columns):
            found |= column.in_csv(row)
        yield found


@once
def markdown(table: Table) -> str:
    """A pipe table under its bold title, caption and notes."""
    table = table.readable
    head = [to_md(f"{c.group}: {c.header}" if c.group else c.header) for c in table.columns]
    lines = [f"**{to_md(table.title)}.** {to_md(table.caption)}", ""]
    if table.rows:
        lines.append(f"| {' | '.join(head)} |")
        lines.append(f"|{'|'.join('---:' if c.numeric else ':---' for c in table.columns)}|")
        best = [table.best_rows(column) for column in table.columns]
        lines += [
            f"| {' | '.join(_md_cell(c, row, at in b) for c, b in zip(table.columns, best, strict=True))} |"
            for at, row in enumerate(table.rows)
        ]
    else:
        lines.append(to_md(table.empty))
    return "\n".join([*lines, "", *(f"- {to_md(note)}" for note in table.notes_with_best)]).rstrip() + "\n"


def _md_cell(column: Column, row: Mapping[str, Any], best: bool) -> str:
    text, n = to_md(column.text(row)), column.n_text(row)
    return (f"**{text}**" if best else text) + (f" (n = {n})" if n else "")
