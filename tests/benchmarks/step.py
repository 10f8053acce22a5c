"""A whole training step beside the bare backbone's in the same precision and mode, and where the difference goes."""

from __future__ import annotations

import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from fmim_core.data.bank.bank import Bank
from fmim_core.data.bank.building import build_bank
from fmim_core.data.bank.device import DeviceImages
from fmim_core.data.sets.phantom import PhantomSource
from fmim_core.data.sets.phantom_config import PhantomConfig
from fmim_core.machine import keep_freed_memory
from fmim_core.seeding import torch_generator
from fmim_core.training.config import TrainConfig
from fmim_core.training.device import Captured, Precision, embeddings_of, float32_defined
from fmim_core.training.trainer import StepTrainer, Training
from fmim_core.triplets.similarities import Similarities, unit
from fmim_core.triplets.statistics import StatisticsCollector
from tests.benchmarks.measurement import Measurement, fastest, synchronise

BARE = "the bare backbone's step"
WHOLE, WHOLE_ON_CPU, DATA, BEST = 1.10, 1.15, 0.05, 0.011
"""What is asked: of the whole step; on a GPU also of its data, and of the best mode's step in seconds."""


@dataclass(frozen=True)
class Size:
    """A training whose step is timed, by epochs of `steps`; the `best` mode is also timed with streamed images.

    asked: the largest ratio of the whole step to the bare one, or None.
    """

    name: str
    model: str
    crop: int
    subjects: int
    precision: Precision = "float32"
    compile: str = "none"
    steps: int = 10
    repeats: int = 5
    best: bool = False
    asked: float | None = WHOLE

    def shrunk(self, compiles: bool) -> Size:
        """Return a size of a moment that goes the same ways, but for what is compiled."""
        tiny = replace(self, name=f"tiny, not {self.name}", model="small", crop=32, subjects=4, asked=None)
        small = replace(tiny, steps=2, repeats=1)
        return small if compiles else replace(small, compile="none")


PAPER = Size("ResNet-18, 256 px, batch 128", "resnet18", 256, 32)
ON_CPU = (
    Size("small net, 64 px, batch 64", "small", 64, 16, steps=5, asked=WHOLE_ON_CPU),
    Size("ResNet-18, 64 px, batch 32", "resnet18", 64, 8, steps=2, repeats=3, asked=WHOLE_ON_CPU),
)
ON_GPU = (
    replace(PAPER, name=f"{PAPER.name}, float32"),
    replace(PAPER, name=f"{PAPER.name}, TF32", precision="tf32"),
    replace(PAPER, name=f"{PAPER.name}, bfloat16", precision="bfloat16"),
    replace(PAPER, name=f"{PAPER.name}, bfloat16, compiled", precision="bfloat16", compile="default"),
    replace(PAPER, name=f"{PAPER.name}, bfloat16, CUDA graphs", precision="bfloat16", compile="cudagraphs", best=True),
)
SHARED = (
    replace(ON_CPU[0], name="small net, 64 px, batch 64, bfloat16", precision="bfloat16", steps=100),
    replace(PAPER, name=f"{PAPER.name}, bfloat16", precision="bfloat16", steps=50),
)


def measure(device: torch.device, repeats: int | None = None, tiny: bool = False) -> Iterator[Measurement]:
    """AdaTriplet with AutoMargin, so that loss and statistics are both at work.

    Args:
        repeats: instead of each size's own.
        tiny: a network, images and a batch so small that the lines for a GPU can be tried on a CPU.
    """
    keep_freed_memory()  # as every trial does
    on_gpu = device.type == "cuda"
    sizes: tuple[Size, ...] = ON_GPU if on_gpu or tiny else ON_CPU
    shared: tuple[Size, ...] = SHARED if on_gpu else SHARED[:1] if tiny else ()
    if tiny:
        sizes, shared = (tuple(size.shrunk(on_gpu) for size in some) for some in (sizes, shared))
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            repeated = replace(size, repeats=repeats or size.repeats)
            yield from _compare(repeated, phantom_bank(size, Path(folder)), device)
        for size in shared:
            yield _two_at_once(size, phantom_bank(size, Path(folder)), device)


def phantom_bank(size: Size, folder: Path) -> Bank:
    """A bank of enough subjects for a batch, a tenth larger than the crop; one for all sizes that differ in neither."""
    source = PhantomSource(PhantomConfig(train_subjects=size.subjects + 8, test_subjects=2))
    return build_bank(source, size.crop * 35 // 32, folder)


def train_config(size: Size, **of_loss: Any) -> TrainConfig:
    """Return a configuration of `size.steps` batches an epoch, with other settings of the loss where some are given."""
    fields: dict[str, Any] = {
        "loss": {"kind": "adatriplet"} | of_loss,
        "margins": {"kind": "automargin", "k_delta": 2, "k_an": 2},
        "model": {"kind": size.model},
        "batches": {"subjects_per_batch": size.subjects, "images_per_subject": 4, "per_epoch": size.steps},
        "augmentation": {"crop": size.crop},
        "precision": size.precision,
        "compile": size.compile,
        "epochs": 1_000_000,
    }
    return TrainConfig.model_validate(fields)


def training(size: Size, bank: Bank, device: torch.device) -> Training:
    """Return a training on all development images."""
    return Training(train_config(size), bank.development(), None, 0, device)


def _compare(size: Size, bank: Bank, device: torch.device) -> Iterator[Measurement]:
    on_gpu = device.type == "cuda"
    whole = training(size, bank, device)
    start = time.perf_counter()
    whole.run_epoch()
    synchronise()
    first = time.perf_counter() - start
    functions = {"whole": whole.run_epoch, **_parts(size, bank, device)}
    if size.best:  # what it waits for weighs most
        streamed = training(size, bank, device)
        trainer_of(streamed)._images = DeviceImages(bank.development(), device, resident=False)
        functions["streamed"] = streamed.run_epoch
    with float32_defined(size.precision):  # for the parts, too: torch's own float32 is TF32 in convolutions
        best = {part: seconds / size.steps for part, seconds in fastest(functions, size.repeats, warm_up=1).items()}
    step = best["whole"]
    note = f"first epoch: {first - size.steps * step:.1f} s more" if size.compile != "none" else ""
    yield Measurement("step", f"whole step, {size.name}", step, BARE, best["backbone"], size.asked, note)
    if size.best:
        yield Measurement("step", f"  the same, {size.name}", step, "11 ms", BEST, 1.0)
        yield Measurement("step", "  images streamed from the host", best["streamed"], "images on the GPU", step)
    for part, limit in (("data", DATA if on_gpu else None), ("augmentation", None), ("loss and statistics", None)):
        yield Measurement("step", f"  of it {part}", best[part], "the whole step", step, limit)


def trainer_of(training: Training) -> StepTrainer:
    """What it trains with."""
    assert isinstance(training._trainer, StepTrainer)
    return training._trainer


def _parts(size: Size, bank: Bank, device: torch.device) -> dict[str, Callable[[], Any]]:
    """The parts of a step, each by itself, as often as an epoch has steps; the backbone as it is in the whole step."""
    other = training(size, bank, device)
    trainer, augment = trainer_of(other), other.config.augmentation
    step = trainer._step
    positions = trainer._sampler.epoch(torch_generator(0, "batches", 1))[0]
    stored = next(trainer._images.batches(positions.flatten(), size.subjects * 4)).clone()
    images = step._augment(stored, augment.draw(stored, step.generator))
    classes = trainer._classes[positions[0].to(device)]
    embeddings = torch.randn(len(stored), other.config.model.embedding_dim, device=device)
    collector = StatisticsCollector(device)

    def backbone(images: Tensor) -> None:
        unit(embeddings_of(step._network, images, step._config.precision)).mean().backward()
        step.optimizer.step()
        step.optimizer.zero_grad(set_to_none=True)

    captured = Captured[None](step.generator) if size.compile == "cudagraphs" else None

    def data() -> None:
        batches, _ = trainer._sampler.epoch(torch_generator(0, "batches"))
        for batch in trainer._images.batches(batches.flatten(), size.subjects * 4):
            assert len(batch) == len(stored)

    def loss() -> None:
        leaves = embeddings.clone().requires_grad_()
        batch = Similarities.of(unit(leaves), step.index, classes)
        step.loss(batch, step.schedule.for_batch(batch)).value.backward()
        collector.add(batch)

    return {
        "backbone": _repeated(lambda: captured.call(backbone, images) if captured else backbone(images), size.steps),
        "data": data,
        "augmentation": _repeated(lambda: step._augment(stored, augment.draw(stored, step.generator)), size.steps),
        "loss and statistics": _repeated(loss, size.steps),
    }


def _repeated(function: Callable[[], Any], times: int) -> Callable[[], None]:
    def repeated() -> None:
        for _ in range(times):
            function()

    return repeated


def _two_at_once(size: Size, bank: Bank, device: torch.device) -> Measurement:
    """Seconds per step of two trainings that share the GPU, beside one that has it: below 1 it pays."""
    alone, shared = (_seconds_of_each(size, bank, device, processes) for processes in (1, 2))
    what = f"two trainings on one GPU, {size.name}"
    return Measurement("step", what, shared / 2 / size.steps, "one after the other", alone / size.steps)


def _seconds_of_each(size: Size, bank: Bank, device: torch.device, processes: int) -> float:
    context = multiprocessing.get_context("spawn")
    barrier, results = context.Barrier(processes), context.Queue()
    for _ in range(processes):  # daemons: one that fails must not keep the others, nor this program, waiting for ever
        context.Process(target=_worker, args=(size, bank.path, str(device), barrier, results), daemon=True).start()
    return max(results.get(timeout=120) for _ in range(processes))


def _worker(size: Size, path: Path, device: str, barrier: Any, results: Any) -> None:
    run = training(size, Bank.open(path), torch.device(device))
    run.run_epoch()
    barrier.wait(timeout=120)
    start = time.perf_counter()
    run.run_epoch()
    synchronise()
    results.put(time.perf_counter() - start)
