"""A whole training step beside the bare backbone's, and where the difference goes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from fmim_core.data.bank import Bank
from fmim_core.data.building import build_bank
from fmim_core.data.phantom import PhantomConfig, PhantomSource
from fmim_core.seeding import torch_generator
from fmim_core.statistics import StatisticsCollector
from fmim_core.train_config import TrainConfig
from fmim_core.trainer import Training
from fmim_core.triplets import Similarities, unit
from tests.benchmarks.measurement import Measurement, fastest

STEPS = 10  # of an epoch that is timed whole
ASKED = 1.10


@dataclass(frozen=True)
class Size:
    """A training whose step is timed."""

    name: str
    model: str
    crop: int
    image_size: int
    precision: str


ON_CPU = (Size("small net, 64 px", "small", 64, 70, "float32"), Size("ResNet-18, 64 px", "resnet18", 64, 70, "float32"))
ON_GPU = (
    Size("ResNet-18, 256 px, float32", "resnet18", 256, 280, "float32"),
    Size("ResNet-18, 256 px, bfloat16", "resnet18", 256, 280, "bfloat16"),
)


def measure(device: torch.device) -> list[Measurement]:
    """Batch 32 × 4; AdaTriplet with AutoMargin, so that loss and statistics are both at work."""
    on_gpu = device.type == "cuda"
    results = []
    for size in ON_GPU if on_gpu else ON_CPU:
        with phantom_bank(size.image_size) as bank:
            results += _compare(size, bank, device)
    return results


@contextmanager
def phantom_bank(image_size: int) -> Iterator[Bank]:
    """A bank of enough subjects for a batch."""
    with tempfile.TemporaryDirectory() as folder:
        yield build_bank(PhantomSource(PhantomConfig(train_subjects=40, test_subjects=4)), image_size, Path(folder))


def training(size: Size, bank: Bank, device: torch.device) -> Training:
    """A training of `STEPS` batches an epoch on all development images."""
    fields: dict[str, Any] = {
        "loss": {"kind": "adatriplet"},
        "margins": {"kind": "automargin", "k_delta": 2, "k_an": 2},
        "model": {"kind": size.model},
        "batches": {"subjects_per_batch": 32, "images_per_subject": 4, "per_epoch": STEPS},
        "augmentation": {"crop": size.crop},
        "precision": size.precision,
        "epochs": 10_000,
    }
    return Training(TrainConfig.model_validate(fields), bank.development(), None, 0, device)


def _compare(size: Size, bank: Bank, device: torch.device) -> list[Measurement]:
    whole = training(size, bank, device)
    best = fastest({"whole": whole.run_epoch, **_parts(size, whole, bank, device)}, repeats=10, warm_up=2)
    step, bare = best["whole"] / STEPS, best["backbone"]
    against = "the bare backbone's step"
    rows = [Measurement("step", f"whole step, {size.name}", step, against, bare, ASKED)]
    for part in ("data", "augmentation", "loss"):
        rows.append(Measurement("step", f"  of it {part}", best[part], "the whole step", step))
    return rows


def _parts(size: Size, whole: Training, bank: Bank, device: torch.device) -> dict[str, Callable[[], Any]]:
    """The parts of a step, each by itself on the same batch."""
    other = training(size, bank, device)
    positions, _ = other._sampler.epoch(torch_generator(0, "batches"))
    positions = positions[0].to(other._images.rows_device)
    augment, generator = other.config.augmentation, torch_generator(0, "augment", device=device)
    stored = other._images[positions]
    images = augment.train(stored, generator)
    embeddings = torch.randn(len(positions), other.config.model.embedding_dim, device=device)
    collector = StatisticsCollector(device)

    def backbone() -> None:
        other._optimizer.zero_grad(set_to_none=True)
        other._forward(images).mean().backward()
        other._optimizer.step()

    def loss() -> None:
        leaves = embeddings.clone().requires_grad_()
        batch = Similarities.of(unit(leaves), other._index, positions)
        other._loss(batch, other._schedule.for_batch(batch)).value.backward()
        collector.add(batch)

    return {
        "backbone": backbone,
        "data": lambda: other._images[positions],
        "augmentation": lambda: augment.train(stored, generator),
        "loss": loss,
    }
