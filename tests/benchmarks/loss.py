"""Loss and statistics of one batch, forward and backward, beside pytorch-metric-learning's miner and loss."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from pytorch_metric_learning.distances import CosineSimilarity
from pytorch_metric_learning.losses import TripletMarginLoss
from pytorch_metric_learning.miners import TripletMarginMiner
from torch import Tensor

from fmim_core.losses.adatriplet import AdaTriplet
from fmim_core.losses.triplet import Triplet
from fmim_core.margins.base import Margins
from fmim_core.triplets.similarities import Similarities, TripletIndex, unit
from fmim_core.triplets.statistics import StatisticsCollector
from tests.benchmarks.measurement import Measurement, fastest

SUBJECTS, IMAGES, DIMENSIONS, EPSILON = 32, 4, 128, 0.25
ASKED = 1 / 5


def measure(device: torch.device, repeats: int = 100) -> Iterator[Measurement]:
    """Batch 32 × 4, D = 128, semi-hard triplets; theirs knows no second term and no statistics.

    On a CPU with one thread, as a trial has where nothing else is asked for, and with all.
    """
    if device.type != "cpu":
        yield from _compare(device, "", repeats)
        return
    all_of_them = torch.get_num_threads()
    for threads in sorted({1, all_of_them}):
        torch.set_num_threads(threads)
        try:
            yield from _compare(device, f", {threads} thread{'s' * (threads > 1)}", repeats)
        finally:
            torch.set_num_threads(all_of_them)


def _compare(device: torch.device, how: str, repeats: int) -> Iterator[Measurement]:
    labels = torch.arange(SUBJECTS).repeat_interleave(IMAGES).to(device)
    embeddings = _embeddings(labels)
    seconds = fastest(
        {
            "theirs": _theirs(embeddings, labels),
            "Triplet": _ours(Triplet(), embeddings, labels),
            "AdaTriplet": _ours(AdaTriplet(), embeddings, labels),
        },
        repeats=repeats,
    )
    asked = ASKED if device.type == "cpu" else None
    against = "pytorch-metric-learning: TripletMarginMiner + TripletMarginLoss"
    for loss in ("Triplet", "AdaTriplet"):
        yield Measurement("loss", f"{loss} + statistics{how}", seconds[loss], against, seconds["theirs"], asked)


def _embeddings(labels: Tensor) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    centres = torch.randn(SUBJECTS, DIMENSIONS, generator=generator)
    return centres.to(labels.device)[labels] + torch.randn(len(labels), DIMENSIONS, generator=generator).to(
        labels.device
    )


def _theirs(embeddings: Tensor, labels: Tensor) -> Callable[[], Any]:
    distance = CosineSimilarity()
    miner = TripletMarginMiner(margin=EPSILON, distance=distance, type_of_triplets="semihard")
    loss = TripletMarginLoss(margin=EPSILON, distance=distance)

    def step() -> None:
        leaves = embeddings.clone().requires_grad_()
        loss(leaves, labels, miner(leaves, labels)).backward()

    return step


def _ours(config: Triplet | AdaTriplet, embeddings: Tensor, labels: Tensor) -> Callable[[], Any]:
    index, loss = TripletIndex.of(labels), config.build(DIMENSIONS, SUBJECTS)
    collector = StatisticsCollector(embeddings.device)

    def step() -> None:
        leaves = embeddings.clone().requires_grad_()
        batch = Similarities.of(unit(leaves), index, labels)
        loss(batch, Margins(EPSILON, 0.1)).value.backward()
        collector.add(batch)

    return step
