"""Classes of other libraries by their own names, with parameters by their own names, checked before anything runs."""

from __future__ import annotations

import importlib
import inspect
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, ClassVar

from pydantic import BeforeValidator, PlainSerializer, ValidationInfo, field_validator

from fmim_core.config import Config, UnknownField
from fmim_core.suggestions import did_you_mean


@dataclass(frozen=True)
class Library:
    """The classes of a library's module that can be used here: those that are derived from one of them.

    noun: what they are, for messages. module: is imported when a name is first looked up.
    base: the name of the class that they are derived from.
    left_out: names of classes that cannot be used here, and why.
    given: names of parameters that a user does not give, and why.
    words: by parameter those that it may be, where the library takes any other for one of them.
    """

    noun: str
    module: str
    base: str
    left_out: Mapping[str, str]
    given: Mapping[str, str]
    words: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def names(self) -> list[str]:
        """Return the names of all classes that can be used, sorted."""
        classes = vars(importlib.import_module(self.module))
        base = classes[self.base]
        of_base = [name for name, cls in classes.items() if inspect.isclass(cls) and issubclass(cls, base)]
        return sorted(name for name in {*of_base} - {self.base, *self.left_out} if not name.startswith("_"))

    def find(self, name: str) -> type[Any]:
        """Return the class of that name.

        Raises:
            ValueError: there is none, or it cannot be used here.
        """
        if name in self.left_out:
            raise ValueError(f"the {self.noun} {name} cannot be used here: {self.left_out[name]}")
        known = self.names()
        if name not in known:
            raise ValueError(f"unknown {self.noun} {name!r}; there are {', '.join(known)}{did_you_mean(name, known)}")
        found: type[Any] = getattr(importlib.import_module(self.module), name)
        return found

    def parameters(self, name: str) -> dict[str, inspect.Parameter]:
        """Return all parameters of a class by name, those that it passes on to its bases too, without its `given`."""
        return {key: value for key, value in parameters(self.find(name)).items() if key not in self.given}


def parameters(cls: type[Any]) -> dict[str, inspect.Parameter]:
    """Return by name what a class is made with: its own parameters, and its bases' where it takes `**others`."""
    found: dict[str, inspect.Parameter] = {}
    for base in cls.__mro__:
        if "__init__" not in vars(base):
            continue
        _, *own = inspect.signature(vars(base)["__init__"]).parameters.values()
        found = {one.name: one for one in own if one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)} | found
        if not any(one.kind == one.VAR_KEYWORD for one in own):
            break
    return found


def _pairs(given: Any) -> Any:
    """Return a mapping's items, sorted, so that they can be hashed."""
    if not isinstance(given, Mapping | tuple):
        raise ValueError(f"give parameters by name, e.g. {{'margin': 0.2}} (given {str(given)[:60]!r})")
    return tuple(sorted((name, _plain(value)) for name, value in dict(given).items()))


def _plain(value: Any) -> Any:
    """Return a value with lists, and their texts, as tuples, if it is one of those that a file can hold."""
    if isinstance(value, str) and value.startswith("["):
        try:
            value = json.loads(value)
        except ValueError as error:
            raise ValueError(f"{value[:60]!r} is not a list: write it as [0.9, 0.98]") from error
    if isinstance(value, list | tuple):
        return tuple(map(_plain, value))
    finite = not isinstance(value, float) or math.isfinite(value)
    if not finite or not isinstance(value, bool | int | float | str | None):
        raise ValueError(f"give a finite number, a word, true, false or a list of them (given {str(value)[:60]!r})")
    return value


Params = Annotated[
    tuple[tuple[str, Any], ...], BeforeValidator(_pairs), PlainSerializer(dict, return_type=dict[str, Any])
]
"""Parameters by name: made from a mapping, written as one, and hashable."""


class LibraryClass(Config):
    """A class of a library, and the parameters that it does not have by default.

    Args:
        name: of the class, as the library has it.
        params: parameters by the library's names.
    """

    library: ClassVar[Library]
    name: str
    params: Params = ()

    @field_validator("name")
    @classmethod
    def _name_is_known(cls, name: str) -> str:
        cls.library.find(name)
        return name

    @field_validator("params")
    @classmethod
    def _params_are_its_own(cls, given: Params, info: ValidationInfo) -> Params:
        if "name" not in info.data:  # it has been refused
            return given
        name, values = info.data["name"], dict(given)
        known = cls.library.parameters(name)
        for key, value in values.items():
            if key in cls.library.given:
                raise ValueError(f"{key} cannot be set: {cls.library.given[key]}")
            if key not in known:
                raise UnknownField(key, name, known)
            if value not in (words := cls.library.words.get(key, (value,))):
                allowed = f"{', '.join(words)} (given {value!r}){did_you_mean(str(value), words)}"
                raise ValueError(f"{key} must be one of {allowed}")
        if missing := [key for key, one in known.items() if one.default is one.empty and key not in values]:
            raise ValueError(f"{name} needs {', '.join(missing)}: give params.{missing[0]}")
        return tuple((key, _like(known[key].default, key, value)) for key, value in values.items())

    def make(self, **given: Any) -> Any:
        """Return an object of the class; `given` are the parameters that are not the user's."""
        return self.library.find(self.name)(**dict(self.params), **given)


def _like(default: Any, name: str, value: Any) -> Any:
    """Return the value of a parameter; where its default is a truth value or a number, it must be one too."""
    if default is None or isinstance(default, bool):  # None: either, as torch's `fused`, or something else
        value = {"true": True, "false": False}.get(value, value)
    if isinstance(default, bool):
        if not isinstance(value, bool):
            raise ValueError(f"{name} must be true or false (given {value!r})")
    elif isinstance(default, int | float) and (isinstance(value, bool) or not isinstance(value, int | float)):
        raise ValueError(f"{name} must be a number (given {value!r})")
    return value
