"""The backend that a command asks for."""

from __future__ import annotations

from fmim.runner.backends.backend import Backend, Resources
from fmim.runner.backends.inline import Inline
from fmim.runner.backends.ray_cluster import RayCluster
from fmim_core.records import Code


def open_backend(cluster: RayCluster | None, asked: Resources, code: Code | None = None) -> Backend:
    """Return where trials run, as soon as the cluster is there: on it, or in this process; `asked` is for each trial.

    Raises:
        ValueError: no such resources, no cluster, or its workers cannot run this program.
    """
    if cluster is None:
        return Inline.of(asked)
    from fmim.runner.backends.ray_backend import RayBackend  # it takes a second, while the cluster starts

    return RayBackend.of(cluster, asked, code)
