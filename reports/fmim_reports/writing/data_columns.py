"""The columns of data: what one holds, its type and its unit, in a frame and a CSV file alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from fmim_core.records import ArmEntry
from fmim_reports.writing.formats import SYMBOLS, UNITS

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
