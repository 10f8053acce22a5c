"""Short trainings that differ in what a step has to keep between batches, and a CUDA graph as a CPU can have it."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim.lr_scheduler import LRScheduler
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from fmim_core.data.bank.bank import Bank
from fmim_core.seeding import scoped_torch_seed, torch_generator
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import Captured
from fmim_core.training.sampler import SubjectSampler
from fmim_core.training.trainer import Training
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import EpochStatistics, StatisticsCollector
from tests.conftest import tiny_config

CPU, SEED = torch.device("cpu"), 7
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
    "clipped gradients": {"clip_grad_norm": 0.05},
}


def of_library(name: str) -> dict[str, Any]:
    """The changes of a training that has this loss of pytorch-metric-learning."""
    needed = {"margin": 0.4, "Tn": 2} if name == "RankedListLoss" else {}
    return {"loss": {"kind": "pml", "name": name, "params": needed}, "margins": {"kind": "none"}}


def training(bank: Bank, changes: dict[str, Any], device: str = "cpu") -> Training:
    """Two epochs of six batches on all development images."""
    batches = {"subjects_per_batch": 4, "images_per_subject": 4, "per_epoch": 6}
    config = tiny_config(**{"epochs": 2, "batches": batches} | changes)
    return Training(config, bank.development(), None, SEED, torch.device(device))


def run_all(run: Training) -> Training:
    """Run all epochs that are left."""
    while not run.done:
        run.run_epoch()
    return run


Moving = tuple[torch.optim.Optimizer, LRScheduler | None, LRScheduler | None]
"""An optimizer, and what steps after each batch or after each epoch."""


def adam(config: TrainConfig, model: nn.Module, loss: nn.Module, batches: int) -> Moving:
    """The paper's optimizer, as one would write it down."""
    of = {"lr": config.learning_rate, "weight_decay": config.weight_decay}
    return torch.optim.Adam(model.parameters(), **of, fused=True), None, None


def by_hand(
    config: TrainConfig, bank: Bank, moving: Callable[..., Moving] = adam
) -> tuple[list[tuple[float, float, float, float]], nn.Sequential, list[float]]:
    """A training as one would write it down, with margins as numbers: loss, ε, mean Δ and mean φ_an of each epoch.

    With the model it ends with, and the learning rate at the beginning of each epoch.
    """
    images, rows, rates = bank.development(), [], []
    identities = torch.from_numpy(images.identities())
    sampler, schedule = SubjectSampler(identities, config.batches), config.margins.build()
    index = TripletIndex.of(sampler.labels())
    with scoped_torch_seed(SEED, "model"):
        model = config.model.build(config.augmentation.crop).to(memory_format=torch.channels_last)
        loss = config.loss.build(config.model.embedding_dim, sampler.subjects)
    optimizer, after_batch, after_epoch = moving(config, model, loss, sampler.batches_per_epoch)

    def seen(network: nn.Module, epoch: int) -> Iterator[Similarities]:
        generator = torch_generator(SEED, "augment", epoch)
        for positions in sampler.epoch(torch_generator(SEED, "batches", epoch))[0].numpy():
            stored = torch.from_numpy(images.images[images.rows[positions]])
            with torch.autocast("cpu", torch.bfloat16, enabled=config.precision == "bfloat16"):
                embeddings = network(config.augmentation.train(stored, generator)).float()
            yield Similarities.of(unit(embeddings), index, identities[positions])

    def statistics(batches: Iterable[Similarities]) -> EpochStatistics:
        collector = StatisticsCollector(CPU, schedule.needs_values)
        for batch in batches:
            collector.add(batch)
        return collector.finish()

    def freeze(epoch: int) -> None:
        frozen = epoch <= config.freeze_backbone_epochs
        model[:-1].train(not frozen).requires_grad_(not frozen)

    freeze(1)
    if schedule.measures_first:
        schedule.observe(0, statistics(seen(copy.deepcopy(model), 1)))
    for epoch in range(1, config.epochs + 1):
        batches, losses = [], []
        rates.append(optimizer.param_groups[0]["lr"])
        freeze(epoch)
        for batch in seen(model, epoch):
            output = loss(batch, schedule.for_batch(batch))
            optimizer.zero_grad()
            output.value.backward()
            if config.clip_grad_norm:
                nn.utils.clip_grad_norm_([*model.parameters(), *loss.parameters()], config.clip_grad_norm)
            optimizer.step()
            if after_batch:
                after_batch.step()
            batches.append(batch)
            losses.append(output.value.item())
        if after_epoch:
            after_epoch.step()
        found, epsilon = statistics(batches), float(schedule.margins.epsilon)
        schedule.observe(epoch, found)
        rows.append((sum(losses) / len(losses), epsilon, found.delta_mean, found.phi_an_mean))
    return rows, model, rates


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
