"""Kinds that are registered for one test."""

from __future__ import annotations

import pytest

from fmim_core.registry import KindConfig, Registry


def register_for_a_test(registry: Registry, cls: type[KindConfig], monkeypatch: pytest.MonkeyPatch) -> None:
    """Register the class until the test is over."""
    monkeypatch.setattr(registry, "_classes", {kind: registry.find(kind) for kind in registry.kinds()})
    registry.register(cls)
