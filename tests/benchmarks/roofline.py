"""The least that a training step and a retrieval can take on an NVIDIA H200, by what they compute, move and launch.

Every operation below autograd is counted on tensors without content, so that no GPU is needed: the floating-point
operations of torch's `flop_counter`, the bytes that it reads and writes, each once, and a launch. An operation takes
max(operations/peak, bytes/bandwidth, KERNEL_S). A step takes the longer of their sum and of all launches, since the
host goes on while a GPU works; as one CUDA graph it has a single launch. Peaks and bandwidth are those of NVIDIA's
data sheet of the H200 SXM, without sparsity; convolutions and batch norms reach about half of that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import flop_registry

from fmim_core.metrics.ranks import ExactVectors, Matches, ranked_blocks
from fmim_core.training.device import embeddings_of
from fmim_core.training.sampler import SubjectSampler
from fmim_core.training.step import TrainingStep
from fmim_core.triplets.similarities import Similarities, unit
from fmim_core.triplets.statistics import StatisticsCollector
from tests.benchmarks.measurement import Measurement
from tests.benchmarks.retrieval import DIMENSIONS, ON_GPU_S, chestxray14_identities
from tests.benchmarks.step import BARE, PAPER, Size, train_config

PEAK = {"bfloat16": 989e12, "tf32": 494e12, "float32": 67e12, "float64": 67e12}  # of tensor cores, but for float32
BANDWIDTH, LAUNCH_S, KERNEL_S = 4.8e12, 5e-6, 2e-6  # bytes a second; of a launch by the host; of the smallest kernel
SIZES = (
    replace(PAPER, precision="tf32"),
    replace(PAPER, precision="bfloat16"),
    replace(PAPER, name="ResNet-18, 128 px, batch 128 (full)", crop=128, precision="bfloat16"),
)
BACKBONE = ("forward", "backward", "optimizer")
TILE = (1024, 16384)  # as `tile_of` has it for a GPU


@dataclass
class Work:
    """What some operations are together; seconds are those of a GPU that does nothing else meanwhile."""

    operations: float = 0.0
    moved: float = 0.0
    launches: int = 0
    seconds: float = 0.0

    def __add__(self, other: Work) -> Work:
        return Work(*(one + another for one, another in zip(vars(self).values(), vars(other).values(), strict=True)))

    @property
    def bound(self) -> float:
        """Seconds where the host launches every operation."""
        return max(self.seconds, self.launches * LAUNCH_S)

    def __str__(self) -> str:
        return (
            f"{self.operations / 1e9:,.1f} GFLOP, {self.moved / 1e9:.2f} GB, {self.launches} launches: at least "
            f"{1e3 * self.seconds:.2f} ms on the GPU, {1e3 * self.launches * LAUNCH_S:.2f} ms on the host"
        )


class Counter(TorchDispatchMode):
    """Counts what runs below autograd, by phase."""

    def __init__(self, tf32: bool = False) -> None:
        super().__init__()
        self.phases: dict[str, Work] = {}
        self._convolutions = "tf32" if tf32 else "float32"

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Count what runs in the block under this name."""
        self._now = self.phases.setdefault(name, Work())
        with self:
            yield

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        out, name = func(*args, **kwargs), func.name()
        if func.namespace != "aten" or func.is_view or name.startswith("aten::empty"):
            return out
        given = {one.name: value for one, value in zip(func._schema.arguments, args, strict=False)} | kwargs
        changed = [given.get(one.name) for one in func._schema.arguments if one.alias_info and one.alias_info.is_write]
        count = flop_registry.get(func.overloadpacket)
        operations = float(count(*args, **kwargs, out_val=out)) if count else 0.0
        kind = next((str(one.dtype)[6:] for one in tree_leaves(args) if isinstance(one, Tensor)), "")  # after `torch.`
        peak = PEAK.get(self._convolutions if kind == "float32" and "convolution" in name else kind, math.inf)
        moved = _bytes((args, kwargs)) + _bytes((changed, out))
        launches = 2 if name == "aten::convolution_backward" else 1  # for the images, and for the weights
        seconds = max(operations / peak, moved / BANDWIDTH, launches * KERNEL_S)
        vars(self._now).update(vars(self._now + Work(operations, moved, launches, seconds)))
        return out


def _bytes(tree: Any) -> int:
    """Return the bytes of the tensors in it, each once."""
    tensors = {id(one): one for one in tree_leaves(tree) if isinstance(one, Tensor)}.values()
    return sum(tensor.numel() * tensor.element_size() for tensor in tensors)


def measure(device: torch.device, sizes: tuple[Size, ...] = SIZES) -> Iterator[Measurement]:
    """A step of AdaTriplet with AutoMargin on all triplets, then a retrieval at ChestX-ray14's size."""
    for size in sizes:
        phases = step_work(size)
        whole, bare = (sum((phases[name] for name in some), Work()) for some in (phases, BACKBONE))
        what = f"bound of a step on an H200, {size.name}, {size.precision}"
        yield Measurement("roofline", what, whole.bound, BARE, bare.bound, note=str(whole))
        yield Measurement("roofline", "  as one CUDA graph", whole.seconds, BARE, bare.seconds)
        for name, work in phases.items():
            yield Measurement("roofline", f"  of it {name}", work.bound, "the whole step", whole.bound, note=str(work))
    work, what = retrieval_work(), "bound on an H200 of a retrieval of ChestX-ray14's size"
    yield Measurement("roofline", what, work.bound, "100 ms", ON_GPU_S, 1.0, str(work))


def step_work(size: Size) -> dict[str, Work]:
    """Return the work of each phase of a step, the second of an epoch."""
    config = train_config(size, selection="all")
    sampler = SubjectSampler(torch.arange(size.subjects).repeat_interleave(4), config.batches)
    step = TrainingStep(config, sampler, 0, torch.device("cpu"))
    collector, counter, batch = (
        StatisticsCollector(torch.device("cpu")),
        Counter(size.precision == "tf32"),
        size.subjects * 4,
    )
    step.begin_epoch(1)
    with FakeTensorMode(allow_non_fake_inputs=True):
        stored = torch.zeros(batch, *[size.crop * 35 // 32] * 2, dtype=torch.uint8)
        classes, totals = torch.zeros(batch, dtype=torch.int64), torch.zeros(3, dtype=torch.float64)
        for _ in range(2):  # what is made once is there at the second
            counter.phases.clear()
            with counter.phase("augmentation"):
                images = step._augment(stored, config.augmentation.draw(stored, step.generator))
            with counter.phase("forward"):
                embeddings = embeddings_of(step.model, images, config.precision)
            leaves = embeddings.detach().requires_grad_()
            with counter.phase("loss"):
                similarities = Similarities.of(unit(leaves), step.index, classes)
                value, active = step.loss(similarities, step.schedule.for_batch(similarities))
                value.backward()
            with counter.phase("backward"):
                embeddings.backward(leaves.grad)
            with counter.phase("optimizer"):
                step.optimizer.step()
                step.optimizer.zero_grad(set_to_none=True)
            with counter.phase("statistics"):
                collector.add(similarities)
                totals += torch.stack([value.detach(), active, active == 0]).double()
    return counter.phases


def retrieval_work() -> Work:
    """Return the work of ranking ChestX-ray14's test set, of which metrics are a small part."""
    query_ids, gallery_ids = chestxray14_identities()
    matches, counter = Matches.find(query_ids, gallery_ids, False), Counter()
    sequence = np.argsort(matches.relevant, kind="stable")
    with FakeTensorMode(), counter.phase("all"):
        sides = [torch.zeros(len(ids), DIMENSIONS, device="cuda") for ids in (query_ids, gallery_ids)]
        query, gallery = (ExactVectors.of(side, double=False) for side in sides)
        for _ in ranked_blocks(query, gallery, matches, sequence, TILE, others=False):
            pass
    return counter.phases["all"]
