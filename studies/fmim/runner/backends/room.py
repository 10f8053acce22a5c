"""How many trials there is room for at once, on the nodes of a cluster or on this machine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Resources:
    """What each trial asks for. gpus: a fraction shares a GPU between trials; memory is not limited by it."""

    cpus: float = 1.0
    gpus: float | None = None


def allot(asked: Resources, nodes: Sequence[Mapping[str, float]]) -> tuple[Resources, int]:
    """The resources of each trial, and how many trials run at once on nodes that have so many "CPU" and "GPU".

    Where nothing is said of GPUs, each trial gets one if there are any, else none.

    Raises:
        ValueError: no node can run even one trial; names what was asked for and what there is.
    """
    available = {kind: sum(node.get(kind, 0.0) for node in nodes) for kind in ("CPU", "GPU")}
    gpus = asked.gpus if asked.gpus is not None else float(available["GPU"] > 0)
    slots = sum(_slots(node, asked.cpus, gpus) for node in nodes)
    if slots == 0:
        raise ValueError(
            f"each trial asks for {asked.cpus:g} CPU and {gpus:g} GPU (--cpus-per-trial, --gpus-per-trial), "
            f"but {len(nodes)} node(s) have {available['CPU']:g} CPU and {available['GPU']:g} GPU: ask for less"
        )
    return Resources(asked.cpus, gpus), slots


def _slots(node: Mapping[str, float], cpus: float, gpus: float) -> int:
    """Trials that fit on a node; a fraction of a GPU is always of one GPU, so 0.15 fits six times on each."""
    by_cpu = int(node.get("CPU", 0.0) / cpus + 1e-9)
    if gpus == 0:
        return by_cpu
    count = int(node.get("GPU", 0.0))
    by_gpu = count * int(1 / gpus + 1e-9) if gpus < 1 else int(count / gpus + 1e-9)
    return min(by_cpu, by_gpu)
