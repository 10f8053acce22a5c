"""The fixtures of all tests that need a cluster."""

from __future__ import annotations

from tests.support.clusters import cluster, running

__all__ = ["cluster", "running"]
