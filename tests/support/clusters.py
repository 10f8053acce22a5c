"""A Ray cluster of our own for the tests of a module, and what has commands of the program run on it."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path

import pytest

from fmim.runner.backends.ray_cluster import RayCluster, cluster_for
from fmim_core.machine import cores
from tests.support.program import free_port

ALL_CORES = ("--cpus-per-trial", str(cores()))  # one slot, whose worker imports torch once


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """A cluster of our own, started where Ray has noted one that was killed: by itself it waited for that."""
    with (
        tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder,  # short, for sockets
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setenv("RAY_TMPDIR", folder)
        Path(folder, "ray").mkdir()
        for noted in (Path(folder, "ray_current_cluster"), Path(folder, "ray", "ray_current_cluster")):
            noted.write_text(f"127.0.0.1:{free_port()}")
        with cluster_for("ray", None) as started:
            assert started is not None
            yield started


@pytest.fixture
def running(cluster: RayCluster, monkeypatch: pytest.MonkeyPatch) -> RayCluster:
    """The same for whatever starts a cluster of its own: it finds this one started."""

    def started(kind: str, address: str | None) -> nullcontext[RayCluster | None]:
        return nullcontext(cluster if kind == "ray" else None)

    for module in ("fmim.runner.backends.ray_cluster", "fmim.terminal.plan"):
        monkeypatch.setattr(f"{module}.cluster_for", started)
    return cluster
