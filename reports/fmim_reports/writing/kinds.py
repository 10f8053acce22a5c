"""Columns of data, and the kinds of values that a table has: how one is shown, and which columns of data it takes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, Literal, Protocol

from fmim_core.records import ArmEntry
from fmim_reports.stats import MeanSE
from fmim_reports.writing.formats import SYMBOLS, UNITS, configuration_text, decimal, in_percent, mean_se_text, points

CONFIGURATION = "configuration_"
Dtype = Literal["string", "boolean", "int64", "Int64", "float64", "datetime64[us, UTC]"]
"""pandas' types. Of these, `int64` alone knows nothing that is missing, and `float64` has NaN for it."""


def _itself(value: Any) -> Any:
    return value


@dataclass(frozen=True)
class DataColumn:
    """A column of data; `unit` is empty for what has none, and `of` gives its value by what a row is of."""

    name: str
    dtype: Dtype
    description: str
    unit: str = ""
    of: Callable[[Any], Any] = _itself

    @property
    def type(self) -> str:
        """Its type in a CSV file: text, integer or number."""
        return {"int64": "integer", "Int64": "integer", "float64": "number"}.get(self.dtype, "text")


def configuration_columns(arms: Iterable[ArmEntry]) -> list[DataColumn]:
    """Return a column per hyperparameter that one of these arms varies, by the order of the arms.

    A row has a `configuration`, or None; the value is NA where that does not set it.
    """
    found: dict[str, list[Any]] = {}
    for name, value in (pair for arm in arms for pair in _values(arm)):
        found.setdefault(name, []).append(value)
    return [
        DataColumn(f"{CONFIGURATION}{name}", _dtype_of(values), _meaning(name), UNITS.get(name, ""), _setting(name))
        for name, values in found.items()
    ]


def _setting(name: str) -> Callable[[Any], Any]:
    return lambda row: (row.configuration or {}).get(name)


def _values(arm: ArmEntry) -> Iterator[tuple[str, Any]]:
    """Yield the values that a hyperparameter may take or has taken, the ends of a range as numbers."""
    for name, space in arm.space.items():
        values = [float(space["low"]), float(space["high"])] if isinstance(space, Mapping) else space
        yield from ((name, value) for value in values)
    for configuration in arm.configurations:
        yield from configuration.items()


def _meaning(name: str) -> str:
    symbol = f" ({SYMBOLS[name]})" if name in SYMBOLS else ""
    return f"the configuration's {name}{symbol}; NA where the arm does not vary it"


def _dtype_of(values: Iterable[Any]) -> Dtype:
    """Return the type of a column of these values: truths, whole numbers, numbers, or text; `float64` without any."""
    kinds = {bool if isinstance(value, bool) else type(value) for value in values}
    if kinds == {bool}:
        return "boolean"
    if kinds == {int}:
        return "Int64"
    return "float64" if kinds <= {int, float} else "string"


KindName = Literal[
    "text", "listing", "metric", "arm", "configuration",
    "count", "percent", "points", "seconds", "p", "number", "size", "value", "needed",
    "published", "published_mean", "estimate",
]  # fmt: skip
FRACTION, PRINTED = "fraction", "percent, as printed"


class ShownColumn(Protocol):
    """A table's column, as far as its columns in a CSV file follow from it."""

    @property
    def key(self) -> str:
        """Its name in rows."""

    @property
    def about(self) -> str:
        """Its heading."""

    @property
    def n_key(self) -> str:
        """The column of the number of replicates that it shares with its neighbours, if it does."""

    @property
    def parameters(self) -> Sequence[DataColumn]:
        """The hyperparameters of its configurations."""


@dataclass(frozen=True)
class Kind:
    """A kind of values.

    Args:
        show: a value as text; the second argument are the digits of a mean ± SE.
        stored: the columns that a table's column takes in a CSV file.
        numeric: whether it stands on the right.
    """

    show: Callable[[Any, int], str]
    stored: Callable[[ShownColumn], list[DataColumn]]
    numeric: bool = True


def _one(show: Callable[[Any], str], dtype: Dtype = "float64", unit: str = "") -> Kind:
    """Return a kind of values that a CSV file has in one column as they are."""
    return Kind(
        lambda value, _: show(value),
        lambda column: [DataColumn(column.key, dtype, column.about, unit)],
        numeric=dtype != "string",
    )


def _metric(column: ShownColumn) -> list[DataColumn]:
    return [DataColumn(column.key, "string", f"{column.about}: its name", of=attrgetter("name"))]


def _arm(column: ShownColumn) -> list[DataColumn]:
    name = f"{column.about}: its name in study.json, or the reference's; empty in a row of several arms"
    return [
        DataColumn(column.key, "string", name, of=lambda arm: arm.name or None),
        DataColumn(f"{column.key}_label", "string", f"{column.about}: what reports call it", of=attrgetter("label")),
    ]


def _configuration(column: ShownColumn) -> list[DataColumn]:
    """Return the configuration as reports write it, then each hyperparameter in a column of its own."""

    def of(parameter: DataColumn) -> DataColumn:
        name = parameter.name.removeprefix(CONFIGURATION)
        about = f"{column.about}: {parameter.description}"
        return DataColumn(f"{column.key}_{name}", parameter.dtype, about, parameter.unit, lambda found: found.get(name))

    about = f"{column.about}, as reports write it"
    text = DataColumn(column.key, "string", about, of=lambda found: configuration_text(found) if found else None)
    return [text, *map(of, column.parameters)]


def _published_mean(column: ShownColumn) -> list[DataColumn]:
    def mean(value: MeanSE | float) -> float:
        return value.mean if isinstance(value, MeanSE) else value

    def se(value: MeanSE | float) -> float | None:
        return value.se if isinstance(value, MeanSE) else None

    return [
        DataColumn(column.key, "float64", f"{column.about}, mean", PRINTED, mean),
        DataColumn(f"{column.key}_se", "float64", f"{column.about}, SE", PRINTED, se),
    ]


def _estimate(column: ShownColumn) -> list[DataColumn]:
    """Return mean, SE and the number of replicates, which neighbours of the same `n_key` share."""

    def mean(value: Any) -> float | None:
        return value.stat.mean if value.stat.n else None

    return [
        DataColumn(f"{column.key}_mean", "float64", f"{column.about}, mean", FRACTION, mean),
        DataColumn(f"{column.key}_se", "float64", f"{column.about}, SE", FRACTION, attrgetter("stat.se")),
        DataColumn(column.n_key or f"{column.key}_n", "Int64", "replicates of the mean", "count", attrgetter("stat.n")),
    ]


def _show_published(value: Any, digits: int) -> str:
    return mean_se_text(value, digits, scale=1) if isinstance(value, MeanSE) else decimal(value, 2)


def _label(value: Any, _: int) -> str:
    return str(value.label)


KINDS: dict[KindName, Kind] = {
    "text": _one(str, "string"),
    "listing": Kind(lambda value, _: str(value), lambda column: [], numeric=False),
    "metric": Kind(_label, _metric, numeric=False),
    "arm": Kind(_label, _arm, numeric=False),
    "configuration": Kind(lambda value, _: configuration_text(value), _configuration, numeric=False),
    "count": _one(lambda value: decimal(value, 0), "Int64", "count"),
    "percent": _one(in_percent, unit=FRACTION),
    "points": _one(points, unit=FRACTION),
    "seconds": _one(lambda value: decimal(value, 1), unit="s"),
    "p": _one(lambda value: "< 0.001" if value < 0.001 else decimal(value, 3), unit="probability"),
    "number": _one(lambda value: decimal(value, 2)),
    "size": _one(lambda value: decimal(value, 0)),
    "value": _one(lambda value: f"{value:g}"),
    "needed": _one(
        lambda value: decimal(value, 0) if math.isfinite(value) else "none",
        unit="count; inf: no number is enough",
    ),
    "published": _one(str, unit=PRINTED),
    "published_mean": Kind(_show_published, _published_mean),
    "estimate": Kind(lambda value, digits: mean_se_text(value.stat, digits), _estimate),
}
