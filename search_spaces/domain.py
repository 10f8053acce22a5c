"""What may vary: a space is a product of named, finite choices. Imports neither torch nor Ray."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator


def as_meant(value: Any) -> Any:
    """A number that is written as text is that number: 1e-3, as YAML gives it, is 0.001.

    Raises:
        ValueError: true or false, which would pass for 1 or 0, and is what YAML makes of yes and no.
    """
    if isinstance(value, bool):
        raise ValueError(f"{value} is neither a number nor a word: put a word in quotes, or give the number")
    for number in (int, float) if isinstance(value, str) else ():
        with suppress(ValueError):
            return number(value)
    return value


Value = Annotated[float | int | str, BeforeValidator(as_meant)]
Configuration = dict[str, Any]
Assignment = tuple[str, Value]


class Choice(BaseModel):
    """A parameter and the values it may take, in the order in which they are tried.

    path: the training's field that the value is put in, dotted, e.g. `margins.epsilon`; its last part is the
    parameter's name in configurations, records and reports.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    path: Annotated[str, Field(pattern=r"^[a-z_]+(\.[a-z_]+)*$")]
    values: Annotated[tuple[Value, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _distinct(self) -> Choice:
        repeated = sorted({str(v) for v in self.values if self.values.count(v) > 1})
        if repeated:
            raise ValueError(f"{self.path}: the values {', '.join(repeated)} come more than once; name each once")
        return self

    @property
    def name(self) -> str:
        """The parameter's name: the last part of its path."""
        return self.path.rpartition(".")[2]


class Space(BaseModel):
    """The product of its choices; without any it holds one configuration, the empty one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    choices: tuple[Choice, ...] = ()

    @model_validator(mode="after")
    def _distinct_names(self) -> Space:
        names = [choice.name for choice in self.choices]
        if len(set(names)) < len(names):
            raise ValueError(f"parameters {names}: two have the same name; a configuration could not tell them apart")
        return self

    @property
    def size(self) -> int:
        """How many configurations it holds."""
        return math.prod(len(choice.values) for choice in self.choices)

    def configurations(self) -> Iterator[Configuration]:
        """All configurations, the last parameter varying fastest."""
        names = [choice.name for choice in self.choices]
        for values in itertools.product(*(choice.values for choice in self.choices)):
            yield dict(zip(names, values, strict=True))

    def values(self) -> dict[str, list[Value]]:
        """Parameter name → values, as reports show it."""
        return {choice.name: list(choice.values) for choice in self.choices}

    def assignments(self, configuration: Configuration) -> list[Assignment]:
        """A configuration as assignments to training fields."""
        return [(choice.path, configuration[choice.name]) for choice in self.choices]


def nested(assignments: Iterable[Assignment]) -> dict[str, Any]:
    """Dotted assignments nested, the last wins: [("margins.epsilon", 0.5)] → {"margins": {"epsilon": 0.5}}."""
    fields: dict[str, Any] = {}
    for path, value in assignments:
        target = fields
        *parents, last = path.split(".")
        for parent in parents:
            target = target.setdefault(parent, {})
        target[last] = value
    return fields
