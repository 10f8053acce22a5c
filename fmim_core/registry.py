"""The kinds there are of one thing (losses, margin schedules, backbones, data sets), registered where they are defined.

To add a kind is to write one file: a class that is derived from the thing's base, and the line
`@LOSSES.register` (`MARGINS`, `BACKBONES`, `OPTIMIZERS`, `DATA_SETS`) above it.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import sys
from abc import ABC
from collections.abc import Mapping
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, core_schema

from fmim_core.config import Config
from fmim_core.suggestions import did_you_mean


class KindConfig(Config, ABC):
    """A configuration that is one of several kinds, and says which: `kind: Literal["triplet"] = "triplet"`."""

    kind: str


PLUGINS = "fmim.kinds"
"""The group of entry points by which an installed package names the modules that register its kinds."""


@cache
def load_plugins() -> dict[str, str]:
    """Import the modules that installed packages name; returns the version of each package, by its name.

    Raises:
        ValueError: one cannot be imported.
    """
    versions = {}
    for entry in entry_points(group=PLUGINS):
        try:
            entry.load()
        except Exception as error:
            what = (
                f"{entry.dist.name if entry.dist else 'an installed package'}, entry point {entry.name} = {entry.value}"
            )
            raise ValueError(f"{what}, cannot be imported: {type(error).__name__}: {error}") from error
        if entry.dist is not None:
            versions[entry.dist.name] = entry.dist.version
    return versions


K = TypeVar("K", bound=KindConfig)
Registered = TypeVar("Registered", bound=KindConfig)


class Registry(Generic[K]):
    """The kinds of one thing by name: those of a package, found by being there, and whatever else is registered.

    As the metadata of a field, `loss: Annotated[Loss, LOSSES]`, it makes the configuration from a mapping with `kind`,
    or takes one that is made already; as JSON the field is what its configuration is.

    Args:
        noun: what these are kinds of, for messages, e.g. "loss".
        package: the package whose modules are imported before a kind is looked up, e.g. "fmim_core.losses".
        default: the kind of fields that do not say one.
    """

    def __init__(self, noun: str, package: str, default: str | None = None) -> None:
        self.noun, self._package, self._default = noun, package, default
        self._classes: dict[str, type[Any]] = {}
        self._imported = False

    def register(self, cls: type[Registered]) -> type[Registered]:
        """Make the class known by its `kind`: a decorator, for any module. Defined anew, a class replaces itself.

        Raises:
            ValueError: its kind has no name, or is the name of another class; or it lacks a method of its base.
        """
        kind = cls.model_fields["kind"].default
        if not isinstance(kind, str):
            raise ValueError(f'{cls.__qualname__} needs a name as its kind, e.g. `kind: Literal["own"] = "own"`')
        if inspect.isabstract(cls):
            missing = ", ".join(sorted(cls.__abstractmethods__))
            raise ValueError(f"{self.noun} {kind!r} ({cls.__qualname__}) must define {missing}")
        other = self._classes.get(kind, cls)
        modules = (other.__module__, cls.__module__)  # a program is `__main__`, and the module of its file
        files = {getattr(sys.modules.get(name), "__file__", None) or name for name in modules}
        if other.__qualname__ != cls.__qualname__ or len({*modules}) == len(files) == 2:
            raise ValueError(
                f"{self.noun} kind {kind!r} of {cls.__module__}.{cls.__qualname__} is taken by "
                f"{other.__module__}.{other.__qualname__}: choose another name"
            )
        self._classes[kind] = cls
        return cls

    def kinds(self) -> list[str]:
        """Return the names of all kinds, sorted."""
        self._import_package()
        return sorted(self._classes)

    def find(self, kind: str) -> type[K]:
        """Return the class of that kind.

        Raises:
            ValueError: there is none; the message lists those there are.
        """
        known = self.kinds()
        if kind not in known:
            raise ValueError(
                f"unknown {self.noun} kind {kind!r}; there are {', '.join(known)}{did_you_mean(kind, known)}"
            )
        return self._classes[kind]

    def make(self, fields: Mapping[str, Any]) -> K:
        """Return the configuration of these fields, one of which is `kind`.

        Raises:
            ValueError: a kind or a field that does not exist, or a value that is not allowed.
        """
        fields = {"kind": self._default} | dict(fields)
        if not isinstance(fields["kind"], str):
            raise ValueError(f"`kind` is missing: give one of {', '.join(self.kinds())}")
        return self.find(fields["kind"]).model_validate(fields)

    def _import_package(self) -> None:
        if not self._imported:
            for module in pkgutil.iter_modules(importlib.import_module(self._package).__path__):
                importlib.import_module(f"{self._package}.{module.name}")
            self._imported = True
            load_plugins()

    def __get_pydantic_core_schema__(self, base: type[K], handler: GetCoreSchemaHandler) -> CoreSchema:
        def configuration(value: Any) -> K:
            if isinstance(value, base):
                return value
            if not isinstance(value, Mapping):
                raise ValueError(f"give a mapping with `kind`, or a {base.__name__}; this is {value!r}")
            return self.make(value)

        return core_schema.no_info_after_validator_function(configuration, core_schema.any_schema())
