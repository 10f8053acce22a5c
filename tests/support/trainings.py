"""Short trainings that differ in what a step has to keep between batches, and a CUDA graph as a CPU can have it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fmim_core.data.bank.bank import Bank
from fmim_core.training.device import Captured
from fmim_core.training.trainer import Training
from tests.conftest import tiny_config

SEED = 7
TRIPLET = {"kind": "triplet"}
CASES: dict[str, dict[str, Any]] = {
    "automargin": {"histogram_bins": 20},
    "automargin of every batch": {"margins": {"kind": "automargin", "k_delta": 2, "k_an": 4, "update": "batch"}},
    "moving average": {"margins": {"kind": "automargin", "k_delta": 2, "k_an": 2, "update": "average"}},
    "moving average without β": {
        "loss": TRIPLET,
        "margins": {"kind": "automargin", "k_delta": 2, "update": "average"},
    },
    "quartile": {"margins": {"kind": "quartile", "quartile": 1}},
    "wat": {"loss": TRIPLET, "margins": {"kind": "wat", "beta": 0.1}},
    "all triplets": {"loss": {"kind": "adatriplet", "selection": "all", "averaging": "all"}},
    "sct": {"loss": {"kind": "sct", "lam": 1.0}, "margins": {"kind": "none"}},
    "bfloat16": {"precision": "bfloat16"},
}


def training(bank: Bank, changes: dict[str, Any], device: str = "cpu") -> Training:
    """Two epochs of six batches on all development images."""
    batches = {"subjects_per_batch": 4, "images_per_subject": 4, "per_epoch": 6}
    config = tiny_config(epochs=2, batches=batches, **changes)
    return Training(config, bank.development(), None, SEED, torch.device(device))


def run_all(run: Training) -> Training:
    """Run all epochs that are left."""
    while not run.done:
        run.run_epoch()
    return run


class Tape(TorchDispatchMode):
    """Every operation recorded, also of autograd. What the host computes is part of no operation: it is frozen."""

    def __init__(self) -> None:
        super().__init__()
        self._operations: list[tuple[Any, Any, Any, Any]] = []
        self._fresh = True

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self._operations.append((func, args, kwargs or {}, result))
        return result

    @torch.no_grad()
    def replay(self) -> None:
        """Do it all again; the first time it has just been done, while a graph is captured without being run."""
        if self._fresh:
            self._fresh = False
            return
        for func, args, kwargs, recorded in self._operations:
            result = func(*args, **kwargs)
            places = [value for value in tree_leaves(recorded) if isinstance(value, Tensor)]
            values = [value for value in tree_leaves(result) if isinstance(value, Tensor)]
            for place, value in zip(places, values, strict=True):
                if place.data_ptr() != value.data_ptr():  # neither in place nor a view
                    place.data.copy_(value)


class Taped(Captured[Any]):
    """`Captured` with a tape for a graph."""

    def __init__(self) -> None:
        self._graph, self._calls = None, 0

    def _ordinary(self, function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> Any:
        return function(*inputs)

    def _capture(self, function: Callable[..., Any], inputs: tuple[Tensor, ...]) -> Any:
        self._places = [given.clone() for given in inputs]
        with Tape() as tape:
            self._result = function(*self._places)
        return tape
