"""The studies: each file in this folder declares one as `STUDY`, and is found by being there."""

from __future__ import annotations

import importlib
import pkgutil

from fmim.declare import Study


def names() -> list[str]:
    """The names of all studies, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str) -> Study:
    """The study of that name.

    Raises:
        ValueError: there is none; the message lists those there are.
    """
    if name not in names():
        raise ValueError(f"unknown study {name!r}; there are {', '.join(names())}")
    study: Study = importlib.import_module(f"{__name__}.{name}").STUDY
    assert study.name == name, f"{name}.py declares the study {study.name!r}: call both alike"
    return study
