"""Kinds that are registered for one test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from fmim.own.code import forget_others
from fmim_core.data.sets.base import DATA_SETS
from fmim_core.losses.base import LOSSES
from fmim_core.margins.base import MARGINS
from fmim_core.models.base import BACKBONES
from fmim_core.registry import KindConfig, Registry


def register_for_a_test(registry: Registry, cls: type[KindConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the class until the test is over."""
    keep_registered(registry, monkeypatch)
    registry.register(cls)


def keep_registered(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """When the test is over, the kinds there are now are the only ones."""
    monkeypatch.setattr(registry, "_classes", {kind: registry.find(kind) for kind in registry.kinds()})


@pytest.fixture
def own_code(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """For tests that run a study's own files: modules and kinds of theirs are gone when the test is over."""
    for registry in (LOSSES, MARGINS, BACKBONES, DATA_SETS):
        keep_registered(registry, monkeypatch)
    yield
    forget_others()
