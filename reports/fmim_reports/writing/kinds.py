"""Columns of data, and the kinds of values that a table has: how one is shown, and which columns of data it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter, itemgetter
from typing import Any, Literal

from fmim_core.metric_names import Metric
from fmim_core.records import ArmEntry
from fmim_reports.stats import MeanSE
from fmim_reports.writing.formats import (
    NOTHING,
    SYMBOLS,
    UNITS,
    bounded_text,
    configuration_text,
    decimal,
    in_percent,
    mean_se_text,
    needed_text,
    points,
)

Dtype = Literal["string", "boolean", "int64", "Int64", "float64", "datetime64[us, UTC]"]
"""pandas' types. Of these, `int64` alone knows nothing that is missing, and `float64` has NaN for it."""


@dataclass(frozen=True)
class DataColumn:
    """A column of data; `unit` is empty for what has none, and `of` gives its value by what a row is of."""

    name: str
    dtype: Dtype
    description: str
    unit: str = ""
    of: Callable[[Any], Any] = lambda value: value

    @property
    def type(self) -> str:
        """Its type in a CSV file: text, integer or number."""
        return {"int64": "integer", "Int64": "integer", "float64": "number"}.get(self.dtype, "text")


def configuration_columns(
    arms: Iterable[ArmEntry], of: Callable[[Any], Any], prefix: str = "configuration", about: str = ""
) -> list[DataColumn]:
    """Return a column per hyperparameter that one of these arms varies, by the order of the arms.

    `of` gives a row's configuration, or None; the value is NA where that does not set it.
    """
    found: dict[str, list[Any]] = {}
    for arm in arms:
        for name, space in arm.space.items():
            ends_or_values = [float(space["low"]), float(space["high"])] if isinstance(space, Mapping) else space
            found.setdefault(name, []).extend(ends_or_values)
        for configuration in arm.configurations:
            for name, value in configuration.items():
                found.setdefault(name, []).append(value)

    def column(name: str, values: list[Any]) -> DataColumn:
        symbol = f" ({SYMBOLS[name]})" if name in SYMBOLS else ""
        holds = f"{about}the configuration's {name}{symbol}; NA where the arm does not vary it"
        value = lambda row: (of(row) or {}).get(name)  # noqa: E731
        return DataColumn(f"{prefix}_{name}", _dtype_of(values), holds, UNITS.get(name, ""), value)

    return [column(name, values) for name, values in found.items()]


def _dtype_of(values: Iterable[Any]) -> Dtype:
    """Return the type of a column of these values: truths, whole numbers, numbers, or text; `float64` without any."""
    kinds = set(map(type, values))
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds <= {int, float} else "string"


KindName = Literal[
    "text", "listing", "metric", "arm", "configuration",
    "count", "percent", "points", "seconds", "p", "number", "size", "value", "needed", "ratio", "interval",
    "published", "published_mean", "estimate",
]  # fmt: skip
FRACTION, PRINTED = "fraction", "percent, as printed"


@dataclass(frozen=True)
class Column:
    """A column: `key` of the row, what it holds, and the heading it shares with its neighbours (`group`).

    In a CSV file an `estimate` takes three columns: KEY_mean, KEY_se and, once for neighbours that share it, `n_key`;
    an `arm` two, its name as KEY and KEY_label; an `interval` low and high; a `metric` its name; a `listing`, of
    several values in a cell, and a `ratio` none; a `configuration` KEY and one for each hyperparameter of the `arms`.
    Published values are in percent as printed; a `published_mean` also takes a mean ± SE in percent. `digits` are those
    of a mean ± SE; `unit` is what a CSV file has instead of the kind's. Of a `metric` the best value is marked. `more`:
    a page shows it folded, below the others, and LaTeX leaves it out.
    """

    key: str
    header: str
    kind: KindName = "text"
    group: str = ""
    n_key: str = ""
    digits: int = 2
    unit: str = ""
    arms: Sequence[ArmEntry] = ()
    metric: Metric | None = None
    more: bool = False

    @property
    def numeric(self) -> bool:
        return KINDS[self.kind].numeric

    @property
    def about(self) -> str:
        """Its heading with that of its group."""
        return f"{self.group}: {self.header}" if self.group else self.header

    @property
    def stored(self) -> list[DataColumn]:
        """The columns that it takes in a CSV file; the value of each follows from its own."""
        return [replace(one, unit=self.unit or one.unit) for one in KINDS[self.kind].stored(self)]

    def text(self, value: Any) -> str:
        """Return a value as it is read."""
        if value is None or value == "":
            return NOTHING
        return value if isinstance(value, str) else KINDS[self.kind].show(value, self.digits)


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Args:
        show: a value as text; the second argument are the digits of a mean ± SE.
        stored: the columns that a table's column takes in a CSV file.
        numeric: whether it stands on the right.
    """

    show: Callable[[Any, int], str]
    stored: Callable[[Column], list[DataColumn]]
    numeric: bool = True


def _one(show: Callable[[Any], str], dtype: Dtype = "float64", unit: str = "") -> Kind:
    """Return a kind of values that a CSV file has in one column as they are."""
    return Kind(
        lambda value, _: show(value),
        lambda column: [DataColumn(column.key, dtype, column.about, unit)],
        numeric=dtype != "string",
    )


def _arm(column: Column) -> list[DataColumn]:
    name = f"{column.about}: its name in study.json, or the reference's; empty in a row of several arms"
    return [
        DataColumn(column.key, "string", name, of=lambda arm: arm.name or None),
        DataColumn(f"{column.key}_label", "string", f"{column.about}: what reports call it", of=attrgetter("label")),
    ]


def _configuration(column: Column) -> list[DataColumn]:
    """Return the configuration as reports write it, then each hyperparameter in a column of its own."""
    about = f"{column.about}, as reports write it"
    text = DataColumn(column.key, "string", about, of=lambda found: configuration_text(found) if found else None)
    return [text, *configuration_columns(column.arms, lambda found: found, column.key, f"{column.about}: ")]


def _published_mean(column: Column) -> list[DataColumn]:
    def mean(value: MeanSE | float) -> float:
        return value.mean if isinstance(value, MeanSE) else value

    def se(value: MeanSE | float) -> float | None:
        return value.se if isinstance(value, MeanSE) else None

    return [
        DataColumn(column.key, "float64", f"{column.about}, mean", PRINTED, mean),
        DataColumn(f"{column.key}_se", "float64", f"{column.about}, SE", PRINTED, se),
    ]


def _estimate(column: Column) -> list[DataColumn]:
    """Return mean, SE and the number of replicates, which neighbours of the same `n_key` share."""

    def mean(value: Any) -> float | None:
        return value.stat.mean if value.stat.n else None

    return [
        DataColumn(f"{column.key}_mean", "float64", f"{column.about}, mean", FRACTION, mean),
        DataColumn(f"{column.key}_se", "float64", f"{column.about}, SE", FRACTION, attrgetter("stat.se")),
        DataColumn(column.n_key or f"{column.key}_n", "Int64", "replicates of the mean", "count", attrgetter("stat.n")),
    ]


def _interval(column: Column) -> list[DataColumn]:
    ends = enumerate(("low", "high"))
    return [DataColumn(name, "float64", f"{column.about}, {name}", FRACTION, itemgetter(at)) for at, name in ends]


def _needed(column: Column) -> list[DataColumn]:
    """Return the number that is needed and the ends of its range."""

    def number(name: str) -> Callable[[Any], float]:
        return lambda value: math.inf if getattr(value, name) is None else getattr(value, name)

    unit, about = "count; inf: no number is enough", f"{column.about}, of an 80 % range"
    return [
        DataColumn(column.key, "float64", column.about, unit, number("seeds")),
        DataColumn(f"{column.key}_low", "float64", f"{about} the lower end", unit, number("low")),
        DataColumn(f"{column.key}_high", "float64", f"{about} the upper end", unit, number("high")),
    ]


def _show_published(value: MeanSE | float, digits: int) -> str:
    return mean_se_text(value, digits, scale=1) if isinstance(value, MeanSE) else decimal(value, 2)


KINDS: dict[KindName, Kind] = {
    "text": _one(str, "string"),
    "listing": Kind(lambda value, _: str(value), lambda column: [], numeric=False),
    "metric": Kind(
        lambda value, _: value.label,
        lambda column: [DataColumn(column.key, "string", f"{column.about}: its name", of=attrgetter("name"))],
        numeric=False,
    ),
    "arm": Kind(lambda value, _: value.label, _arm, numeric=False),
    "configuration": Kind(lambda value, _: configuration_text(value), _configuration, numeric=False),
    "count": _one(lambda value: decimal(value, 0), "Int64", "count"),
    "percent": _one(in_percent, unit=FRACTION),
    "points": _one(points, unit=FRACTION),
    "seconds": _one(lambda value: decimal(value, 1), unit="s"),
    "p": _one(lambda value: "< 0.001" if value < 0.001 else decimal(value, 3), unit="probability"),
    "number": _one(lambda value: decimal(value, 2)),
    "size": _one(lambda value: decimal(value, 0)),
    "value": _one(lambda value: f"{value:g}"),
    "needed": Kind(lambda value, _: needed_text(value), _needed),
    "ratio": Kind(lambda value, _: bounded_text(value), lambda column: [], numeric=False),
    "interval": Kind(lambda ends, _: " to ".join(map(points, ends)), _interval, numeric=False),
    "published": _one(str, unit=PRINTED),
    "published_mean": Kind(_show_published, _published_mean),
    "estimate": Kind(lambda value, digits: mean_se_text(value.stat, digits), _estimate),
}
