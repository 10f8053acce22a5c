"""What a cell of a table becomes in a CSV file: one value in each column, with its type and unit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, Protocol

from fmim_core.records import in_csv
from fmim_reports.stats import MeanSE
from fmim_reports.writing.formats import configuration_text

Type = Literal["text", "integer", "number"]
FRACTION, PRINTED = "fraction", "percent, as printed"


class Named(Protocol):
    """What a row may be of: an arm, a reference, or several arms together, which have no name."""

    @property
    def name(self) -> str: ...
    @property
    def label(self) -> str: ...


@dataclass(frozen=True)
class RowName:
    """The name and the label of a row that is of no declared arm; without a name it is of several."""

    name: str
    label: str


@dataclass(frozen=True)
class CsvColumn:
    """A column of a CSV file: its name, what it holds, its type, and its unit, which is empty for what has none."""

    name: str
    holds: str
    type: Type
    unit: str = ""


@dataclass(frozen=True)
class CsvCell:
    """The columns of a cell by its key and heading, and its value in each of them."""

    columns: Callable[[str, str], Sequence[CsvColumn]]
    values: Callable[[Any], Sequence[Any]]


@dataclass(frozen=True)
class CsvSource:
    """The key of a row's value, the cell that it becomes, and the names of that one's columns."""

    key: str
    cell: CsvCell
    names: Sequence[str]


def csv_lines(sources: Sequence[CsvSource], rows: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """The lines of a CSV file at full precision; of columns of one name, the last one's value stands.

    What a row has in common with the row before, as in the millions of a study of 100,000 trials, is not made anew.
    """
    names = [name for source in sources for name in source.names]
    last = {name: place for place, name in enumerate(names)}
    yield ",".join(map(_csv_text, last)) + "\n"
    made = [(number, one.key, one.cell.values) for number, one in enumerate(one for one in sources if one.names)]
    values: list[Any] = [_NOTHING_YET] * len(made)
    texts = [""] * len(made)
    between = "," if len(last) == len(names) else _BETWEEN
    for row in rows:
        for number, key, values_of in made:
            value = row.get(key)
            if value is not values[number]:
                values[number], cells = value, values_of(value)
                texts[number] = between.join(map(_csv_text, cells)) if len(cells) > 1 else _csv_text(cells[0])
        line = between.join(texts)
        if between != ",":
            line = ",".join(map(line.split(between).__getitem__, last.values()))
        yield f"{line}\n"


class Generated(Sequence[Mapping[str, Any]]):
    """Rows that are made each time they are read, since all of them together may take GiBs."""

    def __init__(self, make: Callable[[], Iterator[Mapping[str, Any]]]) -> None:
        self._make = make

    def __iter__(self) -> Iterator[Mapping[str, Any]]:
        return self._make()

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __getitem__(self, number: Any) -> Any:
        return list(self)[number]


_NOTHING_YET = object()
_BETWEEN = "\x1f"  # in no cell, since it is not visible


def _csv_text(value: Any) -> str:
    """Fractions stay fractions, not-a-number is `nan`, what does not exist is empty; no text is a formula."""
    if value is None:
        return ""
    return str(value) if isinstance(value, (int, float)) else _quoted(str(value))


@lru_cache(maxsize=1000)
def _quoted(value: str) -> str:
    """A text as a cell; most are in one row after the other."""
    text = str(in_csv(value))
    return '"' + text.replace('"', '""') + '"' if any(map(text.__contains__, ',"\n')) else text


def single(type_: Type, unit: str = "") -> CsvCell:
    """One column with the value as it is."""
    return CsvCell(lambda key, holds: [CsvColumn(key, holds, type_, unit)], lambda value: [value])


def _named(key: str, holds: str) -> list[CsvColumn]:
    return [CsvColumn(key, f"{holds}: its name", "text")]


def _arm_columns(key: str, holds: str) -> list[CsvColumn]:
    name = f"{holds}: its name in study.json, or the reference's; empty in a row of several arms"
    return [CsvColumn(key, name, "text"), CsvColumn(f"{key}_label", f"{holds}: what reports call it", "text")]


def _arm_values(value: Named | None) -> list[Any]:
    return [None, None] if value is None else [value.name or None, value.label]


def _published_columns(key: str, holds: str) -> list[CsvColumn]:
    return [
        CsvColumn(key, f"{holds}, mean", "number", PRINTED),
        CsvColumn(f"{key}_se", f"{holds}, SE", "number", PRINTED),
    ]


def _published_values(value: MeanSE | float | None) -> list[Any]:
    return [value.mean, value.se] if isinstance(value, MeanSE) else [value, None]


def estimate(n_key: str) -> CsvCell:
    """Mean, SE and the number of replicates, which neighbours of the same `n_key` share."""

    def columns(key: str, holds: str) -> list[CsvColumn]:
        return [
            CsvColumn(f"{key}_mean", f"{holds}, mean", "number", FRACTION),
            CsvColumn(f"{key}_se", f"{holds}, SE", "number", FRACTION),
            CsvColumn(n_key or f"{key}_n", "replicates of the mean", "integer", "count"),
        ]

    return CsvCell(columns, _estimate_values)


def _estimate_values(value: Any) -> list[Any]:
    """Of no replicate there is no mean."""
    return [None] * 3 if value is None else [value.stat.mean if value.stat.n else None, value.stat.se, value.stat.n]


def configuration(parameters: Sequence[CsvColumn]) -> CsvCell:
    """The configuration as reports write it, then the value of each hyperparameter in a column of its own."""

    def columns(key: str, holds: str) -> list[CsvColumn]:
        each = [CsvColumn(f"{key}_{one.name}", f"{holds}: {one.holds}", one.type, one.unit) for one in parameters]
        return [CsvColumn(key, f"{holds}, as reports write it", "text"), *each]

    def values(value: Mapping[str, Any] | None) -> list[Any]:
        found = value or {}
        return [configuration_text(found) if found else None, *(found.get(one.name) for one in parameters)]

    return CsvCell(columns, values)


nothing = CsvCell(lambda key, holds: [], lambda value: [])
metric = CsvCell(_named, lambda value: [value.name])
arm = CsvCell(_arm_columns, _arm_values)
published_mean = CsvCell(_published_columns, _published_values)
