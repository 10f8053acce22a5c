"""Spaces: products of named choices and ranges. Imports neither torch nor Ray."""

from __future__ import annotations

import itertools
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, FiniteFloat, model_validator

from fmim_core.config import Config

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)  # not 1_000, inf, nan, nor ٣


def as_meant(value: Any) -> Any:
    """Return a number for one that is written as text: 0.001 for 1e-3, as YAML gives it, and a whole number for 1e3.

    A list becomes its text, `[0.9, 0.98]`, and a truth value its word, `true`, as a command line gives them: neither
    passes for a number.
    """
    if isinstance(value, bool | list | tuple):
        return json.dumps(value)
    if not isinstance(value, str) or not _NUMBER.fullmatch(value.strip()):
        return value
    with suppress(ValueError):  # a point or an exponent, or thousands of digits
        return int(value)
    number = float(value)
    if not math.isfinite(number):
        return value
    return int(number) if number.is_integer() and "." not in value else number


Value = Annotated[float | int | str, BeforeValidator(as_meant)]
Configuration = dict[str, Any]
Assignment = tuple[str, Value]

# Of a value drawn from a range: what records and tables show is exactly what was trained.
DIGITS = 4


class Parameter(Config):
    """A training field that varies.

    path: the field, dotted, e.g. `margins.epsilon` or `loss.params.alpha`.
    called: the parameter's name in configurations, records and reports; by default the last part of its path.
    """

    path: Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$")]
    called: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""

    @property
    def name(self) -> str:
        """Return the parameter's name."""
        return self.called or self.path.rpartition(".")[2]


class Choice(Parameter):
    """A parameter and the values it may take, in the order in which they are tried."""

    values: Annotated[tuple[Value, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Self:
        repeated = sorted({str(value) for value, count in Counter(self.values).items() if count > 1})
        if repeated:
            raise ValueError(f"{self.path}: the values {', '.join(repeated)} are repeated: list each once")
        return self

    @property
    def ends(self) -> tuple[Value, ...]:
        """Return all its values."""
        return self.values

    def at(self, share: float) -> Value:
        """Return the value at a share of the way through, in [0, 1)."""
        return self.values[int(share * len(self.values))]

    def __str__(self) -> str:
        return f"{self.name} ∈ {{{', '.join(map(str, self.values))}}}"


class _Range(Parameter):
    """A parameter between two bounds, both allowed; drawn values have `DIGITS` significant digits."""

    low: FiniteFloat
    high: FiniteFloat

    @model_validator(mode="after")
    def _in_order(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"{self.path}: low = {self.low:g} must be below high = {self.high:g}")
        return self

    @property
    def ends(self) -> tuple[Value, ...]:
        """Return its bounds."""
        return self.low, self.high

    def rounded(self, value: float) -> float:
        """Return a drawn value as it is trained with."""
        return min(max(float(f"{value:.{DIGITS}g}"), self.low), self.high)

    def __str__(self) -> str:
        return f"{self.name} ∈ [{self.low:g}, {self.high:g}]"


class Uniform(_Range):
    """A number between two bounds, uniformly distributed."""

    scale: Literal["linear"] = "linear"

    def at(self, share: float) -> float:
        """Return the value at a share of the way from low to high, in [0, 1)."""
        return self.rounded(self.low + share * (self.high - self.low))


class LogUniform(_Range):
    """A positive number between two bounds, uniformly distributed on a logarithmic scale."""

    scale: Literal["log"] = "log"

    @model_validator(mode="after")
    def _positive(self) -> Self:
        if self.low <= 0:
            raise ValueError(f"{self.path}: low = {self.low:g} has no logarithm: give a positive one, or use Uniform")
        return self

    def at(self, share: float) -> float:
        """Return the value at a share of the way from low to high, in [0, 1), in logarithms."""
        return self.rounded(self.low * (self.high / self.low) ** share)

    def __str__(self) -> str:
        return f"{super().__str__()} (log)"


Range = Annotated[Uniform | LogUniform, Field(discriminator="scale")]


class Space(Config):
    """The product of its choices and ranges; without any it holds one configuration, the empty one."""

    choices: tuple[Choice, ...] = ()
    ranges: tuple[Range, ...] = ()

    @model_validator(mode="after")
    def _distinct_names(self) -> Space:
        names = [parameter.name for parameter in self.parameters]
        if len(set(names)) < len(names):
            raise ValueError(
                f"parameters {names}: two have the same name, and a configuration needs different ones. Rename one "
                "of them with called='…'"
            )
        return self

    @property
    def parameters(self) -> tuple[Choice | Uniform | LogUniform, ...]:
        """Return all that varies: the choices, then the ranges."""
        return (*self.choices, *self.ranges)

    @property
    def finite(self) -> bool:
        """Return whether its configurations can be listed."""
        return not self.ranges

    @property
    def size(self) -> int:
        """Return how many configurations its choices make."""
        return math.prod(len(choice.values) for choice in self.choices)

    def configurations(self) -> Iterator[Configuration]:
        """Yield all configurations of its choices, the last one varying fastest; whole ones where no range is."""
        return _product({choice.name: choice.values for choice in self.choices})

    def corners(self) -> Iterator[Configuration]:
        """Yield all configurations with every range at its bounds: if these are allowed, all are."""
        return _product({parameter.name: parameter.ends for parameter in self.parameters})

    def every_value(self) -> Iterator[Configuration]:
        """Yield as few of the corners as have every value of every choice, and every bound, among them."""
        for number in range(max((len(parameter.ends) for parameter in self.parameters), default=1)):
            yield {parameter.name: parameter.ends[number % len(parameter.ends)] for parameter in self.parameters}

    def at(self, point: Sequence[float]) -> Configuration:
        """Return the configuration at a point of the unit cube, a coordinate in [0, 1) for each parameter."""
        return {p.name: p.at(share) for p, share in zip(self.parameters, point, strict=True)}

    def values(self) -> dict[str, Any]:
        """Return by name the list of values, or a range's low, high and scale, as study.json and reports have it."""
        ranges = {each.name: each.model_dump(mode="json", exclude={"path", "called"}) for each in self.ranges}
        return {choice.name: list(choice.values) for choice in self.choices} | ranges

    def assignments(self, configuration: Configuration) -> list[Assignment]:
        """Return a configuration as assignments to training fields."""
        return [(parameter.path, configuration[parameter.name]) for parameter in self.parameters]


def _product(values: Mapping[str, Sequence[Value]]) -> Iterator[Configuration]:
    for combination in itertools.product(*values.values()):
        yield dict(zip(values, combination, strict=True))


def nested(assignments: Iterable[Assignment]) -> dict[str, Any]:
    """Return dotted assignments nested, the last wins: [("margins.epsilon", 0.5)] → {"margins": {"epsilon": 0.5}}.

    Raises:
        ValueError: one lies within another.
    """
    fields: dict[str, Any] = {}
    for path, value in assignments:
        target = fields
        *parents, last = path.split(".")
        for parent in parents:
            target = target.setdefault(parent, {})
            if not isinstance(target, dict):
                raise ValueError(f"{path} is in {parent}, which is set to {target!r} as a whole: leave one out")
        target[last] = value
    return fields
